/** Reports for files, made in workers that are replaced when they break, hang or grow. */
import type { NextMeasurement } from "../package/types/devices.d.ts";
import { readApplication } from "./application.ts";
import { type AssetUrls, fetchBytes, fetchModule } from "./assets.ts";
import { readHost } from "./host.ts";
import { MAX_FILE_BYTES } from "./limits.ts";
import { KnownError, Messenger, unreadableError } from "./worker_messenger.ts";
import type { ModelFile } from "./model_files.ts";
import type { CalibrateCall, ChoicesCall, EstimateCall, Estimated, FileToRead, FitsCall, InForceCall, KeptCall, LayoutCall, LayoutValue, LoadCall, MeasureCall, MeasuredDevice, MeasuringTool, MeasuringToolsCall, NextMeasurementsCall, ReadAheadCall, ReadDeviceCall, StartCall, Started, SweepBatchCall, SweepCall, WarmUpCall } from "./protocol.ts";
import type { Application, BatchSweep, Calibrated, Fits, InForce, Limits, Measurement, Report, Sweep, TargetChoice, TargetChoices, TargetInfo } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { keepReport } from "./store.ts";
import { type LoadedGroup, groupOf, isLoadedGroup } from "./targets.ts";

/** A file of 100,000 operators takes some seconds; what takes longer than this was made to. */
const TIME_LIMIT_MS = 60_000;
/** A request that was given up may end by itself within this; a worker that is still busy then is ended. */
const GRACE_MS = 250;
/** The spare worker starts when the page has been left alone for this long after a report. */
const SPARE_DELAY_MS = 500;

/** Larger files are read only once it is known that they are models. */
const MAX_READ_AHEAD_BYTES = 16 * 1024 ** 2;

/** A file that was read. */
export interface FileBytes {
  name: string;
  bytes: ArrayBuffer;
}

/** What a person set in this browser beside a model. */
export type Settings = Pick<EstimateCall, "host" | "application">;
/** As where nothing was ever set. */
export const UNTOUCHED: Settings = { host: null, application: { ram_bytes: 0, flash_bytes: 0 } };

function ownSettings(): Settings {
  return { host: readHost(), application: readApplication() };
}

/** What a changed network is estimated on, and in how much detail. */
export interface ExploredTargets {
  targets: readonly string[];
  more_targets: readonly TargetChoice[];
  is_summary: boolean;
}

/** The worker that holds the engine. Each method rejects with a `KnownError`. */
export class Estimator {
  readonly #urls: AssetUrls;
  #module: Promise<WebAssembly.Module>;
  #active: EstimateWorker;
  #spare: EstimateWorker | null = null;
  readonly #constants = new Map<LoadedGroup, Promise<ArrayBuffer>>();
  /** What makes devices from profiles. */
  #devices: Promise<WebAssembly.Module> | null = null;
  /** Without a `vela.ini`: they do not change. */
  #choices: Promise<TargetChoices> | null = null;
  readonly #numbers = new WeakMap<File, number>();
  #n_files = 0;
  /** Of the first worker. */
  readonly started: Promise<Started>;

  constructor(urls: AssetUrls) {
    this.#urls = urls;
    this.#module = fetchModule(urls.wasm);
    this.#active = this.#startWorker();
    this.started = this.#active.started;
  }

  /** Estimates what nobody asked for, before any file: null once there was one. */
  async warmUp(bytes: ArrayBuffer): Promise<Report | null> {
    return (await this.#startedWorker()).request({ kind: "warm-up", bytes: bytes.slice(0) });
  }

  /** Reads a file that was just dropped, while others find out what it is. */
  readAhead(file: File): void {
    if (file.size <= MAX_READ_AHEAD_BYTES) this.#freeWorker().readAhead(this.#toRead(file));
  }

  #toRead(file: File): FileToRead {
    const number = this.#numbers.get(file) ?? ++this.#n_files;
    this.#numbers.set(file, number);
    return { file, number };
  }

  /**
   * On all registered targets and `more_targets`. `key` is where the report is kept in the browser's database, null for
   * nowhere.
   */
  async estimate(file: ModelFile, scenario: Scenario, more_targets: readonly TargetChoice[], key: string | null, signal: AbortSignal, settings = ownSettings()): Promise<Report> {
    checkSize(file);
    try {
      const model = file instanceof File ? this.#toRead(file) : await file.arrayBuffer();
      return await this.#ask({ kind: "estimate", file: file.name, scenario, more_targets, ...settings, is_summary: false, model, key }, signal);
    } finally {
      setTimeout(() => this.#keepSpare(), SPARE_DELAY_MS);
    }
  }

  /** On these targets alone, for a file that was read before; kept nowhere. Without single operators where `is_summary`. */
  explore({ name, bytes }: FileBytes, scenario: Scenario, { targets, more_targets, is_summary }: ExploredTargets, signal: AbortSignal, settings = ownSettings()): Promise<Report> {
    return this.#ask({ kind: "estimate", file: name, scenario, targets, more_targets, ...settings, is_summary, model: bytes.slice(0), key: null }, signal);
  }

  /** What there is to choose in `vela_ini`, and in what Vela knows without one. */
  async choices(vela_ini: string | null): Promise<TargetChoices> {
    const call: ChoicesCall = { kind: "choices", vela_ini };
    const ask = async (): Promise<TargetChoices> => (await this.#startedWorker()).request(call);
    if (vela_ini !== null) return ask();
    this.#choices ??= ask();
    return this.#choices.catch((error: unknown) => {
      this.#choices = null;
      throw error;
    });
  }

  /** Clock and SRAM that a target has. */
  async inForce(choice: TargetChoice): Promise<InForce> {
    const call: InForceCall = { kind: "in-force", choice };
    return (await this.#startedWorker()).request(call);
  }

  /** The targets of a group that there are estimates for; their constants are loaded by the first call. */
  async loaded(group: LoadedGroup): Promise<TargetInfo[]> {
    const constants = this.#constants.get(group) ?? fetchBytes(this.#urls.constants[group]);
    this.#constants.set(group, constants);
    try {
      return await (await this.#startedWorker()).load(group, await constants);
    } catch (error) {
      this.#constants.delete(group);
      throw error;
    }
  }

  /** On which boards there is room beside an application. */
  async fits(need: Fits["need"], application: Application): Promise<Fits> {
    const call: FitsCall = { kind: "fits", need, application };
    return (await this.#startedWorker()).request(call);
  }

  /** Every Ethos-U beside limits, and the smallest that meets them. */
  async sweep({ bytes }: FileBytes, scenario: Scenario, limits: Limits): Promise<Sweep> {
    const call: SweepCall = { kind: "sweep", limits, scenario, bytes: bytes.slice(0) };
    return (await this.#startedWorker()).request(call);
  }

  /** Time and memory by batch on a GPU; null where none is known. */
  async sweepBatch({ bytes }: FileBytes, scenario: Scenario, target: string): Promise<BatchSweep | null> {
    const call: SweepBatchCall = { kind: "sweep-batch", target, scenario, bytes: bytes.slice(0) };
    return (await this.#startedWorker()).request(call);
  }

  async #ask(call: EstimateCall, signal: AbortSignal): Promise<Report> {
    const worker = await this.#startedWorker();
    signal.throwIfAborted();
    return worker.estimate(call, signal);
  }

  async #startedWorker(): Promise<EstimateWorker> {
    const worker = this.#freeWorker();
    await worker.started;
    // Where that fails, whoever asked for the group is told: other targets need none.
    for (const [group, constants] of this.#constants) await constants.then((constants) => worker.load(group, constants)).catch(() => undefined);
    return worker;
  }

  /** The latency of a network with these estimates on a device where others were measured. */
  async calibrate(measurements: Measurement[], estimates_ms: Record<string, number>): Promise<Calibrated> {
    const call: CalibrateCall = { kind: "calibrate", measurements, estimates_ms };
    const ask = async (): Promise<Calibrated> => {
      const worker = await this.#startedWorker();
      return worker.request<Calibrated>(call);
    };
    // A file that hung may have taken the worker with it.
    return ask().catch((error: unknown) => (isClosed(error) ? ask() : Promise.reject(error)));
  }

  /** A device with what a benchmark tool printed of this file on it. */
  async measure(file: ModelFile, measurement: Omit<MeasureCall, "kind" | "module" | "file" | "model">): Promise<MeasuredDevice> {
    const [module, model] = await Promise.all([this.#deviceModule(), readFile(file)]);
    // What a profile is of is known when it is read; a base may be among them.
    await this.loaded("phones-and-boards").catch(() => []);
    const call: MeasureCall = { kind: "measure", module, file: file.name, model, ...measurement };
    return (await this.#startedWorker()).request(call);
  }

  /** A device that was exported. */
  async readDevice(json: ArrayBuffer): Promise<MeasuredDevice> {
    const call: ReadDeviceCall = { kind: "read-device", module: await this.#deviceModule(), json };
    return (await this.#startedWorker()).request(call);
  }

  /** The tools that measure, with their commands for networks that are handed out. */
  async measuringTools(probes: readonly string[]): Promise<MeasuringTool[]> {
    const call: MeasuringToolsCall = { kind: "measuring-tools", module: await this.#deviceModule(), probes };
    return (await this.#startedWorker()).request(call);
  }

  /** What to measure next on a device, first what narrows the intervals of all networks most. */
  async nextMeasurements(document: MeasuredDevice["document"], files: readonly FileBytes[], reports: readonly Report[]): Promise<NextMeasurement[]> {
    const group = groupOf(document.base);
    if (group !== null && isLoadedGroup(group)) await this.loaded(group);
    const call: NextMeasurementsCall = { kind: "next-measurements", module: await this.#deviceModule(), document, files, reports };
    return (await this.#startedWorker()).request(call);
  }

  /** A profile is likely to come: what reads it is fetched and compiled ahead. */
  expectProfile(): void {
    void this.#deviceModule().catch(() => undefined);
  }

  #deviceModule(): Promise<WebAssembly.Module> {
    this.#devices ??= fetchModule(this.#urls.devices).catch((error: unknown) => {
      this.#devices = null;
      throw error;
    });
    return this.#devices;
  }

  /** The active worker, unless it ends or is still busy with what nobody waits for. */
  #freeWorker(): EstimateWorker {
    if (!this.#active.is_abandoned && this.#active.alive) return this.#active;
    if (this.#active.is_abandoned) this.#active.close();
    this.#active = this.#spare?.alive ? this.#spare : this.#startWorker();
    this.#spare = null;
    return this.#active;
  }

  #keepSpare(): void {
    this.#freeWorker();
    if (!this.#spare?.alive) this.#spare = this.#startWorker();
  }

  #startWorker(): EstimateWorker {
    return new EstimateWorker(this.#module.catch(() => (this.#module = fetchModule(this.#urls.wasm))));
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof KnownError && error.kind === "closed";
}

class EstimateWorker {
  readonly #messenger = new Messenger(new Worker(new URL(`estimate.js${VERSION}`, document.baseURI), { type: "module" }));
  readonly started: Promise<Started>;
  /** Busy with a request that nobody waits for. */
  is_abandoned = false;
  /** It holds too much memory: it ends once it has answered everybody who waits. */
  #is_spent = false;
  readonly #loaded = new Map<LoadedGroup, Promise<TargetInfo[]>>();

  constructor(module: Promise<WebAssembly.Module>) {
    this.started = module.then((module) => this.#messenger.request<Started>({ kind: "start", module } satisfies StartCall, []));
    this.started.catch(() => this.close());
  }

  get alive(): boolean {
    return this.#messenger.alive && !this.#is_spent;
  }

  async estimate(call: EstimateCall, signal: AbortSignal): Promise<Report> {
    const answer = this.#messenger.request<Estimated>(call, call.model instanceof ArrayBuffer ? [call.model] : []);
    const ended = answer.then(
      ({ report, is_spent }) => {
        if (is_spent) this.#retire();
        if (call.key === null) return;
        if (is_spent) void keepReport(call.key, report);
        else void this.#keep(call.key, report);
      },
      (error: unknown) => (error instanceof KnownError && error.kind === "internal" ? this.close() : undefined), // after a trap memory can be in any state
    );
    void ended.then(() => (this.is_abandoned = false));
    const { report } = await Promise.race([answer, this.#abandoned(signal, ended), this.#timedOut(ended)]);
    return report;
  }

  /** What goes wrong is said by the estimate. */
  readAhead(model: FileToRead): void {
    this.#messenger.request<null>({ kind: "read-ahead", model } satisfies ReadAheadCall, []).catch(() => undefined);
  }

  request<Value>(call: WarmUpCall | CalibrateCall | ChoicesCall | FitsCall | InForceCall | MeasureCall | MeasuringToolsCall | NextMeasurementsCall | ReadDeviceCall | SweepCall | SweepBatchCall): Promise<Value> {
    return this.#messenger.request<Value>(call, []);
  }

  /** Once: later calls have the same answer. */
  load(group: LoadedGroup, constants: ArrayBuffer): Promise<TargetInfo[]> {
    const loaded = this.#loaded.get(group) ?? this.#messenger.request<TargetInfo[]>({ kind: "load", group, constants } satisfies LoadCall, []);
    this.#loaded.set(group, loaded);
    return loaded;
  }

  close(): void {
    this.#messenger.close();
  }

  /** The worker keeps and hashes a report after it is shown. Where it is ended before that, the page keeps it, without a hash. */
  async #keep(key: string, report: Report): Promise<void> {
    try {
      const hash = await this.#messenger.request<string | null>({ kind: "kept", key } satisfies KeptCall, []);
      if (hash !== null) report.sha256 = hash;
    } catch {
      await keepReport(key, report);
    }
  }

  #retire(): void {
    this.#is_spent = true;
    void this.#messenger.whenIdle().then(() => this.close());
  }

  #abandoned(signal: AbortSignal, ended: Promise<unknown>): Promise<never> {
    return new Promise((_, reject) => {
      const abandon = (): void => {
        reject(signal.reason);
        this.is_abandoned = true;
        const timer = setTimeout(() => this.close(), GRACE_MS);
        void ended.then(() => clearTimeout(timer));
      };
      signal.addEventListener("abort", abandon, { once: true });
      void ended.then(() => signal.removeEventListener("abort", abandon));
    });
  }

  #timedOut(ended: Promise<unknown>): Promise<never> {
    return new Promise((_, reject) => {
      const timer = setTimeout(() => {
        reject(new KnownError("time-limit", `expected a report within ${TIME_LIMIT_MS / 1000} s, found none; the estimate was stopped`));
        this.close();
      }, TIME_LIMIT_MS);
      void ended.then(() => clearTimeout(timer));
    });
  }
}

function checkSize(file: ModelFile): void {
  if (file.size > MAX_FILE_BYTES) {
    throw new KnownError("too-large", `expected a file of at most ${MAX_FILE_BYTES} bytes, found ${file.size}`);
  }
}

/** Bytes of a model; rejects with a `KnownError` if the file cannot be read. */
export async function readFile(file: ModelFile): Promise<ArrayBuffer> {
  checkSize(file);
  return file.arrayBuffer().catch((error: unknown) => Promise.reject(error instanceof KnownError ? error : unreadableError(error)));
}

/** The worker of larger layouts is ended: another one starts in a hundredth of the time. */
const MAX_NODES_OF_KEPT_WORKER = 10_000;

/** Layouts of graphs; a new one stops the one before, which may be long. */
export class LayoutClient {
  #messenger = startLayout(); // now, so that the first drawing need not wait for the worker
  #busy = false;

  /** Ends the layout on its way, which is then refused as closed. */
  stop(): void {
    this.#messenger.close();
  }

  async layOut(call: LayoutCall, progress: (done: number) => void): Promise<LayoutValue> {
    if (this.#busy) this.#messenger.close();
    if (!this.#messenger.alive) this.#messenger = startLayout();
    this.#busy = true;
    const messenger = this.#messenger;
    const n_nodes = call.node_widths.length;
    try {
      return await messenger.request<LayoutValue>(call, [call.node_widths.buffer as ArrayBuffer, call.edges.buffer as ArrayBuffer], undefined, progress);
    } finally {
      if (messenger === this.#messenger) this.#busy = false;
      // Its heap keeps the room of what it laid out.
      if (n_nodes > MAX_NODES_OF_KEPT_WORKER) messenger.close();
    }
  }
}

function startLayout(): Messenger {
  return new Messenger(new Worker(new URL(`layout.js${VERSION}`, document.baseURI), { type: "module" }));
}
