/** `<litecast-report>` and `<litecast-badge>`: what a model costs, in a page of one's own. */
import { type Budget, parseBudget } from "../../src/budget.ts";
import { digits, measure, percent, plural, shape, text } from "../../src/format.ts";
import { operatorsLeftBy } from "../../src/processor_split.ts";
import { KIND_NAMES, kindOf } from "../../src/kinds.ts";
import { layOut } from "../../src/layout/layered.ts";
import { doubtWords, evidenceLegend, evidenceMark, evidenceWords, headlineDoubt, inMetricOrder, markedEvidence, metricName, metricNameOf } from "../../src/words.ts";
import { VERDICT_MARKS, type Verdict, verdictOn } from "../../src/verdict.ts";
import type { Estimate, Report, Result } from "../types/index.d.ts";
import type { LiteCastWorker } from "../types/worker.d.ts";
import { TARGETS } from "./catalogue.ts";
import { LitecastError, reading, thrownInWords, wrongArgument } from "./errors.ts";
import { migrated } from "./migrate.ts";
import { load } from "./worker.ts";

const ATTRIBUTES = ["src", "target", "board", "batch", "metric", "budget"] as const;
const DEFAULTS: Record<(typeof ATTRIBUTES)[number], string> = { src: "", target: "ethos-u55-256", board: "", batch: "1", metric: "latency", budget: "" };
/** What the last version called the latency of the whole network. */
const WHOLE_LATENCIES = new Set(["board_latency", "end_to_end_latency"]);
const SVG = "http://www.w3.org/2000/svg";

const NODE_WIDTH_PX = 192;
const NODE_HEIGHT_PX = 30;
const ROW_PX = 48;
/** A drawing or a table of more would be slower than the estimate, and nobody reads it in a card. */
const MAX_DRAWN_OPERATORS = 1500;

const STYLE = `
:host { display: block; color: var(--litecast-color, #16202c); background: var(--litecast-background, #fff);
  font: var(--litecast-font, 14px/1.5 system-ui, sans-serif); border: 1px solid var(--litecast-line, #d5dae1);
  border-radius: var(--litecast-radius, 8px); padding: var(--litecast-space, 16px); }
:host([hidden]) { display: none; }
h2 { font-size: 1.15em; margin: 0; overflow-wrap: anywhere; }
p { margin: 0.25em 0; }
.verdict { font-size: 1.1em; }
.mark.meets { color: var(--litecast-good, #25702f); }
.mark.doubtful { color: var(--litecast-warning, #8a5a00); }
.mark.fails { color: var(--litecast-error, #b3261e); }
.muted { color: var(--litecast-muted, #5a6675); }
.error { color: var(--litecast-error, #b3261e); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: 12px; margin: 12px 0; padding: 0; list-style: none; }
.cards li { border: 1px solid var(--litecast-line, #d5dae1); border-radius: var(--litecast-radius, 8px); padding: 10px 12px; }
.cards strong { display: block; font-size: 1.5em; font-weight: 600; }
.cards small { display: block; color: var(--litecast-muted, #5a6675); }
.graph { max-height: var(--litecast-graph-height, 480px); overflow: auto; border: 1px solid var(--litecast-line, #d5dae1); border-radius: var(--litecast-radius, 8px); }
.graph:focus-visible, summary:focus-visible { outline: 2px solid var(--litecast-accent, #2459d8); outline-offset: 2px; }
details { margin-top: 8px; }
svg { display: block; margin: 0 auto; }
svg path { fill: none; stroke: var(--litecast-line, #b9c1cc); stroke-width: 1.5; }
svg rect { fill: var(--litecast-background, #fff); stroke: var(--litecast-line, #b9c1cc); }
svg rect.left { stroke: var(--litecast-warning, #8a5a00); stroke-width: 2; stroke-dasharray: 5 3; }
svg rect.cost { fill: var(--litecast-accent, #2459d8); stroke: none; }
svg text { fill: currentColor; font-size: 11px; }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; }
th, td { text-align: start; padding: 2px 8px 2px 0; border-bottom: 1px solid var(--litecast-line, #d5dae1); }
td.number, th.number { text-align: end; font-variant-numeric: tabular-nums; }
`;

const BADGE_STYLE = `
:host { display: inline-block; color: var(--litecast-badge-color, #fff); background: var(--litecast-accent, #2459d8);
  font: var(--litecast-font, 600 12px/1.6 system-ui, sans-serif); border-radius: var(--litecast-radius, 4px); padding: 0 8px; }
:host([hidden]) { display: none; }
:host([data-state="error"]) { background: var(--litecast-error, #b3261e); }
`;

/** One worker for every element of the page. */
let shared: Promise<LiteCastWorker> | null = null;

function estimator(): Promise<LiteCastWorker> {
  shared ??= load().catch((error: unknown) => {
    shared = null;
    throw error;
  });
  return shared;
}

/** Of an address in a message: one may hold the file itself. */
const MAX_SHOWN = 200;

async function bytesOf(src: string, signal: AbortSignal): Promise<ArrayBuffer> {
  const shown = src.length > MAX_SHOWN ? `${src.slice(0, MAX_SHOWN)}…` : src;
  const response = await fetch(src, { signal }).catch((error: unknown) => {
    throw signal.aborted ? error : new LitecastError("asset", `${shown}: expected a model, but the request failed (${String(error).slice(0, MAX_SHOWN)})`, error);
  });
  if (!response.ok) throw new LitecastError("asset", `${shown}: expected a model, found HTTP status ${response.status}`);
  return response.arrayBuffer();
}

/** A model that an element asked for: another target, or another place in the document, needs no other request. */
class Requested {
  readonly src: string;
  readonly bytes: Promise<ArrayBuffer>;
  readonly #request = new AbortController();

  constructor(src: string) {
    this.src = src;
    this.bytes = bytesOf(src, this.#request.signal);
    this.bytes.catch(() => undefined); // whoever waits for it says so
  }

  stop(): void {
    this.#request.abort();
  }

  async report(target: string | { board: string }, batch: number): Promise<Report> {
    const [bytes, litecast] = await Promise.all([this.bytes, estimator()]);
    return litecast.estimate(bytes, { name: nameOf(this.src), targets: [target], batch });
  }
}

/** The end of a path, as it is where it cannot be decoded; nothing of an address that holds the file itself. */
function nameOf(src: string): string {
  const name = /^(data|blob):/i.test(src) ? "" : (src.split(/[?#]/)[0]!.split("/").pop() ?? "");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Registers both elements. Does nothing where there is no document, so that servers may call it. */
export function defineElements(): void {
  if (typeof customElements === "undefined" || customElements.get("litecast-report")) return;
  reflectAttributes(ModelElement.prototype);
  customElements.define("litecast-report", ReportElement);
  customElements.define("litecast-badge", BadgeElement);
}

/** Servers, which have no elements, import this module as well. */
const ElementBase = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/** What both elements have in common. */
abstract class ModelElement extends ElementBase {
  static observedAttributes = ATTRIBUTES;
  readonly root = this.attachShadow({ mode: "open" });
  #requested: Requested | null = null;
  /** Source, target and batch of what is shown or on its way. */
  #asked = "";
  #is_scheduled = false;
  #report: Report | null = null;

  constructor(style: string) {
    super();
    // Not a <style>, which content security policies forbid.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    this.root.adoptedStyleSheets = [sheet];
  }

  /** The report that is shown; setting one shows it without a `src`. */
  get report(): Report | null {
    return this.#report;
  }

  set report(report: Report | null) {
    this.#stop();
    try {
      this.#show(report && reading("report", () => readReport(report)));
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Whatever is on its way is not shown. */
  #stop(): void {
    this.#requested?.stop();
    this.#requested = null;
    this.#asked = "";
  }

  connectedCallback(): void {
    for (const name of [...ATTRIBUTES, "report"]) this.#takeEarly(name);
    this.#schedule();
  }

  /** A property that a program set before the element was defined hides the one of the element. */
  #takeEarly(name: string): void {
    if (!Object.hasOwn(this, name)) return;
    const fields = this as unknown as Record<string, unknown>;
    const value = fields[name];
    delete fields[name];
    fields[name] = value;
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (!this.isConnected || before === after) return;
    if (name === "src" && after === null) this.report = null;
    // A report has every metric, and one that was set perhaps other targets.
    else if ((name === "metric" || name === "budget" || !this.hasAttribute("src")) && this.#report) this.#draw(this.#report);
    else this.#schedule();
  }

  /** What is moved is connected again at once. */
  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (!this.isConnected && this.dataset["state"] === "loading") this.#stop();
    });
  }

  /** Frameworks set attributes one after the other, and move elements: all of that is one request. */
  #schedule(): void {
    if (this.#is_scheduled) return;
    this.#is_scheduled = true;
    queueMicrotask(() => {
      this.#is_scheduled = false;
      if (this.isConnected) void this.#update();
    });
  }

  async #update(): Promise<void> {
    const src = this.getAttribute("src");
    if (src === null) return;
    const [target, batch] = [choiceOf(this), Number(this.getAttribute("batch") ?? 1)];
    const asked = JSON.stringify([src, target, batch]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    if (this.#requested?.src !== src) {
      this.#requested?.stop();
      this.#requested = new Requested(src);
    }
    this.dataset["state"] = "loading";
    this.root.replaceChildren(...this.waiting());
    try {
      const report = await this.#requested.report(target, batch);
      if (asked === this.#asked) this.#show(report);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#stop();
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    this.#report = null;
    this.dataset["state"] = "error";
    this.root.replaceChildren(...this.failed(error));
    this.dispatchEvent(new CustomEvent("litecast-error", { detail: error, bubbles: true, composed: true }));
  }

  /** False where a program gave something else than a report. */
  #draw(report: Report | null): boolean {
    try {
      this.root.replaceChildren(...(report ? this.content({ ...report, results: chosenResults(this, report) }) : []));
    } catch (error) {
      this.#fail(wrongArgument(`report: expected a report of estimate(), found something else (${thrownInWords(error)})`, error));
      return false;
    }
    this.dataset["state"] = report ? "ready" : "empty";
    return true;
  }

  #show(report: Report | null): void {
    this.#report = report;
    if (this.#draw(report) && report) this.dispatchEvent(new CustomEvent("litecast-report", { detail: report, bubbles: true, composed: true }));
  }

  abstract waiting(): Node[];
  abstract failed(error: Error): Node[];
  /** `report` has the results of one target, or none. */
  abstract content(report: Report): Node[];
}

/** Each attribute as a property, as elements of HTML have them, and as frameworks set them. */
function reflectAttributes(prototype: HTMLElement): void {
  for (const name of ATTRIBUTES) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: HTMLElement) {
        return this.getAttribute(name) ?? DEFAULTS[name];
      },
      set(this: HTMLElement, value: unknown) {
        if (value === null || value === undefined) this.removeAttribute(name);
        else this.setAttribute(name, String(value));
      },
    });
  }
}

class ReportElement extends ModelElement {
  constructor() {
    super(STYLE);
  }

  waiting(): Node[] {
    return [element("p", { class: "muted", role: "status" }, "Estimating …")];
  }

  failed(error: Error): Node[] {
    return [element("p", { class: "error", role: "alert" }, error.message)];
  }

  content(report: Report): Node[] {
    const nothing: Verdict = { kind: "none", sentences: [`The report has nothing on ${askedWords(this)}.`] };
    return reportContent(report, report.results.length > 0 ? verdictWithin(report, this.getAttribute("budget") ?? "") : nothing);
  }
}

class BadgeElement extends ModelElement {
  constructor() {
    super(BADGE_STYLE);
  }

  waiting(): Node[] {
    return [document.createTextNode("…")];
  }

  failed(error: Error): Node[] {
    this.title = error.message;
    return [document.createTextNode("no estimate")];
  }

  content(report: Report): Node[] {
    const named = this.getAttribute("metric") ?? DEFAULTS.metric;
    const metric = WHOLE_LATENCIES.has(named) ? DEFAULTS.metric : named;
    const result = report.results.find((one) => one.metric === metric);
    this.title = result ? `${result.value !== undefined ? metricNameOf(result) : metricName(metric)} on ${result.device}: ${result.value !== undefined ? `${doubtWords(result)}, ${evidenceWords(result)}` : result.unavailable}` : `no ${metric} on ${askedWords(this)}`;
    const precision = result?.estimated_as ? ` as ${result.estimated_as}` : "";
    // A number by itself is a latency.
    const name = result?.value !== undefined && metric !== "latency" ? `${metricNameOf(result)} ` : "";
    const inputs = report.batch > 1 ? ` of ${report.batch.toLocaleString("en")} inputs` : "";
    const doubt = result?.value !== undefined ? headlineDoubt(result) : null;
    return [document.createTextNode(result?.value !== undefined ? `${`${evidenceMark(result)} ${name}${valueText(result)}`.trimStart()}${inputs}${precision} on ${this.getAttribute("board") ? result.device : shortName(result.target)}${doubt ? `, ${doubt}` : ""}` : `no estimate on ${askedWords(this)}`)];
  }
}

/** A board, where one is named, and else a target. */
const choiceOf = (element: HTMLElement): string | { board: string } => {
  const board = element.getAttribute("board");
  return board ? { board } : (element.getAttribute("target") ?? DEFAULTS.target);
};

/** A report as this version has them; throws where it is none, or of a version that is not known. */
function readReport(report: Report): Report {
  let read: Report | null;
  try {
    read = migrated(report);
  } catch (error) {
    throw wrongArgument(`report: expected a report of estimate(), found something else (${thrownInWords(error)})`, error);
  }
  if (read === null) throw wrongArgument(`report: expected a report of this version or an earlier one, found schema_version ${String(report.schema_version)}`);
  return read;
}

/** Those of the target or board that the element names; of the report's first one where it names none, or asked for it itself. */
function chosenResults(element: HTMLElement, { results }: Report): Result[] {
  const [first] = results;
  const asked = element.getAttribute("board") ?? element.getAttribute("target");
  const is_estimated_here = element.hasAttribute("src") && results.every(({ target }) => target === first?.target);
  if (asked === null || is_estimated_here) return results.filter(({ target }) => target === first?.target);
  const names = new Set([asked, ...Object.keys(TARGETS).filter((id) => TARGETS[id]!.aliases.includes(asked))]);
  // An NPU on a board is named after both.
  return results.filter(({ target }) => names.has(target) || target.split("/")[0] === asked);
}

const askedWords = (element: HTMLElement): string => element.getAttribute("board") || shortName(element.getAttribute("target") ?? DEFAULTS.target);

/** The engine's short label, with a release that the id names; a board or a target of one's own is its id. */
function shortName(target: string): string {
  const [id = "", release] = target.split("@");
  const described = TARGETS[id];
  if (described === undefined) return target;
  if (release === undefined) return described.short_label;
  const words = described.release_words?.[described.releases?.indexOf(release) ?? -1];
  return `${described.short_label}, ${words ?? `${described.runtime} ${release}`}`;
}

const valueText = ({ value, unit }: Estimate): string => text(measure(value, unit));

function reportContent(report: Report, verdict: Verdict): Node[] {
  const { file, model, results, diagnostics } = report;
  const device = results[0]?.device ?? "";
  const facts = `${plural(model.n_operators, "operator")}, ${digits(model.macs / 1e6)} million MACs, ${text(measure(model.weight_bytes, "bytes"))} of weights, ${model.precision}`;
  const cards = element("ul", { class: "cards" }, ...inMetricOrder(results).map(card));
  const doubts = diagnostics.filter(({ severity }) => severity === "warning").map(({ message }) => element("p", { class: "muted" }, `Note: ${message}.`));
  return [element("h2", {}, file || "Model"), verdictLine(verdict), element("p", { class: "muted" }, device), element("p", {}, facts), ...doubts, cards, element("p", { class: "muted" }, `What numbers rest on: ${evidenceLegend()}`), ...drawing(report)];
}

/** A budget that cannot be read is said in the place of the verdict: the numbers need none. */
function verdictWithin(report: Report, text: string): Verdict {
  let budget: Budget;
  try {
    budget = parseBudget(text);
  } catch (error) {
    return { kind: "none", sentences: [(error as Error).message] };
  }
  return verdictOn(report, report.results[0]?.target ?? "", budget);
}

function verdictLine({ kind, sentences: [first, ...others] }: Verdict): HTMLElement {
  const mark = VERDICT_MARKS[kind] ? [element("b", { class: `mark ${kind}`, "aria-hidden": "true" }, `${VERDICT_MARKS[kind]} `)] : [];
  return element("p", { class: "verdict", "data-verdict": kind }, ...mark, element("strong", {}, first ?? ""), ...others.map((words) => ` ${words}`));
}

function card(result: Result): HTMLElement {
  const name = element("small", {}, result.value !== undefined ? metricNameOf(result) : metricName(result.metric));
  if (result.value === undefined) return element("li", {}, name, element("strong", {}, "no estimate"), element("small", {}, result.unavailable));
  return element("li", {}, name, element("strong", {}, valueText(result)), element("small", {}, doubtWords(result)), element("small", {}, [markedEvidence(result), headlineDoubt(result), result.estimated_as ? `as ${result.estimated_as}` : null].filter(Boolean).join(", ")));
}

/** The graph with each operator's part of the latency, and the same as a table. */
function drawing(report: Report): Node[] {
  const latency = report.results.find((result): result is Estimate => result.metric === "latency" && result.value !== undefined);
  if (!Array.isArray(report.operators) || !Array.isArray(report.tensors) || !Array.isArray(report.edges)) {
    return [element("p", { class: "muted" }, "A summary has no operators to draw.")];
  }
  const left = operatorsLeftBy(report, report.results[0]?.target ?? "");
  const parts = latency?.operators ?? report.operators.map(() => 0);
  const total = latency?.operators ? latency.value : 0;
  const share = (idx: number): number => (total > 0 ? Math.max(0, parts[idx]! / total) : 0);
  const listed = costliest(report.operators.length, parts);
  const rows = listed.map((idx) => {
    const { name, outputs } = report.operators[idx]!;
    const output = report.tensors[outputs[0] ?? -1];
    const cells = [String(idx), left.has(idx) ? `${name} (on the CPU: ${left.get(idx)})` : name, output ? `${shape(output.shape)} ${output.type}` : ""].map((words) => element("td", {}, words));
    const cost = (total > 0 ? [text(measure(parts[idx]!, "ms")), percent(100 * share(idx))] : ["?", "?"]).map((words) => element("td", { class: "number" }, words));
    return element("tr", {}, ...cells, ...cost);
  });
  const head = element("tr", {}, ...["#", "Operator", "Output"].map((words) => element("th", { scope: "col" }, words)), ...["Latency", "Share"].map((words) => element("th", { scope: "col", class: "number" }, words)));
  const table = element("details", {}, element("summary", {}, listed.length < report.operators.length ? `The ${listed.length.toLocaleString("en")} costliest operators as a table` : "Operators as a table"), element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  if (report.operators.length > MAX_DRAWN_OPERATORS) {
    return [element("p", { class: "muted" }, `The graph of ${report.operators.length.toLocaleString("en")} operators is not drawn here.`), table];
  }
  return [element("div", { class: "graph", tabindex: "0", role: "region", "aria-label": "Graph of operators; the table below has the same numbers" }, graph(report, share, left)), table];
}

/** Indices of operators in their order: of too many, those with the largest parts. */
function costliest(n_operators: number, parts: readonly number[]): number[] {
  const all = Array.from({ length: n_operators }, (_, idx) => idx);
  if (n_operators <= MAX_DRAWN_OPERATORS) return all;
  return all.sort((a, b) => (parts[b] ?? 0) - (parts[a] ?? 0) || a - b).slice(0, MAX_DRAWN_OPERATORS).sort((a, b) => a - b);
}

function graph(report: Report, share: (idx: number) => number, left: ReadonlyMap<number, string>): SVGElement {
  const edges = Int32Array.from(report.edges.flatMap(({ src, dst, tensor }) => [src, dst, tensor]));
  const node_widths = new Float32Array(report.operators.length).fill(NODE_WIDTH_PX + 16);
  const { width, n_rows, node_x, node_row, segments, leaps } = layOut({ n_inputs: 0, node_widths, edges });
  const y = (row: number): number => 8 + row * ROW_PX;
  const size = { width: Math.ceil(width) + 16, height: y(n_rows) };
  const lines: string[] = [];
  const line = (x: number, y_from: number, x_to: number, y_to: number): void => {
    const middle = (y_from + y_to) / 2;
    lines.push(`M${x} ${y_from}C${x} ${middle} ${x_to} ${middle} ${x_to} ${y_to}`);
  };
  for (let idx = 0; idx < segments.row.length; idx++) {
    const [row, x_from, x_to] = [segments.row[idx]!, segments.x_from[idx]! + 8, segments.x_to[idx]! + 8];
    if (segments.from_waypoint[idx]) lines.push(`M${x_from} ${y(row)}V${y(row) + NODE_HEIGHT_PX}`);
    line(x_from, y(row) + NODE_HEIGHT_PX, x_to, y(row + 1));
  }
  for (let idx = 0; idx < leaps.length; idx += 3) {
    const [src, dst] = [leaps[idx]!, leaps[idx + 1]!];
    line(node_x[src]! + 8, y(node_row[src]!) + NODE_HEIGHT_PX, node_x[dst]! + 8, y(node_row[dst]!));
  }
  const nodes = report.operators.map((operator, idx) => {
    const [x, top] = [node_x[idx]! + 8 - NODE_WIDTH_PX / 2, y(node_row[idx]!)];
    const part = share(idx);
    const label = operator.name.length > 24 ? `${operator.name.slice(0, 23)}…` : operator.name;
    return svg("g", {},
      svg("title", {}, `${operator.name} (${KIND_NAMES[kindOf(operator)]}): ${percent(100 * part)} of the latency${left.has(idx) ? "; on the CPU" : ""}`),
      svg("rect", { x, y: top, width: NODE_WIDTH_PX, height: NODE_HEIGHT_PX, rx: 4, ...(left.has(idx) ? { class: "left" } : {}) }),
      svg("rect", { class: "cost", x, y: top + NODE_HEIGHT_PX - 4, width: NODE_WIDTH_PX * Math.min(1, part), height: 4 }),
      svg("text", { x: x + 6, y: top + 17 }, label),
      svg("text", { x: x + NODE_WIDTH_PX - 6, y: top + 17, "text-anchor": "end" }, part > 0.0005 ? percent(100 * part) : ""),
    );
  });
  return svg("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" }, svg("path", { d: lines.join("") }), ...nodes);
}

type Attributes = Record<string, string | number>;

function fill<Node_ extends Element>(made: Node_, attributes: Attributes, children: (Node | string)[]): Node_ {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

const element = (name: string, attributes: Attributes, ...children: (Node | string)[]): HTMLElement => fill(document.createElement(name), attributes, children);
const svg = (name: string, attributes: Attributes, ...children: (Node | string)[]): SVGElement => fill(document.createElementNS(SVG, name), attributes, children) as SVGElement;
