/** Draws schedules under each other on one scale. Cost grows with the pixels and the operators in view. */
import * as format from "../format.ts";
import type { Theme } from "../graph/theme.ts";
import type { Evidence } from "../report.ts";
import { roundTicks } from "../ticks.ts";
import { evidenceMark } from "../words.ts";
import { type Ink, LETTER_PX } from "./ink.ts";
import { type Bar, type Schedule, timeText, trafficRates } from "./schedule.ts";
import type { TimeWindow } from "./time_window.ts";

/** A schedule with its bars; `ghost` is what it was before a change, drawn behind it. */
export interface Track {
  schedule: Schedule;
  bars: readonly Bar[];
  ghost: Schedule | null;
  /** Of the board, where it is known. */
  limit_bytes: number | null;
  /** Where it is not that of the marks: a schedule of another network. */
  selected?: number | null;
}

/** What is drawn in another way. */
export interface Marks {
  selected: number | null;
  hovered: number | null;
  /** Operators that a search has found; null where nothing is searched for. */
  matches: ReadonlySet<number> | null;
  /** Operators that the graph shows. */
  range: readonly [number, number] | null;
}

/** Room for the names of the lanes. */
export const LEFT = 68;
const AXIS = 18;
const LANE = 20;
const BLOCKS = 12;
const TRAFFIC = 20;
const MEMORY = 46;
const GAP = 8;
const NAME = 16;
/** Bars of at least this width have an edge between them. */
const MIN_EDGED_PX = 4;
const UNFOUND_ALPHA = 0.25;
/** A limit that is higher than so many peaks is written beside the memory and not drawn. */
const MAX_LIMIT_PEAKS = 3;
function heightOfTrack({ schedule }: Track): number {
  return NAME + (schedule.repeats.length > 0 ? BLOCKS : 0) + schedule.lanes.length * LANE + (schedule.traffic_bytes ? TRAFFIC : 0) + (schedule.peak_bytes > 0 ? MEMORY : 0) + GAP;
}

export function heightOfTracks(tracks: readonly Track[]): number {
  return AXIS + tracks.reduce((sum, track) => sum + heightOfTrack(track), 0);
}

/** Of the longest schedule, in the unit of the first. */
export function totalOf(tracks: readonly Track[]): number {
  return Math.max(0, ...tracks.flatMap(({ schedule, ghost }) => [schedule.total, ghost?.total ?? 0]));
}

/** Of a place in the drawing; null beside bars. */
export function operatorAt(tracks: readonly Track[], window: TimeWindow, width: number, x: number, y: number): { track: number; operator: number } | null {
  let top = AXIS;
  for (const [i, track] of tracks.entries()) {
    const bottom = top + heightOfTrack(track);
    if (y >= top && y < bottom && x >= LEFT) {
      const time = window.from + ((x - LEFT) / (width - LEFT)) * (window.to - window.from);
      const bar = track.bars[firstAfter(track.bars, time)];
      return bar ? { track: i, operator: inBar(bar, track.schedule, time) } : null;
    }
    top = bottom;
  }
  return null;
}

function inBar({ operators }: Bar, { ends }: Schedule, time: number): number {
  return operators.find((operator) => ends[operator] > time) ?? operators[operators.length - 1];
}

/** The first bar that ends after a time; the last where none does. */
function firstAfter(bars: readonly Bar[], time: number): number {
  let [low, high] = [0, bars.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars[middle].to > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function paintTimeline(ink: Ink, tracks: readonly Track[], window: TimeWindow, width: number, theme: Theme, marks: Marks): void {
  const scale: Scale = { left: LEFT, width: width - LEFT, from: window.from, per: (width - LEFT) / (window.to - window.from) };
  const height = heightOfTracks(tracks);
  paintAxis(ink, scale, height, tracks[0].schedule, theme);
  let top = AXIS;
  for (const track of tracks) {
    paintTrack(ink, track, top, scale, theme, track.selected === undefined ? marks : { ...marks, selected: track.selected });
    top += heightOfTrack(track);
  }
}

interface Scale {
  left: number;
  width: number;
  from: number;
  /** Pixels of a unit of time. */
  per: number;
}

const at = ({ left, from, per }: Scale, time: number): number => left + (time - from) * per;
const TICK_PX = 110;
/** A tick nearer to the end has no room for its number. */
const LAST_TICK_PX = 56;

function paintAxis(ink: Ink, scale: Scale, height: number, schedule: Schedule, theme: Theme): void {
  const length = scale.width / scale.per;
  for (const tick of roundTicks(scale.from, scale.from + length, Math.max(1, Math.floor(scale.width / TICK_PX)))) {
    const x = at(scale, tick);
    ink.line(x, AXIS - 4, x, height - GAP, theme.grid);
    if (x < scale.left + scale.width - LAST_TICK_PX) ink.text(timeText(schedule, tick, scale.from + length), x + 3, AXIS - 6, theme.muted, "start");
  }
}

function paintTrack(ink: Ink, { schedule, bars, ghost, limit_bytes }: Track, top: number, scale: Scale, theme: Theme, marks: Marks): void {
  const { lanes, repeats, total } = schedule;
  const was = ghost ? `, was ${timeText(ghost, ghost.total)}` : "";
  ink.text(`${schedule.name}: ${timeText(schedule, total)}${schedule.unit === "ms" ? was : " operators"}`, 2, top + 11, theme.text, "start");
  let y = top + NAME;
  if (marks.range && !ghost) {
    const [from, to] = clipped(scale, schedule.starts[marks.range[0]] ?? 0, schedule.ends[marks.range[1]] ?? 0);
    ink.rect(from, y, Math.max(2, to - from), heightOfTrack({ schedule, bars, ghost, limit_bytes }) - NAME - GAP, theme.accent, 0.08);
  }
  if (repeats.length > 0) {
    paintBlocks(ink, schedule, y, scale, theme);
    y += BLOCKS;
  }
  if (ghost) ghost.lanes.forEach((_, lane) => lane < lanes.length && paintGhost(ink, ghost, lane, y + lane * LANE, scale, theme));
  lanes.forEach((name, lane) => {
    ink.text(`${name} ${evidenceMark({ evidence: schedule.lane_evidence[lane] })}`.trimEnd(), 2, y + lane * LANE + 14, theme.muted, "start");
    ink.line(scale.left, y + (lane + 1) * LANE - 0.5, scale.left + scale.width, y + (lane + 1) * LANE - 0.5, theme.grid);
  });
  paintBars(ink, bars, schedule.lane_evidence, y, scale, theme, marks);
  const end = at(scale, total);
  if (end <= scale.left + scale.width + 1) ink.line(Math.min(end, scale.left + scale.width - 1), y, Math.min(end, scale.left + scale.width - 1), y + lanes.length * LANE, theme.text);
  y += lanes.length * LANE;
  if (schedule.traffic_bytes) {
    paintTraffic(ink, schedule, schedule.traffic_bytes, y, scale, theme);
    y += TRAFFIC;
  }
  if (schedule.peak_bytes > 0) paintMemory(ink, schedule, ghost, limit_bytes, y, scale, theme, marks);
}

/** A thin band for each block, every second one darker. */
function paintBlocks(ink: Ink, { repeats, starts, ends }: Schedule, y: number, scale: Scale, theme: Theme): void {
  for (const blocks of repeats) {
    blocks.forEach((block, number) => {
      const [from, to] = clipped(scale, starts[block[0]], ends[block[block.length - 1]]);
      if (to - from < 0.5) return;
      ink.rect(from, y + 2, Math.max(0.5, to - from - (to - from > MIN_EDGED_PX ? 1 : 0)), BLOCKS - 5, theme.muted, number % 2 === 0 ? 0.3 : 0.16);
    });
  }
}

function clipped(scale: Scale, from: number, to: number): [number, number] {
  const clip = (x: number): number => Math.min(scale.left + scale.width, Math.max(scale.left, x));
  return [clip(at(scale, from)), clip(at(scale, to))];
}

/** Bars that share a pixel are one bar in the colour of the last of them. */
function paintBars(ink: Ink, bars: readonly Bar[], lane_evidence: Schedule["lane_evidence"], y: number, scale: Scale, theme: Theme, { selected, hovered, matches }: Marks): void {
  const end = scale.from + scale.width / scale.per;
  const drawn_to = [-1, -1];
  for (let i = firstAfter(bars, scale.from); i < bars.length && bars[i].from < end; i++) {
    const { from, to, lane, operators, label, kind } = bars[i];
    const [x0, x1] = clipped(scale, from, to);
    const is_marked = operators.includes(selected ?? -1) || operators.includes(hovered ?? -1);
    const right = Math.max(x1, x0 + 1);
    if (right <= drawn_to[lane] + 0.5 && !is_marked) continue;
    drawn_to[lane] = right;
    const top = y + lane * LANE + 2;
    const width = Math.max(1, x1 - x0 - (x1 - x0 >= MIN_EDGED_PX ? 1 : 0));
    const is_found = matches === null || operators.some((operator) => matches.has(operator));
    const colour = kind === null ? theme.muted : theme.kind(kind);
    paintBar(ink, { x: x0, y: top, width, height: LANE - 5 }, colour, is_found ? 1 : UNFOUND_ALPHA, lane_evidence[lane], theme);
    const letters = Math.floor((width - 8) / LETTER_PX);
    if (letters >= 3) paintLabel(ink, label, letters, x0, top, width, is_found ? colour : null, theme);
    if (is_marked) ink.frame(x0 - 2, top - 2, width + 4, LANE - 1, operators.includes(selected ?? -1) ? theme.accent : theme.text);
  }
}

/** On textures names have a plain ground of the bar's colour; null for a pale bar. */
function paintLabel(ink: Ink, label: string, letters: number, x: number, top: number, width: number, ground: string | null, theme: Theme): void {
  const words = label.length <= letters ? label : `${label.slice(0, letters - 1)}…`;
  if (ground !== null) ink.rect(x + 2, top, Math.min(width - 4, words.length * NAME_LETTER_PX + 6), LANE - 5, ground);
  ink.text(words, x + 5, top + 11, ground === null ? theme.text : theme.box, "start");
}

/** Of a letter of operators' names, which are capitals. */
const NAME_LETTER_PX = 7.6;
const HATCH_PX = 6;
const DOT_PX = 2;
const DOT_STEP_PX = 5;
/** Between the dots of a bar. */
const GROUND_ALPHA = 0.3;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** In the texture of what the time rests on, as bars elsewhere: full, full with an edge, hatched, dotted. */
function paintBar(ink: Ink, box: Box, colour: string, alpha: number, evidence: Evidence | undefined, theme: Theme): void {
  const { x, y, width, height } = box;
  const is_textured = width > MIN_EDGED_PX;
  ink.rect(x, y, width, height, colour, is_textured && evidence === "assumed" ? GROUND_ALPHA * alpha : alpha);
  if (!is_textured) return;
  if (evidence === "measured") ink.frame(x, y, width, height, theme.text);
  else if (evidence === "compiler") for (let at = x + 3; at < x + width; at += HATCH_PX) ink.line(at, y + height, Math.min(at + 4, x + width), y, theme.box);
  else if (evidence === "assumed") paintDots(ink, box, colour, alpha);
}

function paintDots(ink: Ink, { x, y, width, height }: Box, colour: string, alpha: number): void {
  for (let row = 1; row + DOT_PX <= height; row += DOT_STEP_PX) {
    for (let at = 1; at + DOT_PX <= width; at += DOT_STEP_PX) ink.rect(x + at, y + row, DOT_PX, DOT_PX, colour, alpha);
  }
}

/** Outlines of what was before, as wide as it was. */
function paintGhost(ink: Ink, { starts, ends, lane: lanes }: Schedule, lane: number, y: number, scale: Scale, theme: Theme): void {
  let drawn_to = -1;
  for (let i = 0; i < starts.length; i++) {
    if (lanes[i] !== lane) continue;
    const [x0, x1] = clipped(scale, starts[i], ends[i]);
    if (x1 - x0 < 2 && x1 <= drawn_to + 2) continue;
    drawn_to = x1;
    ink.frame(x0, y, Math.max(2, x1 - x0), LANE - 1, theme.line, true);
  }
}

/** The highest of each pixel: a peak of an instant is seen. */
function paintMemory(ink: Ink, schedule: Schedule, ghost: Schedule | null, limit_bytes: number | null, y: number, scale: Scale, theme: Theme, { selected }: Marks): void {
  const { peak_bytes, peak_operator, memory, starts } = schedule;
  const is_drawn = limit_bytes !== null && limit_bytes <= MAX_LIMIT_PEAKS * peak_bytes;
  const ceiling = Math.max(peak_bytes, ghost?.peak_bytes ?? 0, is_drawn ? limit_bytes : 0);
  const [room, bottom] = [MEMORY - 10, y + MEMORY - 2];
  const heights = columnsOf(schedule, memory, scale);
  heights.forEach((bytes, i) => bytes > 0 && ink.rect(scale.left + i, bottom - (bytes / ceiling) * room, 1, (bytes / ceiling) * room, theme.line, 0.75));
  if (ghost) columnsOf(ghost, ghost.memory, scale).forEach((bytes, i) => i % 3 === 0 && bytes > 0 && ink.rect(scale.left + i, bottom - (bytes / ceiling) * room - 1, 2, 1.5, theme.text, 0.7));
  for (const [operator, colour] of [[peak_operator, theme.peak], [selected, theme.accent]] as const) {
    if (operator === null || !(memory[operator] > 0)) continue;
    const x = at(scale, starts[operator]);
    if (x < scale.left || x > scale.left + scale.width) continue;
    const height = (memory[operator] / ceiling) * room;
    ink.rect(Math.min(x, scale.left + scale.width - 2), bottom - height, 2, height, colour);
  }
  ink.text("Activations", 2, y + 18, theme.muted, "start");
  const words = `peak ${format.text(format.bytes(peak_bytes))}${limit_bytes === null ? "" : `, limit ${format.text(format.bytes(limit_bytes))}${is_drawn ? "" : " (above the drawing)"}`}`;
  if (is_drawn) ink.line(scale.left, bottom - (limit_bytes / ceiling) * room, scale.left + scale.width, bottom - (limit_bytes / ceiling) * room, peak_bytes > limit_bytes ? theme.peak : theme.muted, true);
  const x = scale.left + scale.width - 4;
  ink.rect(x - words.length * LETTER_PX, y + 3, words.length * LETTER_PX + 4, 14, theme.box, 0.85);
  ink.text(words, x, y + 14, theme.muted, "end");
}

/** Bytes in a time between on-chip and other memory: where it is high, the memory is what the NPU waits for. */
function paintTraffic(ink: Ink, schedule: Schedule, traffic_bytes: readonly number[], y: number, scale: Scale, theme: Theme): void {
  const rates = trafficRates(schedule, traffic_bytes);
  const most = rates.reduce((most, rate) => Math.max(most, rate), 0);
  const [room, bottom] = [TRAFFIC - 5, y + TRAFFIC - 2];
  columnsOf(schedule, rates, scale).forEach((rate, i) => rate > 0 && ink.rect(scale.left + i, bottom - (rate / most) * room, 1, (rate / most) * room, theme.muted, 0.6));
  ink.text("Off chip", 2, y + 14, theme.muted, "start");
}

/** Highest value of each pixel of the window. */
function columnsOf({ starts, ends }: Schedule, values: ArrayLike<number>, scale: Scale): Float64Array {
  const n = Math.max(1, Math.floor(scale.width));
  const columns = new Float64Array(n);
  for (let i = 0; i < starts.length; i++) {
    const value = values[i];
    if (!(value > 0)) continue;
    const from = Math.floor((starts[i] - scale.from) * scale.per);
    if (from >= n) break;
    const to = Math.min(n, Math.max(from + 1, Math.ceil((ends[i] - scale.from) * scale.per)));
    for (let column = Math.max(0, from); column < to; column++) if (value > columns[column]) columns[column] = value;
  }
  return columns;
}
