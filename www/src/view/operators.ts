/** The operator table: the graph as text. Only the rows in view are elements, so that 10,000 cost no more than 50. */
import { type Measure, columnText, columnUnit, estimatesAndProfiles } from "../costs.ts";
import { el } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { operatorsLeftBy } from "../processor_split.ts";
import { overlaysOf } from "../measured_devices.ts";
import { kindOf } from "../kinds.ts";
import type { Operator, Report } from "../report.ts";
import type { Search } from "../operator_search.ts";
import type { Selection } from "../selection.ts";
import type { Linked } from "../graph/graph.ts";
import { shapeText } from "../graph/scene.ts";
import { type Sorting, sortBy, sortHead, sortingAfter } from "../sorting.ts";

/** Height of a row in px, as in the style sheet. */
const ROW_HEIGHT = 30;
/** Rows kept above and below the view. */
const SPARE_ROWS = 8;

interface Column {
  name: string;
  /** Of all values in it. */
  unit: string;
  title: string;
  numeric: boolean;
  /** Whether the end of a long text says more than its beginning. */
  tail?: true;
  /** Whether the memory peak shows in it. */
  alive?: true;
  key: (operator: Operator) => number | string | null;
  text: (operator: Operator) => string;
}

/** All operators with their costs: the text equivalent of the drawing. */
export function operatorTable(report: Report, linked: Linked, signal: AbortSignal): HTMLElement {
  return new OperatorTable(report, linked, signal).element;
}

/** What the chosen target's estimates say of each operator, then what the file says. */
function columnsOf(report: Report, target: string): Column[] {
  const output = (operator: Operator): number => operator.outputs[0] ?? -1;
  const left = operatorsLeftBy(report, target);
  const overlay = overlaysOf(report).find((overlay) => overlay.target === target);
  /** Of operators that the profile has no line of their own for. */
  const of_profile = ({ metric, values }: Measure, index: number): string | null => {
    if (!overlay || !metric.startsWith("measured") || values[index] > 0) return null;
    const first = overlay.groups.get(index)?.operators[0];
    return first === undefined ? "not listed" : first === index ? null : `with #${first}`;
  };
  const words = (name: string, key: (operator: Operator) => string): Column => ({ name, unit: "", title: "", numeric: false, key, text: key });
  const quantity = (name: string, title: string, key: (operator: Operator) => number | null, unit: typeof format.bytes): Column => {
    const scale = format.columnScale(report.operators.map((operator) => key(operator) ?? 0));
    const text = (operator: Operator): string => {
      const value = key(operator);
      return value === null ? "?" : value === 0 ? "0" : unit(value, scale)[0];
    };
    return { name, unit: unit(scale, scale)[1], title, numeric: true, key, text };
  };
  const estimates = estimatesAndProfiles(report)
    .filter((measure) => measure.target === target)
    .map(
      (measure): Column => ({
        name: measure.name,
        unit: columnUnit(measure),
        title: measure.title,
        numeric: true,
        key: ({ index }) => measure.values[index],
        // An estimate of the accelerator alone has nothing of what it leaves out.
        text: ({ index }) => (left.has(index) && measure.values[index] === 0 ? "on CPU" : of_profile(measure, index) ?? columnText(measure, measure.values[index])),
      }),
    );
  return [
    { name: "#", unit: "", title: "Position in topological order", numeric: true, key: (o) => o.index, text: (o) => String(o.index) },
    words("Operator", (o) => o.name),
    words("Output shape", (o) => shapeText(report, output(o))),
    ...estimates,
    quantity("MACs", "Multiply-accumulates", (o) => o.macs, (value, like) => format.count(value, "", like)),
    quantity("Parameters", "", (o) => o.parameters, (value, like) => format.count(value, "", like)),
    quantity("Weights", "Bytes of constants", (o) => o.weight_bytes, format.bytes),
    quantity("Reads", "Bytes of activations read", (o) => o.input_bytes, format.bytes),
    quantity("Writes", "Bytes of activations written", (o) => o.output_bytes, format.bytes),
    { ...quantity("Alive", "Bytes of activations alive while it runs", (o) => o.live_bytes, format.bytes), alive: true },
    { ...words("Output tensor", (o) => report.tensors[output(o)]?.name ?? ""), tail: true },
  ];
}

class OperatorTable {
  readonly element: HTMLElement;
  readonly #report: Report;
  readonly #selection: Selection;
  readonly #focus: Focus;
  readonly #search: Search;
  #columns: Column[] = [];
  readonly #head = el("tr", { "aria-rowindex": 1 });
  readonly #body = el("tbody");
  readonly #table: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #count = el("span", { role: "status" });
  readonly #only_left = el("button", { type: "button", class: "link", "aria-pressed": "false", hidden: true, onclick: () => this.#toggleLeft() });
  #left: ReadonlyMap<number, string> = new Map();
  #shown: Operator[];
  #sorting: Sorting = { column: 0, descending: false };

  constructor(report: Report, { selection, focus, search }: Linked, signal: AbortSignal) {
    this.#report = report;
    this.#selection = selection;
    this.#focus = focus;
    this.#search = search;
    this.#shown = report.operators;
    this.#table = el("table", { class: "operators", role: "grid", tabindex: 0, "aria-label": "Operators" }, el("thead", {}, this.#head), this.#body);
    this.#scroller = el("div", { class: "scroller" }, this.#table);
    this.element = el("section", { class: "operator-table panel", "aria-label": "Operator table" }, el("p", { class: "subtle" }, this.#count, " ", this.#only_left), this.#scroller);
    this.#listen(signal);
    this.#setColumns();
  }

  /** Of the chosen target. */
  #setColumns(): void {
    const sorted = this.#columns[this.#sorting.column]?.name;
    const target = this.#focus.targetIn(this.#report);
    this.#columns = columnsOf(this.#report, target);
    this.#left = operatorsLeftBy(this.#report, target);
    this.#only_left.hidden = this.#left.size === 0;
    if (this.#left.size === 0) this.#only_left.setAttribute("aria-pressed", "false");
    const same = this.#columns.findIndex(({ name }) => name === sorted);
    this.#sorting = same < 0 ? { column: 0, descending: false } : { ...this.#sorting, column: same };
    this.#arrange();
  }

  #listen(signal: AbortSignal): void {
    this.#scroller.addEventListener("scroll", () => this.#draw(), { passive: true });
    const observer = new ResizeObserver(() => this.#draw());
    observer.observe(this.#scroller);
    signal.addEventListener("abort", () => observer.disconnect());
    this.#body.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("tr[data-operator]");
      if (row) this.#selection.select(Number(row.dataset["operator"]), "table");
    });
    this.#table.addEventListener("keydown", (event) => this.#key(event));
    this.#focus.onChange(() => this.#setColumns(), signal);
    this.#search.onChange(() => this.#arrange());
    this.#selection.onChange((index, source) => {
      if (index !== null && source !== "table") this.#scrollTo(index, true);
      this.#draw();
    });
  }

  get #showsLeftAlone(): boolean {
    return this.#only_left.getAttribute("aria-pressed") === "true";
  }

  #toggleLeft(): void {
    this.#only_left.setAttribute("aria-pressed", String(!this.#showsLeftAlone));
    this.#arrange();
  }

  #sortBy(column: number): void {
    this.#sorting = sortingAfter(this.#sorting, column, this.#columns[column].numeric && column > 0);
    this.#arrange();
    this.#head.querySelectorAll("button")[column]?.focus();
  }

  /** Filters, sorts, draws from the top. */
  #arrange(): void {
    const { operators } = this.#report;
    const { matches } = this.#search;
    const is_left_alone = this.#showsLeftAlone;
    const shown_rows = operators.filter(({ index }) => (matches === null || matches.has(index)) && (!is_left_alone || this.#left.has(index)));
    this.#shown = sortBy(shown_rows, this.#sorting, this.#columns[this.#sorting.column].key);
    this.#head.replaceChildren(
      ...this.#columns.map(({ name, unit, title, numeric }, i) =>
        sortHead(name, unit, i, this.#sorting, { role: "columnheader", class: numeric ? "numeric" : "words", title }, (column) => this.#sortBy(column)),
      ),
    );
    const total = format.plural(operators.length, "operator");
    this.#count.textContent = shown_rows.length === operators.length ? total : `${shown_rows.length.toLocaleString("en")} of ${total}`;
    this.#only_left.textContent = is_left_alone ? "Show all operators" : `Show those on the CPU (${this.#left.size.toLocaleString("en")})`;
    this.#table.setAttribute("aria-rowcount", String(this.#shown.length + 1));
    this.#scroller.scrollTop = 0;
    this.#draw();
  }

  #key(event: KeyboardEvent): void {
    if (event.target !== this.#table) return;
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW_HEIGHT) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (event.key === "Escape") this.#selection.select(null, "table");
    if (step === undefined || this.#shown.length === 0) return;
    event.preventDefault();
    const now = this.#shown.findIndex(({ index }) => index === this.#selection.index);
    const next = now < 0 ? 0 : Math.min(this.#shown.length - 1, Math.max(0, now + step));
    this.#selection.select(this.#shown[next].index, "table");
    this.#scrollTo(this.#shown[next].index, false);
    this.#draw();
  }

  /** Scrolls the table, never the page. */
  #scrollTo(operator: number, middle: boolean): void {
    const place = this.#shown.findIndex(({ index }) => index === operator);
    if (place < 0) return;
    const view = this.#scroller.clientHeight - ROW_HEIGHT; // the header stays on top
    const top = place * ROW_HEIGHT;
    const { scrollTop } = this.#scroller;
    if (top >= scrollTop && top + ROW_HEIGHT <= scrollTop + view) return;
    if (middle) this.#scroller.scrollTop = top - view / 2;
    else this.#scroller.scrollTop = top < scrollTop ? top : top + ROW_HEIGHT - view;
  }

  #draw(): void {
    if (this.#scroller.clientHeight === 0) return; // not on the page yet; its observer draws then
    const first = Math.max(0, Math.floor(this.#scroller.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const n = Math.ceil(this.#scroller.clientHeight / ROW_HEIGHT) + 2 * SPARE_ROWS;
    const rows = this.#shown.slice(first, first + n).map((operator, i) => this.#row(operator, first + i));
    const below = Math.max(0, this.#shown.length - first - rows.length);
    this.#body.replaceChildren(spacer(first), ...rows, spacer(below));
    const { index } = this.#selection;
    const active = rows.some((row) => row.dataset["operator"] === String(index));
    if (active) this.#table.setAttribute("aria-activedescendant", `operator-${index}`);
    else this.#table.removeAttribute("aria-activedescendant");
  }

  #row(operator: Operator, place: number): HTMLElement {
    const selected = operator.index === this.#selection.index;
    const why = this.#left.get(operator.index);
    const cells = this.#columns.map((column, i) => {
      const text = column.text(operator);
      if (i !== 1) return el("td", { class: cellClass(column), title: column.tail ? text : null }, column.tail ? el("bdi", {}, text) : text);
      const mark = why === undefined ? null : el("span", { class: "cpu-mark" }, "CPU", el("span", { class: "sr-only" }, `: ${why}`));
      return el("td", { class: cellClass(column), title: why === undefined ? null : `Left to the processor: ${why}` }, el("span", { class: `dot kind-${kindOf(operator)}` }), text, mark);
    });
    const peak = operator.index === this.#report.model.peak_operator ? "peak" : null;
    return el(
      "tr",
      { id: `operator-${operator.index}`, "data-operator": operator.index, "aria-selected": String(selected), "aria-rowindex": place + 2, class: peak },
      ...cells,
    );
  }
}

function cellClass({ numeric, tail, alive }: Column): string | null {
  if (numeric) return alive ? "numeric alive" : "numeric";
  return tail ? "tail" : null;
}

function spacer(rows: number): HTMLElement {
  const element = el("tr", { class: "spacer", "aria-hidden": "true" });
  element.style.height = `${rows * ROW_HEIGHT}px`;
  return element;
}
