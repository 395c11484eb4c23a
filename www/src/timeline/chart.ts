/** The drawn timeline: pointer, wheel and keys move through the time, and one operator is selected. */
import { el } from "../dom.ts";
import { type Theme, onThemeChange, readTheme } from "../graph/theme.ts";
import { CanvasInk, SvgInk } from "./ink.ts";
import { type Command, commandOf } from "./keys.ts";
import { LEFT, type Marks, type Track, heightOfTracks, operatorAt, paintTimeline, totalOf } from "./painter.ts";
import { TimeWindow } from "./time_window.ts";

/** A pointer that moved less than this, in px, was a click. */
const CLICK_PX = 4;
const ZOOM = 1.35;
const WHEEL_ZOOM = 0.0066;
const MAX_WHEEL_STEP = 60;
const PAN_PART = 0.2;
/** Of a drawing that is saved. */
const SAVED_WIDTH = 1400;

/** What a hand does with the drawing. */
export interface ChartHandlers {
  /** `track` is the place of the schedule under the pointer. */
  selected(operator: number | null, track: number): void;
  hovered(operator: number | null, track: number): void;
  commanded(command: Command): void;
}

/** Tracks under each other, all in one window of time. */
export class Chart {
  readonly canvas: HTMLCanvasElement;
  readonly window = new TimeWindow();
  readonly #handlers: ChartHandlers;
  #tracks: readonly Track[] = [];
  #marks: Marks = { selected: null, hovered: null, matches: null, range: null };
  #theme: Theme | null = null;
  #frame = 0;

  constructor(label: string, handlers: ChartHandlers, signal: AbortSignal) {
    this.#handlers = handlers;
    this.canvas = el("canvas", { tabindex: 0, role: "slider", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, "aria-keyshortcuts": "?" });
    this.#listen(signal);
  }

  get tracks(): readonly Track[] {
    return this.#tracks;
  }

  show(tracks: readonly Track[]): void {
    this.#tracks = tracks;
    this.window.setTotal(totalOf(tracks));
    this.canvas.style.height = `${heightOfTracks(tracks)}px`;
    this.canvas.setAttribute("aria-valuemax", String(Math.max(0, (tracks[0]?.schedule.names.length ?? 1) - 1)));
    this.schedule();
  }

  /** Tells assistive technology which operator the words are of. */
  setValue(operator: number, words: string): void {
    this.canvas.setAttribute("aria-valuenow", String(operator));
    this.canvas.setAttribute("aria-valuetext", words);
  }

  mark(marks: Partial<Marks>): void {
    this.#marks = { ...this.#marks, ...marks };
    this.schedule();
  }

  /** True where the command was about the window alone. */
  move(command: Command): boolean {
    if (command === "zoom-in") this.window.zoomAt(0.5, 1 / ZOOM);
    else if (command === "zoom-out") this.window.zoomAt(0.5, ZOOM);
    else if (command === "pan-left") this.window.pan(-PAN_PART);
    else if (command === "pan-right") this.window.pan(PAN_PART);
    else if (command === "fit") this.window.fit();
    else return false;
    this.schedule();
    return true;
  }

  schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.paint());
  }

  paint(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || this.#tracks.length === 0) return;
    this.#theme ??= readTheme();
    const [w, h] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    const context = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    paintTimeline(new CanvasInk(context, this.#theme.font), this.#tracks, this.window, width, this.#theme, this.#marks);
  }

  /** All of it, in the colours that are in force. */
  svg(title: string): string {
    const theme = readTheme();
    const ink = new SvgInk(SAVED_WIDTH, heightOfTracks(this.#tracks), title);
    ink.rect(0, 0, SAVED_WIDTH, heightOfTracks(this.#tracks), theme.box);
    paintTimeline(ink, this.#tracks, this.#whole(), SAVED_WIDTH, theme, { ...this.#marks, hovered: null });
    return new XMLSerializer().serializeToString(ink.element);
  }

  png(): Promise<Blob | null> {
    const theme = readTheme();
    const height = heightOfTracks(this.#tracks);
    const canvas = el("canvas", { width: 2 * SAVED_WIDTH, height: 2 * height });
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.scale(2, 2);
    const ink = new CanvasInk(context, theme.font);
    ink.rect(0, 0, SAVED_WIDTH, height, theme.box);
    paintTimeline(ink, this.#tracks, this.#whole(), SAVED_WIDTH, theme, { ...this.#marks, hovered: null });
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  #whole(): TimeWindow {
    const whole = new TimeWindow();
    whole.setTotal(totalOf(this.#tracks));
    whole.fit();
    return whole;
  }

  #listen(signal: AbortSignal): void {
    const { canvas } = this;
    let pressed: { x: number; travelled: number } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      pressed = { x: event.offsetX, travelled: 0 };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (pressed === null) return this.#point(event.offsetX, event.offsetY, (operator, track) => this.#handlers.hovered(operator, track));
      const by = event.offsetX - pressed.x;
      pressed = { x: event.offsetX, travelled: pressed.travelled + Math.abs(by) };
      if (pressed.travelled < CLICK_PX) return;
      this.window.pan(-by / Math.max(1, canvas.clientWidth - LEFT));
      this.schedule();
    });
    canvas.addEventListener("pointerup", (event) => {
      const is_click = pressed !== null && pressed.travelled < CLICK_PX;
      pressed = null;
      if (is_click) this.#point(event.offsetX, event.offsetY, (operator, track) => this.#handlers.selected(operator, track));
    });
    canvas.addEventListener("pointercancel", () => (pressed = null));
    canvas.addEventListener("pointerleave", () => this.#handlers.hovered(null, 0));
    canvas.addEventListener("dblclick", () => this.#handlers.commanded("focus"));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const command = commandOf(event);
      if (command === null) return;
      event.preventDefault();
      event.stopPropagation();
      if (!this.move(command)) this.#handlers.commanded(command);
    });
    const observer = new ResizeObserver(() => this.paint());
    observer.observe(canvas);
    signal.addEventListener("abort", () => observer.disconnect());
    onThemeChange(() => {
      this.#theme = null;
      this.schedule();
    }, signal);
  }

  #point(x: number, y: number, tell: (operator: number | null, track: number) => void): void {
    const place = operatorAt(this.#tracks, this.window, this.canvas.clientWidth, x, y);
    tell(place?.operator ?? null, place?.track ?? 0);
  }

  /** With Ctrl the wheel zooms, sideways it pans; otherwise the page scrolls. */
  #wheel(event: WheelEvent): void {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      const step = Math.min(MAX_WHEEL_STEP, Math.max(-MAX_WHEEL_STEP, event.deltaY));
      this.window.zoomAt(Math.max(0, (event.offsetX - LEFT) / (this.canvas.clientWidth - LEFT)), Math.exp(step * WHEEL_ZOOM));
    } else if (sideways !== 0 && !this.window.is_all) this.window.pan(sideways / this.canvas.clientWidth);
    else return;
    event.preventDefault();
    this.schedule();
  }
}
