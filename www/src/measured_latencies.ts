/** Devices of one's own: what was measured on each, kept in this browser, and what that makes of the estimates. */
import { nextTask } from "./dom.ts";
import type { Estimator } from "./estimator.ts";
import { type Calibrated, type Estimate, type Measurement, type Report, type Result, isEstimate } from "./report.ts";
import { scenarioWords } from "./scenario.ts";
import { reportHistory } from "./store.ts";
import { numberOf, separatorOf, splitLine } from "./table_lines.ts";
import { idInSpace, nameInSpace } from "./targets.ts";
import { CALIBRATED } from "./words.ts";

/** A device of one's own, with what was measured on it. */
export interface Device {
  name: string;
  measurements: Kept[];
}

/** One file on one device. */
export interface Kept {
  file: string;
  measured_ms: number;
  /** Null until the file is opened here. */
  estimates_ms: Record<string, number> | null;
  /** Of the build that the estimates come from. */
  estimates_id: string | null;
}

type Current = Kept & { estimates_ms: Record<string, number> };

/** Another format gets another key. */
const KEY = "litecast.devices.1";
/** Where one device without a name was kept. */
const ONE_DEVICE_KEY = "litecast.measurements.2";
/** The storage of a page ends at some megabytes; nobody measures more by hand. */
const MAX_KEPT = 1000;
/** Characters of a line: names of a file and of a device, and a number. */
const MAX_LINE = 1024;
/** Fewest that `calibrate` takes. */
export const MIN_MEASUREMENTS = 3;

type Summary = Pick<Report, "file" | "batch" | "results" | "what_if">;

/** Estimated latencies of all of the network by target, in ms. */
export function latencyEstimatesOf({ results }: Pick<Report, "results">): Record<string, number> {
  const latencies = results.filter(isEstimate).filter(({ metric, target }) => metric === "latency" && nameInSpace("device", target) === null && nameInSpace("measured", target) === null);
  return Object.fromEntries(latencies.map(({ target, value }) => [target, value]));
}

/** Of the file, and of what is another in it. */
export function nameOf({ file, batch, what_if }: Pick<Report, "file" | "batch" | "what_if">): string {
  const words = what_if ? scenarioWords(what_if) : batch > 1 ? [`batch ${batch}`] : [];
  return [file, ...words].join(", ");
}

/** Whatever else is stored there counts as nothing. */
export function devices(): Device[] {
  const kept = stored(KEY);
  if (Array.isArray(kept)) return kept.filter(isDevice);
  const unnamed = stored(ONE_DEVICE_KEY);
  return Array.isArray(unnamed) && unnamed.every(isKept) && unnamed.length > 0 ? [{ name: "My device", measurements: unnamed }] : [];
}

/** False where the browser keeps nothing. */
export function keepDevices(kept: Device[]): boolean {
  const some = kept.filter(({ measurements }) => measurements.length > 0);
  try {
    localStorage.setItem(KEY, JSON.stringify(some.map(({ name, measurements }) => ({ name, measurements: measurements.slice(-MAX_KEPT) }))));
    return true;
  } catch {
    return false;
  }
}

/** Adds measurements; one file has one on each device. */
export function addMeasurements(kept: Device[], added: readonly { device: string; measurement: Kept }[]): Device[] {
  const by_name = new Map(kept.map(({ name, measurements }) => [name, new Map(measurements.map((measurement) => [measurement.file, measurement]))]));
  for (const { device, measurement } of added) {
    const measurements = by_name.get(device) ?? new Map<string, Kept>();
    by_name.set(device, measurements.set(measurement.file, measurement));
  }
  return [...by_name].map(([name, measurements]) => ({ name, measurements: [...measurements.values()] }));
}

/** A measured latency in ms beside the estimates of its report. */
export function measurementOf(report: Summary, measured_ms: number): Kept {
  return { file: nameOf(report), measured_ms, estimates_ms: latencyEstimatesOf(report), estimates_id: ESTIMATES_ID };
}

/** Those whose estimates are of this build. */
export function currentMeasurements({ measurements }: Device): Current[] {
  return measurements.filter((kept): kept is Current => kept.estimates_ms !== null && kept.estimates_id === ESTIMATES_ID);
}

/** Gives measurements of this file the estimates that they lack. */
export function learnEstimates(report: Summary): void {
  const kept = devices();
  const file = nameOf(report);
  let is_new = false;
  for (const { measurements } of kept) {
    for (const measurement of measurements) {
      if (measurement.file !== file || measurement.estimates_id === ESTIMATES_ID) continue;
      Object.assign(measurement, measurementOf(report, measurement.measured_ms));
      is_new = true;
    }
  }
  if (is_new) keepDevices(kept);
}

/** The report with a latency for each device that was measured often enough. */
export async function withResultsOnDevices<R extends Summary>(report: R, estimator: Estimator): Promise<R> {
  const estimates_ms = latencyEstimatesOf(report);
  const results = report.results.filter(({ target }) => nameInSpace("device", target) === null);
  if (Object.keys(estimates_ms).length === 0) return report;
  for (const device of devices()) {
    const result = await resultOf(device, estimates_ms, results, estimator);
    if (result) results.push(result);
  }
  return { ...report, results };
}

async function resultOf(device: Device, estimates_ms: Record<string, number>, results: Result[], estimator: Estimator): Promise<Result | null> {
  const measurements = currentMeasurements(device);
  if (measurements.length < MIN_MEASUREMENTS) return null;
  const place = { target: idInSpace("device", device.name), device: device.name, metric: "latency" };
  try {
    const calibrated = await estimator.calibrate(measurements.map(measurementForFit), estimates_ms);
    return { ...place, ...estimateOf(calibrated, results) };
  } catch (error) {
    return { ...place, unavailable: (error as Error).message, reason: "calibration" };
  }
}

/** What a person measured of this very report on a device of their own, in ms; null where nothing was, and for other targets. */
export function measuredOn(report: Pick<Report, "file" | "batch" | "what_if">, target: string): number | null {
  const name = nameInSpace("device", target);
  if (name === null) return null;
  const file = nameOf(report);
  return devices().find((device) => device.name === name)?.measurements.find((kept) => kept.file === file)?.measured_ms ?? null;
}

/** A measurement as the engine takes it. */
export function measurementForFit({ estimates_ms, measured_ms }: Current): Measurement {
  return { estimates_ms, measured_ms };
}

function estimateOf({ latency_ms, lo_ms, hi_ms, target, n_measurements, left_out_percent }: Calibrated, results: Result[]): Omit<Estimate, "target" | "device" | "metric"> {
  const base = results.filter(isEstimate).find((result) => result.target === target && result.metric === "latency");
  const scale = base && base.value > 0 ? latency_ms / base.value : 0;
  const parts = base?.operators && scale > 0 ? { operators: base.operators.map((part) => part * scale) } : {};
  return {
    value: latency_ms,
    unit: "ms",
    evidence: "measured",
    lo: lo_ms,
    hi: hi_ms,
    expected_error_percent: left_out_percent,
    provenance: {
      kind: CALIBRATED,
      tool: "litecast",
      version: "",
      configuration: `${n_measurements} measurements and the estimates for ${base?.device ?? target}; each measurement was estimated from the others`,
    },
    ...parts,
  };
}

/** Lines are read for this long between pauses in which the page answers. */
const READ_AT_ONCE_MS = 8;

function pauses(): () => Promise<void> | undefined {
  let until_ms = performance.now() + READ_AT_ONCE_MS;
  return () => {
    if (performance.now() < until_ms) return undefined;
    return nextTask().then(() => void (until_ms = performance.now() + READ_AT_ONCE_MS));
  };
}

/**
 * Reads `device,file,measured_ms` or `file,measured_ms` lines, with tabs, semicolons or commas between fields, with or
 * without a head. Files that were opened here before bring their estimates.
 */
export async function readMeasurements(text: string, device: string): Promise<{ added: { device: string; measurement: Kept }[]; refused: string[] }> {
  const known = new Map((await reportHistory()).filter(({ estimates_id }) => estimates_id === ESTIMATES_ID).map(({ summary }) => [nameOf(summary), summary]));
  const added: { device: string; measurement: Kept }[] = [];
  const refused: string[] = [];
  const lines = text.replace(/^\ufeff/, "").split(/\r\n?|\n/, MAX_KEPT + 1).map((line) => line.trim());
  const is_longer = lines.length > MAX_KEPT && lines.pop() !== "";
  const pause = pauses();
  // Where other lines have decimal commas, a point may stand between thousands.
  let has_commas = false;
  for (const line of lines) {
    await pause();
    has_commas ||= line.length <= MAX_LINE && separatorOf(line) !== "," && /^\d+,\d+$/.test(splitLine(line, separatorOf(line)).at(-1) ?? "");
  }
  for (const [i, line] of lines.entries()) {
    await pause();
    if (line === "") continue;
    const read: Line = line.length <= MAX_LINE ? readLine(line, has_commas) : { problem: `expected at most ${MAX_LINE.toLocaleString("en")} characters, found ${line.length.toLocaleString("en")}` };
    if ("problem" in read) {
      // A head has no number where the others have theirs.
      if (i > 0 || /\d(\s*[µm]?s)?$/.test(line)) refused.push(`line ${i + 1}: ${read.problem}`);
      continue;
    }
    const { file, measured_ms } = read;
    const summary = known.get(file);
    const measurement = summary ? measurementOf(summary, measured_ms) : { file, measured_ms, estimates_ms: null, estimates_id: null };
    added.push({ device: read.device || device, measurement });
  }
  if (is_longer) refused.push(`line ${MAX_KEPT + 1}: expected at most ${MAX_KEPT.toLocaleString("en")} lines, found more`);
  return { added, refused };
}

type Line = { device: string; file: string; measured_ms: number } | { problem: string };

/**
 * One measurement, of a table in which other numbers have decimal commas or not. What could be read in two ways is refused:
 * a wrong number looks like a right one.
 */
export function readLine(line: string, has_commas = false): Line {
  const separator = separatorOf(line);
  const fields = splitLine(line, separator);
  const [whole, fraction] = fields.slice(-2);
  if (separator === "," && fields.length > 2 && [whole, fraction].every((part) => /^\d+$/.test(part))) {
    return { problem: `"${whole},${fraction}" is a number with a decimal comma or two fields: put semicolons between fields, or write ${whole}.${fraction}` };
  }
  const number = fields.at(-1) ?? "";
  const measured_ms = numberOf(number);
  const file = fields.at(-2) ?? "";
  if (has_commas && /^[1-9]\d{0,2}\.\d{3}$/.test(number)) return { problem: `"${number}" has a point of thousands or of decimals: write ${number.replace(".", "")} or ${number.replace(".", ",")}` };
  if (Number.isNaN(measured_ms) && /^\d{1,3},\d{3}$/.test(number)) return { problem: `"${number}" has a comma of thousands or of decimals: write ${number.replace(",", "")} or ${number.replace(",", ".")}` };
  if (!(measured_ms > 0) || !Number.isFinite(measured_ms) || file === "" || fields.length > 3) {
    return { problem: `expected file and milliseconds, found "${line.slice(0, 60)}"` };
  }
  return { device: fields.length === 3 ? fields[0] : "", file, measured_ms };
}

function stored(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

function isDevice(value: unknown): value is Device {
  const { name, measurements } = (value ?? {}) as Partial<Device>;
  return typeof name === "string" && Array.isArray(measurements) && measurements.every(isKept);
}

function isKept(value: unknown): value is Kept {
  if (typeof value !== "object" || value === null) return false;
  const { file, measured_ms, estimates_ms } = value as Partial<Kept>;
  const is_estimated = typeof estimates_ms === "object" && estimates_ms !== null && Object.values(estimates_ms).every((ms) => typeof ms === "number");
  return typeof file === "string" && typeof measured_ms === "number" && (estimates_ms === null || is_estimated);
}
