/** A network in two parts: what an accelerator runs, and what it leaves to the processor beside it. */
import * as format from "./format.ts";
import { type Estimate, type LeftOut, type Report, isEstimate } from "./report.ts";
import { MICROCONTROLLERS, PROCESSORS, familyOf } from "./words.ts";

export interface Hybrid {
  /** Of the processor, in topological order. */
  left: readonly LeftOut[];
  n_operators: number;
  /** From the accelerator to the processor or back, in topological order. */
  n_changes: number;
  accelerator_ms: number;
  /** The latency on the chosen processor, and the part of it that is left; null where no processor has an estimate. */
  host: { latency: Estimate; left_ms: number } | null;
}

const KEY = "litecast.host";
/** Taken where none was chosen: the processor beside an Ethos-U65 in a chip that there is. */
const DEFAULT_HOST = "cortex-a55-imx93";

/** Null where the target runs all of it, or has no estimate. */
export function hybridOf(report: Report, target: string): Hybrid | null {
  const left = report.left_out?.find(({ targets }) => targets.includes(target))?.operators;
  const latency = latencies(report).find((result) => result.target === target);
  if (!left || !latency) return null;
  const host = hostIn(report);
  const left_ms = host ? left.reduce((sum, { operator }) => sum + (host.operators?.[operator] ?? 0), 0) : 0;
  return {
    left,
    n_operators: report.operators.length,
    n_changes: changes(report, left),
    accelerator_ms: latency.value,
    host: host && { latency: host, left_ms },
  };
}

/** What part of a network the estimates of `target` are of; null where they are of all of it. */
export function partOf({ left_out, model }: Pick<Report, "left_out" | "model">, target: string): string | null {
  const n_left = left_out?.find(({ targets }) => targets.includes(target))?.operators.length ?? 0;
  return n_left === 0 ? null : `${(model.n_operators - n_left).toLocaleString("en")} of ${format.plural(model.n_operators, "operator")}`;
}

/** Latencies on processors that tell what each operator takes. */
export function hostsOf(report: Report): Estimate[] {
  return latencies(report).filter(({ target, operators }) => operators !== undefined && [PROCESSORS, MICROCONTROLLERS].includes(familyOf(target)));
}

export function hostIn(report: Report): Estimate | null {
  const hosts = hostsOf(report);
  const of = (id: string): Estimate | undefined => hosts.find(({ target }) => target === id);
  return of(chosenHost()) ?? of(DEFAULT_HOST) ?? hosts[0] ?? null;
}

export function chooseHost(target: string): void {
  try {
    localStorage.setItem(KEY, target);
  } catch {
    // A browser that keeps nothing takes the default again.
  }
}

function chosenHost(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

function latencies({ results }: Report): Estimate[] {
  return results.filter(isEstimate).filter(({ metric }) => metric === "latency");
}

function changes({ operators }: Report, left: readonly LeftOut[]): number {
  const is_left = new Set(left.map(({ operator }) => operator));
  return operators.slice(1).filter(({ index }) => is_left.has(index) !== is_left.has(index - 1)).length;
}

/** Kinds of operators with the reason, each with how often it stands there. */
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
