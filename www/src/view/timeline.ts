/** Bytes alive while each operator runs, from first to last, with the peak marked. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import type { Report } from "../report.ts";
import type { Selection } from "../selection.ts";
import { type Theme, onThemeChange, readTheme } from "../graph/theme.ts";

const TOP = 6;

/** The drawn timeline of a report. */
export interface TimelineView {
  element: HTMLElement;
  /** Marks the operators that the graph shows. */
  showRange(first: number, last: number): void;
}

/** Live memory in the order of execution; null where no operator's is known. */
export function timeline(report: Report, selection: Selection, signal: AbortSignal): TimelineView | null {
  if (report.operators.every(({ live_bytes }) => live_bytes === null)) return null;
  const chart = new Chart(report, selection, signal);
  return { element: chart.element, showRange: (first, last) => chart.showRange(first, last) };
}

class Chart {
  readonly element: HTMLElement;
  readonly #report: Report;
  readonly #selection: Selection;
  readonly #canvas: HTMLCanvasElement;
  readonly #words: HTMLElement;
  readonly #ceiling: number;
  #theme: Theme | null = null;
  #range: readonly [number, number] | null = null;
  #frame = 0;

  constructor(report: Report, selection: Selection, signal: AbortSignal) {
    this.#report = report;
    this.#selection = selection;
    this.#ceiling = report.operators.reduce((most, { live_bytes }) => Math.max(most, live_bytes ?? 0), report.model.activation_bytes ?? 1);
    this.#canvas = el("canvas", {
      tabindex: 0,
      role: "slider",
      "aria-label": "Operator along the memory timeline",
      "aria-valuemin": 0,
      "aria-valuemax": report.operators.length - 1,
      "aria-valuenow": 0,
    });
    this.#words = el("p", { class: "timeline-words" });
    this.element = el(
      "section",
      { class: "timeline panel", "aria-label": "Memory over time" },
      el("header", {}, el("h2", {}, "Live memory"), this.#words),
      this.#canvas,
    );
    this.#describe(null);
    this.#listen(signal);
  }

  showRange(first: number, last: number): void {
    if (this.#range?.[0] === first && this.#range[1] === last) return;
    this.#range = [first, last];
    this.#schedule();
  }

  #listen(signal: AbortSignal): void {
    this.#canvas.addEventListener("pointermove", (event) => this.#describe(this.#operatorAt(event.offsetX)));
    this.#canvas.addEventListener("pointerleave", () => this.#describe(this.#selection.index));
    this.#canvas.addEventListener("click", (event) => this.#selection.select(this.#operatorAt(event.offsetX), "timeline"));
    this.#canvas.addEventListener("keydown", (event) => this.#key(event));
    const observer = new ResizeObserver(() => this.#paint());
    observer.observe(this.#canvas);
    signal.addEventListener("abort", () => observer.disconnect());
    onThemeChange(() => {
      this.#theme = null;
      this.#schedule();
    }, signal);
    this.#selection.onChange((index) => {
      this.#describe(index);
      this.#schedule();
    });
  }

  #key(event: KeyboardEvent): void {
    const last = this.#report.operators.length - 1;
    const now = this.#selection.index ?? -1;
    const targets: Record<string, number> = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: last };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    this.#selection.select(Math.min(last, Math.max(0, target)), "timeline");
  }

  #operatorAt(x: number): number {
    const n = this.#report.operators.length;
    return Math.min(n - 1, Math.max(0, Math.floor((x / this.#canvas.clientWidth) * n)));
  }

  #describe(index: number | null): void {
    const { operators, model } = this.#report;
    const shown = index ?? model.peak_operator;
    const operator = shown === null ? undefined : operators[shown];
    if (!operator) return;
    const live = operator.live_bytes === null ? "not known" : `${format.text(format.bytes(operator.live_bytes))} alive`;
    const words = `${index === null ? "Peak: " : ""}${operator.name} #${operator.index}, ${live}`;
    this.#words.textContent = words;
    this.#canvas.setAttribute("aria-valuenow", String(operator.index));
    this.#canvas.setAttribute("aria-valuetext", words);
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #paint(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (width === 0) return;
    this.#theme ??= readTheme();
    this.#canvas.width = Math.round(width * devicePixelRatio);
    this.#canvas.height = Math.round(height * devicePixelRatio);
    const context = this.#canvas.getContext("2d") as CanvasRenderingContext2D;
    context.scale(devicePixelRatio, devicePixelRatio);
    this.#paintRange(context, width, height, this.#theme);
    this.#paintBars(context, width, height, this.#theme);
    this.#paintArena(context, width, height, this.#theme);
  }

  #paintRange(context: CanvasRenderingContext2D, width: number, height: number, theme: Theme): void {
    if (!this.#range) return;
    const step = width / this.#report.operators.length;
    context.globalAlpha = 0.1;
    context.fillStyle = theme.accent;
    const left = this.#range[0] * step;
    context.fillRect(left, 0, Math.max(2, (this.#range[1] + 1) * step - left), height);
    context.globalAlpha = 1;
  }

  /** A bar an operator; where several share a pixel, the highest of them. */
  #paintBars(context: CanvasRenderingContext2D, width: number, height: number, theme: Theme): void {
    const { operators, model } = this.#report;
    const n_bars = Math.min(operators.length, Math.max(1, Math.floor(width)));
    const step = width / n_bars;
    const bar = step > 4 ? step - 1 : step;
    const heights = new Float64Array(n_bars);
    operators.forEach(({ live_bytes }, i) => {
      const place = Math.floor((i / operators.length) * n_bars);
      heights[place] = Math.max(heights[place], live_bytes ?? 0);
    });
    const length = (bytes: number): number => (bytes / this.#ceiling) * (height - TOP);
    context.fillStyle = theme.line;
    heights.forEach((bytes, i) => context.fillRect(i * step, height - length(bytes), bar, length(bytes)));
    for (const [marked, colour] of [[model.peak_operator, theme.peak], [this.#selection.index, theme.accent]] as const) {
      if (marked === null || !operators[marked]) continue;
      const place = Math.floor((marked / operators.length) * n_bars);
      const bytes = length(operators[marked].live_bytes ?? 0);
      context.fillStyle = colour;
      context.fillRect(place * step, height - bytes, Math.max(2, bar), bytes);
    }
  }

  #paintArena(context: CanvasRenderingContext2D, width: number, height: number, theme: Theme): void {
    const { activation_bytes } = this.#report.model;
    if (activation_bytes === null) return;
    const y = Math.max(0.5, height - (activation_bytes / this.#ceiling) * (height - TOP));
    context.strokeStyle = theme.muted;
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
    context.font = `11px ${theme.font}`;
    context.textAlign = "right";
    context.textBaseline = "top";
    context.lineWidth = 4;
    context.setLineDash([]);
    context.strokeStyle = theme.box;
    const label = `activations ${format.text(format.bytes(activation_bytes))}`;
    context.strokeText(label, width - 4, y + 4);
    context.fillStyle = theme.muted;
    context.fillText(label, width - 4, y + 4);
  }
}
