/** One card a target: what the model costs there, how sure that is, and where the number comes from. */
import { el, quantity } from "../dom.ts";
import * as format from "../format.ts";
import { type Estimate, type Result, type Unavailable, isEstimate } from "../report.ts";
import { metricMeaning, metricName, provenanceWords } from "../words.ts";

export function targetCards(results: Result[]): HTMLElement {
  const cards = [...groupByTarget(results).values()].map(targetCard);
  return el("section", { class: "targets", "aria-label": "Estimates per target" }, ...cards);
}

export function groupByTarget(results: Result[]): Map<string, Result[]> {
  const groups = new Map<string, Result[]>();
  for (const result of results) groups.set(result.target, [...(groups.get(result.target) ?? []), result]);
  return groups;
}

function targetCard(results: Result[]): HTMLElement {
  const { device, target } = results[0];
  const estimates = results.filter(isEstimate);
  const missing = results.filter((result): result is Unavailable => !isEstimate(result));
  return el(
    "article",
    { class: cardClass(results.length, estimates.length), "data-target": target },
    el("h3", { title: target }, device || target),
    estimates.length > 0 ? el("dl", { class: "metrics" }, ...estimates.map(metricRow)) : null,
    ...reasons(missing, results.length),
    estimates.every(isPromised) ? null : el("p", { class: "doubt" }, "Error unknown: unlike the models this was learned from"),
    ...provenances(estimates),
  );
}

function cardClass(n_results: number, n_estimates: number): string {
  const short = n_results <= 2 ? " card-short" : "";
  return `card panel${short}${n_estimates === 0 ? " card-unavailable" : ""}`;
}

function metricRow(estimate: Estimate): HTMLElement {
  const { metric, value, unit } = estimate;
  return el(
    "div",
    { class: "metric", "data-metric": metric, title: metricMeaning(metric) },
    el("dt", {}, metricName(metric)),
    el("dd", {}, quantity(format.measure(value, unit)), el("span", { class: "error", title: errorMeaning(estimate) }, errorWords(estimate))),
  );
}

/** The interval where there is one, or how far off estimates are in the mean. */
function errorWords({ value, lo, hi, unit, expected_error_percent, provenance }: Estimate): string {
  if (provenance.kind === "exact") return "exact";
  if (lo !== undefined && hi !== undefined) {
    // In the unit of the value, which stands beside it.
    const [low, high] = [lo, hi].map((end) => format.measure(end, unit, value)[0]);
    return `${low} \u2013 ${high}`;
  }
  if (typeof expected_error_percent !== "number") return "\u00b1\u202f?";
  return `\u00b1\u202f${format.percent(expected_error_percent)}`;
}

function errorMeaning({ lo, expected_error_percent }: Estimate): string | null {
  const mean = typeof expected_error_percent === "number" ? `off by ${format.percent(expected_error_percent)} in the mean` : null;
  const interval = lo === undefined ? null : "90 % interval: 9 of 10 held-out networks lie inside theirs";
  return [interval, mean].filter(Boolean).join("; ") || null;
}

/** Each reason once, with the metrics it holds for unless it holds for all. */
function reasons(missing: Unavailable[], n_results: number): HTMLElement[] {
  const by_reason = new Map<string, string[]>();
  for (const { unavailable, metric } of missing) {
    by_reason.set(unavailable, [...(by_reason.get(unavailable) ?? []), metricName(metric)]);
  }
  return [...by_reason].map(([reason, metrics]) => {
    const subject = metrics.length === n_results ? "No estimate" : `No ${metrics.join(", ").toLowerCase()}`;
    return el("p", { class: "reason" }, el("strong", {}, `${subject}: `), reason);
  });
}

/** Nothing is promised for operators that training never had. */
function isPromised({ lo, expected_error_percent, provenance }: Estimate): boolean {
  return provenance.kind === "exact" || lo !== undefined || typeof expected_error_percent === "number";
}

/** Each source once, with all of its configurations. */
function provenances(estimates: Estimate[]): HTMLElement[] {
  const by_words = new Map<string, Set<string>>();
  for (const { provenance } of estimates) {
    const words = provenanceWords(provenance);
    by_words.set(words, (by_words.get(words) ?? new Set()).add(provenance.configuration));
  }
  return [...by_words].map(([words, configurations]) => {
    const lines = [...configurations].filter((line) => line !== "");
    return el("p", { class: "provenance" }, words, ...lines.map((line) => el("span", { class: "configuration", title: line }, line)));
  });
}
