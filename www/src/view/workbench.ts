/** Where the cost goes, on one screen: graph or table, the costliest operators, details. */
import { measuresOf } from "../costs.ts";
import { el } from "../dom.ts";
import type { LayoutClient } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import type { Report } from "../report.ts";
import type { Search } from "../operator_search.ts";
import type { Selection } from "../selection.ts";
import { costliestPanel } from "./costliest.ts";
import { type GraphView, type Linked, graphView } from "../graph/graph.ts";
import { inspectorPanel } from "./inspector.ts";
import { operatorTable } from "./operators.ts";

/** The graph, the table and the inspector of one report. */
export interface Workbench {
  graph: GraphView;
  /** Each adds a part: all at once would keep the browser from answering. */
  others: readonly (() => void)[];
}

type Shown = "graph" | "table";

/** Fills `place` with the graph, which tells the first and the last operator that it shows; its layout is computed while the other parts are added. */
export function costWorkbench(place: HTMLElement, report: Report, layouts: LayoutClient, linked: Linked, shownRange: (first: number, last: number) => void, signal: AbortSignal): Workbench {
  const graph = graphView(report, layouts, linked, shownRange, signal);
  const stage = el("div", { class: "stage", "data-shows": "graph" }, graph.element);
  place.append(el("div", { class: "main-column" }, toolbar(report, linked, graph.tools, stage, signal), stage));
  const others = [
    () => place.append(costliestPanel(report, linked, signal), inspectorPanel(report, linked, signal)),
    () => stage.append(operatorTable(report, linked, signal)),
  ];
  return { graph, others };
}

function toolbar(report: Report, { selection, focus, search }: Linked, graph_tools: HTMLElement, stage: HTMLElement, signal: AbortSignal): HTMLElement {
  return el(
    "div",
    { class: "workbench-bar" },
    viewChoice(stage),
    measureChoice(report, focus, signal),
    searchField(search, selection),
    graph_tools,
  );
}

function viewChoice(stage: HTMLElement): HTMLElement {
  const buttons = (["graph", "table"] as const).map((shown) => {
    const show = (): void => {
      stage.dataset["shows"] = shown;
      for (const [other, button] of all) button.setAttribute("aria-pressed", String(other === shown));
    };
    const button = el("button", { type: "button", "aria-pressed": String(shown === "graph"), onclick: show }, shown === "graph" ? "Graph" : "Table");
    return [shown, button] as const satisfies readonly [Shown, HTMLElement];
  });
  const all: readonly (readonly [Shown, HTMLElement])[] = buttons;
  return el("div", { class: "segments", role: "group", "aria-label": "Operators as" }, ...all.map(([, button]) => button));
}

/** Which cost colours the graph and ranks the operators. */
function measureChoice(report: Report, focus: Focus, signal: AbortSignal): HTMLElement {
  const choice = el("select", { id: "measure", onchange: () => focus.chooseMetric(choice.value) });
  const fill = (): void => {
    const chosen = focus.measureIn(report);
    const options = measuresOf(report, focus.targetIn(report)).map(({ metric, title }) => el("option", { value: metric, selected: metric === chosen?.metric }, title));
    choice.replaceChildren(...options);
  };
  focus.onChange(fill, signal);
  fill();
  return el("label", { class: "measure-choice" }, el("span", { class: "sr-only" }, "Cost shown"), choice);
}

/** Enter goes to the next operator found, Shift and Enter to the one before. */
function searchField(search: Search, selection: Selection): HTMLElement {
  const count = el("span", { class: "subtle", role: "status" });
  const find = (): void => {
    search.find(input.value);
    count.textContent = search.matches === null ? "" : `${search.matches.size.toLocaleString("en")} found`;
  };
  const step = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !search.matches || search.matches.size === 0) return;
    event.preventDefault();
    const matches = [...search.matches];
    const now = selection.index ?? (event.shiftKey ? Infinity : -1);
    const next = event.shiftKey ? (matches.findLast((index) => index < now) ?? matches.at(-1)) : (matches.find((index) => index > now) ?? matches[0]);
    selection.select(next ?? null, "search");
  };
  const input = el("input", { type: "search", placeholder: "Search name, kind, shape, tensor", "aria-label": "Search operators", oninput: find, onkeydown: step as EventListener });
  return el("span", { class: "search" }, input, count);
}
