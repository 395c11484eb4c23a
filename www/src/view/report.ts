/** Everything about one file: the decision, the doubts, and where the cost goes. */
import { el, nextTask } from "../dom.ts";
import type { Estimator, LayoutClient } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import { Preview } from "../preview.ts";
import type { Report } from "../report.ts";
import type { Asked } from "../requested_targets.ts";
import { scenarioWords } from "../scenario.ts";
import { Search } from "../operator_search.ts";
import { Selection } from "../selection.ts";
import { acceleratorPanel } from "./accelerators.ts";
import { adviceTool } from "./advice.ts";
import { batchSweepPanel } from "./batch_sweep.ts";
import { arenaLimit } from "./board_room.ts";
import { boardsTool } from "./boards.ts";
import { decisionPanel } from "./decision.ts";
import { devicePanel } from "./devices_panel.ts";
import { diagnosticList } from "./diagnostics.ts";
import { printHead } from "./print_head.ts";
import { nextStep } from "./next_step.ts";
import type { GraphView, Linked } from "../graph/graph.ts";
import type { MoreTargets } from "./target_groups.ts";
import { type TimelineView, timelineView } from "./timeline.ts";
import { type Opened, whatIfPanel } from "./what_if.ts";
import { costWorkbench } from "./workbench.ts";
import { type Tool, toolTabs } from "./tool_tabs.ts";

/** A report on the screen. */
export interface ReportView {
  elements: HTMLElement[];
  /** Adds what shows single operators; resolves when the graph is drawn. */
  unfold(): Promise<void>;
  /** Takes what a tool measured of the file; null where nothing can be measured. */
  takeProfile: ((profile: File) => void) | null;
  /** Null until it has been unfolded. */
  graph(): GraphView | null;
}

/** `changed` is called when a device of one's own was measured, or an accelerator added: the report then has other results. */
export function reportView(report: Report, opened: Opened, estimator: Estimator, layouts: LayoutClient, focus: Focus, more: MoreTargets, changed: (again?: readonly Asked[]) => void, signal: AbortSignal): ReportView {
  const selection = new Selection();
  const bench = el("div", { class: "workbench" });
  const spine = el("div", { class: "timeline-place" });
  const preview = new Preview();
  const linked: Linked = { selection, focus, search: new Search(report) };
  let graph: GraphView | null = null;
  const tools = el("div", { class: "workshop-place" });
  const device = devicePanel(report, opened, estimator, changed);
  const elements = [
    printHead(report, focus, signal),
    decisionPanel(report, opened, selection, focus, more, nextStep(report, opened, estimator, focus, more, changed, signal), changed, signal),
    tools,
    diagnosticList(report, selection, focus, signal),
    spine,
    bench,
    device,
  ].filter((part) => part !== null);
  const unfold = async (): Promise<void> => {
    let drawn: TimelineView | null = null;
    const made = costWorkbench(bench, report, layouts, linked, (first, last) => drawn?.showRange(first, last), signal);
    graph = made.graph;
    await nextTask();
    if (signal.aborted) return;
    const limitOf = (target: string): number | null => more.offers.find((offer) => offer.target === target)?.sram_bytes ?? arenaLimit(report, target);
    const begun = performance.now();
    drawn = timelineView(report, selection, focus, linked.search, preview, limitOf, signal);
    if (drawn) spine.append(drawn.element);
    drawn?.paint();
    // One entry of a name: the browser keeps all of them.
    performance.clearMeasures("litecast:timeline");
    performance.measure("litecast:timeline", { start: begun, end: performance.now() });
    for (const add of made.others) {
      await nextTask();
      if (signal.aborted) return;
      add();
    }
    await made.graph.drawn;
    if (signal.aborted) return;
    tools.append(toolbox(report, opened, estimator, focus, selection, preview, more, changed, signal));
  };
  return { elements, unfold, takeProfile: device && ((profile) => device.takeProfile(profile)), graph: () => graph };
}

/** What a report can be changed by, and what that would save. */
function toolbox(report: Report, opened: Opened, estimator: Estimator, focus: Focus, selection: Selection, preview: Preview, more: MoreTargets, changed: () => void, signal: AbortSignal): HTMLElement {
  const words = scenarioWords(opened.scenario).join(", ");
  const hint = (text: string): HTMLElement => el("span", { class: "subtle" }, text);
  const what_if: Tool = {
    id: "what-if",
    label: "What if…",
    hint: hint(words || "size, batch, clock"),
    body: () => whatIfPanel(report, opened, estimator, focus, preview, changed, signal),
  };
  const accelerators: Tool = {
    id: "accelerators",
    label: "Accelerators",
    hint: hint("the smallest, your own"),
    body: () => acceleratorPanel(report, opened, estimator, focus, changed, signal),
  };
  const advice = adviceTool(report, opened, estimator, focus, selection, changed, signal);
  const boards = boardsTool(report, estimator, focus, more, signal);
  const gpus: Tool = {
    id: "gpus",
    label: "GPUs",
    hint: hint("throughput by batch"),
    body: () => batchSweepPanel(report, opened, estimator, focus, more, signal),
  };
  return toolTabs([what_if, advice, accelerators, boards, gpus].filter((tool) => tool !== null), words ? what_if.id : null);
}
