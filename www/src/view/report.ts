/** Everything about one file: the decision, the doubts, and where the cost goes. */
import { el } from "../dom.ts";
import type { Estimator, LayoutClient } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import type { Report } from "../report.ts";
import { Selection } from "../selection.ts";
import { decidePanel } from "./decide.ts";
import { devicePanel } from "./device.ts";
import { diagnosticList } from "./diagnostics.ts";
import type { GraphView } from "./graph/graph.ts";
import { workbench } from "./workbench.ts";

export interface ReportView {
  elements: HTMLElement[];
  /** Adds what shows single operators; resolves when the graph is drawn. */
  unfold(): Promise<void>;
  /** Null until it has been unfolded. */
  graph(): GraphView | null;
}

/** `changed` is called when a device of one's own was measured: the report then has another latency. */
export function reportView(report: Report, estimator: Estimator, layouts: LayoutClient, focus: Focus, changed: () => void, signal: AbortSignal): ReportView {
  const selection = new Selection();
  const bench = el("div", { class: "workbench" });
  let graph: GraphView | null = null;
  const elements = [
    decidePanel(report, focus, signal),
    diagnosticList(report, selection),
    bench,
    devicePanel(report, estimator, changed),
  ].filter((part) => part !== null);
  const unfold = async (): Promise<void> => {
    const made = workbench(report, layouts, selection, focus, signal);
    graph = made.graph;
    bench.append(...made.elements);
    await made.graph.drawn;
  };
  return { elements, unfold, graph: () => graph };
}
