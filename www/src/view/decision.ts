/** The decision: what the model costs on the chosen target, and how the others compare. */
import { type Budget, judgeEstimate, readBudget } from "../budget.ts";
import { measuredOn } from "../measured_latencies.ts";
import { el, keepingFocus, quantity } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { Asked } from "../requested_targets.ts";
import { type Estimate, type Report, type Result, type Unavailable, groupByTarget, isEstimate } from "../report.ts";
import type { Selection } from "../selection.ts";
import { GROUPS, groupOf, hasThreads } from "../targets.ts";
import { writeThreads } from "../threads.ts";
import { termsOf } from "../cost_terms.ts";
import { verdictOn } from "../verdict.ts";
import { NOTHING, doubtSentence, doubtWords, evidenceLegend, headlineDoubt, inMetricOrder, intervalPercent, isExact, MEASURED_MARK, markedEvidence, metricMeaning, metricName, metricNameOf, provenanceWords, referenceWords, asSentence, withDeviceNames } from "../words.ts";
import { columnMeaning, columnTitle, doubtClass, energyNote, estimateCell, metricColumns } from "./estimate_cells.ts";
import { isWithAnswer } from "./diagnostics.ts";
import { budgetForm } from "./budget_form.ts";
import { fitLines } from "./board_room.ts";
import { onAcceleratorWords } from "../processor_split.ts";
import { elsewherePart } from "./measured_elsewhere.ts";
import { hybridPart } from "./processor_split.ts";
import type { NextStep } from "./next_step.ts";
import { remarkList } from "./remarks.ts";
import { type Sorting, sortBy, sortHead, sortingAfter } from "../sorting.ts";
import { targetChoice, threadsChoice } from "./target_choice.ts";
import { type MoreTargets, groupPanel } from "./target_groups.ts";
import { verdictItem, verdictPart } from "../verdict_elements.ts";
import { otherTargets } from "../remembered_targets.ts";
import type { Opened } from "./what_if.ts";

/** The table of targets that every report is of, beside those of the groups. */
const EVERY = "every";

/** The estimates of the chosen target, and those of all others in tables; `estimate` estimates some of them again. */
export function decisionPanel(report: Report, opened: Opened, selection: Selection, focus: Focus, more: MoreTargets, step: NextStep, estimate: (again: readonly Asked[]) => void, signal: AbortSignal): HTMLElement {
  const answer = el("section", { class: "answer panel", "aria-label": "Estimate for the chosen target" });
  const others = el("section", { class: "others panel", "aria-label": "All targets" });
  const sortings = new Map<string, Sorting>();
  const draw = (): void => {
    const groups = groupByTarget(report.results);
    const target = focus.targetIn(report);
    void keepingFocus(answer, () => answer.replaceChildren(...answerParts(report, opened, groups, target, selection, focus, more, step, estimate)));
    step.refresh();
    drawOthers();
  };
  /** `name` is a group's, or `EVERY`. */
  const table = (name: string, results: readonly Result[]): HTMLElement => {
    const sort = (column: number): void => {
      sortings.set(name, sortingAfter(sortings.get(name) ?? null, column));
      drawOthers();
      const drawn = others.querySelector(`table[data-targets="${name}"]`);
      (drawn?.querySelectorAll("thead button")[column] as HTMLElement | undefined)?.focus();
    };
    return targetTable(name, results, report, focus, sortings.get(name) ?? null, sort);
  };
  const drawOthers = (): void => {
    const scrolled = others.querySelector(".scroller")?.scrollTop ?? 0;
    const { results } = report;
    const every = results.filter(({ target }) => groupOf(target) === null);
    const panels = GROUPS.map((group) => groupPanel(group, results, (results) => table(group, results), more));
    const scroller = el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "All targets, scrollable" }, table(EVERY, every), el("p", { class: "subtle evidence-legend" }, `What numbers rest on: ${evidenceLegend()}${every.some(({ target }) => measuredOn(report, target) !== null) ? `   ${MEASURED_MARK} Measured by you` : ""}`), ...[energyNote(every)].filter((note) => note !== null), ...panels);
    void keepingFocus(others, () => {
      others.replaceChildren(scroller);
      scroller.scrollTop = scrolled;
    });
    requestAnimationFrame(() => showChosen(scroller));
  };
  let seen = "";
  /** Scrolls to the row of a target that was just chosen; never the page. */
  const showChosen = (scroller: HTMLElement): void => {
    const row = scroller.querySelector<HTMLElement>("tr.chosen");
    const chosen = row?.dataset["target"] ?? "";
    if (!row || chosen === seen || scroller.clientHeight === 0) return;
    seen = chosen;
    const [view, place] = [scroller.getBoundingClientRect(), row.getBoundingClientRect()];
    if (place.top < view.top || place.bottom > view.bottom) scroller.scrollTop += place.top - view.top - (view.height - place.height) / 2;
  };
  focus.onChange(draw, signal);
  draw();
  return el("div", { class: "decide" }, answer, others);
}

function answerParts(report: Report, opened: Opened, groups: Map<string, Result[]>, target: string, selection: Selection, focus: Focus, more: MoreTargets, step: NextStep, estimate: (again: readonly Asked[]) => void): HTMLElement[] {
  const results = inMetricOrder(groups.get(target) ?? []);
  const estimates = results.filter(isEstimate);
  const missing = results.filter((result): result is Unavailable => !isEstimate(result));
  const budget = readBudget();
  const parts = [
    el("div", { class: "answer-head" }, targetChoice(groups, target, more), threads(opened, target)),
    ofOlderVersion(report),
    verdictPart(verdictOn(report, target, budget, sramOf(target, more))),
    step.element,
    otherVerdicts(report, target, budget, groups, focus, more),
    budgetForm("budget", () => focus.refresh()),
    estimates.length > 0 ? el("dl", { class: "metrics" }, ...estimates.map((estimate) => metricTile(report, estimate, budget, estimate.metric === "npu_latency" ? onAcceleratorWords(report, target) : null))) : null,
    ...reasons(missing, results.length),
    ...notes(report, target, selection, "warning"),
    ...doubtful(estimates),
    ...fitLines(report, target),
    ...remarkList(report, target),
    hybridPart(report, target, selection, more),
    elsewherePart(report, target, opened.file !== null, estimate),
    ...notes(report, target, selection, "info"),
    sources(estimates),
  ];
  return parts.filter((part) => part !== null);
}

/** A report that was kept has the numbers of the version that made it. */
function ofOlderVersion({ litecast_version }: Report): HTMLElement | null {
  if (litecast_version === LITECAST_VERSION) return null;
  return el("p", { class: "partial older-version" }, `These are the estimates of LiteCast ${litecast_version}, and this is ${LITECAST_VERSION}: open the file again for those of today.`);
}

/** Of the targets that are wanted beside this one; a click looks at one of them. */
function otherVerdicts(report: Report, target: string, budget: Budget, groups: ReadonlyMap<string, Result[]>, focus: Focus, more: MoreTargets): HTMLElement | null {
  const others = otherTargets().filter((other) => other !== target && groups.has(other));
  if (others.length === 0) return null;
  return el("ul", { class: "plain other-verdicts", "aria-label": "The other chosen targets" }, ...others.map((other) => verdictItem(verdictOn(report, other, budget, sramOf(other, more)), () => focus.chooseTarget(other))));
}

/** The SRAM of a board with an Ethos-U; null where it is not known. */
function sramOf(target: string, { offers }: MoreTargets): number | null {
  return offers.find((offer) => offer.target === target)?.sram_bytes ?? null;
}

/** Null where the target has no threads to choose, or the file is no longer at hand. */
function threads({ file, scenario, change }: Opened, target: string): HTMLElement | null {
  if (!file || !hasThreads(target)) return null;
  return threadsChoice("threads", scenario.threads, (threads) => (writeThreads(threads), change({ ...scenario, threads })));
}

/** `part` is what its number is of, where that is not all of the network. */
function metricTile(report: Report, estimate: Estimate, budget: Budget, part: string | null): HTMLElement {
  const { metric } = estimate;
  const judgement = judgeEstimate(estimate, budget);
  const doubt = headlineDoubt(estimate);
  const measured = metric === "latency" ? measuredOn(report, estimate.target) : null;
  return el(
    "div",
    { class: `metric${judgement ? ` ${judgement.kind}` : ""}`, "data-metric": metric, title: metricMeaning(metric) },
    el("dt", {}, metricNameOf(estimate), part ? el("span", { class: "part-words" }, `: ${part}`) : null),
    el(
      "dd",
      {},
      numberWithSum(report, estimate),
      intervalBar(estimate, measured),
      estimate.estimated_as ? el("span", { class: "part-words" }, `as ${estimate.estimated_as}`) : null,
      el("span", { class: doubtClass(estimate), title: doubtSentence(estimate) }, doubtLine(estimate)),
      measured === null ? null : el("span", { class: "measured-words" }, measuredWords(measured, estimate)),
      el("span", { class: "evidence" }, markedEvidence(estimate)),
      doubt ? el("span", { class: "doubt" }, doubt) : null,
      judgement ? el("span", { class: "verdict" }, judgement.words) : null,
    ),
  );
}

/** A click opens what the number is the sum of. */
function numberWithSum(report: Report, estimate: Estimate): HTMLElement {
  const { value, unit } = estimate;
  const shown = quantity(format.measure(value, unit));
  const terms = termsOf(report, estimate);
  if (terms.length === 0) return shown;
  const items = terms.map((term) => el("div", { class: "term", title: term.source }, el("dt", {}, term.words, el("span", { class: "sum-source" }, term.source)), el("dd", {}, format.text(format.measure(term.value, unit, value)))));
  return el("details", { class: "sum" }, el("summary", { title: "What it is the sum of" }, shown), el("dl", { class: "terms" }, ...items));
}

function doubtLine(estimate: Estimate): string {
  if (isExact(estimate)) return "exact";
  const words = doubtWords(estimate);
  const percent = intervalPercent(estimate);
  if (estimate.lo !== undefined) return percent === null ? words : `${words} (${percent}\u202f%)`;
  return words === "no interval" ? "no interval: error unknown" : `no interval; mean error ${words}`;
}

/** What was measured here, beside the estimate. */
function measuredWords(measured: number, { value, unit, lo, hi }: Estimate): string {
  const is_inside = lo !== undefined && hi !== undefined && lo <= measured && measured <= hi;
  return `${MEASURED_MARK} ${format.text(format.measure(measured, unit))} measured by you; the estimate is ${format.relativeChange(value / measured)} off${lo === undefined ? "" : is_inside ? ", inside its interval" : ", outside its interval"}`;
}

/** The interval on a line from zero: a narrow one looks narrow. */
function intervalBar({ value, lo, hi, provenance, evidence }: Estimate, measured: number | null = null): HTMLElement | null {
  if (provenance.kind === "exact") return null;
  const has_interval = lo !== undefined && hi !== undefined && hi > 0;
  const end = Math.max(has_interval ? Math.max(hi, value) * 1.12 : value * 2, (measured ?? 0) * 1.12);
  if (!(end > 0)) return null;
  const at = (x: number): string => `${((100 * x) / end).toFixed(2)}%`;
  const point = el("span", { class: "interval-value" });
  point.style.left = at(value);
  const range = has_interval ? el("span", { class: "interval-range" }) : null;
  if (range) {
    range.style.left = at(lo ?? 0);
    range.style.width = at((hi ?? 0) - (lo ?? 0));
  }
  const tick = measured === null ? null : el("span", { class: "interval-measured" }, MEASURED_MARK);
  if (tick) tick.style.left = at(measured ?? 0);
  return el("span", { class: `interval ${has_interval ? "" : "unknown"} evidence-${evidence ?? "unknown"}`, "aria-hidden": "true" }, range, point, tick);
}

/** Each reason once, with the metrics it holds for unless it holds for all. */
function reasons(missing: Unavailable[], n_results: number): HTMLElement[] {
  const by_reason = new Map<string, string[]>();
  for (const { unavailable, metric } of missing) {
    by_reason.set(unavailable, [...(by_reason.get(unavailable) ?? []), metricName(metric)]);
  }
  return [...by_reason].map(([reason, metrics]) => {
    const subject = metrics.length === n_results ? "No estimate" : `No ${metrics.join(", ").toLowerCase()}`;
    return el("p", { class: "reason" }, el("strong", {}, `${subject}: `), asSentence(reason));
  });
}

/** What the numbers of this target leave out or may be wrong about: doubts stand at the numbers, notes below all of it. */
function notes({ diagnostics, results, operators }: Report, target: string, selection: Selection, of_severity: "warning" | "info"): HTMLElement[] {
  const shown = diagnostics.filter((diagnostic) => diagnostic.severity === of_severity && isWithAnswer(diagnostic, target));
  // A target that came later has brought its own copy of what others share.
  const by_message = new Map(shown.map((diagnostic) => [diagnostic.message, diagnostic]));
  return [...by_message.values()].map(({ severity, message, operator_idx }) => {
    const operator = operators.find((operator) => operator.operator_idx === operator_idx);
    const show = operator && el("button", { type: "button", class: "link", onclick: () => selection.select(operator.index, "diagnostics") }, "Show");
    return el("p", { class: severity === "warning" ? "partial" : "subtle" }, asSentence(withDeviceNames(message, results)), " ", show);
  });
}

function doubtful(estimates: Estimate[]): HTMLElement[] {
  const parts: HTMLElement[] = [];
  const promised = (estimate: Estimate): boolean => isExact(estimate) || estimate.lo !== undefined || typeof estimate.expected_error_percent === "number";
  const open = estimates.filter((estimate) => !promised(estimate));
  if (open.length > 0) {
    const names = open.map(({ metric }) => metricName(metric).toLowerCase()).join(", ");
    const counted = [...new Set(open.map(({ provenance }) => provenance.configuration))].filter(Boolean).join("; ");
    parts.push(el("p", { class: "doubt" }, `The error of ${names} is unknown: nothing like it was measured.${counted && ` Counted with ${counted}.`}`));
  }
  return parts;
}

/** Each source once, with its metrics, its configurations and how wrong it was on what. */
function sources(estimates: Estimate[]): HTMLElement | null {
  if (estimates.length === 0) return null;
  const by_words = new Map<string, Estimate[]>();
  for (const estimate of estimates) {
    const words = provenanceWords(estimate.provenance);
    by_words.set(words, [...(by_words.get(words) ?? []), estimate]);
  }
  const lines = [...by_words].map(([words, group]) => {
    const configurations = [...new Set(group.map(({ provenance }) => provenance.configuration))].filter((line) => line !== "");
    return el(
      "div",
      { class: "provenance" },
      el("p", {}, by_words.size > 1 ? `${group.map(({ metric }) => metricName(metric)).join(", ")}: ${words.charAt(0).toLowerCase()}${words.slice(1)}.` : `${words}.`),
      errorLine(group),
      ...configurations.map((line) => el("p", { class: "configuration" }, line)),
    );
  });
  return el("details", { class: "sources" }, el("summary", {}, sourceSummary(estimates)), ...lines);
}

/** In one line: from where, and how wrong against what. */
function sourceSummary(estimates: Estimate[]): string {
  const main = estimates[0];
  const words = provenanceWords(main.provenance);
  const error = main.expected_error_percent;
  if (isExact(main)) return words;
  const reference = referenceWords(main.provenance);
  if (typeof error === "number") return `${words}; mean error ${format.percent(error)} against ${reference}`;
  if (main.lo === undefined) return words;
  return `${words}; ${reference === NOTHING ? "compared with nothing" : `mean error not known here, interval against ${reference}`}`;
}

function errorLine(group: Estimate[]): HTMLElement | null {
  const known = group.filter(({ expected_error_percent }) => typeof expected_error_percent === "number");
  if (known.length === 0) return null;
  const errors = known.map(({ metric, expected_error_percent }) => `${metricName(metric).toLowerCase()} ${format.percent(expected_error_percent as number)}`);
  return el("p", {}, `Mean error on models kept from training or fit, against ${referenceWords(known[0].provenance)}: ${errors.join(", ")}.`);
}

/** What the numbers of a target rest on. */
function evidenceOf(results: readonly Result[]): HTMLElement | null {
  const first = results.find(isEstimate);
  if (!first) return null;
  return el("span", { class: "evidence" }, markedEvidence(first));
}

/** Below the name of a device of one's own on which this file was measured. */
function measuredPart(report: Report, target: string): HTMLElement | null {
  const measured = measuredOn(report, target);
  return measured === null ? null : el("span", { class: "measured-words" }, `${MEASURED_MARK} ${format.text(format.measure(measured, "ms"))} measured by you`);
}

function targetTable(name: string, all: readonly Result[], report: Report, focus: Focus, sorting: Sorting | null, sort: (column: number) => void): HTMLElement {
  const columns = metricColumns(all);
  const groups = groupByTarget(all);
  const chosen = focus.targetIn(report);
  const resultOf = (target: string, metric: string): Result | undefined => groups.get(target)?.find((result) => result.metric === metric);
  const deviceOf = (target: string): string => groups.get(target)?.[0].device || target;
  const key = (target: string): number | string | null => {
    if (!sorting || sorting.column === 0) return deviceOf(target);
    const result = resultOf(target, columns[sorting.column - 1].metric);
    return result && isEstimate(result) ? result.value : null;
  };
  const targets = sorting ? sortBy([...groups.keys()], sorting, key) : [...groups.keys()];
  const row = (target: string): HTMLElement => {
    const results = groups.get(target) ?? [];
    const reason = results.find((result): result is Unavailable => !isEstimate(result))?.unavailable ?? "";
    const device = el("button", { type: "button", class: "link", "aria-pressed": String(target === chosen), onclick: () => focus.chooseTarget(target) }, deviceOf(target));
    const part = results.some(isEstimate) ? onAcceleratorWords(report, target) : null;
    const cells = results.some(isEstimate)
      ? columns.map((column) => estimateCell(resultOf(target, column.metric), column))
      : [el("td", { class: "reason", colspan: columns.length, title: reason }, `No estimate: ${reason}`)];
    return el("tr", { "data-target": target, class: target === chosen ? "chosen" : null }, el("th", { scope: "row" }, device, part && el("span", { class: "part-words" }, part), evidenceOf(results), measuredPart(report, target)), ...cells);
  };
  const heads = columns.map((column, i) => {
    const [name, unit] = columnTitle(column);
    return sortHead(name, unit, i + 1, sorting, { class: "numeric", title: columnMeaning(column) }, sort);
  });
  return el(
    "table",
    { class: "targets", "data-targets": name },
    el("thead", {}, el("tr", {}, sortHead(all.some(({ estimated_as }) => estimated_as) ? `Target (${report.model.precision}, or as it says)` : "Target", "", 0, sorting, {}, sort), ...heads)),
    el("tbody", {}, ...targets.map(row)),
  );
}
