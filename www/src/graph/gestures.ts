/** Pointer and wheel on the drawing: drag to pan, pinch or Ctrl + wheel to zoom, tap to select. */
import type { Camera } from "./camera.ts";

/** A pointer that moved less than this, in px, was a tap. */
const TAP_DISTANCE = 4;
/** Zoom a px of the wheel, as the exponent of e. */
const WHEEL_ZOOM = 0.0066;
/** One notch of a mouse wheel counts as no more than this, in px. */
const MAX_WHEEL_STEP = 60;
/** Height of a line where the wheel counts in lines, in px. */
const LINE_PX = 16;

/** What a pointer, a wheel or a key does to the graph. */
export interface GestureHandlers {
  changed(): void;
  tapped(x: number, y: number): void;
  hovered(x: number, y: number): void;
  left(): void;
}

/** Calls `handlers` for gestures on `canvas`; does nothing while there is no camera. */
export function listenToGestures(canvas: HTMLCanvasElement, camera: () => Camera | null, handlers: GestureHandlers): void {
  listenToPointers(canvas, camera, handlers);
  canvas.addEventListener("pointerleave", () => handlers.left());
  const wheel = (event: WheelEvent): void => {
    const view = camera();
    if (!view) return;
    turnWheel(view, event);
    handlers.changed();
  };
  canvas.addEventListener("wheel", wheel, { passive: false });
}

function listenToPointers(canvas: HTMLCanvasElement, camera: () => Camera | null, handlers: GestureHandlers): void {
  const pointers = new Map<number, Point>();
  let travelled = 0;

  const press = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (pointers.size === 0) travelled = 0;
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  };
  const move = (event: PointerEvent): void => {
    const before = pointers.get(event.pointerId);
    const view = camera();
    if (!view) return;
    if (!before) return handlers.hovered(event.offsetX, event.offsetY);
    const now = { x: event.offsetX, y: event.offsetY };
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) pinch(view, before, now, other);
    else if (travelled >= TAP_DISTANCE) view.pan(now.x - before.x, now.y - before.y);
    pointers.set(event.pointerId, now);
    handlers.changed();
  };
  const release = (event: PointerEvent): void => {
    const known = pointers.delete(event.pointerId);
    if (known && event.type === "pointerup" && travelled < TAP_DISTANCE) handlers.tapped(event.offsetX, event.offsetY);
  };
  canvas.addEventListener("pointerdown", press);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
}

/** Ctrl + wheel, which is also how a touchpad reports a pinch, zooms; the wheel alone pans. */
function turnWheel(view: Camera, event: WheelEvent): void {
  const line = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
  if (event.ctrlKey || event.metaKey) {
    const step = Math.min(MAX_WHEEL_STEP, Math.max(-MAX_WHEEL_STEP, event.deltaY * line));
    view.zoomAt(event.offsetX, event.offsetY, Math.exp(-step * WHEEL_ZOOM));
    event.preventDefault();
  } else if (panByWheel(view, event, line)) {
    event.preventDefault(); // at the end of the drawing the page scrolls on
  }
}

function panByWheel(view: Camera, event: WheelEvent, line: number): boolean {
  const [dx, dy] = event.shiftKey ? [event.deltaY, event.deltaX] : [event.deltaX, event.deltaY];
  return view.pan(-dx * line, -dy * line);
}

interface Point {
  x: number;
  y: number;
}

function pinch(view: Camera, before: Point, now: Point, other: Point): void {
  const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
  view.zoomAt((now.x + other.x) / 2, (now.y + other.y) / 2, factor);
  view.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
}
