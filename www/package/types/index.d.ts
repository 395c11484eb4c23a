/// <reference lib="es2020" />
/// <reference lib="esnext.disposable" />
/** What a TensorFlow Lite model costs on edge hardware: `const litecast = await load();` */
import type { Metric, TargetId } from "./ids.js";
import type { Application, Diagnostic, Evidence, Fits, Host, LeftOut, ModelFacts, Provenance, Report, Settings, Summary } from "./report.js";

export type { Metric, TargetId } from "./ids.js";
export type * from "./report.js";

/**
 * Loads the module that travels in this package, or the one that is given. Nothing happens before this call, and no
 * other machine is asked. The module is instantiated once: later calls share its memory.
 *
 * Rejects with a {@link LitecastError}: `asset` for a file that is not what was expected, `wasm` for a module that
 * cannot be run here, `wrong-argument`. A predictor of another version is refused by the first estimate.
 */
export function load(options?: LoadOptions): Promise<LiteCast>;

export interface LoadOptions {
  /** The WebAssembly module, as a file or compiled, where the copy in the package cannot be used. */
  wasm?: FileSource | CompiledModule | PromiseLike<FileSource | CompiledModule> | undefined;
  /** A predictor of one's own, which reports then name; no target of this version asks one. Null is none, as by default. */
  predictor?: PredictorSource | null | undefined;
}

/** A trained bundle, as LiteCast's trainer exports it. */
export interface PredictorSource {
  /** `predictor.onnx`. */
  network: FileSource | PromiseLike<FileSource>;
  /** `manifest.json`: a file, its text, or what `JSON.parse` makes of it. */
  manifest: FileSource | object | PromiseLike<FileSource | object>;
}

/** A URL (where there are files a path, too), what `fetch` resolves to, or bytes. */
export type FileSource = string | UrlLike | ResponseLike | BytesSource;

export type BytesSource = ArrayBufferLike | ArrayBufferView;

/** A `URL`. */
export interface UrlLike {
  readonly href: string;
}

/** A `Response`. */
export interface ResponseLike {
  readonly url?: string;
  readonly ok?: boolean;
  readonly status?: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A `WebAssembly.Module`. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface CompiledModule {}

/** Every method throws a {@link LitecastError}. */
export interface LiteCast {
  /** Of this package. */
  readonly version: string;
  /** Memory that the module holds; it grows with the largest call, and never shrinks. */
  readonly memory_bytes: number;

  /** Everything there is to say about a `.tflite` file, or about a graph without weights. */
  estimate(model: BytesSource | Graph, options: EstimateOptions & { detail: "summary" }): Summary;
  estimate(model: BytesSource | Graph, options?: EstimateOptions): Report;

  /**
   * As `estimate` of each model, in their order. Where a model has no report, what `estimate` throws stands in its
   * place.
   */
  estimateMany(models: Iterable<BytesSource | Graph | ModelFile>, options: EstimateOptions & { detail: "summary" }): (Summary | LitecastError)[];
  estimateMany(models: Iterable<BytesSource | Graph | ModelFile>, options?: EstimateOptions): (Report | LitecastError)[];

  /** As `estimate`, without the predictor that `load` was given. */
  analyze(model: BytesSource | Graph, options: EstimateOptions & { detail: "summary" }): Summary;
  analyze(model: BytesSource | Graph, options?: EstimateOptions): Report;

  /**
   * As `estimate`, of the network that `changes` make of the model: every shape follows by the rules of its operator,
   * and weights of another shape take values of the old ones. Throws `resize` where an operator is not known to follow,
   * and `not-float` where there is nothing to quantise.
   */
  estimateChanged(model: BytesSource | Graph, changes: Changes, options: EstimateOptions & { detail: "summary" }): Summary;
  estimateChanged(model: BytesSource | Graph, changes: Changes, options?: EstimateOptions): Report;

  /** The operators of the changed network that each of `options.targets` leaves to a processor. */
  leftOut(model: BytesSource | Graph, changes: Changes, options: EstimateOptions): LeftOut[][];

  /** The Ethos-U that `targets` may name, and the sections of a `vela.ini`, or else those that Vela knows. */
  accelerators(vela_ini?: string): Accelerators;

  /** Clock and SRAM that a target has, by its own options or by default. */
  inForce(target: TargetId | TargetChoice): InForce;

  /** What differs between two reports, for example of two versions of a model. */
  compare(before: Summary, after: Summary): Comparison;

  /**
   * Fits a device of one's own to at least three measured networks. What it returns is a plain object:
   * `JSON.stringify` keeps it, `calibrated` takes it back.
   */
  calibrate(measurements: Iterable<Measurement>): Calibration;

  /** The latency of a network on a calibrated device. */
  calibrated(calibration: Calibration, network: Summary | Partial<Record<TargetId, number>>): Calibrated;

  /** What can be estimated on: first the targets of every report, then those that `targets` may name. */
  targets(): TargetInfo[];

  /** Ids of the targets of every report, of those too whose numbers are counted and not estimated. */
  defaultTargets(): TargetId[];

  /** Boards with their memories, clocks and sources. */
  boards(): Boards;

  /** `fits` of a report for another application, from its `need`: where there is room, without latencies. */
  fits(need: Fits["need"], application: Application): Fits;

  /**
   * From then on `targets` may name GPUs. `constants` are the contents of the project's `bundle/gpu.json`, which does
   * not travel in this package. What is estimated for each; throws `gpu-constants` for a file of another version.
   */
  loadGpus(constants: BytesSource): TargetInfo[];

  /**
   * As `loadGpus` for phones and NPU boards, with the contents of `bundle/accelerators.json`; throws
   * `accelerator-constants` for a file of another version.
   */
  loadAccelerators(constants: BytesSource): TargetInfo[];

  /**
   * Every Ethos-U in its default configuration for the network that `changes` make of the model, and the smallest that
   * meets `limits`. `options` may say `dimensions`. Throws `no-estimate` where none of them runs it.
   */
  sweep(model: BytesSource | Graph, limits: Limits, changes?: Changes, options?: EstimateOptions): Sweep;

  /**
   * Time and memory by batch on a GPU that was loaded; null where nothing like the model was measured there. `options` may
   * say `dimensions`.
   */
  sweepBatch(model: BytesSource | Graph, target: TargetId, changes?: Changes, options?: EstimateOptions): BatchSweep | null;

  /** Frees the predictor. Every later call throws the kind `disposed`. */
  dispose(): void;
  [Symbol.dispose](): void;
}

export interface EstimateOptions {
  /** Reported as `file`. */
  name?: string | undefined;
  /** Inputs at a time, at least 1, which it is by default. */
  batch?: number | undefined;
  /** Threads on processors, at least 1, which it is by default; a board with fewer cores takes as many as it has. */
  threads?: number | undefined;
  /**
   * Sizes of dimensions that the file leaves open, by name: those of an ONNX file have names there (`{ sequence: 128 }`), and
   * those of a TFLite file that of the input, or its number, with the dimension's number behind a point (`{ "0.1": 320 }`).
   * A name that the file does not leave open is refused (`unmatched-dimension`); of the models of `estimateMany`, some may
   * not have it, and their reports say so.
   */
  dimensions?: Readonly<Record<string, number>> | undefined;
  /** Memory that an application on a microcontroller keeps for itself, for `fits` of the report. */
  application?: Partial<Application> | undefined;
  /**
   * Estimate on these alone, at most 512. Fewer targets take less time.
   */
  targets?: readonly (TargetId | TargetChoice)[] | undefined;
  /**
   * Of a network of floats: `auto` is int8 on NPUs that run integers alone and its own elsewhere; `int8` and `as-is` (its own)
   * hold on every target.
   */
  precision?: "auto" | "int8" | "as-is" | undefined;
  /** `summary` leaves out what describes single operators, for a search. */
  detail?: "full" | "summary" | undefined;
}

/** A network that is built differently. What is absent stays. */
export interface Changes {
  /** Factor on height and width of the inputs, 1/16 to 4. */
  resolution?: number;
  /** Factor on the channels of hidden layers, 1/16 to 4. */
  width?: number;
  /** Layers with `from` channels have `to` instead. */
  channels?: { from: number; to: number };
  /** Quantise a float network. */
  int8?: boolean;
  /** Run the operators in the order with the lowest peak of live activations that is found. */
  low_memory_order?: boolean;
}

export interface InForce {
  /** Of a microcontroller or an Ethos-U; null for others, whose clock cannot be chosen. */
  clock_mhz: number | null;
  /** SRAM that Vela may fill; null for others than an Ethos-U. */
  arena_cache_bytes: number | null;
}

export interface Accelerators {
  /** With sections, clock and SRAM (null for all that it addresses) of their default configuration. */
  npus: { id: string; device: string; system_config: string; memory_mode: string; clock_mhz: number; arena_cache_bytes: number | null }[];
  system_configs: { name: string; clock_mhz: number }[];
  memory_modes: string[];
  /** Processors that can run what an Ethos-U leaves to them. */
  hosts: Host[];
}

/** What is asked of an accelerator; the upper end of an interval is held against it. */
export interface Limits {
  /** Most time of an inference. */
  latency_ms?: number | undefined;
  /** Most SRAM in use at a time. */
  sram_bytes?: number | undefined;
  /** Highest clock, 1,000 MHz by default. */
  clock_mhz?: number | undefined;
}

/** One network on every Ethos-U. */
export interface Sweep {
  limits: { latency_ms: number | null; sram_bytes: number | null; clock_mhz: number };
  /** By multiply-accumulates per cycle. */
  points: SweepPoint[];
  /** Index of the first of `points` that meets the limits; null where none does. */
  smallest: number | null;
  /** Warnings about the estimates, each with its targets; absent where there are none. */
  doubts?: Diagnostic[];
}

export interface SweepPoint {
  target: TargetId;
  device: string;
  macs_per_cycle: number;
  /** Of the estimates. */
  clock_mhz: number;
  /** Of the whole network. */
  latency_ms: Interval;
  /** The part of it that the accelerator runs, which alone changes with the clock; absent where that is all. */
  npu_latency_ms?: Interval;
  /** Null where it is not estimated. */
  sram_bytes: Interval | null;
  /** Clock from which the latency is met. Null where no latency is asked for, and where the processor alone takes longer. */
  needed_mhz: number | null;
  /** Whether both limits are met at some clock up to the highest. */
  meets: boolean;
}

/** An estimate and its interval, without ends where it has none. */
export interface Interval {
  value: number;
  lo: number | null;
  hi: number | null;
  /** What it rests on. */
  evidence?: Evidence;
}

/** One network on one GPU by batch. */
export interface BatchSweep {
  target: TargetId;
  /** Of the GPU. */
  memory_bytes: number;
  /** Doubled from 1 to 1,024. */
  points: BatchPoint[];
  /** The smallest of `points` with 90 % of the best throughput. */
  knee_batch: number;
  /** The largest batches that fit memories of other sizes, by the modelled count; 0 where one input does not. */
  fits: {
    memory_gib: number;
    inference_batch: number;
    /** With Adam. */
    training_batch: number;
    /** With stochastic gradient descent and momentum. */
    sgd_batch: number;
  }[];
  /** What the latencies rest on where the GPU and not its host sets the pace. */
  evidence: Evidence;
  /** Mean error of these latencies, each with its family of networks left out of the fit; absent where none was measured. */
  expected_error_percent?: number;
  /** Doubts about the latencies of batch size 1. */
  diagnostics: Diagnostic[];
  /** GPUs that Multi-Instance GPU slices, in the order of `slices` of a point. */
  sliced_gpus: string[];
}

export interface BatchPoint {
  batch: number;
  latency_ms: number;
  latency_lo_ms: number;
  latency_hi_ms: number;
  /** Whether the time is that of the host, which nobody measured, and not of the GPU. */
  is_launch_bound: boolean;
  /** Inferences a second. */
  throughput: number;
  memory_bytes: number;
  /** Absent where no training was measured on the GPU. */
  training_step_ms?: number;
  /** With Adam. */
  training_memory_bytes: number;
  /** With stochastic gradient descent and momentum. */
  sgd_memory_bytes: number;
  /** Whether inference fits the GPU. */
  fits: boolean;
  /** The smallest slice of each GPU that holds inference; null where the whole GPU is too small. */
  slices: (string | null)[];
}

/** A target in a configuration of one's own, as the command's options of the same names. */
export type TargetChoice = ChosenTarget | ChosenBoard | ChosenDevice;

export interface ChosenTarget {
  target: TargetId;
  board?: undefined;
  measured_device?: undefined;
  runtime?: undefined;
  /** Release of ST Edge AI on an STM32: `7`, `8`, `9`, `10`, or `10-time` with its option `-O time`; `target` may name it as well, behind an `@`. */
  release?: string | undefined;
  /** System configuration of an Ethos-U, as Vela names it. */
  system_config?: string | undefined;
  /** Memory mode of an Ethos-U, as Vela names it. */
  memory_mode?: string | undefined;
  /** SRAM in bytes that Vela may fill where an Ethos-U has an SRAM of its own. */
  arena_cache_bytes?: number | undefined;
  /** Vela's optimiser: `Performance`, which it is without this, or `Size` for as little SRAM as possible. */
  optimise?: "Performance" | "Size" | undefined;
  /** Contents of a `vela.ini` with both sections, instead of those that Vela 5.2.0 knows. */
  vela_ini?: string | undefined;
  /** Clock of a microcontroller or an Ethos-U, in MHz, instead of its own. */
  clock_mhz?: number | undefined;
  /** Bandwidth of an Ethos-U's memory outside the chip; without it the memory keeps pace with the clock, as Vela has it. */
  off_chip_bytes_per_s?: number | undefined;
  /** Processor that runs what an Ethos-U leaves to it: a Cortex-A target, or a microcontroller under TensorFlow Lite Micro. */
  host?: string | undefined;
  /** Of devices of Qualcomm: another one that the network was measured on, by which this one is estimated. */
  measured_on?: TargetId | undefined;
  /** What the network took on `measured_on`, in milliseconds. */
  measured_ms?: number | undefined;
  /** Id and words that the report has for it, instead of its own. */
  name?: string | undefined;
  device?: string | undefined;
}

/** The NPU of a board of {@link Boards.npus}. */
export interface ChosenBoard {
  board: string;
  /** Runtime on the core: `tflite-micro` or `st-edge-ai`; without it the one that the board's published latencies are of. */
  runtime?: string | undefined;
  /** Release of ST Edge AI, as of a {@link ChosenTarget}. */
  release?: string | undefined;
  target?: undefined;
  measured_device?: undefined;
  system_config?: undefined;
  memory_mode?: undefined;
  optimise?: undefined;
  vela_ini?: undefined;
  arena_cache_bytes?: number | undefined;
  clock_mhz?: number | undefined;
  off_chip_bytes_per_s?: number | undefined;
  host?: string | undefined;
  measured_on?: undefined;
  measured_ms?: undefined;
  name?: string | undefined;
  device?: string | undefined;
}

/**
 * A device of one's own: what `measure` of `litecast/devices` or `litecast calibrate` made, or its text. It was measured in one
 * configuration: other options than `name` and `device` are refused.
 */
export interface ChosenDevice extends Omit<ChosenTarget, "target" | "measured_device"> {
  measured_device: object | string;
  target?: undefined;
}

export interface ModelFile {
  bytes: BytesSource | Graph;
  name?: string | undefined;
  batch?: number | undefined;
  threads?: number | undefined;
  dimensions?: Readonly<Record<string, number>> | undefined;
  /** SHA-256 of `bytes` in 64 hexadecimal digits, to report, where it is known; otherwise it is computed. */
  sha256?: string | undefined;
}

/**
 * A network without the values of its weights, for a search: operators, shapes, types and attributes, by TFLite's
 * names. The project's `docs/guide/graph-json.md` lists every field, attribute and default.
 */
export interface Graph {
  format: "litecast-graph";
  version: 1;
  name?: string | undefined;
  /** Names of tensors. */
  inputs: readonly string[];
  outputs: readonly string[];
  tensors: readonly GraphTensor[];
  operators: readonly GraphOperator[];
}

export interface GraphTensor {
  /** Unique in the graph. */
  name: string;
  /** Images NHWC, filters of convolutions `[out, h, w, in]`, of depthwise ones `[1, h, w, out]`. */
  shape: readonly number[];
  type: "int8" | "int16" | "int32" | "int64" | "uint8" | "float32" | "float16" | "bool" | (string & {});
  /** Whether the file that the graph describes holds its values. */
  constant?: boolean | undefined;
  /** Share of zeros among int8 weights, from 0 to 1. */
  zero_share?: number | undefined;
  /** Entropy of int8 weights in bits a value, from 0 to 8. */
  entropy_bits?: number | undefined;
  /** Contents of a constant that says how an operator works, at most 64 numbers. */
  values?: readonly number[] | undefined;
  scale?: number | undefined;
  zero_point?: number | undefined;
  variable?: boolean | undefined;
}

export interface GraphOperator {
  /** Of TFLite's `BuiltinOperator`, for example `CONV_2D`, or a name of one's own. */
  kind: string;
  /** Names of tensors in TFLite's order; null for an optional input that is left out. */
  inputs: readonly (string | null)[];
  outputs: readonly string[];
  attributes?: Readonly<Record<string, unknown>> | undefined;
  /** Multiply-accumulates of one inference, for kinds that TFLite does not have. */
  macs?: number | undefined;
}

/** Targets that belong together in lists. */
export interface Family {
  id: string;
  /** Heading of its list. */
  label: string;
  /** Below the heading of a list that is closed until a reader opens it; null where the targets stand in the list of all. */
  group: string | null;
  /** Whether the hardware runs a network beside a processor that could run it as well. */
  is_accelerator: boolean;
}

/** What a target is, apart from what it estimates. */
export interface TargetDescription {
  family: Family;
  /** In few words, for narrow places. */
  short_label: string;
  /** The program that runs or compiles a network for it. */
  runtime: string;
  /** Release of that program; empty where the sources are of several or name none. */
  release: string;
  /** Releases that can be chosen behind an `@` of its id, from the oldest; absent where there is no choice. */
  releases?: readonly string[] | undefined;
  /** The runtime in each of them, in words. */
  release_words?: readonly string[] | undefined;
  /** What people type for it beside the words of its device. */
  aliases: readonly string[];
  /** What may be chosen of it. */
  options: readonly ("threads" | "clock" | "memories" | "host" | "batch" | "measured-elsewhere")[];
  /** Advice that can be computed for it. */
  advice: readonly ("resident-weights" | "larger-sram" | "smaller-accelerator")[];
  /** Channels that the multipliers compute or the memory stores together. */
  channel_step: number | null;
  /** Most threads that can be chosen; absent where there is no choice. */
  max_threads?: number;
}

/** A metric in words. */
export interface MetricWords {
  unit: string;
  label: string;
  meaning: string;
}

/** A target and what is estimated for it. */
export interface TargetInfo {
  id: TargetId;
  description: TargetDescription;
  /** Whether reports are of it where `targets` says nothing else. */
  is_default: boolean;
  /** The hardware in words. */
  device: string;
  metrics: MetricInfo[];
  /** Tool, version and configuration whose numbers were learned, or what a model was fitted to. */
  learned_from: string;
  /** Of the first metric. */
  provenance: Provenance;
}

export interface MetricInfo {
  metric: Metric;
  unit: string;
  /** Mean absolute error in percent on networks held out of training or fit; null where not measured. */
  expected_error_percent: number | null;
}

export interface Boards {
  microcontrollers: MicrocontrollerBoard[];
  /** Their `id` may stand in {@link ChosenBoard}. */
  npus: NpuBoard[];
}

export interface MicrocontrollerBoard {
  id: string;
  name: string;
  chip: string;
  core: string;
  clock_mhz: number;
  sram_kib: number;
  /** The largest part of it without a gap in its addresses, which an arena needs; absent where no source states it. */
  contiguous_ram_kib?: number;
  tcm_kib: number;
  flash_kib: number;
  external_ram_kib: number;
  /** On a parallel bus, or on a serial one of four or eight lines. */
  external_ram?: "sdram" | "psram";
  external_flash_kib: number;
  /** Cache through which the core reads external flash, where a document states it. */
  flash_cache_kib?: number;
  npu?: string;
  /** The target that estimates latencies with its core, where one was measured. */
  latency?: { target: TargetId; is_transferred: boolean };
  source: string;
  /** The memory map that `contiguous_ram_kib` is from. */
  contiguous_ram_source?: string;
}

export interface NpuBoard {
  id: string;
  name: string;
  npu: TargetId;
  npu_clock_mhz: number;
  host: string;
  host_clock_mhz: number | null;
  sram_bytes: number | null;
  source: string;
}

/** One network on a device of one's own. */
export type Measurement = { measured_ms: number } & (
  | { /** Estimated latencies by target id, in ms. */ estimates_ms: Partial<Record<TargetId, number>>; report?: undefined }
  | { /** Of the same network. */ report: Summary; estimates_ms?: undefined }
);

/** What a device's latencies follow from: a line between logarithms of latencies. */
export interface Calibration {
  /** The known target whose estimates, scaled, come closest to the measurements. */
  target: TargetId;
  center: number;
  intercept: number;
  slope: number;
  n_measurements: number;
  /** Mean absolute error of each measurement, estimated from the others, in percent. */
  left_out_percent: number;
  /** The largest factor between the two. */
  left_out_worst_factor: number;
}

/** The latency of one network on a device of one's own. */
export interface Calibrated {
  latency_ms: number;
  /** Ends of an interval that is as wide as the worst of the measurements, each estimated from the others. */
  lo_ms: number;
  hi_ms: number;
  target: TargetId;
  n_measurements: number;
  left_out_percent: number;
}

export interface Change {
  /** Null where it is not known. */
  before: number | null;
  after: number | null;
  /** `after` less `before`. */
  difference: number | null;
  /** Of `before`; null where that is 0 or not known. */
  change_percent: number | null;
}

export type FactName = keyof Pick<ModelFacts, "file_bytes" | "macs" | "parameters" | "weight_bytes" | "arena_bytes" | "activation_bytes" | "n_operators">;

export interface FactChange extends Change {
  fact: FactName;
  unit: string;
}

export interface ResultChange extends Change {
  target: TargetId;
  device: string;
  metric: Metric;
  /** Null where neither has an estimate. */
  unit: string | null;
  /** Whether the two intervals share a point, so that the order of the values is not sure; null without intervals. */
  is_within_intervals: boolean | null;
  /** Why a side has no estimate, in words. */
  unavailable_before?: string;
  unavailable_after?: string;
  /** What each number rests on. */
  evidence_before?: Evidence;
  evidence_after?: Evidence;
  /** The precision that a side is estimated in, where it is not that of its file. */
  estimated_as_before?: string;
  estimated_as_after?: string;
  /** What the target is set to on each side, where that differs. A report of an older version does not say it. */
  settings_before?: Settings;
  settings_after?: Settings;
}

/** What `litecast compare --json` prints, too. */
export interface Comparison {
  before: string;
  after: string;
  facts: FactChange[];
  results: ResultChange[];
}

/** Stable words; those of a file that cannot be read are the reader's, for example `truncated`. */
export type LitecastErrorKind =
  | "wrong-argument"
  | "asset"
  | "wasm"
  | "predictor-manifest"
  | "predictor-feature-schema"
  | "predictor-network"
  | "unknown-target"
  | "unknown-board"
  | "configuration"
  | "truncated"
  | "batch"
  | "unknown-dimension"
  | "unmatched-dimension"
  | "cycle"
  | "limit-exceeded"
  | "too-large"
  | "too-few-measurements"
  | "no-common-target"
  | "no-estimate"
  | "disposed"
  | "worker"
  | "internal"
  | (string & {});

/** What every function of this package throws. */
export class LitecastError extends Error {
  readonly name: "LitecastError";
  readonly kind: LitecastErrorKind;
  /** Of the kind `unknown-dimension`: names of the dimensions that the option `dimensions` has to give. */
  readonly dimensions: readonly string[];
  /** Of a model of `estimateMany`: its name. */
  readonly file?: string | undefined;
  constructor(kind: LitecastErrorKind, message: string, cause?: unknown, dimensions?: readonly string[], file?: string);
}

