/** What may be spent on one inference, and whether an estimate stays within it. */
import * as format from "./format.ts";
import type { Estimate } from "./report.ts";

/** The largest latency and memory that a person accepts; null where there is no limit. */
export interface Budget {
  latency_ms: number | null;
  memory_kib: number | null;
}

/** How an estimate stands to a limit: within it, above it, or neither for sure. */
export interface Verdict {
  kind: "within" | "at-risk" | "over";
  words: string;
}

const KEY = "litecast.budget";
const MEMORY_METRICS = new Set(["sram_peak", "arena", "activation_ram"]);

/** The limits that were kept last; none where the browser keeps nothing. */
export function readBudget(): Budget {
  try {
    const { latency_ms, memory_kib } = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Budget>;
    return { latency_ms: positive(latency_ms), memory_kib: positive(memory_kib) };
  } catch {
    return { latency_ms: null, memory_kib: null };
  }
}

/** Keeps the limits for the next visit, where the browser allows that. */
export function writeBudget(budget: Budget): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(budget));
  } catch {
    // A browser that keeps nothing judges no estimate.
  }
}

/** Null where there is no budget for the metric. An estimate whose interval ends above the budget is at risk. */
export function verdict({ metric, value, hi, unit }: Estimate, { latency_ms, memory_kib }: Budget): Verdict | null {
  const limit = metric === "latency" ? latency_ms : MEMORY_METRICS.has(metric) && memory_kib !== null ? memory_kib * 1024 : null;
  if (limit === null) return null;
  const words = (amount: number): string => format.text(format.measure(amount, unit));
  if (value > limit) return { kind: "over", words: `${words(value - limit)} above the budget` };
  if ((hi ?? value) > limit) return { kind: "at-risk", words: `may exceed the budget by ${words((hi ?? value) - limit)}` };
  return { kind: "within", words: "fits the budget" };
}

function positive(value: unknown): number | null {
  return typeof value === "number" && value > 0 ? value : null;
}
