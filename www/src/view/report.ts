/** Everything about one file: estimates, facts, graph, memory, operators. */
import { el } from "../dom.ts";
import type { Estimator, LayoutClient } from "../estimator.ts";
import type { Report } from "../report.ts";
import { Selection } from "../selection.ts";
import { devicePanel } from "./device.ts";
import { diagnosticList } from "./diagnostics.ts";
import { graphView } from "./graph/graph.ts";
import { inspector } from "./inspector.ts";
import { operatorTable } from "./operators.ts";
import { targetCards } from "./targets.ts";
import { timeline } from "./timeline.ts";

export interface ReportView {
  elements: HTMLElement[];
  /** Adds the graph, timeline and table below; resolves when the graph is drawn. */
  unfold(): Promise<void>;
}

/** The headline parts exist at once; `unfold` adds the rest after they have been painted. */
export function reportView(report: Report, estimator: Estimator, layouts: LayoutClient, signal: AbortSignal): ReportView {
  const selection = new Selection();
  const workbench = el("div", { class: "workbench" });
  const rest = el("div", { class: "rest" });
  const parts = [targetCards(report.results), devicePanel(report, estimator), diagnosticList(report, selection), workbench, rest];
  const elements = parts.filter((part) => part !== null);
  const unfold = (): Promise<void> => {
    const memory = timeline(report, selection, signal);
    const graph = graphView(report, layouts, selection, (first, last) => memory?.showRange(first, last), signal);
    workbench.append(graph.element, inspector(report, selection));
    if (memory) rest.append(memory.element);
    rest.append(operatorTable(report, selection, signal));
    return graph.drawn;
  };
  return { elements, unfold };
}
