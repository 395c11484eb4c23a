/** The program's side of a thread. */
import type * as api from "../types/index.d.ts";
import type { LiteCastWorker } from "../types/worker.d.ts";
import { listOf, sizeError } from "./arguments.ts";
import { LitecastError, reading, thrownInWords } from "./errors.ts";
import type { Loaded } from "./load.ts";
import { type Call, type Method, received, type Reply, restore } from "./protocol.ts";

/** A worker of any platform. */
export interface Thread {
  post(message: unknown, transfer: ArrayBuffer[]): void;
  /** Sets who hears of messages and of a thread that broke. */
  listen(onMessage: (message: Reply) => void, onFailure: (message: string) => void): void;
  stop(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: LitecastError): void;
}

/** A model in the place of one that is too long to be sent. */
const NO_BYTES = new Uint8Array(0);

/** A thread that has started. */
export class Client implements LiteCastWorker {
  readonly #thread: Thread;
  readonly #waiting = new Map<number, Waiting>();
  #last_id = 0;
  #ended: LitecastError | null = null;
  version = "";
  declare [Symbol.dispose]: () => void;

  private constructor(thread: Thread) {
    this.#thread = thread;
  }

  /** Rejects with the kind `worker` where the thread cannot be started. */
  static async connect(thread: Thread, files: () => Promise<Loaded>): Promise<Client> {
    const client = new Client(thread);
    thread.listen((message) => client.#settle(message), (words) => client.#end(new LitecastError("worker", words)));
    try {
      // What is sent before the script runs waits for it.
      client.version = (await client.#ask({ start: await files() })) as string;
      return client;
    } catch (error) {
      thread.stop();
      throw error;
    }
  }

  get memory_bytes(): Promise<number> {
    return this.#call("memory_bytes", []) as Promise<number>;
  }

  estimate(...args: unknown[]): Promise<api.Report> {
    return this.#call("estimate", args) as Promise<api.Report>;
  }

  /** Other iterables than arrays do not cross threads, and neither do files that the module cannot read. */
  async estimateMany(models: Iterable<unknown>, ...args: unknown[]): Promise<(api.Report | LitecastError)[]> {
    const list = listOf(models, "models");
    const errors = new Map<number, LitecastError>();
    const sent = list.map((model, idx) => {
      const bytes = reading(`models[${idx}]`, () => (model as Partial<api.ModelFile> | null | undefined)?.bytes);
      const error = sizeError(model, "model") ?? sizeError(bytes, "model");
      if (error) errors.set(idx, error);
      return error ? NO_BYTES : model;
    });
    const reports = (await this.#call("estimateMany", [sent, ...args])) as (api.Report | LitecastError)[];
    return reports.map((report, idx) => errors.get(idx) ?? report);
  }

  analyze(...args: unknown[]): Promise<api.Report> {
    return this.#call("analyze", args) as Promise<api.Report>;
  }

  estimateChanged(...args: unknown[]): Promise<api.Report> {
    return this.#call("estimateChanged", args) as Promise<api.Report>;
  }

  leftOut(...args: unknown[]): Promise<api.LeftOut[][]> {
    return this.#call("leftOut", args) as Promise<api.LeftOut[][]>;
  }

  accelerators(...args: unknown[]): Promise<api.Accelerators> {
    return this.#call("accelerators", args) as Promise<api.Accelerators>;
  }

  inForce(...args: unknown[]): Promise<api.InForce> {
    return this.#call("inForce", args) as Promise<api.InForce>;
  }

  compare(...args: unknown[]): Promise<api.Comparison> {
    return this.#call("compare", args) as Promise<api.Comparison>;
  }

  async calibrate(measurements: Iterable<api.Measurement>): Promise<api.Calibration> {
    return this.#call("calibrate", [listOf(measurements, "measurements")]) as Promise<api.Calibration>;
  }

  calibrated(...args: unknown[]): Promise<api.Calibrated> {
    return this.#call("calibrated", args) as Promise<api.Calibrated>;
  }

  targets(): Promise<api.TargetInfo[]> {
    return this.#call("targets", []) as Promise<api.TargetInfo[]>;
  }

  defaultTargets(): Promise<api.TargetId[]> {
    return this.#call("defaultTargets", []) as Promise<api.TargetId[]>;
  }

  boards(): Promise<api.Boards> {
    return this.#call("boards", []) as Promise<api.Boards>;
  }

  fits(...args: unknown[]): Promise<api.Fits> {
    return this.#call("fits", args) as Promise<api.Fits>;
  }

  loadGpus(...args: unknown[]): Promise<api.TargetInfo[]> {
    return this.#call("loadGpus", args) as Promise<api.TargetInfo[]>;
  }

  loadAccelerators(...args: unknown[]): Promise<api.TargetInfo[]> {
    return this.#call("loadAccelerators", args) as Promise<api.TargetInfo[]>;
  }

  sweep(...args: unknown[]): Promise<api.Sweep> {
    return this.#call("sweep", args) as Promise<api.Sweep>;
  }

  sweepBatch(...args: unknown[]): Promise<api.BatchSweep | null> {
    return this.#call("sweepBatch", args) as Promise<api.BatchSweep | null>;
  }

  dispose(): void {
    this.#end(new LitecastError("disposed", "this estimator was disposed of; load() makes a new one"));
    this.#thread.stop();
  }

  async #call(method: Method, args: unknown[]): Promise<unknown> {
    const error = sizeError(args[0], "model");
    if (error) throw error;
    return received(method, await this.#ask({ method, args }));
  }

  #ask(call: Call): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = ++this.#last_id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      try {
        this.#thread.post({ id, call }, []);
      } catch (error) {
        this.#waiting.delete(id);
        reject(new LitecastError("wrong-argument", `expected arguments that can be sent to a worker (${thrownInWords(error)})`, error));
      }
    });
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ("error" in reply) waiting?.reject(restore(reply.error));
    else waiting?.resolve(reply.value);
  }

  #end(error: LitecastError): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

const dispose: symbol | undefined = Symbol.dispose;
if (dispose) Object.defineProperty(Client.prototype, dispose, { value: Client.prototype.dispose, writable: true, configurable: true });
