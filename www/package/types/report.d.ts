/** What one file costs, as `litecast predict --json` prints it too. */
import type { Metric, TargetId } from "./ids.js";


export interface Report {
  schema_version: number;
  /** Version of this package. */
  litecast_version: string;
  /** Identifies the trained predictor; null where none was loaded. */
  bundle: string | null;
  /** Share of labels that each interval was made to hold, in percent. */
  interval_percent: number;
  file: string;
  /** Of the file's contents: 64 hexadecimal digits; null in a summary. */
  sha256: string | null;
  /** Inputs at a time that were asked for; 1 for the file as it is. */
  batch: number;
  model: ModelFacts;
  results: Result[];
  /** Of the main subgraph, in topological order. */
  operators: Operator[];
  tensors: Tensor[];
  edges: Edge[];
  /** Room on microcontroller boards under TensorFlow Lite Micro; null where the file does not tell its needs. */
  fits: Fits | null;
  /** Operators that targets leave to a processor, whose time is in none of their estimates; absent where there are none. */
  left_out?: LeftOutOf[];
  diagnostics: Diagnostic[];
}

/** A report of `detail: "summary"`: without what describes single operators. */
export type Summary = Omit<Report, "operators" | "tensors" | "edges" | "fits" | "left_out">;

/** Operators that these targets leave to a processor; they leave no others. */
export interface LeftOutOf {
  targets: TargetId[];
  operators: LeftOut[];
}

/** An operator that a target leaves to a processor. */
export interface LeftOut {
  /** Index into `operators` of the report. */
  operator: number;
  /** Why, as a stable word for programs. */
  code: string;
  reason: string;
}

/** Whether the model has room on each microcontroller board. */
export interface Fits {
  need: {
    arena_bytes: number;
    file_bytes: number;
    /** Interpreter and kernels, estimated. */
    code_bytes: { value: number; lo: number; hi: number };
  };
  application: Application;
  boards: OnBoard[];
}

/** What an application on a microcontroller keeps for itself beside the model and the runtime. */
export interface Application {
  ram_bytes: number;
  flash_bytes: number;
}

export interface OnBoard {
  id: string;
  name: string;
  chip: string;
  core: string;
  clock_mhz: number | null;
  npu: string | null;
  /** `close`: there is room by the estimate of the code, but not for the most it may take. */
  fits: "yes" | "close" | "no";
  ram: Room;
  flash: Room;
  latency: {
    target: string;
    clock_mhz: number;
    value_ms: number;
    lo_ms: number;
    hi_ms: number;
    /** Measured on other boards with the same core alone. */
    is_transferred: boolean;
  } | null;
}

export type Room =
  | { room: "on-chip" | "external"; left_bytes: number }
  | { room: "short"; missing_bytes: number };

export interface ModelFacts {
  file_bytes: number;
  /** What the file is: TFLite, ONNX, or a graph without weights. */
  format: "tflite" | "onnx" | "graph-json";
  /** Of the format: TFLite's schema (3), ONNX's opset, or the graph's own version. */
  schema_version: number;
  description: string;
  precision: Precision;
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

export type Precision = "int8" | "uint8" | "int16x8" | "float32" | "float16" | "dynamic-range" | "mixed" | "none";

export type ProvenanceKind =
  | "exact"
  | "modelled"
  | "compiler rules"
  | "learned from compiler estimate"
  | "learned from emulated"
  | "learned from measured"
  | (string & {});

export interface Provenance {
  kind: ProvenanceKind;
  tool: string;
  version: string;
  configuration: string;
  /** What errors of such numbers were measured against, where neither `kind` nor `tool` says it. */
  reference?: Reference;
}

/** Measurements on hardware, with each network or each kind of network left out of the fit. */
export type Reference = "measured" | "measured-kind-left-out" | (string & {});

export interface ResultOf {
  target: TargetId;
  /** The target in words. */
  device: string;
  metric: Metric;
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
  /** The same as a stable word for programs, for example `several-inputs`. */
  reason: string;
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
  /** The targets whose estimates are meant; absent where it is about the file. */
  targets?: TargetId[];
}
