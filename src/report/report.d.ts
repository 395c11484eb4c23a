/** What one file costs, as `litecast predict --json` prints it too. */

export interface Report {
  schema_version: number;
  file: string;
  /** Inputs at a time that were asked for; 1 for the file as it is. */
  batch: number;
  model: ModelFacts;
  results: Result[];
  /** Of the main subgraph, in topological order. */
  operators: Operator[];
  tensors: Tensor[];
  edges: Edge[];
  diagnostics: Diagnostic[];
}

export interface ModelFacts {
  file_bytes: number;
  schema_version: number;
  description: string;
  precision: string;
  n_subgraphs: number;
  n_operators: number;
  n_tensors: number;
  macs: number;
  parameters: number;
  weight_bytes: number;
  arena_bytes: number | null;
  /** Index into `operators` of the operator that runs while the arena is fullest. */
  peak_operator: number | null;
  inputs: number[];
  outputs: number[];
  signatures: string[];
  subgraphs: { name: string; n_operators: number; n_tensors: number }[];
}

export interface Provenance {
  /** For example `learned from compiler estimate` or `exact`. */
  kind: string;
  tool: string;
  version: string;
  configuration: string;
}

export interface ResultOf {
  target: string;
  device: string;
  metric: string;
}

export interface Estimate extends ResultOf {
  value: number;
  unit: string;
  lo?: number;
  hi?: number;
  provenance: Provenance;
  /** Mean absolute error in percent on models held out of training or fit, errors above 100 counted as that, where it was measured. */
  expected_error_percent?: number | null;
  /**
   * The part of each of `operators`, in the same unit: parts of a latency or a traffic add up to
   * the value, the largest of a peak is the value. Absent where the estimate is of the whole graph.
   */
  operators?: number[];
}

export interface Unavailable extends ResultOf {
  /** The reason, in words. */
  unavailable: string;
}

export type Result = Estimate | Unavailable;

export interface Operator {
  /** Position in topological order. */
  index: number;
  /** Position in the file's subgraph. */
  operator_idx: number;
  name: string;
  custom: boolean;
  inputs: (number | null)[];
  outputs: number[];
  macs: number;
  parameters: number;
  weight_bytes: number;
  input_bytes: number;
  output_bytes: number;
  /** Bytes of activations alive while this operator runs; null where a shape is unknown. */
  live_bytes: number | null;
  /** Null where the operator has no options, or none that bear on its cost. */
  attributes: Record<string, unknown> | null;
}

export interface Tensor {
  index: number;
  name: string;
  type: string;
  shape: number[];
  shape_signature: number[] | null;
  bytes: number | null;
  constant: boolean;
  variable: boolean;
  quantization: Quantization | null;
}

export interface Quantization {
  scale: number[];
  zero_point: number[];
  /** Number of channels with a scale of their own. */
  per_channel: number | null;
}

/** A tensor that one operator writes and another reads; `src` and `dst` index `operators`. */
export interface Edge {
  src: number;
  dst: number;
  tensor: number;
}

export interface Diagnostic {
  severity: "info" | "warning";
  code: string;
  message: string;
  operator_idx?: number;
}

/** What `estimateMany` takes. */
export interface ModelFile {
  name: string;
  bytes: Uint8Array;
  /** Inputs at a time, 1 without it. */
  batch?: number;
}

/** A target and what is estimated for it. */
export interface TargetInfo {
  id: string;
  /** The hardware in words. */
  device: string;
  metrics: MetricInfo[];
  /** Tool, version and configuration whose numbers were learned, or what a model was fitted to. */
  learned_from: string;
}

export interface MetricInfo {
  metric: string;
  unit: string;
  /** Mean absolute error in percent on networks held out of training or fit; null where not measured. */
  expected_error_percent: number | null;
}

/** One network on a device of one's own. */
export interface Measurement {
  /** Estimated latencies of known targets by target id, in ms. */
  estimates_ms: Record<string, number>;
  measured_ms: number;
}

/** The latency of one network on a device of one's own. */
export interface Calibrated {
  latency_ms: number;
  /** Ends of an interval that is as wide as the worst of the measurements, each estimated from the others. */
  lo_ms: number;
  hi_ms: number;
  /** The known target whose estimates, scaled, come closest to the measurements. */
  target: string;
  n_measurements: number;
  /** Mean absolute error of each measurement, estimated from the others, in percent. */
  left_out_percent: number;
}

/** What every function of this package throws. */
export interface LitecastError extends Error {
  /** Stable word for programs, for example `truncated`. */
  kind: string;
}
