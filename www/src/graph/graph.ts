/** The drawn graph: a canvas with a toolbar, keyboard, and the selection shared with the other views. */
import { type Measure, costText, isNegligible, shareText } from "../costs.ts";
import { el, nextTask } from "../dom.ts";
import type { LayoutClient } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import { operatorsLeftBy } from "../processor_split.ts";
import { type Repeat, foldingOf, folds } from "../folding.ts";
import * as format from "../format.ts";
import { KnownError } from "../worker_messenger.ts";
import type { Report } from "../report.ts";
import type { Search } from "../operator_search.ts";
import type { Selection } from "../selection.ts";
import { markedEvidence } from "../words.ts";
import { Camera } from "./camera.ts";
import { listenToGestures } from "./gestures.ts";
import { Minimap } from "./minimap.ts";
import { type Marks, labelFont, paintGraph, rowsInView } from "./painter.ts";
import { BOX_HEIGHT, ROW_STEP, type Scene, draftScene, layoutCall, placeScene } from "./scene.ts";
import { type Theme, onThemeChange, readTheme } from "./theme.ts";

/** A layout that takes longer can be stopped. */
const STOP_AFTER_MS = 300;
/** Steps of the legend's ramp. */
const N_RAMP = 8;

/** The drawn graph of a report. */
export interface GraphView {
  element: HTMLElement;
  /** Zoom and fit. */
  tools: HTMLElement;
  /** The whole drawing, for files; null before it is laid out. */
  scene(): Scene | null;
  /** Colours of the boxes. */
  shares(): readonly number[];
  /** Resolves when the graph is on the canvas. */
  drawn: Promise<void>;
}

/** `onRange` hears the first and last operator in view; colours go up to `most` at least. */
export function graphView(
  report: Report,
  layouts: LayoutClient,
  { selection, focus, search }: Linked,
  onRange: (first: number, last: number) => void,
  signal: AbortSignal,
  most = (): number => 0,
): GraphView {
  const drawing = new Drawing(report, { selection, focus, search }, onRange, signal, most);
  return {
    element: drawing.element,
    tools: drawing.tools,
    drawn: drawing.load(layouts),
    scene: () => drawing.scene,
    shares: () => drawing.shares,
  };
}

/** What all views of a report share. */
export interface Linked {
  selection: Selection;
  focus: Focus;
  search: Search;
}

class Drawing {
  readonly element: HTMLElement;
  readonly #report: Report;
  readonly #selection: Selection;
  readonly #focus: Focus;
  readonly #search: Search;
  readonly #fold_button = el("button", { type: "button", hidden: true, "aria-pressed": "false", onclick: () => void this.#toggleAll() });
  readonly tools = this.#toolbar();
  readonly #minimap = new Minimap(() => this.#schedule());
  /** By operator, the one in whose box it is. */
  #into: readonly number[] = [];
  #repeats: readonly Repeat[] = [];
  /** Repeats whose blocks are one box each. */
  readonly #folded = new Set<number>();
  #layouts: LayoutClient | null = null;
  readonly #legend = el("div", { class: "legend" });
  /** Says where the keyboard is, for those who do not see the drawing. */
  readonly #spoken = el("p", { class: "sr-only", role: "status" });
  readonly #onRange: (first: number, last: number) => void;
  readonly #most: () => number;
  readonly #signal: AbortSignal;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #note: HTMLElement;
  readonly #marks: Marks;
  #theme: Theme | null = null;
  #scene: Scene | null = null;
  #camera: Camera | null = null;
  #frame = 0;

  constructor(report: Report, { selection, focus, search }: Linked, onRange: (first: number, last: number) => void, signal: AbortSignal, most: () => number) {
    this.#report = report;
    this.#most = most;
    this.#signal = signal;
    this.#selection = selection;
    this.#focus = focus;
    this.#search = search;
    this.#onRange = onRange;
    this.#marks = { selected: null, hovered: null, peak: report.model.peak_operator, tensors: new Set(), shares: [], matches: null, left: operatorsLeftBy(report, focus.targetIn(report)) };
    this.#canvas = el("canvas", {
      class: "drawing",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "graph",
      "aria-label":
        `Drawing of ${format.plural(report.operators.length, "operator")}; the operator table holds the same as text. ` +
        "Arrow keys go along the lines, plus and minus zoom, 0 fits, Escape clears the selection.",
    });
    this.#context = this.#canvas.getContext("2d") as CanvasRenderingContext2D;
    this.#note = el("p", { class: "graph-note", role: "status" });
    this.element = el("section", { class: "graph panel", "aria-label": "Graph" }, this.#canvas, this.#minimap.element, this.#legend, this.#note, this.#spoken);
    this.#colour();
    this.#listen(signal);
  }

  get scene(): Scene | null {
    return this.#scene;
  }

  get shares(): readonly number[] {
    return this.#marks.shares;
  }

  async load(layouts: LayoutClient): Promise<void> {
    if (this.#report.operators.length === 0) {
      this.#note.textContent = "The main subgraph has no operators: there is nothing to draw.";
      return;
    }
    this.#layouts = layouts;
    // Each in a task of its own, so that the browser can answer between them.
    await nextTask();
    ({ into: this.#into, repeats: this.#repeats } = foldingOf(this.#report));
    await nextTask();
    if (!this.#signal.aborted) await this.#layOut(layouts);
  }

  /** Boxes, their places, and the picture. A layout that is stopped leaves the drawing as it was. */
  async #layOut(layouts: LayoutClient): Promise<void> {
    const words = `Laying out ${format.plural(this.#report.operators.length, "operator")}…`;
    const progress = el("span", {}, words);
    const stop = el("button", { type: "button", class: "link", hidden: true, onclick: () => layouts.stop() }, "Stop");
    const timer = setTimeout(() => (stop.hidden = false), STOP_AFTER_MS);
    this.#note.replaceChildren(progress, " ", stop);
    const theme = readTheme();
    const draft = draftScene(this.#report, folds(this.#report, this.#into, this.#repeats, this.#folded), textMeasure(this.#context, theme.font));
    try {
      const layout = await layouts.layOut(layoutCall(draft), (done) => (progress.textContent = `${words} ${Math.round(100 * done)}\u202f%`));
      this.#scene = placeScene(this.#report, draft, layout);
      await nextTask();
      this.#camera = new Camera(layout.width, this.#scene.height);
      this.#note.textContent = layout.leaps.length > 0 ? "Some very long connections are drawn as arcs." : "";
      this.#showFolding();
      this.#colour();
      this.#resize();
      this.#camera.open(layout.node_x[draft.n_inputs > 0 ? 0 : this.#scene.rows[0][0]]);
      await this.#painted();
    } catch (error) {
      if (!(error instanceof KnownError && error.kind === "closed")) throw error;
      const again = el("button", { type: "button", class: "link", onclick: () => void this.#layOut(layouts) }, "Lay out");
      this.#note.replaceChildren("The layout was stopped. The table lists every operator. ", again);
    } finally {
      clearTimeout(timer);
    }
  }

  #showFolding(): void {
    const n_blocks = this.#repeats.reduce((sum, { blocks }) => sum + blocks.length, 0);
    const is_folded = this.#folded.size > 0;
    this.#fold_button.hidden = n_blocks === 0;
    this.#fold_button.textContent = is_folded ? "Unfold blocks" : `Fold ${n_blocks} blocks`;
    this.#fold_button.title = "Blocks of the same operators, one after the other. Enter folds the one that is selected.";
    this.#fold_button.setAttribute("aria-pressed", String(is_folded));
  }

  async #toggleAll(): Promise<void> {
    const is_folded = this.#folded.size > 0;
    this.#folded.clear();
    if (!is_folded) this.#repeats.forEach((_, i) => this.#folded.add(i));
    await this.#foldAgain();
  }

  /** The repeat around an operator. */
  async #toggleAt(operator: number): Promise<void> {
    const place = this.#repeats.findIndex(({ blocks }) => blocks.some((block) => block.includes(this.#into[operator])));
    if (place < 0) return;
    if (!this.#folded.delete(place)) this.#folded.add(place);
    await this.#foldAgain();
  }

  async #foldAgain(): Promise<void> {
    if (!this.#layouts) return;
    await this.#layOut(this.#layouts);
    if (this.#selection.index !== null) this.#reveal(this.#selection.index);
    this.#schedule();
  }

  /** In the colours of the boxes. */
  #ramp(): HTMLElement {
    const theme = (this.#theme ??= readTheme());
    const ramp = el("span", { class: "legend-ramp", "aria-hidden": "true" });
    ramp.style.backgroundImage = `linear-gradient(90deg, ${Array.from({ length: N_RAMP + 1 }, (_, i) => theme.cost(i / N_RAMP)).join(", ")})`;
    return ramp;
  }

  /** Boxes are coloured by what their operators cost. */
  #colour(): void {
    const measure = this.#focus.measureIn(this.#report);
    const costs = measure && this.#scene ? costsOf(measure, this.#scene) : [];
    const most = costs.reduce((a, b) => Math.max(a, b), this.#most());
    this.#marks.shares = costs.map((cost) => (most > 0 ? cost / most : 0));
    this.#marks.left = operatorsLeftBy(this.#report, this.#focus.targetIn(this.#report));
    this.#minimap.forget();
    const words = measure ? [el("span", { class: "legend-evidence" }, markedEvidence(measure)), el("span", {}, "0"), this.#ramp(), el("span", {}, costText(measure, most))] : [];
    if (this.#marks.left.size > 0) words.unshift(el("span", { class: "legend-cpu" }, "on the CPU"));
    this.#legend.replaceChildren(...words);
    this.#legend.title = measure ? `Colour of an operator: ${measure.title}` : "";
    this.#schedule();
  }

  #toolbar(): HTMLElement {
    const button = (name: string, label: string, act: (camera: Camera) => void): HTMLElement =>
      el("button", { type: "button", title: label, "aria-label": label, onclick: () => this.#move(act) }, name);
    return el(
      "div",
      { class: "graph-tools", role: "group", "aria-label": "Drawing" },
      button("+", "Zoom in", (camera) => zoomMiddle(camera, 1.4)),
      button("−", "Zoom out", (camera) => zoomMiddle(camera, 1 / 1.4)),
      button("Fit", "Fit the whole graph", (camera) => camera.fit()),
      this.#fold_button,
    );
  }

  #listen(signal: AbortSignal): void {
    listenToGestures(this.#canvas, () => this.#camera, {
      changed: () => this.#schedule(),
      tapped: (x, y) => this.#selection.select(this.#operatorAt(x, y), "graph"),
      hovered: (x, y) => this.#hover(this.#operatorAt(x, y)),
      left: () => this.#hover(null),
    });
    this.#canvas.addEventListener("keydown", (event) => this.#key(event));
    const observer = new ResizeObserver(() => this.#resize());
    observer.observe(this.#canvas);
    signal.addEventListener("abort", () => observer.disconnect());
    this.#canvas.addEventListener("dblclick", (event) => {
      const operator = this.#operatorAt(event.offsetX, event.offsetY);
      if (operator !== null) void this.#toggleAt(operator);
    });
    onThemeChange(() => {
      this.#theme = null;
      this.#minimap.forget();
      this.#colour();
      this.#schedule();
    }, signal);
    this.#selection.onChange((index, source) => this.#showSelection(index, source));
    this.#focus.onChange(() => this.#colour(), signal);
    this.#search.onChange(() => {
      this.#marks.matches = this.#search.matches;
      this.#schedule();
    });
  }

  #showSelection(index: number | null, source: string): void {
    this.#marks.selected = index;
    const operator = index === null ? undefined : this.#report.operators[index];
    const tensors = operator ? [...operator.inputs, ...operator.outputs] : [];
    this.#marks.tensors = new Set(tensors.filter((tensor): tensor is number => tensor !== null));
    if (index !== null && source !== "graph") this.#reveal(index);
    if (source === "graph") this.#spoken.textContent = operator ? this.#words(operator.index) : "";
    this.#schedule();
  }

  /** Where the keyboard is: which operator, and what it costs. */
  #words(index: number): string {
    const measure = this.#focus.measureIn(this.#report);
    const { name } = this.#report.operators[index];
    const where = this.#marks.left.has(index) ? ", on the CPU" : "";
    const place = `${name}, operator ${index + 1} of ${this.#report.operators.length}${where}`;
    if (!measure) return place;
    const share = shareText(measure, measure.values[index]);
    return `${place}, ${measure.title}: ${costText(measure, measure.values[index])}${share && `, ${share}`}`;
  }

  #reveal(operator: number): void {
    if (!this.#scene || !this.#camera) return;
    const node = this.#scene.node_of_operator[operator];
    const { node_x, node_row } = this.#scene.layout;
    this.#camera.reveal(node_x[node], node_row[node] * ROW_STEP + BOX_HEIGHT / 2);
  }

  #hover(operator: number | null): void {
    if (this.#marks.hovered === operator) return;
    this.#marks.hovered = operator;
    this.#canvas.classList.toggle("pointing", operator !== null);
    this.#schedule();
  }

  #operatorAt(x: number, y: number): number | null {
    const scene = this.#scene;
    if (!scene || !this.#camera) return null;
    const [wx, wy] = this.#camera.toWorld(x, y);
    const row = Math.floor(wy / ROW_STEP);
    if (wy - row * ROW_STEP > BOX_HEIGHT) return null;
    const node = scene.rows[row]?.find((v) => Math.abs(scene.layout.node_x[v] - wx) <= scene.boxes[v].width / 2);
    return node === undefined ? null : scene.boxes[node].operator;
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const pans: Record<string, [number, number]> = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };
    const pan = pans[event.key];
    if (pan && event.shiftKey) this.#move((camera) => camera.pan(...pan));
    else if (pan) this.#walk(event.key);
    else if (event.key === "+" || event.key === "=") this.#move((camera) => zoomMiddle(camera, 1.25));
    else if (event.key === "-") this.#move((camera) => zoomMiddle(camera, 0.8));
    else if (event.key === "0" || event.key === "f") this.#move((camera) => camera.fit());
    else if (event.key === "Home") this.#go(0);
    else if (event.key === "End") this.#go(this.#report.operators.length - 1);
    else if (event.key === "Enter" && this.#selection.index !== null) void this.#toggleAt(this.#selection.index);
    else if (event.key === "Escape") this.#selection.select(null, "graph");
    else return;
    event.preventDefault();
  }

  /** Down to the first reader, up to the first writer, sideways within the row. */
  #walk(key: string): void {
    const { index } = this.#selection;
    const { edges } = this.#report;
    if (index === null) return this.#go(0);
    if (key === "ArrowDown") this.#go(edges.find(({ src }) => src === index)?.dst);
    else if (key === "ArrowUp") this.#go(edges.find(({ dst }) => dst === index)?.src);
    else this.#go(this.#beside(index, key === "ArrowRight" ? 1 : -1));
  }

  #beside(operator: number, step: 1 | -1): number | undefined {
    if (!this.#scene) return undefined;
    const node = this.#scene.node_of_operator[operator];
    const row = this.#scene.rows[this.#scene.layout.node_row[node]];
    const neighbour = row[row.indexOf(node) + step];
    return neighbour === undefined ? undefined : (this.#scene.boxes[neighbour].operator ?? undefined);
  }

  #go(operator: number | undefined): void {
    if (operator === undefined || operator < 0) return;
    this.#selection.select(operator, "graph");
    this.#reveal(operator);
    this.#schedule();
  }

  #move(act: (camera: Camera) => void): void {
    if (!this.#camera) return;
    act(this.#camera);
    this.#schedule();
  }

  #resize(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    if (!this.#camera || clientWidth === 0) return;
    this.#canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.#canvas.height = Math.round(clientHeight * devicePixelRatio);
    this.#camera.resize(clientWidth, clientHeight);
    this.#paint(); // now: a resized canvas is blank until it is painted
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #painted(): Promise<void> {
    return new Promise((resolve) =>
      requestAnimationFrame(() => {
        this.#paint();
        resolve();
      }),
    );
  }

  #paint(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (!this.#scene || !this.#camera) return;
    this.#theme ??= readTheme();
    if (this.#canvas.clientWidth === 0) return; // behind the table
    paintGraph(this.#context, this.#scene, this.#camera, this.#theme, this.#marks);
    this.#minimap.paint(this.#scene, this.#camera, this.#theme, this.#marks.shares);
    this.#reportRange(this.#scene, this.#camera);
  }

  #reportRange(scene: Scene, camera: Camera): void {
    const [first, last] = rowsInView(scene, camera);
    let [low, high] = [Infinity, -Infinity];
    for (let row = first; row <= last; row++) {
      for (const node of scene.rows[row]) {
        for (const operator of scene.boxes[node].operators) {
          low = Math.min(low, operator);
          high = Math.max(high, operator);
        }
      }
    }
    if (low <= high) this.#onRange(low, high);
  }
}

/** By box; of what its operators share the largest, where parts do not add up. */
function costsOf(measure: Measure, { boxes }: Scene): number[] {
  const join = (a: number, b: number): number => (measure.is_sum ? a + b : Math.max(a, b));
  const cost = (operator: number): number => (isNegligible(measure, measure.values[operator]) ? 0 : measure.values[operator]);
  return boxes.map(({ operators }) => operators.map(cost).reduce(join, 0));
}

function zoomMiddle(camera: Camera, factor: number): void {
  camera.zoomAt(camera.width / 2, camera.height / 2, factor);
}

/** As wide as all characters beside each other: thousands of labels are made of a hundred characters. */
function textMeasure(context: CanvasRenderingContext2D, family: string): (text: string, small: boolean) => number {
  const known = [new Map<string, number>(), new Map<string, number>()];
  const widthOf = (character: string, small: boolean): number => {
    const widths = known[Number(small)];
    const width = widths.get(character) ?? measureText(context, character, labelFont(family, small));
    widths.set(character, width);
    return width;
  };
  return (text, small) => Array.from(text).reduce((sum, character) => sum + widthOf(character, small), 0);
}

function measureText(context: CanvasRenderingContext2D, text: string, font: string): number {
  context.font = font;
  return context.measureText(text).width;
}
