/** The program's side of a thread. */
import type * as api from "../types/index.d.ts";
import type { LiteCastWorker } from "../types/worker.d.ts";
import { LitecastError } from "./errors.ts";
import type { Loaded } from "./load.ts";
import { type Call, type Method, READY, received, type Reply, restore } from "./protocol.ts";

/** A worker of any platform. */
export interface Thread {
  post(message: unknown, transfer: ArrayBuffer[]): void;
  /** Sets who hears of messages and of a thread that broke. */
  listen(onMessage: (message: Reply | typeof READY) => void, onFailure: (message: string) => void): void;
  stop(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: LitecastError): void;
}

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
    try {
      await new Promise<void>((resolve, reject) => {
        thread.listen(
          (message) => (message === READY ? resolve() : client.#settle(message)),
          (words) => {
            const error = new LitecastError("worker", words);
            reject(error);
            client.#end(error);
          },
        );
      });
      client.version = (await client.#ask({ start: await files() })) as string;
      return client;
    } catch (error) {
      thread.stop();
      throw error;
    }
  }

  estimate(...args: unknown[]): Promise<api.Report> {
    return this.#call("estimate", args) as Promise<api.Report>;
  }

  estimateMany(models: Iterable<unknown>, ...args: unknown[]): Promise<(api.Report | LitecastError)[]> {
    // Other iterables than arrays do not cross threads; what is none is refused there.
    const list = typeof models === "object" && models !== null && Symbol.iterator in models && !ArrayBuffer.isView(models) ? [...models] : models;
    return this.#call("estimateMany", [list, ...args]) as Promise<(api.Report | LitecastError)[]>;
  }

  analyze(...args: unknown[]): Promise<api.Report> {
    return this.#call("analyze", args) as Promise<api.Report>;
  }

  compare(before: api.Summary, after: api.Summary): Promise<api.Comparison> {
    return this.#call("compare", [before, after]) as Promise<api.Comparison>;
  }

  calibrate(measurements: Iterable<api.Measurement>): Promise<api.Calibration> {
    return this.#call("calibrate", [measurements]) as Promise<api.Calibration>;
  }

  calibrated(...args: unknown[]): Promise<api.Calibrated> {
    return this.#call("calibrated", args) as Promise<api.Calibrated>;
  }

  targets(): Promise<api.TargetInfo[]> {
    return this.#call("targets", []) as Promise<api.TargetInfo[]>;
  }

  boards(): Promise<api.Boards> {
    return this.#call("boards", []) as Promise<api.Boards>;
  }

  dispose(): void {
    this.#end(new LitecastError("disposed", "this estimator was disposed of; load() makes a new one"));
    this.#thread.stop();
  }

  async #call(method: Method, args: unknown[]): Promise<unknown> {
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
        reject(new LitecastError("wrong-argument", `expected arguments that can be sent to a worker (${String(error)})`, error));
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
