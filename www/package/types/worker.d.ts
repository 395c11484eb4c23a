/// <reference lib="es2020" />
/// <reference lib="esnext.disposable" />
/** The estimator of `litecast` in a thread of its own: the same methods, which give promises. */
import type {
  Boards,
  BytesSource,
  Calibrated,
  Calibration,
  Comparison,
  EstimateOptions,
  Graph,
  LitecastError,
  LoadOptions,
  Measurement,
  ModelFile,
  Report,
  Summary,
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
  estimate(model: BytesSource | Graph, options: EstimateOptions & { detail: "summary" }): Promise<Summary>;
  estimate(model: BytesSource | Graph, options?: EstimateOptions): Promise<Report>;
  estimateMany(models: Iterable<BytesSource | Graph | ModelFile>, options: EstimateOptions & { detail: "summary" }): Promise<(Summary | LitecastError)[]>;
  estimateMany(models: Iterable<BytesSource | Graph | ModelFile>, options?: EstimateOptions): Promise<(Report | LitecastError)[]>;
  analyze(model: BytesSource | Graph, options: EstimateOptions & { detail: "summary" }): Promise<Summary>;
  analyze(model: BytesSource | Graph, options?: EstimateOptions): Promise<Report>;
  compare(before: Summary, after: Summary): Promise<Comparison>;
  calibrate(measurements: Iterable<Measurement>): Promise<Calibration>;
  calibrated(calibration: Calibration, network: Summary | Partial<Record<TargetId, number>>): Promise<Calibrated>;
  targets(): Promise<TargetInfo[]>;
  boards(): Promise<Boards>;
  /** Ends the thread. Requests that wait, and later ones, are rejected with the kind `disposed`. */
  dispose(): void;
  [Symbol.dispose](): void;
}
