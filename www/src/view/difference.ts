/** Two models side by side: what each metric and each matched operator costs more or less, as tables and as graphs. */
import { type Measure, columnText, columnUnit, costText, measuresOf } from "../costs.ts";
import { differenceWords } from "../difference_words.ts";
import { el } from "../dom.ts";
import { LayoutClient } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { kindOf } from "../kinds.ts";
import { type Match, matchOperators } from "../operator_matching.ts";
import { type Estimate, type Report, isEstimate } from "../report.ts";
import { Search } from "../operator_search.ts";
import { Chart } from "../timeline/chart.ts";
import type { Command } from "../timeline/keys.ts";
import { barsOf, scheduleOf } from "../timeline/schedule.ts";
import { Selection } from "../selection.ts";
import { inMetricOrder, metricName } from "../words.ts";
import { changeCell } from "./estimate_cells.ts";
import { graphView } from "../graph/graph.ts";
import { shapeText } from "../graph/scene.ts";

/** Rows are sorted by how much they change; further ones change less than any of these. */
const MAX_ROWS = 200;

interface DifferenceRow extends Match {
  change: number;
}

/** The same cost in both models. */
interface Measures {
  left: Measure;
  right: Measure;
}

/** `left` is the baseline. `close` is called when the person has seen enough. */
export function differencePanel(left: Report, right: Report, focus: Focus, close: () => void, signal: AbortSignal): HTMLElement {
  const matches = matchOperators(left, right);
  const selections = { left: new Selection(), right: new Selection() };
  linkSelections(matches, selections);
  const costs = el("div", { class: "side-by-side-part" });
  const draw = (): void => {
    const held = costs.contains(document.activeElement) ? document.activeElement?.id : "";
    costs.replaceChildren(...costParts(left, right, matches, focus, selections));
    if (held) document.getElementById(held)?.focus();
  };
  focus.onChange(draw, signal);
  draw();
  return el(
    "section",
    { class: "side-by-side", "aria-label": "Two models side by side" },
    el("header", {}, el("h3", {}, `${right.file} against ${left.file}`), el("button", { type: "button", onclick: close }, "Close")),
    costs,
    timelines(left, right, focus, selections, signal),
    graphs(left, right, matches, focus, selections, signal),
  );
}

/** What is selected in one model is selected in the other, where there is the same operator. */
function linkSelections(matches: readonly Match[], { left, right }: Record<"left" | "right", Selection>): void {
  const to_right = new Map(matches.flatMap(({ left, right }) => (left === null ? [] : [[left, right] as const])));
  const to_left = new Map(matches.flatMap(({ left, right }) => (right === null ? [] : [[right, left] as const])));
  left.onChange((index, source) => source !== "other model" && right.select(index === null ? null : (to_right.get(index) ?? null), "other model"));
  right.onChange((index, source) => source !== "other model" && left.select(index === null ? null : (to_left.get(index) ?? null), "other model"));
}

function costParts(left: Report, right: Report, matches: readonly Match[], focus: Focus, selections: Record<"left" | "right", Selection>): HTMLElement[] {
  const measures = measuresIn(left, right, focus);
  return [
    el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "What changes in the whole, scrollable" }, totals(left, right, focus)),
    ...(measures ? operatorParts(left, right, matches, measures, focus, selections) : [el("p", {}, "There is no cost by operator that both have on this target.")]),
  ];
}

/** Null where the two have no cost by operator in common. */
function measuresIn(left: Report, right: Report, focus: Focus): Measures | null {
  const measure = focus.measureIn(left);
  const other = measure && measuresOf(right, measure.target ?? focus.targetIn(right)).find(({ metric, target }) => metric === measure.metric && target === measure.target);
  return measure && other ? { left: measure, right: other } : null;
}

/** Each metric of the chosen target, and what is exact of the files. */
function totals(left: Report, right: Report, focus: Focus): HTMLElement {
  const target = focus.targetIn(left);
  const estimatesOf = ({ results }: Report): Map<string, Estimate> => new Map(results.filter(isEstimate).filter((result) => result.target === target).map((result) => [result.metric, result]));
  const [before, after] = [estimatesOf(left), estimatesOf(right)];
  const metrics = inMetricOrder([...new Set([...before.keys(), ...after.keys()])].map((metric) => ({ metric })));
  const text = (estimate: Estimate | undefined, like: number): string => (estimate ? format.text(format.measure(estimate.value, estimate.unit, like)) : "no estimate");
  const rows = metrics.map(({ metric }) => {
    const [a, b] = [before.get(metric), after.get(metric)];
    const like = Math.max(a?.value ?? 0, b?.value ?? 0);
    // A network that the NPU runs whole has no part.
    const words = (side: ReadonlyMap<string, Estimate>): string => (metric === "npu_latency" && !side.has(metric) && side.has("latency") ? "all of it" : text(side.get(metric), like));
    return totalRow(metricName(metric), words(before), words(after), changeCell(b, a));
  });
  const fact = (name: string, a: number | null, b: number | null, words: (value: number, like: number) => string): HTMLElement => {
    const like = Math.max(a ?? 0, b ?? 0);
    const change = a && b !== null ? el("span", { class: `difference ${b < a ? "less" : b > a ? "more" : "same"}` }, format.relativeChange(b / a)) : null;
    return totalRow(name, a === null ? "not known" : words(a, like), b === null ? "not known" : words(b, like), change);
  };
  const bytes = (value: number, like: number): string => format.text(format.bytes(value, like));
  const count = (value: number, like: number): string => format.text(format.count(value, "", like));
  const facts = [
    fact("MACs", left.model.macs, right.model.macs, count),
    fact("Weights", left.model.weight_bytes, right.model.weight_bytes, bytes),
    fact("Tensor arena", left.model.arena_bytes, right.model.arena_bytes, bytes),
    fact("Activations", left.model.activation_bytes, right.model.activation_bytes, bytes),
    fact("Operators", left.model.n_operators, right.model.n_operators, (value) => value.toLocaleString("en")),
  ];
  const device = left.results.find((result) => result.target === target)?.device ?? target;
  const head = [device, left.file, right.file, "Change"].map((name, i) => el("th", { scope: "col", class: i === 0 ? null : "numeric" }, name));
  return el("table", { class: "totals" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows, ...facts));
}

function totalRow(name: string, before: string, after: string, change: HTMLElement | null): HTMLElement {
  return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "numeric" }, before), el("td", { class: "numeric" }, after), el("td", { class: "numeric" }, change));
}

function operatorParts(left: Report, right: Report, matches: readonly Match[], measures: Measures, focus: Focus, selections: Record<"left" | "right", Selection>): HTMLElement[] {
  const rows = rowsOf(matches, measures);
  const n_matched = rows.filter((row) => row.left !== null && row.right !== null).length;
  const shown = rows.slice(0, MAX_ROWS);
  const words =
    `${format.plural(n_matched, "operator")} matched by output tensor, or by kind, shape and order; ` +
    `${rows.length - n_matched} in one model alone. Largest changes first${rows.length > shown.length ? `, ${shown.length} of ${rows.length.toLocaleString("en")}` : ""}.`;
  const unit = columnUnit(measures.left);
  const explained = differenceWords(left, right, matches, measures);
  const names = ["Operator", "Output shape", `${left.file} ${unit}`, `${right.file} ${unit}`, `Change ${unit}`];
  const head = names.map((name, i) => el("th", { scope: "col", class: i > 1 ? "numeric" : null }, name));
  return [
    explained === null ? el("p", {}, "No operator costs more or less.") : el("p", { class: "difference-words" }, el("strong", {}, `${measures.left.name}: ${explained}.`)),
    el("p", { class: "side-by-side-measure" }, measureChoice(left, right, measures, focus), el("span", { class: "subtle" }, words)),
    el(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": "Operators side by side, scrollable" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...shown.map((row) => rowElement(row, left, right, measures, selections)))),
    ),
  ];
}

/** Of those that both have. */
function measureChoice(left: Report, right: Report, measures: Measures, focus: Focus): HTMLElement {
  const others = new Set(measuresOf(right, focus.targetIn(right)).map(({ metric }) => metric));
  const select = el("select", { id: "side-by-side-measure", onchange: () => focus.chooseMetric(select.value) });
  const shared = measuresOf(left, focus.targetIn(left)).filter(({ metric }) => others.has(metric));
  select.append(...shared.map(({ metric, title }) => el("option", { value: metric, selected: metric === measures.left.metric }, title)));
  return el("label", {}, "Operators by ", select);
}

function rowsOf(matches: readonly Match[], { left, right }: Measures): DifferenceRow[] {
  const cost = ({ values }: Measure, index: number | null): number => (index === null ? 0 : values[index]);
  const rows = matches.map((match) => ({ ...match, change: cost(right, match.right) - cost(left, match.left) }));
  return rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}

function rowElement({ left: i, right: j, change }: DifferenceRow, left: Report, right: Report, measures: Measures, selections: Record<"left" | "right", Selection>): HTMLElement {
  const [report, index] = j !== null ? [right, j] : [left, i ?? 0];
  const operator = report.operators[index];
  const in_unit = (value: number): string => columnText({ ...measures.left, total: 0 }, value);
  const sign = change > 0 ? "+" : change < 0 ? "\u2212" : "";
  const place = [i === null ? null : `#${i}`, j === null ? null : `#${j}`].map((words) => words ?? "none").join(" → ");
  const show = (): void => (j !== null ? selections.right.select(j, "table") : selections.left.select(index, "table"));
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("span", { class: `dot kind-${kindOf(operator)}` }), el("button", { type: "button", class: "link", onclick: show }, operator.name), el("span", { class: "ordinal" }, place)),
    el("td", {}, shapeText(report, operator.outputs[0] ?? -1)),
    el("td", { class: "numeric" }, i === null ? "not there" : columnText(measures.left, measures.left.values[i])),
    el("td", { class: "numeric" }, j === null ? "not there" : columnText({ ...measures.right, scale: measures.left.scale }, measures.right.values[j])),
    el("td", { class: `numeric difference ${change > 0 ? "more" : "less"}` }, change === 0 ? "0" : `${sign}${in_unit(Math.abs(change))}`),
  );
}

/** Both timelines under each other on one scale; one selection for both. */
function timelines(left: Report, right: Report, focus: Focus, selections: Record<"left" | "right", Selection>, signal: AbortSignal): HTMLElement {
  const sides = [selections.left, selections.right];
  const chart = new Chart("Operator along both timelines", { selected: (operator, track) => sides[track]?.select(operator, "timeline"), hovered: () => undefined, commanded: (command) => step(command) }, signal);
  const step = (command: Command): void => {
    const { index } = selections.left;
    const n = left.operators.length;
    const next = { next: (index ?? -1) + 1, previous: (index ?? 0) - 1, first: 0, last: n - 1 }[command as "next"];
    if (next !== undefined && n > 0) selections.left.select(Math.min(n - 1, Math.max(0, next)), "timeline");
    else if (command === "unselect") selections.left.select(null, "timeline");
  };
  const place = el("div", { class: "timeline two-timelines" }, chart.canvas);
  const draw = (): void => {
    const target = focus.targetIn(left);
    const schedules = [left, right].map((report) => scheduleOf(report, target));
    const [first, second] = schedules;
    place.hidden = !first || !second || first.unit !== second.unit;
    if (first && second && !place.hidden) chart.show([first, second].map((schedule, i) => ({ schedule: { ...schedule, name: [left, right][i].file }, bars: barsOf(schedule, new Set()), ghost: null, limit_bytes: null, selected: sides[i].index })));
  };
  for (const side of sides) side.onChange(() => draw());
  focus.onChange(draw, signal);
  draw();
  return place;
}

/** Both drawings, coloured by one scale; what is selected in one is selected in the other. */
function graphs(left: Report, right: Report, matches: readonly Match[], focus: Focus, selections: Record<"left" | "right", Selection>, signal: AbortSignal): HTMLElement {
  const most = (): number => {
    const measures = measuresIn(left, right, focus);
    return measures ? [measures.left, measures.right].reduce((most, { values }) => values.reduce((a, b) => Math.max(a, b), most), 0) : 0;
  };
  const words = el("p", { class: "subtle", role: "status" }, "Both are coloured by one scale. An operator that is selected in one is selected in the other.");
  const tell = (): void => {
    const measures = measuresIn(left, right, focus);
    const [i, j] = [selections.left.index, selections.right.index];
    const sideText = ({ operators }: Report, index: number | null, measure: Measure | undefined): string =>
      index === null ? "not there" : `${operators[index].name} #${index}${measure ? `, ${costText(measure, measure.values[index])}` : ""}`;
    if (i !== null || j !== null) words.textContent = `${sideText(left, i, measures?.left)} → ${sideText(right, j, measures?.right)}`;
  };
  selections.left.onChange(tell);
  selections.right.onChange(tell);
  const drawing = (role: string, report: Report, selection: Selection): HTMLElement => {
    const layouts = new LayoutClient();
    signal.addEventListener("abort", () => layouts.stop());
    const view = graphView(report, layouts, { selection, focus, search: new Search(report) }, () => undefined, signal, most);
    view.element.setAttribute("aria-label", `Graph of the ${role}, ${report.file}`);
    return el("div", { class: "one-graph" }, el("div", { class: "workbench-bar" }, el("h3", {}, report.file), view.tools), view.element);
  };
  const place = el("div", { class: "two-graphs" });
  const open = (): void => {
    if (details.open && place.children.length === 0) place.append(drawing("baseline", left, selections.left), drawing("other model", right, selections.right));
  };
  const details = el("details", { ontoggle: open }, el("summary", {}, `Both graphs, ${format.plural(matches.length, "operator")}`), words, place);
  return details;
}
