/** Ids of the report in words. */
import { METRICS, REFERENCES } from "../package/src/catalogue.ts";
import * as format from "./format.ts";
import type { Estimate, Evidence, Provenance, Result } from "./report.ts";

/** By what reports call them. */
const TOOLS = new Map([["ethos-u-vela", "Vela"], ["litecast", "LiteCast"]]);

const METRIC_ORDER = Object.keys(METRICS);

/** Name of a metric; its id where this version does not know it. */
export function metricName(metric: string): string {
  return METRICS[metric]?.label ?? metric;
}

/** What a metric is, without full stop; empty where this version does not know it. */
export function metricMeaning(metric: string): string {
  return METRICS[metric]?.meaning ?? "";
}

/** In the order of the engine; metrics that it does not know follow. */
export function inMetricOrder<Item extends { metric: string }>(items: readonly Item[]): Item[] {
  const rank = ({ metric }: Item): number => (METRIC_ORDER.includes(metric) ? METRIC_ORDER.indexOf(metric) : METRIC_ORDER.length);
  return items.toSorted((a, b) => rank(a) - rank(b));
}

/** Name and version of the program that a number comes from. */
export function toolName({ tool, version }: Pick<Provenance, "tool" | "version">): string {
  return [TOOLS.get(tool) ?? tool, version].filter(Boolean).join(" ");
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

/** In the place of what an estimate was compared with. */
export const NOTHING = "nothing";

/** What the errors of estimates were measured against. */
export function referenceWords({ kind, tool, version, reference }: Provenance): string {
  if (FROM_COMPILERS.has(kind)) return `${toolName({ tool, version })} compiler estimates, not silicon`;
  return (reference === undefined ? BY_KIND[kind] : REFERENCES[reference])?.words ?? NOTHING;
}

/** The same in a word or two for tables, as the command names it. */
export function referenceName({ kind, tool, version, reference }: Provenance): string {
  if (FROM_COMPILERS.has(kind)) return toolName({ tool, version });
  return (reference === undefined ? BY_KIND[kind] : REFERENCES[reference])?.name ?? NOTHING;
}

const FROM_COMPILERS = new Set([FROM_COMPILER, "compiler rules"]);

/** Of results that a person's own measurements make. */
export const CALIBRATED = "calibrated with your measurements";

/** By how a number was made, where the report has no code for what it was compared with. */
const BY_KIND: Record<string, { name: string; words: string } | undefined> = {
  [CALIBRATED]: { name: "your other measurements", words: "your other measurements" },
  "learned from emulated": { name: NOTHING, words: "instructions counted in an emulator, not time on the board" },
  "learned from measured": REFERENCES["measured"],
};

/** How sure an estimate is, in few words, in the unit of `like`. */
export function doubtWords(estimate: Estimate, like = estimate.value): string {
  const { lo, hi, unit, expected_error_percent } = estimate;
  if (isExact(estimate)) return "exact";
  if (lo !== undefined && hi !== undefined) {
    const [low, high] = format.intervalEnds(lo, hi, unit, like);
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
  if (reference === NOTHING) return `${evidenceWords(estimate)}. ${lo === undefined ? "No interval" : "Interval"}, compared with nothing`;
  const mean =
    typeof expected_error_percent === "number"
      ? `mean error ${format.percent(expected_error_percent)} against ${reference}`
      : `error not measured`;
  const percent = intervalPercent(estimate);
  const level = percent === null ? "Interval, its level not checked," : `${percent}\u202f% interval`;
  const interval = lo === undefined ? "No interval" : `${level} against ${reference}`;
  return `${evidenceWords(estimate)}. ${interval}; ${mean}`;
}

/** The level of an interval in percent, where it was checked. */
export function intervalPercent({ provenance }: Estimate): number | null {
  return provenance.interval_percent ?? null;
}

const EVIDENCE: Record<string, string> = {
  counted: "Counted",
  measured: "Fitted to measurements",
  compiler: "The compiler’s opinion",
  assumed: "Assumed",
};

/** A mark for each grade: the fuller, the surer. Bars have a texture for each. */
const EVIDENCE_MARKS: Record<string, string> = { counted: "■", measured: "●", compiler: "◐", assumed: "○" };

/** The mark of what an estimate rests on; empty where its report is older than the grades. */
export function evidenceMark({ evidence }: { evidence?: Evidence | undefined }): string {
  return EVIDENCE_MARKS[evidence ?? ""] ?? "";
}

/** The mark with its words. */
export function markedEvidence(estimate: { evidence?: Evidence | undefined }): string {
  return `${evidenceMark(estimate)} ${evidenceWords(estimate)}`.trimStart();
}

/** The mark of a time that a person measured: a tick, which no estimate has. */
export const MEASURED_MARK = "\u2713";

/** Every mark with what it means, from the surest. */
export function evidenceLegend(): string {
  return Object.keys(EVIDENCE_MARKS).map((evidence) => markedEvidence({ evidence })).join("   ");
}

/** What an estimate rests on. */
export function evidenceWords({ evidence }: { evidence?: Evidence | undefined }): string {
  return EVIDENCE[evidence ?? ""] ?? "Not said what it rests on";
}

/** With what of the device it is of, where that is not all. */
export function metricNameOf({ metric, provenance }: Estimate): string {
  return provenance.scope ? `${metricName(metric)} (${provenance.scope})` : metricName(metric);
}

/** A mean error above this, in percent, is a doubt that stands at the number. */
const DOUBTFUL_PERCENT = 25;

/** Why a number is less sure than it looks, in few words; null where nothing speaks against it. */
export function headlineDoubt(estimate: Estimate): string | null {
  const { expected_error_percent, evidence, provenance } = estimate;
  if (typeof expected_error_percent === "number" && expected_error_percent > DOUBTFUL_PERCENT) return `off by ${format.percent(expected_error_percent)} in the mean against ${referenceWords(provenance)}`;
  return evidence === "assumed" ? "compared with nothing" : null;
}

/** Whether a number is counted from the file alone. */
export function isExact({ provenance }: Estimate): boolean {
  return provenance.kind === "exact";
}

/** Messages name targets by id; people know the device. */
export function withDeviceNames(message: string, results: readonly Result[]): string {
  const names = new Map(results.map(({ target, device }) => [target, device || target]));
  return [...names].reduce((text, [target, device]) => text.replaceAll(target, device), message);
}

/** Messages of the report are lower case without full stop. */
export function asSentence(message: string): string {
  const end = /[.!?…]$/.test(message) ? "" : ".";
  // Addresses and names in a file keep their letters.
  if (/^(https?:|[a-z]+_[a-z_]+\b)/.test(message)) return message + end;
  return message.charAt(0).toUpperCase() + message.slice(1) + end;
}
