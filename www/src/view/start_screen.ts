/** The first screen: examples, what was opened before, and the targets that there are estimates for. */
import { accelerators } from "../accelerators.ts";
import { type Offer, ownTargets } from "../requested_targets.ts";
import { el } from "../dom.ts";
import type { Example } from "../examples.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { type TargetInfo, isEstimate } from "../report.ts";
import { devices, nameOf } from "../measured_latencies.ts";
import { measuredDevices } from "../measured_devices.ts";
import { chooseToKeepFiles, keepsFiles } from "../file_store.ts";
import { type Comparison, type Opened, forgetReport, forgetAll, forgetComparison } from "../store.ts";
import { hasThreads, headingOf } from "../targets.ts";
import { type TargetOption, restOfCatalogue } from "../target_names.ts";
import { keepOtherTargets, otherTargets, recentTargets } from "../remembered_targets.ts";
import { inMetricOrder, metricName, referenceWords } from "../words.ts";
import { readThreads, writeThreads } from "../threads.ts";
import { budgetForm } from "./budget_form.ts";
import { targetBox } from "./target_box.ts";
import { threadsChoice } from "./target_choice.ts";

/** More than this are one click away. */
const N_LISTED = 8;

/** The page begins anew without them. */
async function forgetSettings(): Promise<void> {
  const backup = await import("../backup.ts");
  backup.forgetSettings();
  location.reload();
}

/** A button for each example. */
export function exampleButtons(examples: Example[], open: (example: Example) => void): HTMLElement[] {
  return examples.map((example) =>
    el(
      "button",
      { type: "button", class: "example", onclick: () => open(example) },
      el("strong", {}, example.name),
      el("span", { class: "subtle" }, example.words),
    ),
  );
}

/** One line of the history. */
interface Line {
  key: string;
  view: "report" | "comparison";
  opened_ms: number;
  name: string;
  words: string;
}

/** Files that a comparison is named by. */
const N_NAMED = 3;

function linesOf(opened: readonly Opened[], comparisons: readonly Comparison[], focus: Focus): Line[] {
  const reports = opened.map(({ key, opened_ms, n_operators, summary, estimates_id }): Line => {
    const build = estimates_id === ESTIMATES_ID ? "" : "by another build of LiteCast, ";
    return { key, view: "report", opened_ms, name: nameOf(summary), words: `${format.plural(n_operators, "operator")}, ${latencyWords(summary, focus)}${build}` };
  });
  const others = comparisons.map(({ key, opened_ms, rows }): Line => {
    const files = rows.slice(0, N_NAMED).map(({ file }) => file).join(", ");
    return { key, view: "comparison", opened_ms, name: `Comparison of ${format.plural(rows.length, "file")}`, words: `${files}${rows.length > N_NAMED ? ", …" : ""}, ` };
  });
  return [...reports, ...others].sort((a, b) => b.opened_ms - a.opened_ms);
}

/** `changed` is called after something was forgotten. */
export function historyList(opened: readonly Opened[], comparisons: readonly Comparison[], focus: Focus, open: (line: Line) => void, changed: () => void): HTMLElement[] {
  const lines = linesOf(opened, comparisons, focus);
  if (lines.length === 0) return [];
  const drop = (act: Promise<void>): void => void act.then(changed);
  const dropAll = (): void => {
    const words = `Forget ${lines.length === 1 ? "the report" : `all ${lines.length.toLocaleString("en")} reports and comparisons`} that this browser keeps, and the files kept with them? This cannot be undone.`;
    if (!confirm(words)) return;
    const parts = [format.plural(devices().length + measuredDevices().length, "device"), format.plural(accelerators().length, "accelerator")].filter((part) => !part.startsWith("0 "));
    // They hold names of files and measured times.
    const all = parts.length > 0 && confirm(`Forget ${parts.join(" and ")} of your own and all settings, too? Without, they stay.`);
    drop(forgetAll().then(() => (all ? forgetSettings() : undefined)));
  };
  const items = lines.map((line, i) =>
    el(
      "li",
      { hidden: i >= N_LISTED, "data-view": line.view },
      el("button", { type: "button", class: "link", onclick: () => open(line) }, line.name),
      el("span", { class: "subtle" }, `${line.words}${new Date(line.opened_ms).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })}`),
      el("button", { type: "button", class: "link", "aria-label": `Forget ${line.name}`, onclick: () => drop(line.view === "report" ? forgetReport(line.key) : forgetComparison(line.key)) }, "forget"),
    ),
  );
  const list = el("ul", { class: "plain history-list" }, ...items);
  const keep = el("input", { type: "checkbox", id: "keep-files", checked: keepsFiles(), onchange: () => void chooseToKeepFiles(keep.checked) });
  const more = el("button", { type: "button", onclick: () => showAll() }, `Show all ${lines.length}`);
  const showAll = (): void => {
    items.forEach((item) => (item.hidden = false));
    more.remove();
    items[N_LISTED]?.querySelector("button")?.focus();
  };
  return [
    el("h2", {}, "Opened before"),
    list,
    el(
      "p",
      { class: "buttons" },
      lines.length > N_LISTED ? more : null,
      el("button", { type: "button", onclick: dropAll }, "Forget all…"),
      el("label", {}, keep, " Keep files too"),
      el("span", { class: "subtle" }, "In this browser alone: a report can then be changed after a reload."),
    ),
  ];
}

function latencyWords({ results }: Opened["summary"], focus: Focus): string {
  const target = focus.targetIn({ results });
  const latency = results.filter(isEstimate).find((result) => result.target === target && result.metric === "latency");
  return latency ? `${format.text(format.measure(latency.value, latency.unit))} on ${latency.device}, ` : "";
}

/** What files are estimated on, before any file. */
export interface TargetPicker {
  element: HTMLElement;
  /** Shows what is wanted now: a report may have changed it. */
  refresh(): void;
}

/** Targets with what may be spent there, and the threads of a processor. */
export function targetPicker(targets: TargetInfo[], offers: readonly Offer[], focus: Focus): TargetPicker {
  const option = ({ id, device }: TargetInfo): TargetOption => ({ family: headingOf(id).label, target: id, words: device });
  const options: TargetOption[] = [
    ...ownTargets().map(({ name, device = name }) => ({ family: headingOf(name).label, target: name, words: device })),
    ...targets.map(option),
    ...offers,
  ];
  options.push(...restOfCatalogue(options));
  const threads = threadsChoice("first-threads", readThreads(), writeThreads);
  const box = targetBox("first-target", options, recentTargets, ([first = "", ...wanted]) => {
    focus.chooseTarget(first);
    keepOtherTargets(wanted);
    threads.hidden = !hasThreads(first);
  });
  const budget = el("div", {});
  const refresh = (): void => {
    box.show([focus.wanted, ...otherTargets()].filter((target) => target !== ""));
    threads.hidden = !hasThreads(focus.wanted);
    budget.replaceChildren(budgetForm("first-budget", () => undefined));
  };
  refresh();
  return { element: el("div", { class: "first-choices panel" }, box.element, el("div", { class: "first-limits" }, budget, threads)), refresh };
}

/** Each target with the error measured for its metrics, and against what it was measured. */
export function targetTables(targets: TargetInfo[], others: TargetInfo[]): HTMLElement[] {
  if (targets.length === 0) return [];
  const all = [...targets, ...others];
  const sources = all.map((target) => el("div", { class: "term" }, el("dt", {}, target.device), el("dd", {}, target.learned_from)));
  const tables = [
    el("p", { class: "subtle" }, "Mean error of each estimate on models kept from training or fit, against the source beside it. An error against a compiler’s estimates says nothing about silicon."),
    errorTable(targets, "Targets"),
    el("details", {}, el("summary", {}, `${format.plural(others.length, "more target")} for those who ask: microcontrollers, and each Ethos-U in its default memories`), errorTable(others, "More targets")),
    el("details", { class: "known-sources" }, el("summary", {}, "Sources in full"), el("dl", { class: "terms" }, ...sources)),
  ];
  return [el("details", { class: "how-sure" }, el("summary", {}, el("strong", {}, "How sure?"), el("span", { class: "subtle" }, " The error of each estimate, and what it was measured against")), ...tables)];
}

function errorTable(targets: TargetInfo[], name: string): HTMLElement {
  const metrics = inMetricOrder([...new Set(targets.flatMap((target) => target.metrics.map(({ metric }) => metric)))].map((metric) => ({ metric })));
  const rows = targets.map((target) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, target.device),
      el("td", { class: "against", title: target.learned_from }, referenceWords(target.provenance)),
      ...metrics.map(({ metric }) => errorCell(target, metric)),
    ),
  );
  const head = ["Target", "Error against", ...metrics.map(({ metric }) => metricName(metric))].map((name, i) =>
    el("th", { scope: "col", class: i > 1 ? "numeric" : null }, name),
  );
  return el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": `${name}, scrollable` }, el("table", { class: "known-targets" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
}

/** In narrow windows rows are lists, whose parts say what they are. */
function errorCell(target: TargetInfo, metric: string): HTMLElement {
  const info = target.metrics.find((candidate) => candidate.metric === metric);
  if (!info) return el("td", { class: "numeric no-estimate" }, el("span", { class: "subtle" }, "not estimated"));
  const error = info.expected_error_percent;
  return el("td", { class: "numeric", "data-name": metricName(metric) }, typeof error === "number" ? format.percent(error) : "error not known");
}
