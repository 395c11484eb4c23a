/** A network in two parts: what an accelerator runs, and what it leaves to the processor beside it. */
import * as format from "./format.ts";
import { type Estimate, type Host, type LeftOut, type Report, type Unavailable, isEstimate } from "./report.ts";

/** What an accelerator leaves to the processor beside it, and the latency of both. */
export interface Hybrid {
  /** Of the processor, in topological order. */
  left: readonly LeftOut[];
  n_operators: number;
  /** From the accelerator to the processor or back, in topological order. */
  n_changes: number;
  host: Host | null;
  /** Of both parts, with the share of the processor, null where a shared report leaves that out, or why there is none. */
  whole: { latency: Estimate; left_ms: number | null } | Unavailable;
}

/** Null where the target runs all of it, or has no estimate. */
export function hybridOf(report: Report, target: string): Hybrid | null {
  const left_out = report.left_out?.find(({ targets }) => targets.includes(target));
  const results = report.results.filter((result) => result.target === target);
  const whole = results.find(({ metric }) => metric === "latency");
  // A summary has no operators.
  if (!left_out || !whole || !Array.isArray(report.operators) || !results.some(isEstimate)) return null;
  const { operators: left, host = null } = left_out;
  return {
    left,
    n_operators: report.operators.length,
    n_changes: transitionCount(report, left),
    host,
    whole: isEstimate(whole) ? { latency: whole, left_ms: leftMs(whole, left, results.filter(isEstimate).find(({ metric }) => metric === "npu_latency")) } : whole,
  };
}

/** Parts of operators that were rounded, as in a link, are still the rest beside the part of the accelerator. */
const ROUNDING = 5e-3;

function leftMs({ operators, value }: Estimate, left: readonly LeftOut[], npu: Estimate | undefined): number | null {
  if (!operators) return null;
  const left_ms = left.reduce((sum, { operator }) => sum + (operators[operator] ?? 0), 0);
  const rest_ms = value - (npu?.value ?? Infinity);
  return Math.abs(rest_ms - left_ms) < ROUNDING * value ? rest_ms : left_ms;
}

/** The operators that a target leaves to a processor, by index, with the reason; empty where it runs all. */
export function operatorsLeftBy({ left_out }: Pick<Report, "left_out">, target: string): ReadonlyMap<number, string> {
  const left = left_out?.find(({ targets }) => targets.includes(target))?.operators ?? [];
  return new Map(left.map(({ operator, reason }) => [operator, reason]));
}

/** How many operators an accelerator runs itself; null where that is all of them. */
export function onAcceleratorWords({ left_out, model }: Pick<Report, "left_out" | "model">, target: string): string | null {
  const n_left = left_out?.find(({ targets }) => targets.includes(target))?.operators.length ?? 0;
  return n_left === 0 ? null : `${(model.n_operators - n_left).toLocaleString("en")} of ${format.plural(model.n_operators, "operator")} on the NPU`;
}

/** How often execution goes from the accelerator to the processor or back. */
function transitionCount({ operators }: Report, left: readonly LeftOut[]): number {
  const is_left = new Set(left.map(({ operator }) => operator));
  return operators.slice(1).filter(({ index }) => is_left.has(index) !== is_left.has(index - 1)).length;
}

/** The kinds of these operators with their reasons, at most `max_kinds`, each with its number of operators. */
export function leftWords({ operators }: Report, left: readonly LeftOut[], max_kinds: number): string {
  const kinds = new Map<string, number>();
  for (const { operator, reason } of left) {
    const words = `${operators[operator]?.name} (${reason})`;
    kinds.set(words, (kinds.get(words) ?? 0) + 1);
  }
  const listed = [...kinds].slice(0, max_kinds).map(([words, n]) => (n > 1 ? `${n} × ${words}` : words));
  const n_more = kinds.size - listed.length;
  return listed.join(", ") + (n_more > 0 ? ` and ${n_more} more ${n_more === 1 ? "kind" : "kinds"}` : "");
}
