/** Measurements of a device of one's own, kept in this browser. */
import { type Measurement, type Report, isEstimate } from "./report.ts";

/** Of everything that estimates are computed with: another build may estimate otherwise. Put in by www/build.mjs. */
declare const ESTIMATES_ID: string;

export interface Kept extends Measurement {
  file: string;
  /** Of the build that the estimates come from. */
  estimates_id: string;
}

/** Another format gets another key. */
const KEY = "litecast.measurements.2";
/** The storage of a page ends at some megabytes; nobody measures more by hand. */
const MAX_KEPT = 1000;

/** Estimated latencies by target, in ms. */
export function estimatesOf(report: Report): Record<string, number> {
  const latencies = report.results.filter(isEstimate).filter(({ metric }) => metric === "latency");
  return Object.fromEntries(latencies.map(({ target, value }) => [target, value]));
}

/** Of the file, and of the batch where there is one. */
export function nameOf({ file, batch }: Report): string {
  return batch > 1 ? `${file}, batch ${batch}` : file;
}

/** What was measured of a report's file. */
export function measurementOf(report: Report, measured_ms: number): Kept {
  return { file: nameOf(report), estimates_id: ESTIMATES_ID, measured_ms, estimates_ms: estimatesOf(report) };
}

/** Whether its estimates are those of this build. */
export function isCurrent({ estimates_id }: Kept): boolean {
  return estimates_id === ESTIMATES_ID;
}

/** Whatever else is stored there counts as nothing. */
export function measurements(): Kept[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isKept) : [];
  } catch {
    return [];
  }
}

/** One file has one measurement. False where the browser keeps nothing. */
export function keep(kept: Kept[]): boolean {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept.slice(-MAX_KEPT)));
    return true;
  } catch {
    return false;
  }
}

function isKept(value: unknown): value is Kept {
  if (typeof value !== "object" || value === null) return false;
  const { file, estimates_id, measured_ms, estimates_ms } = value as Partial<Kept>;
  return (
    typeof file === "string" &&
    typeof estimates_id === "string" &&
    typeof measured_ms === "number" &&
    typeof estimates_ms === "object" &&
    estimates_ms !== null &&
    Object.values(estimates_ms).every((ms) => typeof ms === "number")
  );
}
