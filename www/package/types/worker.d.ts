/// <reference lib="es2020" />
/// <reference lib="esnext.disposable" />
/** The estimator of `litecast` in a thread of its own: the same methods, which give promises. */
import type {
  Accelerators,
  Application,
  BatchSweep,
  Boards,
  BytesSource,
  Calibrated,
  Calibration,
  Changes,
  Comparison,
  EstimateOptions,
  Fits,
  Graph,
  InForce,
  LeftOut,
  Limits,
  LitecastError,
  LoadOptions,
  Measurement,
  ModelFile,
  Report,
  Summary,
  Sweep,
  TargetChoice,
  TargetId,
  TargetInfo,
  UrlLike,
} from "./index.js";

export { LitecastError } from "./index.js";
export type * from "./index.js";

/** Loads the files on this thread, and starts a module worker with them. */
export function load(options?: WorkerLoadOptions): Promise<LiteCastWorker>;

export interface WorkerLoadOptions extends LoadOptions {
  /**
   * A `Worker` that runs `litecast/thread`, or the URL of that script, where a content security policy or a bundler
   * needs it elsewhere. By default the script beside this one, or a copy of it in a blob where there is none.
   */
  worker?: object | string | UrlLike | undefined;
}

/** Every promise is rejected with a {@link LitecastError}. Requests are answered one after another. */
export interface LiteCastWorker {
  readonly version: string;
  /** Memory that the thread's module holds. */
  readonly memory_bytes: Promise<number>;
  estimate(model: BytesSource | Graph, options: EstimateOptions & { detail: "summary" }): Promise<Summary>;
  estimate(model: BytesSource | Graph, options?: EstimateOptions): Promise<Report>;
  estimateMany(models: Iterable<BytesSource | Graph | ModelFile>, options: EstimateOptions & { detail: "summary" }): Promise<(Summary | LitecastError)[]>;
  estimateMany(models: Iterable<BytesSource | Graph | ModelFile>, options?: EstimateOptions): Promise<(Report | LitecastError)[]>;
  analyze(model: BytesSource | Graph, options: EstimateOptions & { detail: "summary" }): Promise<Summary>;
  analyze(model: BytesSource | Graph, options?: EstimateOptions): Promise<Report>;
  estimateChanged(model: BytesSource | Graph, changes: Changes, options: EstimateOptions & { detail: "summary" }): Promise<Summary>;
  estimateChanged(model: BytesSource | Graph, changes: Changes, options?: EstimateOptions): Promise<Report>;
  leftOut(model: BytesSource | Graph, changes: Changes, options: EstimateOptions): Promise<LeftOut[][]>;
  accelerators(vela_ini?: string): Promise<Accelerators>;
  inForce(target: TargetId | TargetChoice): Promise<InForce>;
  compare(before: Summary, after: Summary): Promise<Comparison>;
  calibrate(measurements: Iterable<Measurement>): Promise<Calibration>;
  calibrated(calibration: Calibration, network: Summary | Partial<Record<TargetId, number>>): Promise<Calibrated>;
  targets(): Promise<TargetInfo[]>;
  defaultTargets(): Promise<TargetId[]>;
  boards(): Promise<Boards>;
  fits(need: Fits["need"], application: Application): Promise<Fits>;
  loadGpus(constants: BytesSource): Promise<TargetInfo[]>;
  loadAccelerators(constants: BytesSource): Promise<TargetInfo[]>;
  sweep(model: BytesSource | Graph, limits: Limits, changes?: Changes, options?: EstimateOptions): Promise<Sweep>;
  sweepBatch(model: BytesSource | Graph, target: TargetId, changes?: Changes): Promise<BatchSweep | null>;
  /** Ends the thread. Requests that wait, and later ones, are rejected with the kind `disposed`. */
  dispose(): void;
  [Symbol.dispose](): void;
}
