/** Estimates in tables: one metric a column, one unit a column, and beside each number how sure it is. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { type Estimate, type Result, isEstimate } from "../report.ts";
import { doubtSentence, doubtWords, inMetricOrder, isExact, metricMeaning, metricName } from "../words.ts";

/** A column of a table of targets: one metric in one unit. */
export interface MetricColumn {
  metric: string;
  unit: string;
  /** A value in whose unit the column is shown. */
  scale: number;
}

/** A column for each metric that `results` have an estimate of; there is none for what nothing tells. */
export function metricColumns(results: readonly Result[]): MetricColumn[] {
  const by_metric = new Map<string, Estimate[]>();
  for (const result of results) {
    if (isEstimate(result)) by_metric.set(result.metric, [...(by_metric.get(result.metric) ?? []), result]);
  }
  const columns = [...by_metric].map(([metric, estimates]) => ({
    metric,
    unit: estimates[0].unit,
    scale: format.columnScale(estimates.map(({ value }) => value)),
  }));
  return inMetricOrder(columns);
}

/** Name and unit of a column. */
export function columnTitle({ metric, unit, scale }: MetricColumn): [string, string] {
  return [metricName(metric), format.unitOf(unit, scale)];
}

/** What the metric of a column is, for its tooltip. */
export function columnMeaning({ metric }: MetricColumn): string {
  return metricMeaning(metric);
}

/** Of what has no estimate; the reason stands in its title. */
export const UNKNOWN = "?";

/** The value above its doubt; the mark of the unknown with the reason where there is no estimate. */
export function estimateCell(result: Result | undefined, { scale, metric }: MetricColumn, ...more: (HTMLElement | null)[]): HTMLElement {
  if (!result) return el("td", { class: "numeric subtle", "data-metric": metric }, "");
  if (!isEstimate(result)) {
    return el("td", { class: "numeric subtle", "data-metric": metric, title: result.unavailable }, UNKNOWN, el("span", { class: "sr-only" }, `: ${result.unavailable}`));
  }
  return el(
    "td",
    { class: "numeric", "data-metric": metric },
    el("span", { class: "value" }, format.measure(result.value, result.unit, scale)[0]),
    el("span", { class: `${doubtClass(result)} evidence-${result.evidence ?? "unknown"}`, title: doubtSentence(result) }, doubtWords(result, scale)),
    result.estimated_as ? el("span", { class: "part-words" }, `as ${result.estimated_as}`) : null,
    ...more,
  );
}

/** What promises nothing looks different from what does. */
export function doubtClass(estimate: Estimate): string {
  return estimate.lo === undefined && !isExact(estimate) ? "doubt-words no-promise" : "doubt-words";
}

/** Marks of a difference that may be none, as the command has them. */
const OVERLAP_MARK = "\u2248";
const NO_INTERVAL_MARK = "\u2020";

/** What the marks mean. */
export const DIFFERENCE_LEGEND = `${OVERLAP_MARK} The intervals overlap: which of the two is smaller is not sure. ${NO_INTERVAL_MARK} A number without an interval: a small difference may be none.`;

/** Against a baseline; intervals that overlap, or are not there, leave open which one is smaller. */
export function changeCell(result: Result | undefined, baseline: Result | undefined): HTMLElement | null {
  if (!result || !baseline || !isEstimate(result) || !isEstimate(baseline) || baseline.value === 0) return null;
  const overlap = (result.lo ?? result.value) <= (baseline.hi ?? baseline.value) && (result.hi ?? result.value) >= (baseline.lo ?? baseline.value);
  const is_promised = [result, baseline].every((estimate) => isExact(estimate) || estimate.lo !== undefined);
  const is_open = result.value !== baseline.value && (overlap || !is_promised);
  const words = format.relativeChange(result.value / baseline.value);
  const title = `${words} against the baseline's ${metricName(result.metric).toLowerCase()}${is_open ? (is_promised ? "; the intervals overlap, so either may be smaller" : "; without intervals either may be smaller") : ""}`;
  const direction = result.value < baseline.value ? "less" : result.value > baseline.value ? "more" : "same";
  return el("span", { class: `difference ${is_open ? "open" : direction}`, title }, is_open ? `${is_promised ? OVERLAP_MARK : NO_INTERVAL_MARK}\u202f${words}` : words);
}

/** What of each device its energy is of: energies of different things cannot be compared. */
export function energyNote(results: readonly Result[]): HTMLElement | null {
  const by_scope = new Map<string, Set<string>>();
  for (const { metric, provenance, device } of results.filter(isEstimate)) {
    // Reports of the first version do not say it.
    const scope = provenance.scope ?? "not said";
    if (metric === "energy") by_scope.set(scope, (by_scope.get(scope) ?? new Set()).add(device));
  }
  if (by_scope.size === 0) return null;
  const lines = [...by_scope].map(([scope, devices]) => `${[...devices].join("; ")}: ${scope}`);
  const words = by_scope.size > 1 ? "Energies are of different things, and cannot be compared" : "What energies are of";
  return el("p", { class: "subtle energy-note" }, `${words}. ${lines.join(". ")}.`);
}
