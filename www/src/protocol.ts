/** Messages between the page and its workers. */
import type { Layout, LayoutInput } from "./layout/layered.ts";
import type { Calibrated, Measurement, Report, TargetInfo } from "./report.ts";

export interface Request<Call> {
  id: number;
  call: Call;
}

/** The page has lost interest in a request that has not begun. */
export interface Abort {
  abort: number;
}

export type Reply<Value> = { id: number; value: Value } | { id: number; error: Failure };

/** An error that has crossed a thread: a stable kind for programs, words for people. */
export interface Failure {
  kind: string;
  message: string;
}

export interface Started {
  targets: TargetInfo[];
  /** Why there are no learned estimates, where the predictor could not be loaded. */
  predictor_failure: Failure | null;
}

/** `urls` are absolute: a worker resolves relative ones against its own script. */
export interface StartCall {
  kind: "start";
  urls: { wasm: string; predictor: string; manifest: string; warm_up: string | null };
}

export interface EstimateCall {
  kind: "estimate";
  file: string;
  /** Inputs at a time. */
  batch: number;
  bytes: ArrayBuffer;
}

export interface CalibrateCall {
  kind: "calibrate";
  measurements: Measurement[];
  estimates_ms: Record<string, number>;
}

export interface EstimateCalls {
  start: { call: StartCall; value: Started };
  estimate: { call: EstimateCall; value: Report };
  calibrate: { call: CalibrateCall; value: Calibrated };
}

export type LayoutCall = LayoutInput;

export type LayoutValue = Layout;
