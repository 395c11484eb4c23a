/** Draws the part of a scene that a camera sees. Cost grows with what is in view, not with the graph. */
import type { Camera } from "./camera.ts";
import { BOX_HEIGHT, type Box, ROW_STEP, type Scene } from "./scene.ts";
import type { Theme } from "./theme.ts";

/** Scales below which details are left out: they would be smaller than a pixel or two. */
const TEXT_SCALE = 0.34;
const SHAPE_SCALE = 0.5;
const CURVE_SCALE = 0.1;
/** A box is at least this wide on the screen, so that its colour is seen in a whole graph of thousands. */
const MIN_BOX_PX = 12;
const MIN_BORDERED_PX = 6;

/** Operators that are drawn in another way: chosen, hovered, found, or left to a processor. */
export interface Marks {
  selected: number | null;
  hovered: number | null;
  peak: number | null;
  /** Tensors of the selected operator. */
  tensors: Set<number>;
  /** Of each box: its cost over that of the costliest, 0 to 1. */
  shares: readonly number[];
  /** Operators that a search has found; null where nothing is searched for. */
  matches: ReadonlySet<number> | null;
  /** Operators that the chosen target leaves to a processor. */
  left: ReadonlyMap<number, string>;
}

/** How much of its colour a box keeps that a search has not found. */
const UNFOUND_ALPHA = 0.18;

/** Draws the part of the scene that the camera sees. Linear in what is seen. */
export function paintGraph(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, theme: Theme, marks: Marks): void {
  const ratio = devicePixelRatio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, camera.width, camera.height);
  context.translate(camera.x, camera.y);
  context.scale(camera.scale, camera.scale);
  const [first, last] = rowsInView(scene, camera);
  paintLines(context, scene, camera, theme, marks, first, last);
  if (camera.scale >= SHAPE_SCALE) paintShapes(context, scene, theme, first, last);
  for (let row = first; row <= last; row++) {
    for (const node of scene.rows[row]) paintBox(context, scene, camera, theme, marks, node);
  }
}

/** First and last row that the camera sees. */
export function rowsInView(scene: Scene, camera: Camera): [number, number] {
  const top = camera.toWorld(0, 0)[1];
  const bottom = camera.toWorld(0, camera.height)[1];
  const last = Math.min(scene.rows.length - 1, Math.floor(bottom / ROW_STEP));
  return [Math.max(0, Math.floor((top - BOX_HEIGHT) / ROW_STEP)), last];
}

function paintLines(
  context: CanvasRenderingContext2D,
  scene: Scene,
  camera: Camera,
  theme: Theme,
  marks: Marks,
  first: number,
  last: number,
): void {
  const { segments } = scene.layout;
  const from = segments.row_start[Math.max(0, first - 1)];
  const to = segments.row_start[last + 1] ?? 0;
  const pixel = 1 / camera.scale;
  const path = new Path2D();
  const marked = new Path2D();
  for (let i = from; i < to; i++) {
    const target = marks.tensors.has(segments.tensor[i]) ? marked : path;
    addSegment(target, scene, i, camera.scale < CURVE_SCALE);
  }
  addLeaps(path, scene, camera);
  context.lineWidth = Math.max(1.25, 0.75 * pixel);
  context.strokeStyle = theme.line;
  context.stroke(path);
  context.lineWidth = Math.max(2.25, 1.75 * pixel);
  context.strokeStyle = theme.accent;
  context.stroke(marked);
}

function addSegment(path: Path2D, { layout: { segments } }: Scene, i: number, straight: boolean): void {
  const top = segments.row[i] * ROW_STEP;
  const [x0, y0] = [segments.x_from[i], top + BOX_HEIGHT];
  const [x1, y1] = [segments.x_to[i], top + ROW_STEP];
  path.moveTo(x0, segments.from_waypoint[i] ? top : y0);
  if (segments.from_waypoint[i]) path.lineTo(x0, y0);
  if (straight || x0 === x1) path.lineTo(x1, y1);
  else path.bezierCurveTo(x0, y0 + (y1 - y0) * 0.6, x1, y1 - (y1 - y0) * 0.6, x1, y1);
}

/** Lines too long to route: arcs, only where one of their ends is in view. */
function addLeaps(path: Path2D, { layout }: Scene, camera: Camera): void {
  const [, top] = camera.toWorld(0, 0);
  const [, bottom] = camera.toWorld(0, camera.height);
  for (let i = 0; i < layout.leaps.length; i += 3) {
    const [src, dst] = [layout.leaps[i], layout.leaps[i + 1]];
    const y0 = layout.node_row[src] * ROW_STEP + BOX_HEIGHT;
    const y1 = layout.node_row[dst] * ROW_STEP;
    if ((y0 < top || y0 > bottom) && (y1 < top || y1 > bottom)) continue;
    path.moveTo(layout.node_x[src], y0);
    path.bezierCurveTo(layout.node_x[src], y0 + 4 * ROW_STEP, layout.node_x[dst], y1 - 4 * ROW_STEP, layout.node_x[dst], y1);
  }
}

function paintShapes(context: CanvasRenderingContext2D, scene: Scene, theme: Theme, first: number, last: number): void {
  context.font = `10.5px ${theme.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = theme.surface;
  context.fillStyle = theme.muted;
  for (let row = Math.max(0, first - 1); row <= last; row++) {
    const y = row * ROW_STEP + (BOX_HEIGHT + ROW_STEP) / 2;
    for (const { x, text } of scene.shapeLabels(row)) {
      context.strokeText(text, x + 6, y);
      context.fillText(text, x + 6, y);
    }
  }
}

function paintBox(
  context: CanvasRenderingContext2D,
  scene: Scene,
  camera: Camera,
  theme: Theme,
  marks: Marks,
  node: number,
): void {
  const box = scene.boxes[node];
  const x = scene.layout.node_x[node] - box.width / 2;
  const y = scene.layout.node_row[node] * ROW_STEP;
  const [left, right] = [x * camera.scale + camera.x, (x + box.width) * camera.scale + camera.x];
  if (right < 0 || left > camera.width) return;
  const is_unfound = marks.matches !== null && !box.operators.some((operator) => marks.matches?.has(operator));
  context.globalAlpha = is_unfound ? UNFOUND_ALPHA : 1;
  const share = box.operator === null ? null : (marks.shares[node] ?? 0);
  if (camera.scale < TEXT_SCALE) paintPlainBox(context, box, x, y, theme, share, 1 / camera.scale);
  else paintFullBox(context, box, x, y, theme, share);
  context.globalAlpha = 1;
  if (box.is_block && camera.scale >= TEXT_SCALE) paintStack(context, box, x, y, theme);
  paintOutline(context, box, x, y, camera, theme, marks);
}

/** A second edge below: there is more inside. */
function paintStack(context: CanvasRenderingContext2D, box: Box, x: number, y: number, theme: Theme): void {
  context.beginPath();
  context.moveTo(x + 8, y + BOX_HEIGHT + 3);
  context.lineTo(x + box.width - 8, y + BOX_HEIGHT + 3);
  context.lineWidth = 1.5;
  context.strokeStyle = theme.border;
  context.stroke();
}

function paintPlainBox(context: CanvasRenderingContext2D, box: Box, x: number, y: number, theme: Theme, share: number | null, pixel: number): void {
  const width = Math.max(box.width, MIN_BOX_PX * pixel);
  context.fillStyle = share === null ? theme.kind(box.kind) : theme.cost(share);
  context.fillRect(x + (box.width - width) / 2, y, width, BOX_HEIGHT);
  // Borders of boxes a few pixels high would hide their colours.
  if (BOX_HEIGHT < MIN_BORDERED_PX * pixel) return;
  context.lineWidth = pixel;
  context.strokeStyle = theme.line;
  context.strokeRect(x + (box.width - width) / 2, y, width, BOX_HEIGHT);
}

/** Filled by its cost; the stripe on the left has the colour of its kind. */
function paintFullBox(context: CanvasRenderingContext2D, box: Box, x: number, y: number, theme: Theme, share: number | null): void {
  const radius = box.operator === null ? BOX_HEIGHT / 2 : 7;
  context.beginPath();
  context.roundRect(x, y, box.width, BOX_HEIGHT, radius);
  context.fillStyle = share === null ? theme.box : theme.cost(share);
  context.fill();
  context.lineWidth = 1.25;
  context.strokeStyle = share === null ? theme.kind(box.kind) : theme.border;
  context.stroke();
  if (share !== null) paintKind(context, x, y, theme.kind(box.kind));
  paintText(context, box, x + box.width / 2 + (share === null ? 0 : 2), y, theme, share);
}

function paintKind(context: CanvasRenderingContext2D, x: number, y: number, colour: string): void {
  context.beginPath();
  context.roundRect(x, y, 6, BOX_HEIGHT, [7, 0, 0, 7]);
  context.fillStyle = colour;
  context.fill();
}

function paintText(context: CanvasRenderingContext2D, box: Box, x: number, y: number, theme: Theme, share: number | null): void {
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = share === null ? theme.text : theme.onCost(share);
  context.font = labelFont(theme.font, false);
  context.fillText(box.label, x, y + (box.detail ? 15 : BOX_HEIGHT / 2));
  if (!box.detail) return;
  if (share === null) context.fillStyle = theme.muted;
  context.font = labelFont(theme.font, true);
  context.fillText(box.detail, x, y + 30);
}

/** The font of a box's name, as a canvas takes it. */
export function labelFont(family: string, small: boolean): string {
  return small ? `11px ${family}` : `600 12px ${family}`;
}

function paintOutline(
  context: CanvasRenderingContext2D,
  box: Box,
  x: number,
  y: number,
  camera: Camera,
  theme: Theme,
  marks: Marks,
): void {
  if (box.operator === null) return;
  const holds = (operator: number | null): boolean => operator !== null && box.operators.includes(operator);
  const pixel = Math.max(1, 1 / camera.scale);
  const outline = (colour: string, width: number, distance: number): void => {
    context.beginPath();
    context.roundRect(x - distance, y - distance, box.width + 2 * distance, BOX_HEIGHT + 2 * distance, 7 + distance);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  };
  if (box.operators.some((operator) => marks.left.has(operator))) {
    context.setLineDash([5 * pixel, 3 * pixel]);
    outline(theme.left, 2 * pixel, 0);
    context.setLineDash([]);
    if (pixel <= 3) paintTag(context, "CPU", x + box.width - 2, y, "right", theme.left, theme);
  }
  if (holds(marks.hovered)) outline(theme.muted, 1.5 * pixel, 0);
  if (holds(marks.peak)) paintPeak(context, x, y, theme, outline, pixel);
  if (holds(marks.selected)) outline(theme.accent, 2.5 * pixel, 2 * pixel);
}

function paintPeak(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  theme: Theme,
  outline: (colour: string, width: number, distance: number) => void,
  pixel: number,
): void {
  outline(theme.peak, 2 * pixel, 0);
  if (pixel <= 3) paintTag(context, "peak", x + 2, y, "left", theme.peak, theme);
}

/** A word above a box. */
function paintTag(context: CanvasRenderingContext2D, word: string, x: number, y: number, align: CanvasTextAlign, colour: string, theme: Theme): void {
  context.font = `600 10px ${theme.font}`;
  context.textAlign = align;
  context.textBaseline = "bottom";
  context.lineWidth = 3;
  context.strokeStyle = theme.surface;
  context.strokeText(word, x, y - 3);
  context.fillStyle = colour;
  context.fillText(word, x, y - 3);
}
