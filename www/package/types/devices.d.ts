/** Devices of one's own, from what a benchmark tool printed. */
import type { BytesSource, Report, TargetId } from "./index.js";

export { LitecastError } from "./index.js";
export type { BytesSource };

/** Loads what reads profiles, once. */
export function load(): Promise<Devices>;

/**
 * Ten small networks to measure on a device, each as TFLite in float32 and in int8, and as ONNX: one for each class of
 * kernels, and a classifier that has several.
 */
export function probes(): Promise<Probe[]>;

export interface Devices {
  /**
   * A device from a model's report, with operators, and what a benchmark tool printed of that model on it. The report has
   * to be of a target that the device resembles; the default targets have processors. `targets: [{ measured_device }]` of
   * an estimator estimates on the result, and `JSON.stringify` makes the file that `litecast --device` takes. Throws
   * `other-model` where the profile is of another model.
   */
  measure(name: string, report: Report, profile: string | BytesSource, options?: MeasureOptions): Device;

  /**
   * Ids of the families of targets that a device may resemble which this tool measured, as in `targets()`; `like` is as in
   * `measure`.
   */
  baseFamilies(profile: string | BytesSource, clock_mhz?: number, like?: string): string[];

  /** A device that was stored; throws `wrong-device` for other JSON. */
  read(json: string | BytesSource): Device;

  /**
   * What to measure next on a device, first the network that narrows the intervals of all most. `reports` are of networks
   * that could be measured, with operators and an estimate on the device's base: of models of your own, whose intervals
   * count, and of `probes()`. Those that are measured are not in the list.
   */
  next(device: Device | string, reports: readonly Report[]): NextMeasurement[];

  /** The line for a shell that measures a file so that `measure` reads what it prints. */
  command(file: string, options?: CommandOptions): string;

  /** The tools that `command` knows. */
  tools(): Tool[];

  /** What follows from the measurements. */
  facts(device: Device | string): DeviceFacts;
}

/** A file to measure, TFLite or ONNX. */
export interface Probe {
  name: string;
  bytes: Uint8Array;
}

/** A network that could be measured next. */
export interface NextMeasurement {
  /** Its position among the reports. */
  network_idx: number;
  file: string;
  /** On the device as it is known, and the upper end of the interval over it. */
  estimate_ms: number;
  interval_factor: number;
  /** The geometric mean of these factors over the networks that are asked for, once this one is measured. */
  factor_of_all_after: number;
  /** As `command()` with the tool that measured last. */
  command: string;
}

/** A tool whose command is known. */
export interface Tool {
  /** In the words that devices have for it. */
  tool: string;
  /** End of the names of the `probes()` that it takes: integers where its runtime runs those alone, or mostly. */
  probes: string;
}

export interface CommandOptions {
  /** As a device names it, such as `ONNX Runtime`; without one `benchmark_model` of TensorFlow Lite and LiteRT. */
  tool?: string | undefined;
  /** Without this 1. */
  threads?: number | undefined;
  /** The accelerator that Vela compiles for. */
  target?: string | undefined;
}

export interface DeviceFacts {
  /** Mean absolute error of networks that were estimated from the others; null for one network. */
  left_out_percent: number | null;
  /** Of a call of a kernel, and of an inference beside its calls. */
  call_ms: number;
  inference_ms: number;
  /** How fast kernels of each class are: a factor on the base's cost, which is the expected one where nothing measured it. */
  kernels: { kernels: string; factor: number; is_measured: boolean }[];
}

export interface MeasureOptions {
  /** Name of the file that the tool wrote. */
  profile_name?: string | undefined;
  /** Threads of the measurement; without this 1. */
  threads?: number | undefined;
  /** Clock of a tool that prints cycles. */
  clock_mhz?: number | undefined;
  /**
   * The target that the device resembles, or the id of a family of targets, such as `phones-and-boards` for an NPU: of those,
   * and without this of processors and microcontrollers, the one that explains the measurements best.
   */
  like?: TargetId | undefined;
  /** What was measured before, to which this is added. */
  device?: Device | string | undefined;
}

/** What was measured on a device, and what follows from it. */
export interface Device {
  litecast_device: number;
  litecast_version: string;
  name: string;
  /** The target whose operators are scaled. */
  base: TargetId;
  /** In the place of the base's, what the kernels of a runtime are expected to take. */
  kernels?: "ncnn" | undefined;
  threads: number;
  networks: MeasuredNetwork[];
  fit: { parameters: number[]; covariance: number[] };
  /** For each network the logarithm of its latency over its estimate from the others; empty for one network. */
  left_out: number[];
}

export interface MeasuredNetwork {
  model: string;
  sha256: string;
  tool: string;
  profile: string;
  measured_ms: number;
  /** Milliseconds on the base by class of kernels. */
  base_ms: [string, number][];
  n_calls: number;
  observations: { operators: number[]; base_ms: [string, number][]; measured_ms: number }[];
  /** Lines of the profile that are no operator of the model, and their duration. */
  unmatched: string[];
  unmatched_ms: number;
}
