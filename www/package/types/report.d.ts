/** What one file costs, as `litecast predict --json` prints it too. Derived from the types of the Rust crate. What is
 * absent is null where its type has null. */
import type { Metric, TargetId } from "./ids.js";

/** Everything there is to say about one file. */
export type Report = {
  /** Version of the format of reports, raised when a field changes its meaning or goes away. */
  schema_version: number;
  /** Version of this library. */
  litecast_version: string;
  /** Identifies the trained predictor. Absent where none was loaded. */
  bundle: string | null;
  /** Share of labels that each interval was made to hold, in percent. */
  interval_percent: number;
  /** Name of the file, as the caller gave it. */
  file: string;
  /** Of the file's contents: 64 hexadecimal digits. Absent in a summary. */
  sha256: string | null;
  /** Inputs at a time that were asked for; 1 for the file as it is. */
  batch: number;
  /** What is exact of the whole file. */
  model: ModelFacts;
  /** One for each target and metric. */
  results: Array<Result>;
  /** Operators of the main subgraph in topological order. */
  operators: Array<Operator>;
  /** Tensors of the main subgraph by index. */
  tensors: Array<Tensor>;
  /** Tensors of the main subgraph that one operator writes and another reads. */
  edges: Array<Edge>;
  /**
   * On which microcontroller boards the file has room under TensorFlow Lite Micro; absent where it does
   * not tell how much memory it needs.
   */
  fits: Fits | null;
  /** Operators that targets leave to a processor, whose time is in none of their estimates; absent in a summary. */
  left_out?: Array<LeftOutOf>;
  /** Doubts about the numbers, and what was left out of them. */
  diagnostics: Array<Diagnostic>;
};

/** Exact facts of the whole model. */
export type ModelFacts = {
  /** Size of the file. */
  file_bytes: number;
  /** What the file is. */
  format: Format;
  /** Version of the format: 3 for TFLite. */
  schema_version: number;
  /** As the file has it; empty where it has none. */
  description: string;
  /** Element types of its operators. */
  precision: Precision;
  /** Subgraphs of the file. */
  n_subgraphs: number;
  /** Operators of the main subgraph. */
  n_operators: number;
  /** Tensors of the main subgraph. */
  n_tensors: number;
  /** Multiply-accumulates of one inference. */
  macs: number;
  /** Elements of constant tensors that operators multiply or add. */
  parameters: number;
  /** Bytes of those constants in the file. */
  weight_bytes: number;
  /** Absent where a shape is known only at run time. */
  arena_bytes: number | null;
  /** Index into `operators` at which the most activation bytes are alive. */
  peak_operator: number | null;
  /** Indices into `tensors`. */
  inputs: Array<number>;
  /** Indices into `tensors`. */
  outputs: Array<number>;
  /** Names of the signatures of the file. */
  signatures: Array<string>;
  /** All subgraphs, the main one first. */
  subgraphs: Array<SubgraphFacts>;
};

/**
 * What a file is: TFLite, ONNX, or a graph without weights. Nothing behind the readers depends on it but
 * what a report says.
 */
export type Format = "tflite" | "onnx" | "graph-json";

/** What the operators that multiply compute in. */
export type Precision = "int8" | "uint8" | "int16x8" | "float32" | "float16" | "dynamic-range" | "mixed" | "none";

/** Size of one subgraph. */
export type SubgraphFacts = {
  /** As the file has it. */
  name: string;
  /** Operators of the subgraph. */
  n_operators: number;
  /** Tensors of the subgraph. */
  n_tensors: number;
};

/** One metric on one target. */
export type Result = {
  /** Id of the target. */
  target: TargetId;
  /** The target in words. */
  device: string;
  /** What is estimated. */
  metric: Metric;
} & ({
  /** A whole number where the unit is bytes. */
  value: number;
  /**
   * The lower end of an interval that was made to hold 90 % of labels; absent where nothing
   * is known of the error, and for exact numbers.
   */
  lo?: number;
  /** The upper end. */
  hi?: number;
  unit: string;
  provenance: Provenance;
  /**
   * Mean absolute percentage error on graphs held out of training or fit, single errors above
   * 100 % counted as that; where it was measured.
   */
  expected_error_percent?: number;
  /**
   * The part of each node of the graph, in the same unit: parts of a latency or a traffic add up
   * to the value, the largest of a peak is the value. Absent where the estimate is of the whole
   * graph only.
   */
  operators?: Array<number>;
} | {
  /** Why, in words. */
  unavailable: string;
  /** The same as a stable word for programs, for example `several-inputs`. */
  reason: string;
});

/** Origin of a number. */
export type Provenance = {
  /** How the number was made. */
  kind: ProvenanceKind;
  /** The program that gave it, or the labels that it was learned from. */
  tool: string;
  /** Version of the tool. */
  version: string;
  /** What the tool was set to, in words. */
  configuration: string;
  /** What errors of such numbers were measured against, where neither the kind nor the tool says it. */
  reference?: Reference;
};

/** How a number was made. */
export type ProvenanceKind = "exact" | "modelled" | "compiler rules" | "learned from compiler estimate" | "learned from emulated" | "learned from measured" | (string & {});

/** What the estimates of a model were compared with. */
export type Reference = "measured" | "measured-kind-left-out" | (string & {});

/** Exact facts of one operator. */
export type Operator = {
  /** Position in topological order. */
  index: number;
  /** Position in the file. */
  operator_idx: number;
  /** `BuiltinOperator` name, or the custom operator's own. */
  name: string;
  /** Whether the operator is not one of TFLite. */
  custom: boolean;
  /** Indices into `tensors`; absent for an optional input that is left out. */
  inputs: Array<number | null>;
  /** Indices into `tensors`. */
  outputs: Array<number>;
  /** Multiply-accumulates of one inference. */
  macs: number;
  /** Elements of its constant inputs that it multiplies or adds. */
  parameters: number;
  /** Bytes of those constants in the file. */
  weight_bytes: number;
  /** Bytes of the activations that it reads. */
  input_bytes: number;
  /** Bytes of the activations that it writes. */
  output_bytes: number;
  /** Activation bytes alive while it runs. */
  live_bytes: number | null;
  /** Builtin options by their names in the schema, or null. */
  attributes: Record<string, unknown> | null;
};

/** Exact facts of one tensor. */
export type Tensor = {
  /** Position in the subgraph. */
  index: number;
  /** As the file has it. */
  name: string;
  /** Name of its element type in the schema, for example `INT8`. */
  type: string;
  /** Elements along each axis. */
  shape: Array<number>;
  /** The same with -1 where the size is known only at run time; absent where all are known. */
  shape_signature: Array<number> | null;
  /** Bytes of its contents; absent for strings and resources. */
  bytes: number | null;
  /** Whether the file has its values. */
  constant: boolean;
  /** Whether it keeps its values from one inference to the next. */
  variable: boolean;
  /** Absent for a tensor without scales. */
  quantization: Quantization | null;
};

/** The first scale and zero point (at most one of each), and how many channels have their own. */
export type Quantization = {
  /** At most one; null where the file has no finite number. */
  scale: Array<number>;
  /** At most one. */
  zero_point: Array<number>;
  /** Number of channels with a scale of their own. */
  per_channel: number | null;
};

/**
 * A tensor between two operators, as indices into `operators` and
 * `tensors`.
 */
export type Edge = {
  /** The operator that writes the tensor. */
  src: number;
  /** The operator that reads it. */
  dst: number;
  /** The tensor. */
  tensor: number;
};

/** A model on every microcontroller board of the table. */
export type Fits = {
  /** Of the model and its runtime. */
  need: Need;
  /** What the application keeps beside that. */
  application: Application;
  /** In the order of the table, those whose memory is known. */
  boards: Array<OnBoard>;
};

/** Memory that a model needs under TensorFlow Lite Micro. */
export type Need = {
  /** The whole arena. */
  arena_bytes: number;
  /** The file, which lies in flash. */
  file_bytes: number;
  /** Code of the interpreter and the kernels in flash, an estimate with its range. */
  code_bytes: CodeBytes;
};

/** An estimate of a number of bytes with its range. */
export type CodeBytes = {
  value: number;
  lo: number;
  hi: number;
};

/** Memory that the application keeps for itself, beside the model and the runtime. */
export type Application = {
  /** Its data. */
  ram_bytes: number;
  /** Its code. */
  flash_bytes: number;
};

/** A model on one board. */
export type OnBoard = {
  /** Its id, for `--board`. */
  id: string;
  /** As its maker calls it. */
  name: string;
  /** The microcontroller. */
  chip: string;
  /** The core that runs the model. */
  core: string;
  /** Of that core. */
  clock_mhz: number | null;
  /** The neural accelerator in words, where the chip has one. */
  npu: string | null;
  /** Whether there is room for all of it. */
  fits: FitVerdict;
  /** Of the arena and the application's data. */
  ram: Room;
  /** Of the file, the runtime and the application's code. */
  flash: Room;
  /**
   * On the core or, for an STM32N6, on its NPU; absent where nobody measured its core, or for a model
   * that is not modelled.
   */
  latency: BoardLatency | null;
};

/** Whether a model has room on a board. */
export type FitVerdict = "yes" | "close" | "no";

/** Where a part of the model lies. */
export type Room = {
  "room": "on-chip";
  /** Free beside it. */
  left_bytes: number;
} | {
  "room": "external";
  /** Free beside it. */
  left_bytes: number;
} | {
  "room": "short";
  /** More than the larger of the two memories has. */
  missing_bytes: number;
};

/** Latency of one inference on a board. */
export type BoardLatency = {
  /** The target whose constants it comes from. */
  target: string;
  /** Of the core. */
  clock_mhz: number;
  /** Milliseconds. */
  value_ms: number;
  /** Ends of the interval of 90 %. */
  lo_ms: number;
  /** As `lo_ms`. */
  hi_ms: number;
  /** Whether it was measured on other boards with the same core alone. */
  is_transferred: boolean;
};

/** Operators that some targets leave to a processor: all of these targets leave them, and no others. */
export type LeftOutOf = {
  /** Ids of the targets. */
  targets: Array<TargetId>;
  /** In topological order. */
  operators: Array<LeftOut>;
};

/** An operator that a target leaves to a processor. */
export type LeftOut = {
  /** Index into `operators`. */
  operator: number;
  /** Why, as a stable identifier for programs, kebab-case. */
  code: string;
  /** The same in words, lower case. */
  reason: string;
};

/** A diagnostic, and what it is about. */
export type Diagnostic = {
  /** Ids of the targets whose estimates are meant; absent where the doubt is about the file. */
  targets?: Array<TargetId>;
  /** Whether numbers are in doubt. */
  severity: Severity;
  /** Stable identifier for programs, kebab-case, for example `dynamic-shape`. */
  code: string;
  /** One sentence for people, lower case, no full stop. */
  message: string;
  /** Index of the operator in its subgraph, where one operator is meant. */
  operator_idx?: number;
};

/** How much a `Diagnostic` matters to the reader of the numbers. */
export type Severity = "info" | "warning";

/** A result with an estimate. */
export type Estimate = Extract<Result, { value: number }>;

/** A result without one. */
export type Unavailable = Exclude<Result, Estimate>;

/** What a result is of. */
export type ResultOf = Pick<Result, "target" | "device" | "metric">;

/** A report of `detail: "summary"`: without what describes single operators. */
export type Summary = Omit<Report, "operators" | "tensors" | "edges" | "fits" | "left_out">;
