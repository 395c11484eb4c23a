/** Latency against memory or MACs of several files, with those that no other file beats in both. */
import type { Estimated } from "../comparison_rows.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { MODEL_ENDING } from "../model_files.ts";
import { type Estimate, type Result, isEstimate } from "../report.ts";
import { label, node } from "../svg.ts";
import { metricName } from "../words.ts";
import { type Place, placeNames, shortened } from "./label_places.ts";

/** Drawn in its own size in windows that have room for it. */
const WIDE = { width: 640, height: 260, letters: 36 };
const NARROW = { width: 340, height: 260, letters: 20 };
/** Of windows that are drawn narrow. */
const IS_NARROW = "(max-width: 700px)";
const BOTTOM = 36;
const SPACE = 14;
const FONT_SIZE = 11;

interface Point {
  row: Estimated;
  x: number;
  y: Estimate;
}

/** What latencies are drawn against. */
export type Axis = "memory" | "macs";

/** Drawn anew when the window becomes narrow or wide, until `signal`. */
export function scatter(rows: Estimated[], target: string, axis: Axis, choose: (axis: Axis) => void, open: (row: Estimated) => void, signal: AbortSignal): HTMLElement {
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
  const narrow = matchMedia(IS_NARROW);
  const place = el("div");
  const draw = (): void => place.replaceChildren(drawing(points, front, is_memory, narrow.matches ? NARROW : WIDE, open));
  narrow.addEventListener("change", draw, { signal });
  draw();
  return el("figure", { class: "scatter" }, el("figcaption", {}, `Latency on ${device} against `, select, words), place);
}

/** What a file needs there: the peak of the target's SRAM, else the arena. */
function memoryOf(results: Result[], target: string): number | null {
  const found = estimateOf(results, target, "sram_peak") ?? estimateOf(results, target, "arena") ?? results.filter(isEstimate).find(({ metric }) => metric === "arena");
  return found?.value ?? null;
}

function estimateOf(results: readonly Result[], target: string, metric: string): Estimate | null {
  return results.filter(isEstimate).find((result) => result.target === target && result.metric === metric) ?? null;
}

/** The points that no other point beats in both directions. */
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

function drawing(points: Point[], front: Set<Point>, is_bytes: boolean, { width, height, letters }: typeof WIDE, open: (row: Estimated) => void): SVGElement {
  const textWidth = textWidths();
  const unit = points[0].y.unit;
  const across = scaleOf(points.map(({ x }) => x), is_bytes ? 4 : 10);
  const up = scaleOf(points.flatMap(({ y }) => [y.value, y.hi ?? y.value]), 10);
  const x_words = (value: number): string => format.text(is_bytes ? format.bytes(Math.round(value), across.unit(value)) : format.count(value, "", across.unit(value)));
  const y_words = (value: number): string => format.text(format.measure(value, unit, up.unit(value)));
  const left = 12 + Math.max(...up.ticks.map((value) => textWidth(y_words(value))));
  const at_x = (x: number): number => left + across.part(x) * (width - left - SPACE);
  const at_y = (y: number): number => height - BOTTOM - up.part(y) * (height - BOTTOM - SPACE);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, class: "scatter-drawing" });
  for (const value of up.ticks) {
    svg.append(node("line", { class: "axis", x1: left, x2: width - SPACE, y1: at_y(value), y2: at_y(value) }), label(y_words(value), left - 8, at_y(value) + 4, "end"));
  }
  for (const value of across.ticks) {
    const words = x_words(value);
    const [at, half] = [at_x(value), textWidth(words) / 2];
    svg.append(node("line", { class: "axis", x1: at, x2: at, y1: height - BOTTOM, y2: height - BOTTOM + 4 }), label(words, Math.min(Math.max(at, left + half), width - half), height - BOTTOM + 18, "middle"));
  }
  const line = [...front].map(({ x, y }) => `${at_x(x)},${at_y(y.value)}`).join(" ");
  const logarithmic = up.is_powers && across.is_powers ? "both axes logarithmic" : up.is_powers ? "latency logarithmic" : "logarithmic";
  svg.append(node("polyline", { class: "front", points: line }), label(`${is_bytes ? metricName("sram_peak") : "MACs"}${up.is_powers || across.is_powers ? `; ${logarithmic}` : ""}`, width - SPACE, height - 4, "end"));
  // The best ones are named first; those without room are named when they are pointed at.
  const others = points.filter((point) => !front.has(point));
  const named = [...front, ...others].map((point) => ({ point, x: at_x(point.x), y: at_y(point.y.value), text: shortened(point.row.file.replace(MODEL_ENDING, ""), letters) }));
  const frame = { left: left + 4, right: width, top: 0, bottom: height - BOTTOM };
  const places = placeNames(named, frame, textWidth);
  for (const name of named.toReversed()) svg.append(mark(name.point, name.text, places.get(name) ?? null, front.has(name.point), at_x, at_y, width, open));
  return svg;
}

interface Scale {
  /** From 0, at the beginning of the axis, to 1. */
  part: (value: number) => number;
  ticks: number[];
  /** In whose unit a tick is written. */
  unit: (value: number) => number;
  /** Whether equal steps are equal factors. */
  is_powers: boolean;
}

/** Values that span more than this factor would lie on top of each other at the beginning of an even axis. */
const MAX_EVEN_SPAN = 30;
const MAX_TICKS = 5;

/** Even from 0, or by factors with ticks at powers of `base`. */
function scaleOf(values: readonly number[], base: number): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (least <= 0 || most / least <= MAX_EVEN_SPAN) {
    const end = 1.08 * most || 1;
    return { part: (value) => value / end, ticks: [0, most / 2, most], unit: () => most, is_powers: false };
  }
  const [begin, end] = [Math.log(least / 1.5), Math.log(most * 1.5)];
  const [first, last] = [Math.ceil(begin / Math.log(base)), Math.floor(end / Math.log(base))];
  const step = Math.ceil((last - first + 1) / MAX_TICKS);
  const ticks = Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => base ** (first + i * step));
  return { part: (value) => Math.max(0, (Math.log(Math.max(value, Number.MIN_VALUE)) - begin) / (end - begin)), ticks, unit: (value) => value, is_powers: true };
}

/** Of a text in the drawing, in its units. */
type TextWidth = (text: string) => number;

/** For one drawing: to ask for the font of the page may take a layout. */
function textWidths(): TextWidth {
  measuring ??= document.createElement("canvas").getContext("2d");
  if (!measuring) return (text) => text.length * FONT_SIZE;
  const context = measuring;
  context.font = `${FONT_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  return (text) => context.measureText(text).width;
}

let measuring: CanvasRenderingContext2D | null = null;

function mark({ row, x, y }: Point, name: string, place: Place | null, is_best: boolean, at_x: (x: number) => number, at_y: (y: number) => number, width: number, open: (row: Estimated) => void): SVGElement {
  const group = node("g", { class: is_best ? "point best" : "point", role: "button", tabindex: 0, "aria-label": `Open ${row.file}` });
  if (y.lo !== undefined && y.hi !== undefined) group.append(node("line", { x1: at_x(x), x2: at_x(x), y1: at_y(y.lo), y2: at_y(y.hi) }));
  group.append(node("circle", { cx: at_x(x), cy: at_y(y.value), r: 5 }));
  const is_right = at_x(x) > width / 2;
  const { x: name_x, y: name_y, anchor } = place ?? { x: at_x(x) + (is_right ? -9 : 9), y: at_y(y.value) - 9, anchor: is_right ? "end" : "start" } as const;
  const text = label(name, name_x, name_y, anchor);
  text.setAttribute("class", place ? "name" : "name without-room");
  const title = node("title", {});
  title.textContent = row.file;
  group.append(text, title);
  group.addEventListener("click", () => open(row));
  group.addEventListener("keydown", (event) => {
    if ((event as KeyboardEvent).key === "Enter" || (event as KeyboardEvent).key === " ") open(row);
  });
  return group;
}
