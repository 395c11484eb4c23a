/** When each operator of a report runs on a target, on which processor, and what memory is then in use. */
import { foldingOf } from "../folding.ts";
import * as format from "../format.ts";
import { operatorsLeftBy } from "../processor_split.ts";
import { type Kind, kindOf } from "../kinds.ts";
import { type Evidence, type Report, isEstimate } from "../report.ts";
import { isAccelerator } from "../targets.ts";

/** Consecutive operators that the processor beside an accelerator runs. */
export interface Stretch {
  first: number;
  last: number;
  /** What they take together. */
  cost: number;
  /** Each reason once. */
  reasons: readonly string[];
}

/** Operators that run one after the other. Times are in the unit of the schedule. */
export interface Schedule {
  /** Of the target, or what the order stands for. */
  name: string;
  /** `ms`, or `operators` where no latency is known by operator: then each is one wide. */
  unit: "ms" | "operators";
  names: readonly string[];
  kinds: readonly Kind[];
  starts: Float64Array;
  ends: Float64Array;
  /** Place in `lanes`, by operator. */
  lane: Uint8Array;
  lanes: readonly string[];
  /** What the times of each lane rest on; undefined where an older report does not say it, or times are not known. */
  lane_evidence: readonly (Evidence | undefined)[];
  /** Bytes that each operator reads and writes off chip, where the target tells. */
  traffic_bytes: readonly number[] | null;
  /** Of the whole; what no operator takes, such as starts, lies after the last one. */
  total: number;
  /** In use while an operator runs, in bytes; `NaN` where that is not known. */
  memory: Float64Array;
  memory_name: string;
  peak_bytes: number;
  /** Null where no memory is known. */
  peak_operator: number | null;
  stretches: readonly Stretch[];
  /** Of each repeat the blocks, as operators. */
  repeats: readonly (readonly (readonly number[])[])[];
}

/** Null where neither a latency nor memory is known by operator. Linear in operators, but for repeats. */
export function scheduleOf(report: Report, target: string): Schedule | null {
  const { operators } = report;
  if (!Array.isArray(operators) || operators.length === 0) return null;
  const estimates = report.results.filter(isEstimate).filter((result) => result.target === target);
  const latency = estimates.find(({ metric, operators }) => metric === "latency" && operators?.length);
  const memory = operators.some(({ live_bytes }) => live_bytes !== null) ? operators.map(({ live_bytes }) => live_bytes ?? NaN) : null;
  if (!latency && !memory) return null;
  const npu_latency = estimates.find(({ metric }) => metric === "npu_latency");
  const traffic = latency && estimates.find(({ metric, operators }) => metric === "offchip_traffic" && operators?.length === latency.operators?.length);
  const n = operators.length;
  const [starts, ends, lane] = [new Float64Array(n), new Float64Array(n), new Uint8Array(n)];
  const left = operatorsLeftBy(report, target);
  let now = 0;
  for (let i = 0; i < n; i++) {
    starts[i] = now;
    now += latency ? Math.max(0, latency.operators?.[i] ?? 0) : 1;
    ends[i] = now;
    lane[i] = left.has(i) ? 1 : 0;
  }
  const bytes = Float64Array.from(memory ?? new Array(n).fill(NaN));
  const peak_bytes = bytes.reduce((most, value) => (value > most ? value : most), 0);
  const peak = bytes.indexOf(peak_bytes);
  return {
    name: latency?.device ?? "Order of execution",
    unit: latency ? "ms" : "operators",
    names: operators.map(({ name }) => name),
    kinds: operators.map(kindOf),
    starts,
    ends,
    lane,
    lanes: !latency ? ["Order"] : left.size > 0 ? ["NPU", "CPU"] : [isAccelerator(target) ? "NPU" : "Time"],
    lane_evidence: latency ? [(npu_latency ?? latency).evidence, latency.evidence] : [],
    traffic_bytes: traffic?.operators ?? null,
    total: latency ? Math.max(now, latency.value) : n,
    memory: bytes,
    memory_name: "Live activations",
    peak_bytes,
    peak_operator: memory ? (report.model.peak_operator ?? (peak >= 0 ? peak : null)) : null,
    stretches: stretchesOf(left, starts, ends),
    repeats: foldingOf(report).repeats.map(({ blocks }) => blocks),
  };
}

function stretchesOf(left: ReadonlyMap<number, string>, starts: Float64Array, ends: Float64Array): Stretch[] {
  const stretches: { first: number; last: number; reasons: Set<string> }[] = [];
  for (const [operator, reason] of [...left].sort(([a], [b]) => a - b)) {
    const before = stretches.at(-1);
    if (before && before.last === operator - 1) {
      before.last = operator;
      before.reasons.add(reason);
    } else stretches.push({ first: operator, last: operator, reasons: new Set([reason]) });
  }
  return stretches.map(({ first, last, reasons }) => ({ first, last, cost: ends[last] - starts[first], reasons: [...reasons] }));
}

/** Bytes in a unit of time, by operator; 0 for one that takes none of its own. */
export function trafficRates(schedule: Schedule, traffic_bytes: readonly number[]): Float64Array {
  const { starts, ends } = schedule;
  // Each frame asks.
  const known = rates.get(schedule) ?? Float64Array.from(traffic_bytes, (bytes, i) => (ends[i] > starts[i] ? bytes / (ends[i] - starts[i]) : 0));
  rates.set(schedule, known);
  return known;
}

const rates = new WeakMap<Schedule, Float64Array>();

/** A time, or a number of operators. */
export function timeText({ unit }: Pick<Schedule, "unit">, value: number, like = value): string {
  return unit === "ms" ? format.text(format.measure(value, "ms", like)) : `${Math.round(value).toLocaleString("en")}`;
}

/** What stands on one bar: an operator, or a block of them that is folded. */
export interface Bar {
  from: number;
  to: number;
  lane: number;
  /** The first one stands for all. */
  operators: readonly number[];
  label: string;
  /** Null for a block. */
  kind: Kind | null;
}

/** Bars in the order of time. Operators of a folded block that run elsewhere than its first keep their own bars. */
export function barsOf(schedule: Schedule, folded: ReadonlySet<number>): Bar[] {
  const { names, kinds, starts, ends, lane, repeats } = schedule;
  /** The bar of a block at its first operator, null at the others. */
  const held = new Map<number, Bar | null>();
  for (const repeat of folded) {
    repeats[repeat]?.forEach((block, number) => {
      const operators = block.filter((operator) => lane[operator] === 0);
      if (operators.length < 2) return;
      const bar = { from: starts[operators[0]], to: ends[operators[operators.length - 1]], lane: 0, operators, label: `Block ${number + 1} of ${repeats[repeat].length}`, kind: null };
      operators.forEach((operator, i) => held.set(operator, i === 0 ? bar : null));
    });
  }
  return names.flatMap((name, i): Bar[] => {
    const bar = held.get(i);
    if (bar === null) return [];
    return [bar ?? { from: starts[i], to: ends[i], lane: lane[i], operators: [i], label: name, kind: kinds[i] }];
  });
}
