/** Ids of the report in words. */
import * as format from "./format.ts";
import type { Estimate, Provenance, Result, TargetInfo } from "./report.ts";

const METRICS: Record<string, string> = {
  latency: "Latency",
  board_latency: "Latency on the board",
  energy: "Energy",
  sram_peak: "SRAM peak",
  offchip_traffic: "Off-chip traffic",
  sram_traffic: "SRAM traffic",
  arena: "Tensor arena",
};

const METRIC_MEANINGS: Record<string, string> = {
  latency: "Time of one inference",
  board_latency: "Time of one inference with what the board takes beyond the compiler's estimate",
  energy: "Energy of one inference",
  sram_peak: "Most on-chip memory in use at once",
  offchip_traffic: "Bytes that one inference moves to and from off-chip memory",
  sram_traffic: "Bytes that one inference moves to and from on-chip memory",
  arena: "Activation memory as the greedy planner of TensorFlow Lite Micro lays it out",
};

const TOOLS: Record<string, string> = { "ethos-u-vela": "Vela", litecast: "LiteCast" };

/** What a person decides on first; metrics that are not named here follow as the report has them. */
const METRIC_ORDER = ["latency", "board_latency", "energy", "sram_peak", "arena", "offchip_traffic", "sram_traffic"];

/** Of targets, by the beginning of their ids, in the order in which they are offered. */
const FAMILIES: readonly (readonly [prefix: string, name: string])[] = [
  ["device:", "Your devices"],
  ["own:", "Your accelerators"],
  ["ethos-u", "Arm Ethos-U NPUs"],
  ["edgetpu", "Edge TPU"],
  ["cortex-a", "Processors"],
  ["cortex-m", "Microcontrollers"],
  ["esp32", "Microcontrollers"],
  ["tflite-micro", "Microcontrollers"],
  ["gpu", "GPUs"],
  ["mali", "GPUs"],
  ["adreno", "GPUs"],
];

export function familyOf(target: string): string {
  return FAMILIES.find(([prefix]) => target.startsWith(prefix))?.[1] ?? "Other targets";
}

export function metricName(metric: string): string {
  return METRICS[metric] ?? metric;
}

export function metricMeaning(metric: string): string {
  return METRIC_MEANINGS[metric] ?? "";
}

export function inMetricOrder<Item extends { metric: string }>(items: readonly Item[]): Item[] {
  const rank = ({ metric }: Item): number => (METRIC_ORDER.includes(metric) ? METRIC_ORDER.indexOf(metric) : METRIC_ORDER.length);
  return items.toSorted((a, b) => rank(a) - rank(b));
}

export function toolName({ tool, version }: Pick<Provenance, "tool" | "version">): string {
  return [TOOLS[tool] ?? tool, version].filter(Boolean).join(" ");
}

const FROM_COMPILER = "learned from compiler estimate";

/** Where a number comes from, as one sentence without full stop. */
export function provenanceWords(provenance: Provenance): string {
  const source = toolName(provenance);
  if (provenance.kind === FROM_COMPILER) return `Learned from ${source} compiler estimates`;
  if (provenance.kind === "exact") return "Exact, computed from the file";
  const sentence = source ? `${provenance.kind} (${source})` : provenance.kind;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** What the errors of estimates were measured against. */
export function referenceWords({ kind, configuration, tool, version }: Provenance): string {
  if (kind === CALIBRATED) return "your other measurements";
  if (kind === FROM_COMPILER) return `${toolName({ tool, version })} compiler estimates, not silicon`;
  return REFERENCES[kind] ?? referenceIn(configuration);
}

/** By how a number was made, where that alone says it. */
const REFERENCES: Record<string, string> = {
  "compiler rules": "the compiler's own estimates, not silicon",
  "learned from emulated": "instructions counted in an emulator, not time on the board",
  "learned from measured": "measurements",
};

/** Of results that a person's own measurements make. */
export const CALIBRATED = "calibrated with your measurements";

/** As `referenceWords`, of a target in the list of all. */
export function referenceOf({ learned_from }: TargetInfo): string {
  const compiler = Object.keys(TOOLS).find((tool) => tool !== "litecast" && learned_from.startsWith(tool));
  if (!compiler) return referenceIn(learned_from);
  const version = learned_from.slice(compiler.length).split(",")[0].trim();
  return `${toolName({ tool: compiler, version })} compiler estimates, not silicon`;
}

/** A model says in words what it was fitted to; where that is not known nothing is claimed. */
function referenceIn(words: string): string {
  if (/with each kind left out/.test(words)) return "networks measured on boards, each kind left out of the fit";
  if (/(^|, )instructions of /.test(words)) return "instructions counted in an emulator, not time on the board";
  if (/latenc(y|ies)|networks left out in turn/.test(words)) return "measured latencies";
  return "what its source says";
}

/** How sure an estimate is, in few words, in the unit of `like`. */
export function doubtWords(estimate: Estimate, like = estimate.value): string {
  const { lo, hi, unit, expected_error_percent } = estimate;
  if (isExact(estimate)) return "exact";
  if (lo !== undefined && hi !== undefined) {
    const [low, high] = [lo, hi].map((end) => format.measure(end, unit, like)[0]);
    return `${low} \u2013 ${high}`;
  }
  if (typeof expected_error_percent === "number") return `±\u202f${format.percent(expected_error_percent)}`;
  return "no interval";
}

/** The same in a sentence, with what it was measured against. */
export function doubtSentence(estimate: Estimate): string {
  const { lo, expected_error_percent, provenance } = estimate;
  if (isExact(estimate)) return "Exact, computed from the file";
  const reference = referenceWords(provenance);
  const mean =
    typeof expected_error_percent === "number"
      ? `mean error ${format.percent(expected_error_percent)} against ${reference}`
      : `error not measured`;
  const interval = lo === undefined ? "No interval" : `${intervalPercent(estimate)}\u202f% interval against ${reference}`;
  return `${interval}; ${mean}`;
}

/** Nominal coverage of an interval in percent. */
export function intervalPercent(estimate: Estimate): number {
  const { interval } = estimate as Estimate & { interval?: { level?: number } | number | null };
  const level = typeof interval === "number" ? interval : interval?.level;
  return typeof level === "number" ? Math.round(level <= 1 ? 100 * level : level) : 90;
}

export function isExact({ provenance }: Estimate): boolean {
  return provenance.kind === "exact";
}

/** Messages name targets by id; people know the device. */
export function withDeviceNames(message: string, results: readonly Result[]): string {
  const names = new Map(results.map(({ target, device }) => [target, device || target]));
  return [...names].reduce((text, [target, device]) => text.replaceAll(target, device), message);
}
