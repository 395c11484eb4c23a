/** The operator table: the graph as text. Only the rows in view are elements, so that 10,000 cost no more than 50. */
import { costText, latenciesOf } from "../costs.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { KIND_NAMES, kindOf } from "../kinds.ts";
import type { Operator, Report } from "../report.ts";
import type { Selection } from "../selection.ts";
import { shapeText } from "./graph/scene.ts";

/** Height of a row in px, as in the style sheet. */
const ROW_HEIGHT = 30;
/** Rows kept above and below the view. */
const SPARE_ROWS = 8;

interface Column {
  name: string;
  title: string;
  numeric: boolean;
  /** Whether the end of a long text says more than its beginning. */
  tail?: true;
  /** Whether the memory peak shows in it. */
  alive?: true;
  key: (operator: Operator) => number | string;
  text: (operator: Operator) => string;
}

export function operatorTable(report: Report, selection: Selection, signal: AbortSignal): HTMLElement {
  return new OperatorTable(report, selection, signal).element;
}

function columnsOf(report: Report): Column[] {
  const output = (operator: Operator): number => operator.outputs[0] ?? -1;
  const quantity = (name: string, title: string, key: (operator: Operator) => number | null, unit: typeof format.bytes): Column => ({
    name,
    title,
    numeric: true,
    key: (operator) => key(operator) ?? -1,
    text: (operator) => {
      const value = key(operator);
      return value === null ? "?" : value === 0 ? "–" : format.text(unit(value));
    },
  });
  const macs = (operator: Operator): number => operator.macs;
  const latencies = latenciesOf(report).map(
    (latency): Column => ({
      name: latency.name,
      title: latency.title,
      numeric: true,
      key: ({ index }) => latency.values[index],
      text: ({ index }) => costText(latency, latency.values[index]),
    }),
  );
  return [
    { name: "#", title: "Position in topological order", numeric: true, key: (o) => o.index, text: (o) => String(o.index) },
    { name: "Operator", title: "", numeric: false, key: (o) => o.name, text: (o) => o.name },
    { name: "Output shape", title: "", numeric: false, key: (o) => shapeText(report, output(o)), text: (o) => shapeText(report, output(o)) },
    ...latencies,
    quantity("MACs", "Multiply-accumulates", macs, (value) => format.count(value)),
    quantity("Parameters", "", (o) => o.parameters, (value) => format.count(value)),
    quantity("Weights", "Bytes of constants", (o) => o.weight_bytes, format.bytes),
    quantity("Reads", "Bytes of activations read", (o) => o.input_bytes, format.bytes),
    quantity("Writes", "Bytes of activations written", (o) => o.output_bytes, format.bytes),
    { ...quantity("Alive", "Bytes of activations alive while it runs", (o) => o.live_bytes, format.bytes), alive: true },
    { name: "Output tensor", title: "", numeric: false, tail: true, key: (o) => report.tensors[output(o)]?.name ?? "", text: (o) => report.tensors[output(o)]?.name ?? "" },
  ];
}

class OperatorTable {
  readonly element: HTMLElement;
  readonly #report: Report;
  readonly #selection: Selection;
  readonly #columns: Column[];
  readonly #headers: HTMLElement[];
  readonly #body = el("tbody");
  readonly #table: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #count = el("p", { class: "subtle", role: "status" });
  #shown: Operator[];
  #sorted: { column: number; descending: boolean } = { column: 0, descending: false };
  #words = "";

  constructor(report: Report, selection: Selection, signal: AbortSignal) {
    this.#report = report;
    this.#selection = selection;
    this.#columns = columnsOf(report);
    this.#shown = report.operators;
    this.#headers = this.#columns.map((column, i) => this.#header(column, i));
    this.#table = el(
      "table",
      { class: "operators", role: "grid", tabindex: 0, "aria-label": "Operators" },
      el("thead", {}, el("tr", { "aria-rowindex": 1 }, ...this.#headers)),
      this.#body,
    );
    this.#scroller = el("div", { class: "scroller" }, this.#table);
    this.element = el("section", { class: "operator-table panel", "aria-label": "Operator table" }, this.#bar(), this.#scroller);
    this.#listen(signal);
    this.#arrange();
  }

  #bar(): HTMLElement {
    const filter = el("input", {
      type: "search",
      placeholder: "Filter by operator, tensor or shape",
      "aria-label": "Filter operators",
      oninput: () => {
        this.#words = filter.value;
        this.#arrange();
      },
    });
    return el("header", {}, el("h2", {}, "Operators"), this.#count, filter);
  }

  #header({ name, title, numeric }: Column, column: number): HTMLElement {
    const button = el("button", { type: "button", title, onclick: () => this.#sortBy(column) }, name);
    return el("th", { scope: "col", role: "columnheader", class: numeric ? "numeric" : null }, button);
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
    this.#selection.onChange((index, source) => {
      if (index !== null && source !== "table") this.#scrollTo(index, true);
      this.#draw();
    });
  }

  #sortBy(column: number): void {
    const again = this.#sorted.column === column;
    const descending = again ? !this.#sorted.descending : this.#columns[column].numeric && column > 0;
    this.#sorted = { column, descending };
    this.#arrange();
  }

  /** Filters, sorts, draws from the top. */
  #arrange(): void {
    const { column, descending } = this.#sorted;
    const words = this.#words.toLowerCase().split(/\s+/).filter(Boolean);
    const { key } = this.#columns[column];
    this.#shown = this.#report.operators.filter((operator) => this.#matches(operator, words));
    this.#shown.sort((a, b) => compare(key(a), key(b)) * (descending ? -1 : 1) || a.index - b.index);
    this.#headers.forEach((header, i) => header.setAttribute("aria-sort", i !== column ? "none" : descending ? "descending" : "ascending"));
    const total = this.#report.operators.length;
    this.#count.textContent = this.#shown.length === total ? total.toLocaleString("en") : `${this.#shown.length} of ${total.toLocaleString("en")}`;
    this.#table.setAttribute("aria-rowcount", String(this.#shown.length + 1));
    this.#scroller.scrollTop = 0;
    this.#draw();
  }

  #matches(operator: Operator, words: string[]): boolean {
    if (words.length === 0) return true;
    const names = operator.outputs.map((tensor) => `${this.#report.tensors[tensor]?.name} ${shapeText(this.#report, tensor)}`);
    const text = `${operator.name} ${KIND_NAMES[kindOf(operator)]} ${names.join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
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
    const cells = this.#columns.map((column, i) => {
      const text = column.text(operator);
      const dot = i === 1 ? el("span", { class: `dot kind-${kindOf(operator)}` }) : null;
      return el("td", { class: cellClass(column), title: column.tail ? text : null }, dot, column.tail ? el("bdi", {}, text) : text);
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

function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function spacer(rows: number): HTMLElement {
  const element = el("tr", { class: "spacer", "aria-hidden": "true" });
  element.style.height = `${rows * ROW_HEIGHT}px`;
  return element;
}
