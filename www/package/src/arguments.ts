/**
 * Arguments as programs give them → what the module takes, or an error that says what was expected and found. What is returned
 * has no code of the program in it, which could throw, or answer otherwise when it is asked again; bytes alone are not copied.
 */
import type { Device } from "../types/devices.d.ts";
import type { Application, BytesSource, Calibration, Changes, EstimateOptions, Fits, Graph, Limits, ModelFile, TargetChoice } from "../types/index.d.ts";
import { inWords, LitecastError, MAX_SHOWN, reading, thrownInWords, tooLarge, wrongArgument } from "./errors.ts";

const MAX_COUNT = 2 ** 32 - 1;

/** Longest file that the module reads, and as `MAX_FILE_BYTES` of its readers. */
const MAX_FILE_BYTES = 2 ** 31 - 1;
/** As `MAX_FILE_BYTES` of the module's reader of graphs. */
const MAX_GRAPH_BYTES = 16 * 1024 ** 2;
/** Longest list in a call. */
const MAX_ITEMS = 2 ** 20;
/** Targets of one call, several times as many as there are: each has a report of all operators. */
const MAX_TARGETS = 512;
/** Longer than any path. */
const MAX_NAME_LENGTH = 2 ** 16;
/** As the module's. */
const MAX_INI_LENGTH = 2 ** 20;

/** As the module's limit of bytes. */
const MAX_DEVICE_LENGTH = 2 ** 22;
/** Longer than the report of any file. */
const MAX_REPORT_LENGTH = 2 ** 27;

/** A file as the module takes it. */
export interface PreparedFile {
  name: string;
  bytes: Uint8Array;
  batch: number;
  threads: number;
  dimensions: Record<string, number>;
  /** Whether they are for several models, some of which may not have all of them. */
  are_dimensions_shared?: boolean;
  application: Application;
  precision: Precise;
  sha256?: string;
}

type Precise = NonNullable<EstimateOptions["precision"]>;

/** What holds for all files of a call. */
export interface Prepared {
  name: string;
  batch: number;
  threads: number;
  dimensions: Record<string, number>;
  application: Application;
  precision: Precise;
  targets: TargetChoice[] | null;
  is_summary: boolean;
}

/** What kind of value it is, in one word, for messages. */
export function tag(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** By the names of buffers, which any object can give itself, what only buffers answer. Some pages have none that are shared. */
const BUFFERS = new Map([globalThis.ArrayBuffer, globalThis.SharedArrayBuffer].flatMap((buffer) => (buffer ? [[buffer.name, Object.getOwnPropertyDescriptor(buffer.prototype, "byteLength")!.get!] as const] : [])));

/** Also of another realm. */
function isBuffer(value: unknown): value is ArrayBuffer {
  const length = BUFFERS.get(tag(value));
  if (!length) return false;
  try {
    length.call(value);
    return true;
  } catch {
    return false;
  }
}

/** Whether a value holds bytes in memory. */
export function isBytes(value: unknown): value is BytesSource {
  return ArrayBuffer.isView(value) || isBuffer(value);
}

/** The bytes themselves where they are in one, without a copy. */
export function viewOf(value: BytesSource, place: string): Uint8Array {
  try {
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
    return new Uint8Array(value as ArrayBuffer);
  } catch (error) {
    throw wrongArgument(`${place}: expected bytes, found a buffer that was detached, for example by a transfer to a worker (${thrownInWords(error)})`, error);
  }
}

/** As `GRAPH_FORMAT` of the module. */
const GRAPH_FORMAT = "litecast-graph";

function isGraph(value: unknown): value is Graph {
  return typeof value === "object" && value !== null && (value as Partial<Graph>).format === GRAPH_FORMAT;
}

/** The module tells a graph by its first bytes, in which the format has to stand. */
function graphBytes({ format, ...graph }: Graph, place: string): Uint8Array {
  return new TextEncoder().encode(jsonText({ format, ...graph }, place, "graph", MAX_GRAPH_BYTES));
}

/** A value as JSON. Throws `wrong-argument` for what JSON cannot hold, and `too-large` for more than `most` characters. */
export function jsonText(value: object, place: string, noun: string, most: number): string {
  const tooLong = new LitecastError("too-large", `${place}: expected a ${noun} of at most ${most} characters as JSON, found more`);
  try {
    if (jsonLength(value, most) > most) throw tooLong;
    const json = JSON.stringify(value) as string | undefined;
    if (json !== undefined && json.length > most) throw tooLong;
    if (json !== undefined) return json;
  } catch (error) {
    if (error === tooLong) throw error;
    throw wrongArgument(`${place}: expected a ${noun} that JSON can hold (${thrownInWords(error)})`, error);
  }
  throw wrongArgument(`${place}: expected a ${noun} that JSON can hold, found none`);
}

/** At least how long a value is as JSON. What is longer than `most`, such as an array of empty places, is not counted to its end. */
function jsonLength(value: unknown, most: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 1;
  // Numbers by index: their names, and commas.
  if (ArrayBuffer.isView(value)) return 6 * ((value as Partial<Uint8Array>).length ?? 0);
  const is_array = Array.isArray(value);
  let length = 2 + (is_array ? value.length : 0);
  if (length > most) return length;
  for (const name of is_array ? value.keys() : Object.keys(value)) {
    if (typeof name === "string") length += name.length + 4;
    length += jsonLength((value as Record<PropertyKey, unknown>)[name], most - length);
    if (length > most) break;
  }
  return length;
}

/** The bytes of a value, without a copy; throws `wrong-argument` where it holds none. */
export const bytesOf = (value: unknown, place: string): Uint8Array => reading(place, () => readBytes(value, place));

function readBytes(value: unknown, place: string): Uint8Array {
  if (isBytes(value)) return viewOf(value, place);
  if (isGraph(value)) return graphBytes(value, place);
  const hint = tag(value) === "Promise" || tag(value) === "Blob" || tag(value) === "File" || tag(value) === "Response"
    ? "; give what its arrayBuffer() resolves to"
    : "";
  throw wrongArgument(`${place}: expected the bytes of a model (Uint8Array or ArrayBuffer) or a graph, found ${inWords(value)}${hint}`);
}

/** Null for bytes that the module can read. */
export function sizeError(value: unknown, place: string): LitecastError | null {
  const n_bytes = reading(place, () => (isBytes(value) ? value.byteLength : 0));
  return n_bytes > MAX_FILE_BYTES ? tooLarge(place, `a file of at most ${MAX_FILE_BYTES} bytes`, n_bytes) : null;
}

/** The bytes of a model of a length that the module can read. */
export function modelBytes(value: unknown, place: string): Uint8Array {
  const bytes = bytesOf(value, place);
  const error = sizeError(bytes, place);
  if (error) throw error;
  return bytes;
}

/** Items of an array, or of another iterable, of which no more are asked than are taken. Empty places of an array are undefined. */
export const listOf = (value: unknown, place: string, max_items = MAX_ITEMS): unknown[] => reading(place, () => readList(value, place, max_items));

function readList(value: unknown, place: string, max_items: number): unknown[] {
  const is_list = typeof value === "object" && value !== null && Symbol.iterator in value && !isBytes(value);
  if (!is_list) throw wrongArgument(`${place}: expected an array, found ${inWords(value)}`);
  const tooLong = (found: number): LitecastError => tooLarge(place, `at most ${max_items} items`, found);
  if (Array.isArray(value)) {
    // That of a proxy is any value.
    const length: unknown = value.length;
    if (typeof length !== "number") throw wrongArgument(`${place}: expected an array, found one whose length is ${inWords(length)}`);
    if (length > max_items) throw tooLong(length);
    return Array.from({ length }, (_, idx) => value[idx]);
  }
  const items: unknown[] = [];
  for (const item of value as Iterable<unknown>) if (items.push(item) > max_items) throw tooLong(items.length);
  return items;
}

/** A whole number of at least `least`; throws `wrong-argument` for others. */
export function count(value: unknown, name: string, least: 0 | 1 = 1): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= MAX_COUNT) return value;
  throw wrongArgument(`${name}: expected a whole number from ${least} to ${MAX_COUNT}, found ${inWords(value)}`);
}

/** A number that is neither infinite nor none. */
export function number(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw wrongArgument(`${name}: expected a ${typeof value === "number" ? "finite " : ""}number, found ${inWords(value)}`);
}

/** A string of at most `max_length` characters; throws `wrong-argument` for others. */
export function text(value: unknown, name: string, max_length = MAX_NAME_LENGTH): string {
  if (typeof value !== "string") throw wrongArgument(`${name}: expected a string, found ${inWords(value)}`);
  if (value.length > max_length) throw wrongArgument(`${name}: expected at most ${max_length} characters, found ${value.length}`);
  return value;
}

/** The contents of a `vela.ini`. */
export function iniText(value: unknown, name: string): string {
  return text(value, name, MAX_INI_LENGTH);
}

/** The document of a measured device, as it is or as text. */
export function deviceText(value: unknown, place: string): string {
  if (typeof value === "string") return text(value, place, MAX_DEVICE_LENGTH);
  return jsonText(reading(place, () => plainObject(value, place)), place, "device", MAX_DEVICE_LENGTH);
}

/** A report as text. */
export function reportText(value: unknown, place: string): string {
  return jsonText(reading(place, () => plainObject(value, place)), place, "report", MAX_REPORT_LENGTH);
}

/** Instances of a program's own classes too, but not what has its fields elsewhere, as a promise or a map. */
export function plainObject(value: unknown, place: string): Record<string, unknown> {
  if (tag(value) === "Object") return value as Record<string, unknown>;
  throw wrongArgument(`${place}: expected an object, found ${inWords(value)}`);
}

/** Refuses names that nothing reads, which are typing errors. */
function onlyKnown(object: Record<string, unknown>, known: readonly string[], place: string): void {
  const strange = Object.keys(object).find((name) => !known.includes(name));
  if (strange !== undefined) throw wrongArgument(`${place}: unknown option \`${strange.slice(0, MAX_SHOWN)}\`, expected one of ${known.join(", ")}`);
}

const OPTIONS = ["name", "batch", "threads", "dimensions", "application", "targets", "detail", "precision"] as const satisfies (keyof EstimateOptions)[];

/** The options of a function by name, each read once, and none but these. */
export function optionsOf<Name extends string>(options: unknown, known: readonly Name[], place = "options"): Partial<Record<Name, unknown>> {
  return options === undefined ? {} : knownFields(options, known, place);
}

/** As `optionsOf`, of an object that has to be there. */
function knownFields<Name extends string>(value: unknown, known: readonly Name[], place: string): Partial<Record<Name, unknown>> {
  return reading(place, () => {
    const given = plainObject(value, place);
    onlyKnown(given, known, place);
    return Object.fromEntries(known.map((name) => [name, given[name]])) as Partial<Record<Name, unknown>>;
  });
}

/** Checked options of an estimate, with defaults for what is left out. */
export function prepareOptions(options: unknown): Prepared {
  const { name, batch, threads, dimensions, application, targets, detail, precision = "auto" } = optionsOf(options, OPTIONS);
  if (detail !== undefined && detail !== "full" && detail !== "summary") {
    throw wrongArgument(`detail: expected "full" or "summary", found ${inWords(detail)}`);
  }
  if (precision !== "auto" && precision !== "int8" && precision !== "as-is") {
    throw wrongArgument(`precision: expected "auto", "int8" or "as-is", found ${inWords(precision)}`);
  }
  return {
    name: name === undefined ? "" : text(name, "name"),
    batch: batch === undefined ? 1 : count(batch, "batch"),
    threads: threads === undefined ? 1 : count(threads, "threads"),
    dimensions: dimensions === undefined ? {} : prepareDimensions(dimensions, "dimensions"),
    application: application === undefined ? NO_APPLICATION : prepareApplication(application, "application"),
    precision,
    targets: targets === undefined ? null : prepareTargets(targets),
    is_summary: detail === "summary",
  };
}

const NO_APPLICATION: Application = { ram_bytes: 0, flash_bytes: 0 };
const MEMORIES = ["ram_bytes", "flash_bytes"] as const satisfies (keyof Application)[];

/** Checked memory of an application. */
export function prepareApplication(application: unknown, place: string): Application {
  const { ram_bytes = 0, flash_bytes = 0 } = knownFields(application, MEMORIES, place);
  return { ram_bytes: count(ram_bytes, `${place}.ram_bytes`, 0), flash_bytes: count(flash_bytes, `${place}.flash_bytes`, 0) };
}

const bytes = (value: unknown, place: string): number => count(value, place, 0);

function strategy(value: unknown, place: string): unknown {
  if (value === "Performance" || value === "Size") return value;
  throw wrongArgument(`${place}: expected "Performance" or "Size", found ${inWords(value)}`);
}

/** Checks a value, whose place it names in errors. */
type Reader = (value: unknown, place: string) => unknown;

/** What each option has to be. */
const CHOICE = {
  target: text,
  board: text,
  runtime: text,
  release: text,
  system_config: text,
  memory_mode: text,
  optimise: strategy,
  vela_ini: iniText,
  host: text,
  measured_on: text,
  measured_ms: number,
  measured_device: (value, place) => estimable(value, place),
  name: text,
  device: text,
  clock_mhz: number,
  off_chip_bytes_per_s: number,
  arena_cache_bytes: bytes,
} as const satisfies Record<keyof TargetChoice, Reader>;

/** Checked choices of targets; an id stands for the target as it is. */
export function prepareTargets(targets: unknown): TargetChoice[] {
  const is_array = reading("targets", () => Array.isArray(targets));
  if (!is_array) throw wrongArgument(`targets: expected an array, found ${inWords(targets)}`);
  const list = listOf(targets, "targets", MAX_TARGETS);
  if (list.length === 0) throw wrongArgument("targets: expected at least one target, found an array of 0");
  return list.map((target, idx) => prepareTarget(target, `targets[${idx}]`));
}

/** One checked choice. */
export function prepareTarget(target: unknown, place: string): TargetChoice {
  if (typeof target === "string") return { target };
  if (typeof target !== "object" || target === null) throw wrongArgument(`${place}: expected the id of a target or an object, found ${inWords(target)}`);
  const given = knownFields(target, Object.keys(CHOICE) as (keyof TargetChoice)[], place);
  const choice: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) choice[name] = CHOICE[name as keyof TargetChoice](value, `${place}.${name}`);
  return choice as unknown as TargetChoice;
}

/** The fields of an object that `readers` know, each checked. */
function fieldsOf(value: unknown, readers: Readonly<Record<string, Reader>>, place: string): Record<string, unknown> {
  return reading(place, () => {
    const given = plainObject(value, place);
    return Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, read(given[name], `${place}.${name}`)]));
  });
}

const orNone = (read: Reader): Reader => (value, place) => (value === undefined || value === null ? null : read(value, place));
const eachOf = (read: Reader): Reader => (value, place) => (value === undefined ? [] : listOf(value, place).map((item, idx) => read(item, `${place}[${idx}]`)));

/** Bytes may be more than a count. */
function whole(value: unknown, place: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw wrongArgument(`${place}: expected a whole number of 0 or more, found ${inWords(value)}`);
}

const NETWORK = { tool: text, measured_ms: number } as const satisfies Record<string, Reader>;
const FIT = { parameters: eachOf(number), covariance: eachOf(number) } as const satisfies Record<string, Reader>;
const DEVICE = {
  litecast_device: bytes,
  name: text,
  base: text,
  kernels: orNone(text),
  networks: eachOf((value, place) => fieldsOf(value, NETWORK, place)),
  fit: (value, place) => fieldsOf(value, FIT, place),
  left_out: eachOf(number),
} as const satisfies Record<string, Reader>;

/** What the module's `Estimable` reads: what estimates need of a device's document, in one list. */
function estimable(value: unknown, place: string): string {
  const document = typeof value === "string" ? parsedDevice(text(value, place, MAX_DEVICE_LENGTH), place) : value;
  const { litecast_device, name, base, kernels, networks, fit, left_out } = fieldsOf(document, DEVICE, place) as Pick<Device, keyof typeof DEVICE>;
  const latencies = networks.map(({ measured_ms }) => measured_ms);
  const [shortest_ms, longest_ms] = latencies.reduce(([low, high], ms) => [Math.min(low, ms), Math.max(high, ms)], [Infinity, 0]);
  const tools = [...new Set(networks.map(({ tool }) => tool))].sort().join(", ");
  return JSON.stringify([name, base, tools, [litecast_device, Number(kernels === "ncnn"), networks.length, shortest_ms, longest_ms, ...fit.parameters, ...fit.covariance, ...left_out]]);
}

function parsedDevice(json: string, place: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw wrongArgument(`${place}: expected the JSON of a device (${(error as Error).message})`);
  }
}

const CALIBRATION = {
  target: text,
  center: number,
  intercept: number,
  slope: number,
  n_measurements: bytes,
  left_out_percent: number,
  left_out_worst_factor: number,
} as const satisfies Record<keyof Calibration, Reader>;

/** What calibrate() returned. A program may keep fields of its own beside it. */
export function prepareCalibration(calibration: unknown): Calibration {
  return fieldsOf(calibration, CALIBRATION, "calibration") as unknown as Calibration;
}

type Need = NonNullable<Fits["need"]>;
const REFUSED = { name: text, code: text, reason: text, n_operators: bytes, subgraph: bytes, operator: bytes } as const satisfies Record<keyof Need["refused"][number], Reader>;
const CODE_BYTES = { value: whole, lo: whole, hi: whole } as const satisfies Record<keyof Need["code_bytes"], Reader>;
const NEED = {
  arena_bytes: orNone(whole),
  max_arena_bytes: orNone(whole),
  stack_bytes: (value, place) => (value === undefined ? 0 : whole(value, place)),
  file_bytes: whole,
  max_file_bytes: orNone(whole),
  code_bytes: (value, place) => fieldsOf(value, CODE_BYTES, place),
  kernels: eachOf(text),
  refused: eachOf((value, place) => fieldsOf(value, REFUSED, place)),
  obstacle: orNone(text),
  accelerator: orNone(text),
} as const satisfies Record<keyof Need, Reader>;

/** `fits.need` of a report. */
export function prepareNeed(need: unknown): unknown {
  return fieldsOf(need, NEED, "need");
}

const LIMITS = ["latency_ms", "sram_bytes", "clock_mhz"] as const satisfies (keyof Limits)[];

/** Checked limits of a sweep. */
export function prepareLimits(limits: unknown): Limits {
  const given = knownFields(limits, LIMITS, "limits");
  const prepared: Limits = {};
  for (const name of LIMITS) {
    const value = given[name];
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value > 0)) throw wrongArgument(`limits.${name}: expected a number above 0, found ${inWords(value)}`);
    prepared[name] = value;
  }
  return prepared;
}

const FACTORS = ["resolution", "width"] as const;
const SWITCHES = ["int8", "low_memory_order"] as const;
const CHANGES = [...FACTORS, ...SWITCHES, "channels"] as const satisfies (keyof Changes)[];

/** Checked changes of a network. */
export function prepareChanges(changes: unknown): Changes {
  const given = knownFields(changes, CHANGES, "changes");
  const prepared: Changes = {};
  for (const name of FACTORS) if (given[name] !== undefined) prepared[name] = number(given[name], `changes.${name}`);
  for (const name of SWITCHES) {
    const value = given[name];
    if (value === undefined) continue;
    if (typeof value !== "boolean") throw wrongArgument(`changes.${name}: expected true or false, found ${inWords(value)}`);
    prepared[name] = value;
  }
  if (given.channels !== undefined) {
    const channels = knownFields(given.channels, ["from", "to"], "changes.channels");
    const [from, to] = (["from", "to"] as const).map((name) => channelCount(channels[name], `changes.channels.${name}`));
    prepared.channels = { from: from!, to: to! };
  }
  return prepared;
}

/** Numbers of channels are signed in a file. */
function channelCount(value: unknown, name: string): number {
  const channels = count(value, name);
  if (channels < 2 ** 31) return channels;
  throw wrongArgument(`${name}: expected a whole number below ${2 ** 31}, found ${channels}`);
}

/** Sizes by name. */
function prepareDimensions(dimensions: unknown, place: string): Record<string, number> {
  const sizes = reading(place, () => Object.entries(plainObject(dimensions, place)));
  return Object.fromEntries(sizes.map(([name, size]) => [name, count(size, `${place}.${name}`, 0)]));
}

const SHA256 = /^[0-9a-f]{64}$/;

function digits(value: unknown, name: string): string {
  const given = text(value, name);
  if (SHA256.test(given)) return given;
  throw wrongArgument(`${name}: expected 64 hexadecimal digits, found ${inWords(given)}`);
}

const FILE = ["name", "bytes", "batch", "threads", "dimensions", "sha256"] as const satisfies (keyof ModelFile)[];

/** Checked models, each with its own options over the common ones. */
export function prepareFiles(models: unknown, common: Prepared): PreparedFile[] {
  return listOf(models, "models").map((model, idx) => prepareFile(model, `models[${idx}]`, common));
}

function prepareFile(model: unknown, place: string, common: Prepared): PreparedFile {
  const { batch, threads, dimensions, application, precision } = common;
  if (reading(place, () => isBytes(model) || isGraph(model))) return { name: common.name, bytes: bytesOf(model, place), batch, threads, dimensions, are_dimensions_shared: true, application, precision };
  const given = knownFields(model, FILE, place);
  return {
    name: given.name === undefined ? common.name : text(given.name, `${place}.name`),
    bytes: bytesOf(given.bytes, `${place}.bytes`),
    batch: given.batch === undefined ? batch : count(given.batch, `${place}.batch`),
    threads: given.threads === undefined ? threads : count(given.threads, `${place}.threads`),
    dimensions: given.dimensions === undefined ? dimensions : prepareDimensions(given.dimensions, `${place}.dimensions`),
    are_dimensions_shared: given.dimensions === undefined,
    application,
    precision,
    ...(given.sha256 === undefined ? {} : { sha256: digits(given.sha256, `${place}.sha256`) }),
  };
}
