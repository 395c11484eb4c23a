/** Latency against memory or MACs of several files, with those that no other file beats in both. */
import type { Estimated } from "../compared.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { type Estimate, type Result, isEstimate } from "../report.ts";
import { label, node } from "../svg.ts";
import { metricName } from "../words.ts";

const WIDTH = 640;
const HEIGHT = 260;
const LEFT = 64;
const BOTTOM = 36;
const SPACE = 14;
const NAME_HEIGHT = 13;
/** Of more points only the best are named, and no more than there is room for: all are named when they are pointed at. */
const MAX_NAMES = 14;

interface Point {
  row: Estimated;
  x: number;
  y: Estimate;
}

/** What latencies are drawn against. */
export type Axis = "memory" | "macs";

export function scatter(rows: Estimated[], target: string, axis: Axis, choose: (axis: Axis) => void, open: (row: Estimated) => void): HTMLElement {
  const has_memory = rows.some(({ summary }) => memoryOf(summary.results, target) !== null);
  const is_memory = has_memory && axis === "memory";
  const points = rows.flatMap((row): Point[] => {
    const y = estimateOf(row.summary.results, target, "latency");
    const x = is_memory ? memoryOf(row.summary.results, target) : row.summary.model.macs;
    return y && x !== null ? [{ row, x, y }] : [];
  });
  if (points.length < 2) return el("div");
  const device = points[0].y.device || target;
  const front = paretoFront(points);
  const select = el("select", { id: "scatter-axis", "aria-label": "Latency against", onchange: () => choose(select.value as Axis) });
  for (const [value, words] of [["memory", "memory"], ["macs", "MACs"]] as const) {
    if (value === "macs" || has_memory) select.append(el("option", { value, selected: (value === "memory") === is_memory }, words));
  }
  const words = `. No other file is better in both than: ${[...front].map(({ row }) => row.file).join(", ")}.`;
  return el("figure", { class: "scatter" }, el("figcaption", {}, `Latency on ${device} against `, select, words), drawing(points, front, is_memory, open));
}

/** What a file needs there: the peak of the target's SRAM, else the arena. */
function memoryOf(results: Result[], target: string): number | null {
  const found = estimateOf(results, target, "sram_peak") ?? estimateOf(results, target, "arena") ?? results.filter(isEstimate).find(({ metric }) => metric === "arena");
  return found?.value ?? null;
}

function estimateOf(results: Result[], target: string, metric: string): Estimate | null {
  return results.filter(isEstimate).find((result) => result.target === target && result.metric === metric) ?? null;
}

export function paretoFront<P extends { x: number; y: { value: number } }>(points: readonly P[]): Set<P> {
  const front = new Set<P>();
  let least = Infinity;
  for (const point of points.toSorted((a, b) => a.x - b.x || a.y.value - b.y.value)) {
    if (point.y.value >= least) continue;
    least = point.y.value;
    front.add(point);
  }
  return front;
}

function drawing(points: Point[], front: Set<Point>, is_bytes: boolean, open: (row: Estimated) => void): SVGElement {
  const x_end = Math.max(...points.map(({ x }) => x)) * 1.08 || 1;
  const y_end = Math.max(...points.map(({ y }) => y.hi ?? y.value)) * 1.08 || 1;
  const at_x = (x: number): number => LEFT + (x / x_end) * (WIDTH - LEFT - SPACE);
  const at_y = (y: number): number => HEIGHT - BOTTOM - (y / y_end) * (HEIGHT - BOTTOM - SPACE);
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "scatter-drawing" });
  const unit = points[0].y.unit;
  for (const part of [0, 0.5, 1]) {
    const [x, y] = [(part * x_end) / 1.08, (part * y_end) / 1.08];
    const x_words = is_bytes ? format.bytes(Math.round(x), x_end) : format.count(x, "", x_end);
    svg.append(
      node("line", { class: "axis", x1: LEFT, x2: WIDTH - SPACE, y1: at_y(y), y2: at_y(y) }),
      label(format.text(format.measure(y, unit, y_end)), LEFT - 8, at_y(y) + 4, "end"),
      label(format.text(x_words), at_x(x), HEIGHT - BOTTOM + 18, "middle"),
    );
  }
  const line = [...front].map(({ x, y }) => `${at_x(x)},${at_y(y.value)}`).join(" ");
  svg.append(node("polyline", { class: "front", points: line }), label(is_bytes ? metricName("sram_peak") : "MACs", WIDTH - SPACE, HEIGHT - 4, "end"));
  const named = (points.length <= MAX_NAMES ? points : [...front]).slice(0, MAX_NAMES);
  const heights = nameHeights(named.map(({ y }) => at_y(y.value)));
  const name_y = new Map(named.map((point, i) => [point, heights[i]]));
  for (const point of points) svg.append(mark(point, name_y.get(point) ?? null, front.has(point), at_x, at_y, open));
  return svg;
}

/** Names of points at nearly the same height stand below each other, above the axis. */
function nameHeights(heights: number[]): number[] {
  const placed: number[] = [...heights];
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  order.forEach((place, i) => {
    if (i > 0) placed[place] = Math.max(heights[place], placed[order[i - 1]] + NAME_HEIGHT);
  });
  let lowest = HEIGHT - BOTTOM;
  for (const place of order.toReversed()) {
    placed[place] = Math.min(placed[place], lowest);
    lowest = placed[place] - NAME_HEIGHT;
  }
  return placed;
}

function mark({ row, x, y }: Point, name_y: number | null, is_best: boolean, at_x: (x: number) => number, at_y: (y: number) => number, open: (row: Estimated) => void): SVGElement {
  const group = node("g", { class: is_best ? "point best" : "point", role: "button", tabindex: 0, "aria-label": `Open ${row.file}` });
  if (y.lo !== undefined && y.hi !== undefined) group.append(node("line", { x1: at_x(x), x2: at_x(x), y1: at_y(y.lo), y2: at_y(y.hi) }));
  group.append(node("circle", { cx: at_x(x), cy: at_y(y.value), r: 5 }));
  const is_right = at_x(x) > WIDTH * 0.7;
  if (name_y !== null) group.append(label(row.file, at_x(x) + (is_right ? -9 : 9), name_y + 4, is_right ? "end" : "start"));
  const title = node("title", {});
  title.textContent = row.file;
  group.append(title);
  group.addEventListener("click", () => open(row));
  group.addEventListener("keydown", (event) => {
    if ((event as KeyboardEvent).key === "Enter" || (event as KeyboardEvent).key === " ") open(row);
  });
  return group;
}
