/** Latency of several files against one or two other measures, with those that no other file beats in all of them. */
import type { Estimated } from "../comparison_rows.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { MODEL_ENDING } from "../model_files.ts";
import { type Estimate, type Result, estimateOf, isEstimate } from "../report.ts";
import { type CustomColumn, columnValueOf } from "../custom_column.ts";
import { type Range, type Standing, standingsOf } from "../pareto.ts";
import { label, node } from "../svg.ts";
import { roundTicks } from "../ticks.ts";
import { isExact, metricName } from "../words.ts";
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

/** What latencies are drawn against, and what else decides who is best; null for nothing else. */
export interface Axes {
  across: MeasureId;
  third: MeasureId | null;
}

type MeasureId = "memory" | "macs" | "size" | "energy" | "own";

/** What can be known of a file besides its latency. */
interface Quantity {
  id: MeasureId;
  name: string;
  unit: string;
  is_more_better: boolean;
  value: (row: Estimated) => number | null;
  range: (row: Estimated) => Range | null;
}

/** Of which at least one file has a value. */
function quantitiesOf(rows: readonly Estimated[], target: string, column: CustomColumn | null): Quantity[] {
  const exact = (id: MeasureId, name: string, unit: string, value: Quantity["value"], is_more_better = false): Quantity => {
    const sign = is_more_better ? -1 : 1;
    const range = (row: Estimated): Range | null => {
      const row_value = value(row);
      return row_value === null ? null : { lo: sign * row_value, hi: sign * row_value };
    };
    return { id, name, unit, is_more_better, value, range };
  };
  const estimated = (id: MeasureId, name: string, unit: string, of: (row: Estimated) => Estimate | null): Quantity => ({
    id,
    name,
    unit,
    is_more_better: false,
    value: (row) => of(row)?.value ?? null,
    range: (row) => rangeOf(of(row)),
  });
  const all: Quantity[] = [
    estimated("memory", metricName("sram_peak"), "bytes", ({ summary }) => memoryOf(summary.results, target)),
    exact("macs", "MACs", "", ({ summary }) => summary.model.macs),
    exact("size", "File size", "bytes", ({ summary }) => summary.model.file_bytes),
    estimated("energy", metricName("energy"), "mJ", ({ summary }) => estimateOf(summary.results, target, "energy") ?? null),
    ...(column ? [exact("own", column.name, "own", ({ file }) => columnValueOf(column, file), column.is_more_better)] : []),
  ];
  return all.filter(({ value }) => rows.some((row) => value(row) !== null));
}

/** An error that nobody knows has no ends. */
function rangeOf(estimate: Estimate | null): Range | null {
  if (!estimate) return null;
  const { value, lo, hi } = estimate;
  return isExact(estimate) ? { lo: value, hi: value } : { lo: lo ?? -Infinity, hi: hi ?? Infinity };
}

/** How a point stands, as it is drawn and said. */
const STANDING_WORDS: Readonly<Record<Standing, string>> = { surely: "Surely on the front", perhaps: "Perhaps", not: "Not on it" };
const STANDING_CLASSES: Readonly<Record<Standing, string>> = { surely: "best", perhaps: "maybe", not: "beaten" };
/** Files that are named of each standing. */
const MAX_NAMED = 8;

/** Drawn anew when the window becomes narrow or wide, until `signal`. */
export function scatterPanel(rows: Estimated[], target: string, axes: Axes, column: CustomColumn | null, choose: (axes: Axes) => void, open: (row: Estimated) => void, signal: AbortSignal): HTMLElement {
  const quantities = quantitiesOf(rows, target, column);
  const across = quantities.find(({ id }) => id === axes.across) ?? quantities[0];
  const third = quantities.find(({ id }) => id === axes.third && id !== across?.id) ?? null;
  if (!across) return el("div");
  const points = rows.flatMap((row): Point[] => {
    const y = estimateOf(row.summary.results, target, "latency");
    const x = across.value(row);
    return y && x !== null && (third === null || third.value(row) !== null) ? [{ row, x, y }] : [];
  });
  if (points.length < 2) return el("div");
  const device = points[0].y.device || target;
  const point_standings = standingsOf(points.map(({ row, y }) => [rangeOf(y), across.range(row), third?.range(row)].filter((range): range is Range => range !== null && range !== undefined)));
  const standings = new Map(points.map((point, i) => [point, point_standings[i]]));
  const option = ({ id, name }: Quantity, chosen: Quantity | null): HTMLElement => el("option", { value: id, selected: id === chosen?.id }, name);
  const select = el("select", { id: "scatter-axis", "aria-label": "Latency against", onchange: () => choose({ ...axes, across: select.value as MeasureId }) }, ...quantities.map((quantity) => option(quantity, across)));
  const also = el("select", { id: "scatter-third", "aria-label": "And against", onchange: () => choose({ ...axes, third: (also.value || null) as MeasureId | null }) }, el("option", { value: "" }, "nothing else"), ...quantities.filter((quantity) => quantity !== across).map((quantity) => option(quantity, third)));
  const named = (standing: Standing): string => {
    const files = points.filter((point) => standings.get(point) === standing).map(({ row }) => row.file);
    if (files.length === 0) return "";
    return ` ${STANDING_WORDS[standing]}: ${files.slice(0, MAX_NAMED).join(", ")}${files.length > MAX_NAMED ? ` and ${(files.length - MAX_NAMED).toLocaleString("en")} more` : ""}.`;
  };
  const front = frontLine(points, across.is_more_better);
  const narrow = matchMedia(IS_NARROW);
  const place = el("div");
  const draw = (): void => place.replaceChildren(drawing(points, standings, third === null ? front : [], across, narrow.matches ? NARROW : WIDE, open));
  narrow.addEventListener("change", draw, { signal });
  draw();
  return el(
    "figure",
    { class: "scatter" },
    el("figcaption", {}, `Latency on ${device} against `, select, " and ", also, el("span", { class: "front-words", role: "status" }, `${named("surely")}${named("perhaps")}`)),
    place,
    el("p", { class: "subtle" }, "In this chart: ● surely on the front: no other file can be better in all of them, whatever lies in the intervals. ◐ perhaps: intervals overlap, or are missing. ○ not: another file is surely better."),
  );
}

/** What a file needs there: the peak of the target's SRAM, else the arena. */
function memoryOf(results: Result[], target: string): Estimate | null {
  return estimateOf(results, target, "sram_peak") ?? estimateOf(results, target, "arena") ?? results.filter(isEstimate).find(({ metric }) => metric === "arena") ?? null;
}

/** Through the points that no other point beats by its numbers alone. */
function frontLine(points: readonly Point[], is_more_better: boolean): Point[] {
  const sign = is_more_better ? -1 : 1;
  let least = Infinity;
  return points.toSorted((a, b) => sign * (a.x - b.x) || a.y.value - b.y.value).filter(({ y }) => y.value < least && ((least = y.value), true));
}

function drawing(points: Point[], standings: ReadonlyMap<Point, Standing>, front: readonly Point[], quantity: Quantity, { width, height, letters }: typeof WIDE, open: (row: Estimated) => void): SVGElement {
  const textWidth = textWidths();
  const unit = points[0].y.unit;
  const across = quantity.unit === "own" ? betweenOf(points.map(({ x }) => x)) : scaleOf(points.map(({ x }) => x), quantity.unit === "bytes");
  const up = scaleOf(points.flatMap(({ y }) => [y.value, y.hi ?? y.value]));
  const x_words = (value: number): string => (quantity.unit === "own" ? format.digits(value) : format.text(quantity.unit === "" ? format.count(value, "", across.unit(value)) : format.measure(value, quantity.unit, across.unit(value))));
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
  const line = front.map(({ x, y }) => `${at_x(x)},${at_y(y.value)}`).join(" ");
  const logarithmic = up.is_powers && across.is_powers ? "both axes logarithmic" : up.is_powers ? "latency logarithmic" : "logarithmic";
  svg.append(node("polyline", { class: "front", points: line }), label(`${quantity.name}${quantity.is_more_better ? " (more is better)" : ""}${up.is_powers || across.is_powers ? `; ${logarithmic}` : ""}`, width - SPACE, height - 4, "end"));
  // The best ones are named first; those without room are named when they are pointed at.
  const rank: Record<Standing, number> = { surely: 0, perhaps: 1, not: 2 };
  const standingOf = (point: Point): Standing => standings.get(point) ?? "not";
  const marks = points.toSorted((a, b) => rank[standingOf(a)] - rank[standingOf(b)]).map((point) => ({ point, x: at_x(point.x), y: at_y(point.y.value) }));
  const named = sharedPoints(marks).map((same) => ({ ...same[0], text: sharedName(same.map(({ point }) => point.row.file), letters) }));
  const frame = { left: left + 4, right: width, top: 0, bottom: height - BOTTOM };
  const places = placeNames(named, frame, textWidth);
  const names = new Map(named.map((name) => [name.point, { text: name.text, place: places.get(name) ?? null }]));
  for (const { point } of marks.toReversed()) {
    const { text, place } = names.get(point) ?? { text: sharedName([point.row.file], letters), place: null };
    svg.append(mark(point, text, place, standingOf(point), at_x, at_y, width, open));
  }
  return svg;
}

/** Marks that lie on one another, in the order of the first of each. */
function sharedPoints<M extends { x: number; y: number }>(marks: readonly M[]): M[][] {
  const shared = new Map<string, M[]>();
  for (const mark of marks) {
    const key = `${Math.round(mark.x)} ${Math.round(mark.y)}`;
    const same = shared.get(key);
    if (same) same.push(mark);
    else shared.set(key, [mark]);
  }
  return [...shared.values()];
}

/** One name for files of one point, with so many letters of each. */
function sharedName([first, ...others]: readonly string[], letters: number): string {
  const short = (file: string, n: number): string => shortened(file.replace(MODEL_ENDING, ""), n);
  if (others.length === 0) return short(first, letters);
  return others.length === 1 ? `${short(first, letters / 2)} and ${short(others[0], letters / 2)}` : `${short(first, letters)} and ${others.length.toLocaleString("en")} more`;
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
/** Of an even axis, at the most. */
const N_STEPS = 4;

/** Even from the least to the most: of numbers whose 0 says nothing. */
function betweenOf(values: readonly number[]): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = 0.08 * (most - least) || Math.abs(most) || 1;
  const [begin, end] = [least - room, most + room];
  return { part: (value) => (value - begin) / (end - begin), ticks: roundTicks(least, most, N_STEPS), unit: () => most, is_powers: false };
}

/** Even from 0, or by factors with ticks at powers. */
function scaleOf(values: readonly number[], is_bytes = false): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (least <= 0 || most / least <= MAX_EVEN_SPAN) {
    const end = 1.08 * most || 1;
    const unit = is_bytes ? 1024 ** Math.floor(Math.log(end) / Math.log(1024)) : 1;
    return { part: (value) => value / end, ticks: roundTicks(0, end, N_STEPS, unit), unit: () => most, is_powers: false };
  }
  const [begin, end] = [Math.log(least / 1.5), Math.log(most * 1.5)];
  const base = is_bytes ? 4 : 10;
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

function mark({ row, x, y }: Point, name: string, place: Place | null, standing: Standing, at_x: (x: number) => number, at_y: (y: number) => number, width: number, open: (row: Estimated) => void): SVGElement {
  const group = node("g", { class: `point ${STANDING_CLASSES[standing]}`, role: "button", tabindex: 0, "aria-label": `Open ${row.file}: ${STANDING_WORDS[standing].toLowerCase()}` });
  if (y.lo !== undefined && y.hi !== undefined) group.append(node("line", { x1: at_x(x), x2: at_x(x), y1: at_y(y.lo), y2: at_y(y.hi) }));
  group.append(node("circle", { cx: at_x(x), cy: at_y(y.value), r: 5 }));
  if (standing === "perhaps") group.append(node("path", { class: "half", d: `M${at_x(x)} ${at_y(y.value) - 5}a5 5 0 0 0 0 10z` }));
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
