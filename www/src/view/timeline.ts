/** The timeline of a report: when each operator runs, where, and what memory is then in use. */
import { el, keepingFocus } from "../dom.ts";
import { traceOf } from "../export/trace.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { MODEL_ENDING } from "../model_files.ts";
import type { Preview } from "../preview.ts";
import type { Report } from "../report.ts";
import type { Search } from "../operator_search.ts";
import type { Selection } from "../selection.ts";
import { Chart } from "../timeline/chart.ts";
import { type Command, KEYS } from "../timeline/keys.ts";
import type { Track } from "../timeline/painter.ts";
import { type Schedule, barsOf, scheduleOf, timeText } from "../timeline/schedule.ts";
import { otherTargets } from "../remembered_targets.ts";
import { evidenceLegend } from "../words.ts";
import { closeWhenLeft } from "./pop_up.ts";
import { saveButton } from "./save_button.ts";

/** The drawn timeline of a report. */
export interface TimelineView {
  element: HTMLElement;
  /** Marks the operators that the graph shows. */
  showRange(first: number, last: number): void;
  /** Now, and not with the next frame. */
  paint(): void;
}

/** Stretches on the CPU that are listed; further ones take less than any of these. */
const MAX_STRETCHES = 20;
const MAX_OPEN_STRETCHES = 2;
/** With fewer operators blocks are seen without being folded. */
const MIN_FOLDED_OPERATORS = 400;

/** Null where neither a latency nor memory is known by operator. `limitOf` is the memory of a target's board, where that is known. */
export function timelineView(report: Report, selection: Selection, focus: Focus, search: Search, preview: Preview, limitOf: (target: string) => number | null, signal: AbortSignal): TimelineView | null {
  const first = scheduleOf(report, focus.targetIn(report));
  if (!first) return null;
  const words = el("p", { class: "timeline-words" });
  const stretches = el("div", { class: "timeline-stretches" });
  const help = helpDialog();
  let folded: ReadonlySet<number> = report.operators.length >= MIN_FOLDED_OPERATORS ? allOf(first) : new Set();

  const describe = (operator: number | null): void => {
    const { schedule } = chart.tracks[0];
    words.textContent = selectionWords(schedule, operator);
    chart.setValue(operator ?? schedule.peak_operator ?? 0, words.textContent);
  };
  const command = (wanted: Command): void => moveSelection(wanted, { chart, selection, n_operators: report.operators.length, fold, help });
  const hovered = (operator: number | null): void => {
    chart.mark({ hovered: operator });
    describe(operator ?? selection.index);
  };
  const chart = new Chart("Operator along the timeline; ? lists its keys", { selected: (operator) => selection.select(operator, "timeline"), hovered, commanded: command }, signal);
  const fold = (): void => {
    folded = folded.size > 0 ? new Set() : allOf(chart.tracks[0].schedule);
    draw();
  };
  const fold_button = el("button", { type: "button", hidden: first.repeats.length === 0, onclick: fold });
  const beside = el("select", { id: "timeline-beside", "aria-label": "Under it, on the same scale", onchange: () => draw() });

  const track = (schedule: Schedule, ghost: Schedule | null, target: string): Track => ({ schedule, bars: barsOf(schedule, folded), ghost, limit_bytes: limitOf(target) });
  const draw = (): void => {
    const target = focus.targetIn(report);
    const now = scheduleOf(report, target);
    if (!now) return;
    fillBeside(beside, report, target);
    const other = beside.value === "" ? null : scheduleOf(report, beside.value);
    const below = other && other.unit === now.unit ? [track(other, null, beside.value)] : [];
    const changed = preview.report && scheduleOf(preview.report, target);
    chart.show([track(...withGhost(now, changed), target), ...below]);
    fold_button.hidden = now.repeats.length === 0;
    fold_button.textContent = folded.size > 0 ? "Unfold blocks" : "Fold blocks";
    void keepingFocus(stretches, () => stretches.replaceChildren(...stretchList(now, selection)));
    describe(selection.index);
  };

  selection.onChange((index, source) => {
    chart.mark({ selected: index });
    if (index !== null && source !== "graph") reveal(chart, index);
    describe(index);
  });
  search.onChange(() => chart.mark({ matches: search.matches }));
  preview.onChange(() => draw());
  focus.onChange(draw, signal);
  draw();

  const save = saveMenu(report.file, chart);
  closeWhenLeft(save, signal);
  const tools = el("span", { class: "timeline-tools" }, beside, fold_button, ...commandButtons((wanted) => chart.move(wanted) || command(wanted)), save);
  const element = el("section", { class: "timeline panel", "aria-label": "Timeline" }, el("header", {}, el("h2", {}, "Timeline"), words, tools), chart.canvas, stretches, help);
  return { element, showRange: (from, to) => chart.mark({ range: [from, to] }), paint: () => chart.paint() };
}

/** What is drawn, and what behind it: the changed network over the one of the report, where their units are the same. */
function withGhost(now: Schedule, changed: Schedule | null): [Schedule, Schedule | null] {
  return changed && changed.unit === now.unit ? [changed, now] : [now, null];
}

function reveal(chart: Chart, operator: number): void {
  const { starts, ends } = chart.tracks[0].schedule;
  if (operator < starts.length) chart.window.reveal(starts[operator], ends[operator]);
}

function commandButtons(run: (command: Command) => unknown): HTMLElement[] {
  const button = (label: string, title: string, command: Command): HTMLElement => el("button", { type: "button", "aria-label": title, title, onclick: () => run(command) }, label);
  return [button("−", "Zoom out of the timeline", "zoom-out"), button("+", "Zoom into the timeline", "zoom-in"), button("All", "All of the timeline", "fit"), button("?", "Keys of the timeline", "help")];
}

interface Moved {
  chart: Chart;
  selection: Selection;
  n_operators: number;
  fold: () => void;
  help: HTMLDialogElement;
}

/** Does what a key asks for beside moving the window. */
function moveSelection(wanted: Command, { chart, selection, n_operators, fold, help }: Moved): void {
  const select = (operator: number): void => selection.select(Math.min(n_operators - 1, Math.max(0, operator)), "timeline");
  const { schedule, bars } = chart.tracks[0];
  const now = selection.index;
  const bar = bars.find(({ operators }) => operators.includes(now ?? -1));
  if (wanted === "next") select(bar ? (bar.operators.at(-1) ?? 0) + 1 : 0);
  else if (wanted === "previous") select((bar?.operators[0] ?? 0) - 1);
  else if (wanted === "first") select(0);
  else if (wanted === "last") select(n_operators - 1);
  else if (wanted === "unselect") selection.select(null, "timeline");
  else if (wanted === "fold") fold();
  else if (wanted === "help") help.showModal();
  else if (wanted === "focus") {
    if (bar) chart.window.show(bar.from, bar.to);
    chart.schedule();
  } else {
    const { stretches: all } = schedule;
    const next = wanted === "next-stretch" ? all.find((stretch) => stretch.first > (now ?? -1)) : all.findLast((stretch) => stretch.last < (now ?? Infinity));
    if (next) select(next.first);
  }
}

function saveMenu(file: string, chart: Chart): HTMLDetailsElement {
  const name = file.replace(MODEL_ENDING, "");
  return el(
    "details",
    { class: "timeline-take" },
    el("summary", {}, "Save"),
    el(
      "div",
      { class: "take-list panel" },
      saveButton("SVG", `${name}.timeline.svg`, "image/svg+xml", () => chart.svg(`${file}: timeline`)),
      saveButton("PNG", `${name}.timeline.png`, "image/png", async () => (await chart.png()) ?? ""),
      saveButton("Trace", `${name}.trace.json`, "application/json", () => traceOf(file, chart.tracks.map(({ schedule }) => schedule))),
      el("span", { class: "subtle" }, "The trace opens in Perfetto and speedscope."),
    ),
  );
}

function allOf({ repeats }: Schedule): ReadonlySet<number> {
  return new Set(repeats.keys());
}

/** The other targets that have a latency by operator: those that are wanted first. */
function fillBeside(select: HTMLSelectElement, report: Report, target: string): void {
  const chosen = select.value;
  const timed = new Map(report.results.flatMap((result) => (result.metric === "latency" && result.target !== target && "operators" in result && result.operators?.length ? [[result.target, result.device || result.target] as const] : [])));
  const wanted = otherTargets().filter((other) => timed.has(other));
  const sorted = [...new Set([...wanted, ...timed.keys()])];
  select.replaceChildren(el("option", { value: "" }, "Beside: nothing"), ...sorted.map((other) => el("option", { value: other, selected: other === chosen }, `Beside: ${timed.get(other)}`)));
  select.hidden = sorted.length === 0;
}

/** Of an operator, or of the peak where none is selected; of the whole where memory is not known. */
function selectionWords(schedule: Schedule, operator: number | null): string {
  if (operator !== null) return operatorWords(schedule, operator);
  const peak = schedule.peak_operator;
  if (peak === null) return timeText(schedule, schedule.total);
  return `Most activations: ${schedule.names[peak]} #${peak}, ${format.text(format.bytes(schedule.memory[peak]))}`;
}

function operatorWords(schedule: Schedule, index: number): string {
  const { starts, ends, total, memory, lanes, lane, unit, stretches, traffic_bytes } = schedule;
  const name = `${schedule.names[index]} #${index}`;
  const live = Number.isNaN(memory[index]) ? "not known" : `${format.text(format.bytes(memory[index]))} alive`;
  if (unit !== "ms") return `${name}, ${live}`;
  const cost = ends[index] - starts[index];
  const reason = stretches.find(({ first, last }) => first <= index && index <= last)?.reasons.join("; ");
  const where = lanes.length > 1 ? ` on the ${lanes[lane[index]]}${reason ? ` (${reason})` : ""}` : "";
  const moved = traffic_bytes?.[index] ? `, ${format.text(format.bytes(traffic_bytes[index]))} to and from off-chip memory` : "";
  return `${name}, ${timeText(schedule, cost)}, ${format.percent(total > 0 ? (100 * cost) / total : 0)} of it${where}${moved}, ${live}`;
}

/** Why each stretch is on the CPU, and what the inference takes without it. */
function stretchList(schedule: Schedule, selection: Selection): HTMLElement[] {
  const { stretches, names, total, unit } = schedule;
  if (stretches.length === 0) return [];
  const sorted = stretches.toSorted((a, b) => b.cost - a.cost).slice(0, MAX_STRETCHES);
  const item = ({ first, last, cost, reasons }: (typeof stretches)[number]): HTMLElement => {
    const n = last - first + 1;
    const show = el("button", { type: "button", class: "link", onclick: () => selection.select(first, "stretch") }, n === 1 ? `#${first} ${names[first]}` : `#${first} – #${last}, ${format.plural(n, "operator")} from ${names[first]}`);
    const saves = unit === "ms" && cost > 0 ? ` Without it ${timeText(schedule, total - cost, total)} of ${timeText(schedule, total)} remain, and what replaces it on the NPU: it saves at most ${format.percent((100 * cost) / total)}.` : "";
    return el("li", {}, show, `: ${unit === "ms" ? `${timeText(schedule, cost)}; ` : ""}${reasons.join("; ")}.${saves}`);
  };
  const sum = stretches.reduce((all, { cost }) => all + cost, 0);
  const summary = `${stretches.length === 1 ? "1 stretch" : `${stretches.length.toLocaleString("en")} stretches`} on the CPU${unit === "ms" ? `: ${timeText(schedule, sum)} of ${timeText(schedule, total)}` : ""}`;
  const more = stretches.length > sorted.length ? el("p", { class: "subtle" }, `The ${sorted.length} that take longest.`) : null;
  return [el("details", { open: stretches.length <= MAX_OPEN_STRETCHES }, el("summary", {}, summary), el("ol", { class: "plain stretch-list" }, ...sorted.map(item)), more)];
}

function helpDialog(): HTMLDialogElement {
  const dialog = el(
    "dialog",
    { class: "keys-dialog panel", "aria-label": "Keys of the timeline" },
    el("h2", {}, "Keys of the timeline"),
    el("dl", { class: "keys" }, ...KEYS.map(({ keys, words }) => el("div", {}, el("dt", {}, ...keys.flatMap((key, i) => [i > 0 ? " or " : "", el("kbd", {}, key.replace("Arrow", "").replace("Shift+", "Shift "))])), el("dd", {}, words)))),
    el("p", { class: "subtle" }, "Activations are the feature maps that are alive at a time, in the order of the file. What a target needs of its memory differs from their peak: compilers work in stripes, reuse inputs and align."),
    el("p", { class: "subtle evidence-legend" }, `What times rest on, beside a lane and as the texture of its bars: ${evidenceLegend()}`),
    el("form", { method: "dialog" }, el("button", { type: "submit" }, "Close")),
  );
  return dialog;
}
