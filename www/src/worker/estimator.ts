/** The worker that holds the WebAssembly module: bytes of a file in, its report out. */
import type { LiteCast } from "../../package/src/litecast.ts";
import { TARGETS } from "../../package/src/catalogue.ts";
import type { Devices, NextMeasurement } from "../../package/types/devices.d.ts";
import { start as startModule } from "../../package/src/load.ts";
import type { EstimateOptions } from "../../package/types/index.d.ts";
import { otherBuildError, unreadableError } from "../worker_messenger.ts";
import type { EstimateCall, Estimated, EstimatorCall, EstimatorValue, FileToRead, MeasureCall, MeasuredDevice, MeasuringTool, MeasuringToolsCall, NextMeasurementsCall, ReadAheadCall, ReadDeviceCall, StartCall, Started, SweepCall, WarmUpCall } from "../protocol.ts";
import type { Report, Result, Sweep, TargetChoice, TargetChoices } from "../report.ts";
import { changesOf, isChanged, scenarioWords } from "../scenario.ts";
import { groupOf, hasHost, isLoadedGroup, releasesOf } from "../targets.ts";
import { keepReport } from "../store.ts";
import { answerRequests } from "./request_queue.ts";

/** The module's memory never shrinks: a worker with more than this ends. */
const MAX_KEPT_MEMORY_BYTES = 256 * 1024 ** 2;
/** So does one with the report of more operators, of which the page has its own copy. */
const MAX_HELD_OPERATORS = 20_000;

let litecast: LiteCast;
/** Set by the first file: from then on nothing is estimated that nobody asked for. */
let is_used = false;
/** The last file that was read before its estimate was asked for. */
let ahead: { number: number; bytes: ArrayBuffer } | null = null;
/** Reports on their way into the browser's database, by key, each with the SHA-256 of its file: null where the module has computed it. */
const kept = new Map<string, Promise<string | null>>();

/** The page shows a report sooner than this, and needs the processor for it: the file is hashed, and the database written, afterwards. */
const FINISH_AFTER_MS = 30;

async function start({ module }: StartCall): Promise<Started> {
  litecast = await startModule({ wasm: module, predictor: null });
  const all = litecast.targets();
  const [targets, others] = [true, false].map((is_default) => all.filter((target) => target.is_default === is_default));
  return { targets, others };
}

function warmUp({ bytes }: WarmUpCall): Report | null {
  return is_used ? null : litecast.estimate(new Uint8Array(bytes), { name: "warm-up.tflite" });
}

function readAhead({ model: { file, number } }: ReadAheadCall): null {
  is_used = true;
  ahead = { number, bytes: new FileReaderSync().readAsArrayBuffer(file) };
  return null;
}

function read({ file, number }: FileToRead): ArrayBuffer {
  const known = ahead?.number === number ? ahead.bytes : null;
  ahead = null;
  try {
    return known ?? new FileReaderSync().readAsArrayBuffer(file);
  } catch (error) {
    throw unreadableError(error);
  }
}

async function estimate(call: EstimateCall): Promise<Estimated> {
  is_used = true;
  const { key, scenario } = call;
  const bytes = call.model instanceof ArrayBuffer ? call.model : read(call.model);
  // Other reports are parts of one that is kept.
  const is_hashed_here = key !== null && isSecureContext;
  const report = reportOf(call, new Uint8Array(bytes), is_hashed_here ? NOT_YET : undefined);
  if (is_hashed_here) report.sha256 = null;
  if (scenarioWords(scenario).length > 0) report.what_if = scenario;
  // A summary has none.
  const { operators } = report as Partial<Report>;
  const is_spent = litecast.memory_bytes > MAX_KEPT_MEMORY_BYTES || (operators?.length ?? 0) > MAX_HELD_OPERATORS;
  if (is_spent) {
    if (is_hashed_here) report.sha256 = await sha256(bytes);
  } else if (key !== null) kept.set(key, keep(key, report, is_hashed_here ? bytes : null));
  return { report, is_spent };
}

/** In the place of a hash that the browser computes, so that the module computes none. */
const NOT_YET = "0".repeat(64);

/** Also hashes `bytes`, unless they are null. */
async function keep(key: string, report: Report, bytes: ArrayBuffer | null): Promise<string | null> {
  await new Promise((resolve) => setTimeout(resolve, FINISH_AFTER_MS));
  const hash = bytes && (await sha256(bytes));
  if (hash !== null) report.sha256 = hash;
  await keepReport(key, report);
  return hash;
}

/** By the browser, which has instructions for it that WebAssembly lacks. */
async function sha256(bytes: ArrayBuffer): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Forgets the answer, which is asked for once. */
async function whenKept(key: string): Promise<string | null> {
  const hash = await kept.get(key);
  kept.delete(key);
  return hash ?? null;
}

/** A target that the module does not know, such as one that another build kept, costs no other target its estimates. */
function reportOf(call: EstimateCall, model: Uint8Array, sha256: string | undefined): Report {
  try {
    return reportOn(call, model, sha256);
  } catch (error) {
    const refused = call.targets ? [] : call.more_targets.flatMap((target) => unknownTarget(target) ?? []);
    if (refused.length === 0) throw error;
    const more_targets = call.more_targets.filter(({ name }) => !refused.some(({ target }) => target === name));
    const report = reportOn({ ...call, more_targets }, model, sha256);
    report.results.push(...refused);
    return report;
  }
}

/** Why there is no such target, as its result; null where there is. Without files only targets are checked. */
function unknownTarget(choice: TargetChoice): Result | null {
  try {
    litecast.estimateMany([], { targets: [choice] });
    return null;
  } catch (error) {
    const target = choice.name ?? choice.target ?? choice.board ?? "";
    return { target, device: choice.device ?? target, metric: "latency", unavailable: (error as Error).message, reason: "not-estimated" };
  }
}

function reportOn({ file, scenario, targets, more_targets, host, application, is_summary }: EstimateCall, model: Uint8Array, sha256: string | undefined): Report {
  const { batch, threads, dimensions } = scenario;
  const options: EstimateOptions = { name: file, batch, threads, dimensions, application };
  if (targets || more_targets.length > 0 || host !== null) options.targets = besideHost([...(targets ?? litecast.defaultTargets()), ...more_targets], host);
  if (is_summary) options.detail = "summary";
  // Also where only the targets are others: lists that change with every slider are not kept.
  if (targets || isChanged(scenario)) return litecast.estimateChanged(model, changesOf(scenario), options);
  const [report] = litecast.estimateMany([{ bytes: model, sha256 }], options);
  if (report instanceof Error) throw report;
  return report;
}

/** Every Ethos-U with that processor beside it, under its own name; nothing else has one. */
function besideHost(wanted: readonly (string | TargetChoice)[], host: string | null): (string | TargetChoice)[] {
  if (!litecast.accelerators().hosts.some(({ id }) => id === host)) return [...wanted];
  const boards = new Set(litecast.boards().npus.map(({ id }) => id));
  const is_npu = ({ target, board }: TargetChoice): boolean => (target !== undefined && hasHost(target)) || (board !== undefined && boards.has(board));
  return wanted.map((one) => {
    const choice: TargetChoice = typeof one === "string" ? { target: one, name: one } : one;
    return host !== null && is_npu(choice) ? { ...choice, host } : one;
  });
}

function choices(vela_ini: string | null): TargetChoices {
  const { npus, microcontrollers } = litecast.boards();
  return { ...litecast.accelerators(vela_ini ?? undefined), boards: npus, microcontrollers };
}

function sweep({ bytes, limits, scenario }: SweepCall): Sweep {
  const { batch, threads, dimensions } = scenario;
  return litecast.sweep(new Uint8Array(bytes), limits, changesOf(scenario), { batch, threads, dimensions });
}

/** The module that makes devices: most pages never load it. */
async function deviceModule(module: WebAssembly.Module): Promise<Devices> {
  const { start } = await import("../../package/src/devices.ts").catch(() => Promise.reject(otherBuildError()));
  return start(module);
}

/** An accelerator in other ways to run networks on it. */
function otherWays(id: string): string[] {
  const group = groupOf(id);
  return group !== null && isLoadedGroup(group) ? releasesOf(id).slice(1).map(({ target }) => target) : [];
}

/** The base of a device is chosen among all that it may resemble, or stays what it was. */
async function measure({ module, file, scenario, model, name, profile, profile_name, clock_mhz, like, known }: MeasureCall): Promise<MeasuredDevice> {
  const devices = await deviceModule(module);
  const printed = new Uint8Array(profile);
  const clock = clock_mhz === null ? {} : { clock_mhz };
  const families = devices.baseFamilies(printed, clock.clock_mhz, like ?? undefined);
  const targets = known ? [known.base] : Object.entries(TARGETS).flatMap(([id, { family }]) => (families.includes(family) ? [id, ...otherWays(id)] : []));
  const report = reportOn({ kind: "estimate", file, scenario, targets, more_targets: [], host: null, application: { ram_bytes: 0, flash_bytes: 0 }, is_summary: false, model, key: null }, new Uint8Array(model), undefined);
  const document = devices.measure(name, report, printed, { profile_name, threads: scenario.threads, ...clock, ...(like === null ? {} : { like }), ...(known ? { device: known } : {}) });
  return { document, facts: devices.facts(document) };
}

async function readDevice({ module, json }: ReadDeviceCall): Promise<MeasuredDevice> {
  const devices = await deviceModule(module);
  const document = devices.read(new Uint8Array(json));
  return { document, facts: devices.facts(document) };
}

/** An accelerator for the one tool that compiles for it. */
const COMPILED_FOR = "ethos-u55-128";

async function measuringTools({ module, probes }: MeasuringToolsCall): Promise<MeasuringTool[]> {
  const devices = await deviceModule(module);
  return devices.tools().map((one) => ({ ...one, commands: probes.map((name) => devices.command(`${name}-${one.probes}`, { tool: one.tool, target: COMPILED_FOR })) }));
}

async function nextMeasurements({ module, document, files, reports }: NextMeasurementsCall): Promise<NextMeasurement[]> {
  const devices = await deviceModule(module);
  const options = { targets: [document.base], threads: document.threads };
  const of_files = litecast.estimateMany(files.map(({ name, bytes }) => ({ bytes: new Uint8Array(bytes), name })), options);
  // A network that the base cannot run tells nothing of it.
  const has_base = (report: Report): boolean => report.results.some((result) => result.target === document.base && result.metric === "latency" && "value" in result && Array.isArray(result.operators));
  const known = [...reports, ...of_files].filter((report): report is Report => !(report instanceof Error) && has_base(report));
  return devices.next(document, known.map((report) => ({ ...report, sha256: report.sha256 ?? "" })));
}

function answer(call: EstimatorCall): Promise<Started | Estimated | MeasuredDevice | MeasuringTool[] | NextMeasurement[] | string | null> | EstimatorValue {
  if (call.kind === "start") return start(call);
  if (call.kind === "warm-up") return warmUp(call);
  if (call.kind === "read-ahead") return readAhead(call);
  if (call.kind === "estimate") return estimate(call);
  if (call.kind === "kept") return whenKept(call.key);
  if (call.kind === "choices") return choices(call.vela_ini);
  if (call.kind === "in-force") return litecast.inForce(call.choice);
  if (call.kind === "load") return call.group === "gpus" ? litecast.loadGpus(new Uint8Array(call.constants)) : litecast.loadAccelerators(new Uint8Array(call.constants));
  if (call.kind === "fits") return litecast.fits(call.need, call.application);
  if (call.kind === "sweep") return sweep(call);
  if (call.kind === "sweep-batch") return litecast.sweepBatch(new Uint8Array(call.bytes), call.target, changesOf(call.scenario), { dimensions: call.scenario.dimensions });
  if (call.kind === "measure") return measure(call);
  if (call.kind === "read-device") return readDevice(call);
  if (call.kind === "measuring-tools") return measuringTools(call);
  if (call.kind === "next-measurements") return nextMeasurements(call);
  return litecast.calibrated(litecast.calibrate(call.measurements), call.estimates_ms);
}

answerRequests<EstimatorCall, EstimatorValue>(answer, () => [], ({ kind }) => kind === "kept");
