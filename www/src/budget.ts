/** What may be spent on one inference, and how an estimate stands to that. */
import * as format from "./format.ts";
import type { Estimate } from "./report.ts";
import { isExact } from "./words.ts";

/** The most that a person accepts, and how many inferences a second there are to be; null where nothing is asked. */
export interface Budget {
  latency_ms: number | null;
  memory_kib: number | null;
  energy_mj: number | null;
  rate_hz: number | null;
}

/** A quantity of the budget in words. */
export interface BudgetField {
  name: keyof Budget;
  label: string;
  unit: string;
  /** Each unit that a person may write, as a factor on `unit`. */
  units: Readonly<Record<string, number>>;
}

/** In the order in which they are asked for. */
export const BUDGET_FIELDS: readonly BudgetField[] = [
  { name: "latency_ms", label: "Latency", unit: "ms", units: { us: 1e-3, µs: 1e-3, ms: 1, s: 1e3 } },
  { name: "memory_kib", label: "Memory", unit: "KiB", units: { b: 1 / 1024, bytes: 1 / 1024, kb: 1000 / 1024, kib: 1, mb: 1e6 / 1024, mib: 1024, gb: 1e9 / 1024, gib: 1024 ** 2 } },
  { name: "energy_mj", label: "Energy", unit: "mJ", units: { uj: 1e-3, µj: 1e-3, mj: 1, j: 1e3 } },
  { name: "rate_hz", label: "Rate", unit: "/s", units: { "/s": 1, "/min": 1 / 60, hz: 1, fps: 1 } },
];

/** How sure it is on which side of a limit a number lies. */
export type Standing = "fails" | "probably fails" | "doubtful" | "probably meets" | "meets";

/** How an estimate stands to a limit: within it, above it or probably so, or neither for sure. */
export interface Judgement {
  kind: "within" | "at-risk" | "over";
  words: string;
}

const KEY = "litecast.budget";
const MEMORY_METRICS = new Set(["sram_peak", "arena", "activation_ram", "memory"]);

/** Nothing is asked for. */
export const NO_BUDGET: Budget = { latency_ms: null, memory_kib: null, energy_mj: null, rate_hz: null };

/** The limits of `value`; what is no positive number there limits nothing. */
export function budgetOf(value: unknown): Budget {
  const given = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  return Object.fromEntries(BUDGET_FIELDS.map(({ name }) => [name, positive(given[name])])) as unknown as Budget;
}

/** The limits that were kept last; none where the browser keeps nothing. */
export function readBudget(): Budget {
  try {
    return budgetOf(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return NO_BUDGET;
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

/** A budget as people write it, for example `10 ms, 256 KiB, 2 mJ, 30/s`; throws what was expected instead. */
export function parseBudget(text: string): Budget {
  const budget = { ...NO_BUDGET };
  for (const part of text.split(/[,;]/).filter((part) => part.trim() !== "")) {
    const [, number = "", unit = ""] = /^\s*([\d.]+(?:e[-+]?\d+)?)\s*(\S+)\s*$/i.exec(part) ?? [];
    const field = BUDGET_FIELDS.find(({ units }) => Object.hasOwn(units, unit.toLowerCase()));
    const value = positive(Number(number));
    if (!field || value === null) throw new Error(`budget: expected for example \`10 ms, 256 KiB, 2 mJ, 30/s\`, found \`${part.trim()}\``);
    budget[field.name] = value * field.units[unit.toLowerCase()];
  }
  return budget;
}

/** In the unit of the metric; null where nothing is asked of it. */
export function limitOf(metric: string, { latency_ms, memory_kib, energy_mj }: Budget): number | null {
  if (metric === "latency") return latency_ms;
  if (metric === "energy") return energy_mj;
  return MEMORY_METRICS.has(metric) && memory_kib !== null ? memory_kib * 1024 : null;
}

/** Of a number that must not be above `limit`. */
export function standingOf(value: number, lo: number | undefined, hi: number | undefined, limit: number): Standing {
  if (lo === undefined || hi === undefined) return value > limit ? "probably fails" : "probably meets";
  if (lo > limit) return "fails";
  if (value > limit) return "probably fails";
  return hi > limit ? "doubtful" : "meets";
}

/** Null where there is no budget for the metric. An estimate whose interval ends above the budget is at risk, or that has none. */
export function judgeEstimate(estimate: Estimate, budget: Budget): Judgement | null {
  const { metric, value, lo, hi, unit } = estimate;
  const limit = limitOf(metric, budget);
  if (limit === null) return null;
  const above = (amount: number): string => format.text(format.measure(amount - limit, unit));
  const judgements: Record<Standing, () => Judgement> = {
    fails: () => ({ kind: "over", words: `${above(value)} above the budget` }),
    "probably fails": () => ({ kind: "over", words: `probably ${above(value)} above the budget` }),
    doubtful: () => ({ kind: "at-risk", words: `may exceed the budget by ${above(hi ?? value)}` }),
    "probably meets": () => ({ kind: "at-risk", words: "fits the budget, if its unknown error is small" }),
    meets: () => ({ kind: "within", words: "fits the budget" }),
  };
  return judgements[isExact(estimate) ? standingOf(value, value, value, limit) : standingOf(value, lo, hi, limit)]();
}

function positive(value: unknown): number | null {
  return typeof value === "number" && value > 0 && Number.isFinite(value) ? value : null;
}
