/** What one file costs, as `litecast predict --json` prints it too. Derived from the types of the Rust crate. What is
 * absent is null where its type has null. */
import type { Metric, TargetId } from "./ids.js";

/** The report of one file. */
export type Report = {
  /** Version of the report format, raised when a field changes its meaning or is removed. */
  schema_version: number;
  /** Version of this library. */
  litecast_version: string;
  /** Identifies the trained predictor. Absent where none was loaded. */
  bundle: string | null;
  /**
   * The level that intervals are made for, in percent. Whether that of a number was checked says its
   * `provenance.interval_percent`.
   */
  interval_percent: number;
  /** Name of the file, as the caller gave it. */
  file: string;
  /** SHA-256 of the file's contents, in 64 hexadecimal digits. Absent in a summary. */
  sha256: string | null;
  /** Requested batch size; 1 for the file as it is. */
  batch: number;
  /** Requested sizes of dimensions that the file leaves open. */
  dimensions?: Array<Dimension>;
  /** Requested precision of a network of floats; absent for `auto`. */
  estimate_as?: EstimateAs;
  /** Exact facts of the whole file. */
  model: ModelFacts;
  /** One result for each target and metric. */
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
  /** Operators that targets leave to a processor, whose time is in `latency` alone; absent in a summary. */
  left_out?: Array<LeftOutOf>;
  /** Diagnostics about the numbers and about what they leave out. */
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
  /** Description in the file; empty if it has none. */
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
  /**
   * What TensorFlow Lite Micro's `AllocateTensors` needs on a microcontroller. Absent where a shape is known only at
   * run time, or where the interpreter does not run an operator.
   */
  arena_bytes: number | null;
  /**
   * The part of such an arena that activations take, as the greedy planner lays them out. Absent where a shape is
   * known only at run time.
   */
  activation_bytes: number | null;
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
 * What a file is: TFLite, ONNX, ncnn's text, or a graph without weights. Nothing behind the readers depends on it but
 * what a report says.
 */
export type Format = "tflite" | "onnx" | "graph-json" | "ncnn";

/** The element types in which operators that multiply compute. */
export type Precision = "int8" | "uint8" | "int16x8" | "float32" | "float16" | "dynamic-range" | "mixed" | "none";

/** A dimension that a file leaves open, with the size that it was given. */
export type Dimension = {
  /** Its name, as a request names it. */
  name: string;
  /** Elements along it. */
  size: number;
};

/** In which precision a network of floats is estimated, whatever the format of its file. */
export type EstimateAs = "auto" | "int8" | "as-is" | (string & {});

/** Size of one subgraph. */
export type SubgraphFacts = {
  /** Name in the file. */
  name: string;
  /** Operators of the subgraph. */
  n_operators: number;
  /** Tensors of the subgraph. */
  n_tensors: number;
};

/** The result for one metric on one target. */
export type Result = {
  /** Id of the target. */
  target: TargetId;
  /** The target in words. */
  device: string;
  /** What is estimated. */
  metric: Metric;
  /** What the estimate rests on. */
  evidence?: Evidence;
  /** The precision of the estimate, where it is not that of the file. */
  estimated_as?: Precision;
  /** What the target is set to, where an estimate depends on it. */
  settings?: Settings;
} & ({
  /** The estimate; a whole number if the unit is bytes. */
  value: number;
  /**
   * The lower end of an interval around the value; absent where nothing is known of the error, and for exact
   * numbers. Its level is `provenance.interval_percent`, where that was checked.
   */
  lo?: number;
  /** The upper end of that interval. */
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
  unavailable?: undefined;
  reason?: undefined;
} | {
  /** The reason, in words. */
  unavailable: string;
  /** The reason as a stable word for programs, for example `several-inputs`. */
  reason: string;
  value?: undefined;
  lo?: undefined;
  hi?: undefined;
  unit?: undefined;
  provenance?: undefined;
  expected_error_percent?: undefined;
  operators?: undefined;
});

/**
 * What a target is set to where that can be chosen, by choice or by default: its numbers in other settings differ as much
 * as those of another network. Fields are named as those of a choice.
 */
export type Settings = {
  /** Clock in MHz. */
  clock_mhz?: number;
  /** System configuration of an Ethos-U, as Vela names it. */
  system_config?: string;
  /** Memory mode of an Ethos-U, as Vela names it. */
  memory_mode?: string;
  /** Bytes of SRAM that the compiler may fill. */
  arena_cache_bytes?: number;
  /** What Vela optimises for: `Performance` or `Size`. */
  optimise?: string;
  /** Bytes per second off the chip, where they were chosen. */
  off_chip_bytes_per_s?: number;
  /** Id of the processor that runs what the target leaves to it. */
  host?: string;
  /** Threads of a processor, at most one for each core. */
  threads?: number;
  /** Id of the device that the network took `measured_ms` on, by which this estimate was corrected. */
  measured_on?: string;
  /** Milliseconds of the network on `measured_on`. */
  measured_ms?: number;
};

/** Origin of a number. */
export type Provenance = {
  /** How the number was made. */
  kind: ProvenanceKind;
  /** The program that computed it, or the labels that it was learned from. */
  tool: string;
  /** Version of the tool. */
  version: string;
  /** Configuration of the tool, in words. */
  configuration: string;
  /** What errors of such numbers were measured against, where neither the kind nor the tool says it. */
  reference?: Reference;
  /**
   * The level of the interval in percent, where it was checked on networks that nothing was fitted to. The interval of
   * any other number promises no level.
   */
  interval_percent?: number;
  /** What of the device the number is of, where that is not all: for example `MACs and SRAM, without flash`. */
  scope?: string;
};

/** How a number was made. */
export type ProvenanceKind = "exact" | "modelled" | "compiler rules" | "learned from compiler estimate" | "learned from emulated" | "learned from measured" | (string & {});

/** What the estimates of a model were compared with. */
export type Reference = "measured" | "measured-kind-left-out" | "measured-parts" | "runtime" | "compiler" | (string & {});

/** What a number rests on, from the surest. */
export type Evidence = "counted" | "measured" | "compiler" | "assumed" | (string & {});

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
  /** Bytes of live activations while it runs. */
  live_bytes: number | null;
  /** Builtin options by their names in the schema, or null. */
  attributes: Record<string, unknown> | null;
};

/** Exact facts of one tensor. */
export type Tensor = {
  /** Position in the subgraph. */
  index: number;
  /** Name in the file. */
  name: string;
  /** Name of its element type in the schema, for example `INT8`. */
  type: string;
  /** Elements along each axis. */
  shape: Array<number>;
  /** The shape with -1 for sizes that are known only at run time; absent if all are known. */
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

/** Whether a model fits on each microcontroller board of the table. */
export type Fits = {
  /** Memory that the model and its runtime need. */
  need: Need;
  /** Memory that the application needs in addition. */
  application: Application;
  /** Boards whose memory is known, in the order of the table. */
  boards: Array<OnBoard>;
};

/** What a model needs under TensorFlow Lite Micro. */
export type Need = {
  /** The whole arena; absent where the interpreter does not run the model. */
  arena_bytes: number | null;
  /** Upper end of its interval; absent where it is not known. */
  max_arena_bytes: number | null;
  /** RAM for the stack beside the arena, an assumption. */
  stack_bytes: number;
  /**
   * The `.tflite` file, which is in flash: the file itself, or an estimate where another has to be written first,
   * because the model is of another format or precision.
   */
  file_bytes: number;
  /** Upper end of that estimate; absent for the file itself. */
  max_file_bytes?: number;
  /** Code of the interpreter and the kernels in flash, an estimate with its range. */
  code_bytes: CodeBytes;
  /**
   * Calls that register the kernels with a `MicroMutableOpResolver`, for example `AddConv2D`; none where the
   * interpreter does not run the model.
   */
  kernels: Array<string>;
  /** Operators that no kernel runs. With any, no board runs the model. */
  refused: Array<RefusedOperators>;
  /** Why the interpreter does not run the model on any board. */
  obstacle?: string;
  /** The accelerator that Vela compiled operators for: its id, or `ethos-u` where the file does not tell which. */
  accelerator?: string;
};

/** An estimate of a number of bytes with its range. */
export type CodeBytes = {
  value: number;
  lo: number;
  hi: number;
};

/** Operators of one name that no kernel runs, for one reason. */
export type RefusedOperators = {
  /** The operator's name. */
  name: string;
  /** The reason as a stable word for programs, for example `input-type`. */
  code: string;
  /** The reason in words. */
  reason: string;
  /** How many operators of all subgraphs. */
  n_operators: number;
  /** Subgraph of the first of them. */
  subgraph: number;
  /** Index of the first of them in its subgraph. */
  operator: number;
};

/** Memory that the application keeps for itself, beside the model and the runtime. */
export type Application = {
  /** RAM for its data. */
  ram_bytes: number;
  /** Flash for its code. */
  flash_bytes: number;
};

/** A model on one board. */
export type OnBoard = {
  /** Id of the board, for `--board`. */
  id: string;
  /** Name that its maker uses. */
  name: string;
  /** The microcontroller. */
  chip: string;
  /** The core that runs the model. */
  core: string;
  /** Clock of that core, in MHz. */
  clock_mhz: number | null;
  /** The neural accelerator in words, where the chip has one. */
  npu: string | null;
  /** The larger of its RAM on the chip and beside it; null in reports of earlier builds. */
  ram_bytes: number | null;
  /**
   * The largest part of the RAM on the chip without a gap in its addresses, which an arena needs; absent where it
   * is not known whether the RAM is in one piece.
   */
  contiguous_ram_bytes: number | null;
  /** The larger of its flash on the chip and beside it; null in reports of earlier builds. */
  flash_bytes: number | null;
  /** Whether the board runs the model, with room for it, its runtime and the application. */
  fits: FitVerdict;
  /** Why it does not run the model, whatever its memory. */
  reason?: string;
  /** RAM for the arena, in one piece, and the application's data; absent where the board does not run the model. */
  ram: Room | null;
  /** Flash for the file, the runtime and the application's code; absent where the board does not run the model. */
  flash: Room | null;
  /** On the core under TensorFlow Lite Micro, if the model has room. */
  latency: BoardLatency | null;
  /** Why there is no latency on a board that runs the model. */
  no_latency?: NoLatency;
};

/** Whether a model runs on a board. */
export type FitVerdict = "yes" | "close" | "no";

/** The memory that a part of the model is in. */
export type Room = {
  "room": "on-chip";
  /** Bytes that stay free. */
  left_bytes: number;
} | {
  "room": "external";
  /** Bytes that stay free. */
  left_bytes: number;
} | {
  "room": "short";
  /** Bytes that are missing in the larger of the two memories, or in the largest piece of it for an arena. */
  missing_bytes: number;
};

/** Latency of one inference on a board. */
export type BoardLatency = {
  /** The target with whose constants the latency is estimated. */
  target: string;
  /** Clock of the core, in MHz. */
  clock_mhz: number;
  /** Milliseconds. */
  value_ms: number;
  /** Lower end of its interval. */
  lo_ms: number;
  /** Upper end of its interval. */
  hi_ms: number;
  /** Whether only other boards with the same core were measured. */
  is_transferred: boolean;
  /** What it rests on: measurements of the board, or the assumption that it is as fast as those that were measured. */
  evidence: Evidence;
};

/** Why there is no latency on a board. */
export type NoLatency = {
  /** The reason, in words. */
  unavailable: string;
  /** The reason as a stable word for programs, for example `core-never-measured`. */
  reason: string;
};

/** Operators that some targets leave to a processor: all of these targets leave them, and no others, to the same one. */
export type LeftOutOf = {
  /** Ids of the targets. */
  targets: Array<TargetId>;
  /** The processor that is assumed to run them, whose time is in `latency`. */
  host?: Host;
  /** In topological order. */
  operators: Array<LeftOut>;
};

/** A processor beside an accelerator. */
export type Host = {
  /** Id, as a choice's `host` takes it. */
  id: TargetId;
  /** The hardware in words, a microcontroller with its clock. */
  device: string;
};

/** An operator that a target leaves to a processor. */
export type LeftOut = {
  /** Index into `operators`. */
  operator: number;
  /** Why, as a stable identifier for programs, kebab-case. */
  code: string;
  /** The reason in words, lower case. */
  reason: string;
};

/** A diagnostic, and what it is about. */
export type Diagnostic = {
  /** Ids of the targets whose estimates it concerns; absent if it concerns the file. */
  targets?: Array<TargetId>;
  /** How much it matters to the reader of the numbers. */
  severity: Severity;
  /** Stable identifier for programs, kebab-case, for example `dynamic-shape`. */
  code: string;
  /** One sentence for people, lower case, no full stop. */
  message: string;
  /** Index of the operator in its subgraph, if it concerns a single operator. */
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
