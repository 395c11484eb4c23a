/** What a network would cost after a change: each metric beside what it is without the change. */
import { judgeEstimate, readBudget } from "../budget.ts";
import { el, quantity } from "../dom.ts";
import * as format from "../format.ts";
import { type Estimate, type Report, isEstimate } from "../report.ts";
import { doubtWords, inMetricOrder, metricName, asSentence } from "../words.ts";

/** The estimates of `changed`, which is of one target, beside those of `report` for `target`; reasons where there are none, and doubts that are new. */
export function answerParts(changed: Report, report: Report, target: string): HTMLElement[] {
  const before = new Map(report.results.filter(isEstimate).filter((result) => result.target === target).map((result) => [result.metric, result]));
  const tiles = inMetricOrder(changed.results.filter(isEstimate)).map((estimate) => tile(estimate, before.get(estimate.metric)));
  const reasons = new Set(changed.results.flatMap((result) => (isEstimate(result) ? [] : [result.unavailable])));
  const doubts = changed.diagnostics.filter(({ code }) => !report.diagnostics.some((known) => known.code === code));
  return [
    el("dl", { class: "what-if-tiles" }, ...tiles, fact("MACs", report.model.macs, changed.model.macs), fact("Weights", report.model.weight_bytes, changed.model.weight_bytes, "bytes")),
    ...[...reasons].map((reason) => el("p", { class: "reason" }, `No estimate: ${reason}.`)),
    ...doubts.map(({ severity, message }) => el("p", { class: severity === "warning" ? "doubt" : "subtle" }, asSentence(message))),
  ];
}

function tile(estimate: Estimate, before: Estimate | undefined): HTMLElement {
  const { metric, value, unit } = estimate;
  const verdict = judgeEstimate(estimate, readBudget());
  return el(
    "div",
    { class: `metric${verdict ? ` ${verdict.kind}` : ""}`, "data-metric": metric },
    el("dt", {}, metricName(metric)),
    el(
      "dd",
      {},
      quantity(format.measure(value, unit)),
      before && before.value > 0 ? el("span", { class: `difference ${direction(value, before.value)}` }, `${format.relativeChange(value / before.value)} from ${format.text(format.measure(before.value, unit))}`) : null,
      el("span", { class: "doubt-words" }, doubtWords(estimate)),
      verdict ? el("span", { class: "verdict" }, verdict.words) : null,
    ),
  );
}

function fact(name: string, before: number, after: number, unit = ""): HTMLElement {
  const text = unit === "bytes" ? format.bytes(after) : format.count(after);
  return el("div", { class: "metric" }, el("dt", {}, name), el("dd", {}, quantity(text), before > 0 ? el("span", { class: `difference ${direction(after, before)}` }, format.relativeChange(after / before)) : null));
}

/** Changes below this part are shown as none. */
const MIN_SHOWN_CHANGE = 5e-4;

function direction(value: number, before: number): string {
  const change = value / before - 1;
  return Math.abs(change) < MIN_SHOWN_CHANGE ? "same" : change < 0 ? "less" : "more";
}
