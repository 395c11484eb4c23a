/** Messages between the page and its workers. */
import type { Device, DeviceFacts, NextMeasurement, Tool } from "../package/types/devices.d.ts";
import type { Layout, LayoutInput } from "./layout/types.ts";
import type { ListPart } from "./list_parts.ts";
import type { Application, BatchSweep, Calibrated, Fits, InForce, Limits, Measurement, Report, Sweep, TargetChoice, TargetChoices, TargetInfo } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import type { LoadedGroup } from "./targets.ts";

/** A call to a worker. Replies have its `id`. */
export interface Request<Call> {
  id: number;
  /** Of the build that asks: a server may have another one since, whose messages are others. */
  version: string;
  call: Call;
}

/** The page has lost interest in a request that has not begun. */
export interface Abort {
  abort: number;
}

/** `progress` is the part that is done, 0 to 1, and `part` some of a list that is empty in the answer; an answer follows. */
export type Reply<Value> = { id: number; value: Value } | { id: number; error: Failure } | { id: number; progress: number } | { id: number; part: ListPart };

/** An error that has crossed a thread: a stable kind for programs, words for people. */
export interface Failure {
  kind: string;
  message: string;
  /** Whose sizes have to be given, of the kind `unknown-dimension`. */
  dimensions?: readonly string[];
}

/** What the estimator's worker says when it is ready. */
export interface Started {
  /** Of every report. */
  targets: TargetInfo[];
  /** Of those that ask for them. */
  others: TargetInfo[];
}

/** Loads the engine. */
export interface StartCall {
  kind: "start";
  module: WebAssembly.Module;
}

/** A file that the worker reads itself: it then waits neither for the page's thread nor for a copy. */
export interface FileToRead {
  file: File;
  /** A file keeps its number; its copies in workers are other objects. */
  number: number;
}

/** An estimate that nobody asked for; null once a file has been opened. */
export interface WarmUpCall {
  kind: "warm-up";
  bytes: ArrayBuffer;
}

/** Answered once the report of this key is kept in the browser's database: with the SHA-256 of its file, or null where the report has it. */
export interface KeptCall {
  kind: "kept";
  key: string;
}

/** Soon an estimate may be asked of this file. */
export interface ReadAheadCall {
  kind: "read-ahead";
  model: FileToRead;
}

/** Estimates one file. */
export interface EstimateCall {
  kind: "estimate";
  file: string;
  scenario: Scenario;
  /** Ids of registered targets; all without them. */
  targets?: readonly string[];
  more_targets: readonly TargetChoice[];
  /** Processor beside every Ethos-U; null for the usual ones. */
  host: string | null;
  /** For what fits on a board beside the model. */
  application: Application;
  /** Without what describes single operators. */
  is_summary: boolean;
  model: ArrayBuffer | FileToRead;
  /** Under which the worker keeps the report in the browser's database; null keeps nothing. */
  key: string | null;
}

/** A report, and what became of the worker. */
export interface Estimated {
  report: Report;
  /** Whether it holds so much memory that it has to end. It then keeps no report in the browser's database. */
  is_spent: boolean;
}

/** A device from profiles, with what follows from its measurements. */
export interface MeasuredDevice {
  document: Device;
  facts: DeviceFacts;
}

/** Makes a device of one's own from what a benchmark tool printed of a model on it. */
export interface MeasureCall {
  kind: "measure";
  module: WebAssembly.Module;
  file: string;
  scenario: Scenario;
  model: ArrayBuffer;
  name: string;
  profile: ArrayBuffer;
  profile_name: string;
  clock_mhz: number | null;
  /** The family of targets that the device resembles; null for that of the tool. */
  like: string | null;
  /** What was measured before. */
  known: Device | null;
}

/** Reads a device of another browser, or of the command. */
export interface ReadDeviceCall {
  kind: "read-device";
  module: WebAssembly.Module;
  json: ArrayBuffer;
}

/** Which tools measure, and their commands for the files of networks that are handed out. */
export interface MeasuringToolsCall {
  kind: "measuring-tools";
  module: WebAssembly.Module;
  /** Stems of the files' names. */
  probes: readonly string[];
}

/** A tool, with its command for each network in the order that was asked for. */
export interface MeasuringTool extends Tool {
  commands: string[];
}

/** What to measure next on a device: one of these files, or a network of these reports, which have a latency of its base. */
export interface NextMeasurementsCall {
  kind: "next-measurements";
  module: WebAssembly.Module;
  document: Device;
  files: readonly { name: string; bytes: ArrayBuffer }[];
  reports: readonly Report[];
}

/** Fits a device of one's own to measurements, and applies it to estimates. */
export interface CalibrateCall {
  kind: "calibrate";
  measurements: Measurement[];
  estimates_ms: Record<string, number>;
}

/** Which accelerators, boards and sections of `vela_ini` there are to choose. */
export interface ChoicesCall {
  kind: "choices";
  vela_ini: string | null;
}

/** Clock and SRAM that a target has. */
export interface InForceCall {
  kind: "in-force";
  choice: TargetChoice;
}

/** From then on targets may be of the group. */
export interface LoadCall {
  kind: "load";
  group: LoadedGroup;
  constants: ArrayBuffer;
}

/** On which boards there is room for what needs so much, beside an application. */
export interface FitsCall {
  kind: "fits";
  need: Fits["need"];
  application: Application;
}

/** Every Ethos-U beside limits. */
export interface SweepCall {
  kind: "sweep";
  limits: Limits;
  scenario: Scenario;
  bytes: ArrayBuffer;
}

/** Time and memory on a GPU by batch. */
export interface SweepBatchCall {
  kind: "sweep-batch";
  target: string;
  scenario: Scenario;
  bytes: ArrayBuffer;
}

/** Every call of the estimator's worker. */
export type EstimatorCall = StartCall | WarmUpCall | ReadAheadCall | EstimateCall | KeptCall | CalibrateCall | ChoicesCall | InForceCall | LoadCall | FitsCall | SweepCall | SweepBatchCall | MeasureCall | ReadDeviceCall | MeasuringToolsCall | NextMeasurementsCall;

/** What they answer. */
export type EstimatorValue = Started | Report | Estimated | Calibrated | TargetChoices | InForce | TargetInfo[] | Fits | Sweep | BatchSweep | MeasuredDevice | MeasuringTool[] | NextMeasurement[] | string | null;

/** The call of the layout's worker. */
export type LayoutCall = LayoutInput;

/** What it answers. */
export type LayoutValue = Layout;

/** How models are inside of a file. */
export type Packing = "zip" | "gzip" | "c-source";

/** Asks for the models in `file`, or for the bytes of one that was listed. A worker is asked of one file only. */
export type OpenCall = { file: File; packing: Packing } & ({ kind: "list" } | { kind: "unpack"; entry: number });

/** A model in a file: as a file of its own, as what can be unpacked, or why it is neither. */
export type Listed = { name: string } & ({ file: File } | { entry: number; n_bytes: number } | { failure: Failure });

/** What the page keeps besides what is in the database: names and values. */
export type Settings = [name: string, value: string][];

/** Asks for everything that is kept as one file, or for what such a file has to be kept. */
export type BackupCall = { kind: "write"; settings: Settings } | { kind: "read"; file: File };

/** How much a backup brought into the database, and its settings, which are not kept yet. */
export interface Imported {
  settings: Settings;
  n_reports: number;
  n_comparisons: number;
  /** Parts that could not be read. */
  n_refused: number;
}
