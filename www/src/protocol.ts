/** Messages between the page and its workers. */
import type { Assets } from "./assets.ts";
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

export interface StartCall {
  kind: "start";
  assets: Assets;
}

export interface EstimateCall {
  kind: "estimate";
  file: string;
  /** Inputs at a time. */
  batch: number;
  bytes: ArrayBuffer;
  /** Under which the worker keeps the report in the browser's database; null keeps nothing. */
  key: string | null;
}

export interface Estimated {
  report: Report;
  /** Linear memory of the module after the estimate; it never shrinks. */
  memory_bytes: number;
}

export interface CalibrateCall {
  kind: "calibrate";
  measurements: Measurement[];
  estimates_ms: Record<string, number>;
}

export type EstimatorCall = StartCall | EstimateCall | CalibrateCall;

export type EstimatorValue = Started | Estimated | Calibrated;

export type LayoutCall = LayoutInput;

export type LayoutValue = Layout;
