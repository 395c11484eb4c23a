/** Several files: a row each, filled as the reports come. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { KnownError } from "../messenger.ts";
import { type Report, isEstimate } from "../report.ts";
import { metricName } from "../words.ts";
import { sentence } from "./diagnostics.ts";

interface Column {
  target: string;
  device: string;
  metric: string;
}

export class ComparisonView {
  readonly element: HTMLElement;
  readonly #files: File[];
  readonly #open: (report: Report) => void;
  readonly #columns: Column[] = [];
  readonly #reports: (Report | null)[];
  readonly #head = el("thead");
  readonly #rows: HTMLElement[];

  constructor(files: File[], open: (report: Report) => void) {
    this.#files = files;
    this.#open = open;
    this.#reports = files.map(() => null);
    this.#rows = files.map((file) => el("tr", {}, nameCell(file.name), el("td", { class: "subtle" }, "waiting…")));
    const table = el("table", { class: "comparison" }, this.#head, el("tbody", {}, ...this.#rows));
    const title = el("h2", {}, format.plural(files.length, "file"));
    this.element = el("section", { class: "comparison-panel panel", "aria-label": "Comparison" }, title, el("div", { class: "scroller" }, table));
    this.#head.replaceChildren(...headRows(this.#columns));
  }

  show(place: number, report: Report): void {
    this.#reports[place] = report;
    if (!this.#addColumns(report)) return this.#drawRow(place, report);
    this.#head.replaceChildren(...headRows(this.#columns));
    this.#reports.forEach((known, i) => known && this.#drawRow(i, known));
  }

  fail(place: number, error: unknown): void {
    const words = error instanceof KnownError ? error.message : String(error);
    this.#rows[place].replaceChildren(nameCell(this.#files[place].name), el("td", { class: "failure", colspan: 100 }, sentence(words)));
  }

  #addColumns({ results }: Report): boolean {
    const before = this.#columns.length;
    for (const { target, device, metric } of results) {
      const known = this.#columns.some((column) => column.target === target && column.metric === metric);
      if (!known) this.#columns.push({ target, device, metric });
    }
    return this.#columns.length > before;
  }

  #drawRow(place: number, report: Report): void {
    const name = el("button", { type: "button", class: "link", onclick: () => this.#open(report) }, report.file);
    this.#rows[place].replaceChildren(nameCell(name), ...cells(report, this.#columns));
  }
}

function nameCell(name: HTMLElement | string): HTMLElement {
  return el("th", { scope: "row" }, name);
}

const FACTS = ["Size", "Precision", "Operators", "MACs"];

function headRows(columns: Column[]): HTMLElement[] {
  const targets = new Map<string, { device: string; n: number }>();
  for (const { target, device } of columns) targets.set(target, { device, n: (targets.get(target)?.n ?? 0) + 1 });
  const groups = [...targets].map(([target, { device, n }]) => el("th", { colspan: n, scope: "colgroup", title: device }, target));
  return [
    el("tr", {}, el("td", { colspan: FACTS.length + 1 }), ...groups),
    el(
      "tr",
      {},
      el("th", { scope: "col" }, "File"),
      ...FACTS.map((name) => el("th", { scope: "col", class: "numeric" }, name)),
      ...columns.map(({ metric }) => el("th", { scope: "col", class: "numeric" }, metricName(metric))),
    ),
  ];
}

function cells(report: Report, columns: Column[]): HTMLElement[] {
  const { model } = report;
  const facts = [
    format.text(format.bytes(model.file_bytes)),
    model.precision,
    model.n_operators.toLocaleString("en"),
    format.text(format.count(model.macs)),
  ];
  const targets = [...new Set(columns.map(({ target }) => target))];
  return [
    ...facts.map((fact) => el("td", { class: "numeric" }, fact)),
    ...targets.flatMap((target) => targetCells(report, columns.filter((column) => column.target === target))),
  ];
}

/** One cell a metric, or the reason across all of them where a target can estimate none. */
function targetCells(report: Report, columns: Column[]): HTMLElement[] {
  const results = report.results.filter(({ target }) => target === columns[0].target);
  const first = results[0];
  if (first && !isEstimate(first) && results.every((result) => !isEstimate(result))) {
    return [el("td", { class: "reason", colspan: columns.length, title: first.unavailable }, first.unavailable)];
  }
  return columns.map((column) => estimateCell(report, column));
}

function estimateCell(report: Report, { target, metric }: Column): HTMLElement {
  const result = report.results.find((candidate) => candidate.target === target && candidate.metric === metric);
  if (!result) return el("td", { class: "numeric subtle" }, "");
  if (!isEstimate(result)) return el("td", { class: "numeric subtle", title: result.unavailable }, "–");
  return el("td", { class: "numeric" }, format.text(format.measure(result.value, result.unit)));
}
