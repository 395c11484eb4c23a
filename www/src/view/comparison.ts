/** Several files: a row each, one metric and one unit a column, and the difference to a baseline. */
import { judgeEstimate, readBudget } from "../budget.ts";
import { comparisonCsv } from "../export/csv.ts";
import { el, keepingFocus } from "../dom.ts";
import { type Estimated, type ComparedFile, type Summary, missingSizes } from "../comparison_rows.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { type Report, type Result, type Unavailable, isEstimate } from "../report.ts";
import { DIFFERENCE_LEGEND, type MetricColumn, changeCell, columnMeaning, columnTitle, energyNote, estimateCell, metricColumns } from "./estimate_cells.ts";
import { onAcceleratorWords } from "../processor_split.ts";
import { type CustomColumn, keepColumn, readColumn, columnValueOf } from "../custom_column.ts";
import { VERDICT_MARKS, surelyMeets } from "../verdict.ts";
import { budgetForm } from "./budget_form.ts";
import { columnForm } from "./column_form.ts";
import { differencePanel } from "./difference.ts";
import { sizesForm } from "./open_dimensions.ts";
import type { Sizes } from "../scenario.ts";
import { saveButton } from "./save_button.ts";
import { type Axes, scatterPanel } from "./scatter.ts";
import { type SortKey, type Sorting, sortBy, sortHead, sortingAfter } from "../sorting.ts";
import { asSentence, evidenceLegend } from "../words.ts";

/** Before the words, so that colours need not be told apart. */
const BUDGET_MARKS = { within: VERDICT_MARKS.meets, "at-risk": VERDICT_MARKS.doubtful, over: VERDICT_MARKS.fails };

interface TargetColumns {
  target: string;
  device: string;
  columns: MetricColumn[];
}

const FACTS: readonly { name: string; text: (model: Summary["model"], scale: number) => string; key: (model: Summary["model"]) => number | string; unit?: "bytes" | "count" }[] = [
  { name: "Size", unit: "bytes", key: (model) => model.file_bytes, text: (model, scale) => format.bytes(model.file_bytes, scale)[0] },
  { name: "Precision", key: (model) => model.precision, text: (model) => model.precision },
  { name: "Operators", key: (model) => model.n_operators, text: (model) => model.n_operators.toLocaleString("en") },
  { name: "MACs", unit: "count", key: (model) => model.macs, text: (model, scale) => format.count(model.macs, "", scale)[0] },
];

/** Between two drawings, in times of what one takes. */
const REST = 4;

/** Until the drawing follows the rows. */
const FIGURE_DELAY_MS = 120;

/** Points that are drawn while files are still to come; more of them are drawn once, at the end. */
const MAX_DRAWN_MEANWHILE = 100;

/** The table of several files; rows are filled as reports come. */
export class ComparisonView {
  readonly element: HTMLElement;
  readonly #focus: Focus;
  readonly #open: (row: Estimated) => void;
  readonly #load: (key: string) => Promise<Report | null>;
  /** Takes sizes that files leave open; null where the files are not at hand. */
  readonly #give: ((sizes: Sizes) => void) | null;
  readonly #sizes = el("div", { class: "comparison-sizes" });
  /** Names that `#sizes` asks for: drawn once, so that nobody types into a field that goes. */
  #asked_sizes = "";
  readonly #side_by_side = el("div");
  readonly #signal: AbortSignal;
  /** Of the two models that stand side by side. */
  #shown = new AbortController();
  readonly #body = el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Comparison, scrollable" });
  /** Before and after the controls that a person types into, which stay as they are whatever is drawn anew. */
  readonly #lead = el("div", { class: "control-part" });
  readonly #tail = el("div", { class: "control-part" });
  readonly #column_place = el("div", { class: "control-part" });
  readonly #filter = el("input", { type: "search", id: "comparison-filter", placeholder: "Name", oninput: () => this.#arrange() });
  readonly #meeting = el("input", { type: "checkbox", id: "comparison-meeting", onchange: () => this.#arrange() });
  readonly #rows_body = el("tbody");
  readonly #figure = el("div");
  #rows: ComparedFile[];
  #sorting: Sorting | null = null;
  #shows_all = false;
  #axes: Axes = { across: "memory", third: null };
  /** Of the rows of the table, with what they are sorted by. */
  #drawn_rows = new Map<ComparedFile, HTMLElement>();
  #sort_key: (row: ComparedFile) => SortKey = () => null;
  #column: CustomColumn | null = readColumn();
  /** Keys of rows that stay on top whatever is filtered. */
  readonly #pinned = new Set<string>();
  /** Key of the row that the others are compared with. */
  #baseline: string | null = null;
  #timer = 0;
  #frame = 0;
  #figure_timer = 0;
  /** Of the drawing that is shown. */
  #redrawn = new AbortController();
  /** What the last drawing took. */
  #drawn_ms = 0;

  constructor(rows: ComparedFile[], focus: Focus, open: (row: Estimated) => void, load: (key: string) => Promise<Report | null>, give: ((sizes: Sizes) => void) | null, signal: AbortSignal) {
    this.#rows = rows;
    this.#load = load;
    this.#give = give;
    this.#focus = focus;
    this.#open = open;
    this.#signal = signal;
    signal.addEventListener("abort", () => (this.#shown.abort(), this.#redrawn.abort(), clearTimeout(this.#figure_timer)));
    this.element = el("section", { class: "comparison-panel panel", "aria-label": "Comparison" }, this.#controls(), this.#sizes, this.#body, this.#side_by_side, this.#figure);
    focus.onChange(() => this.#draw(), signal);
    this.#draw();
  }

  /** Draws at most once a frame, however fast the reports come; a table of thousands less often, so that the page answers. */
  update(rows: ComparedFile[]): void {
    this.#rows = rows;
    if (this.#timer === 0) this.#timer = setTimeout(() => (this.#frame = requestAnimationFrame(() => this.#draw())), REST * this.#drawn_ms);
  }

  #draw(): void {
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#timer = 0;
    const begun = performance.now();
    const known = this.#rows.filter((row): row is Estimated => "summary" in row);
    const results = known.flatMap(({ summary }) => summary.results);
    const groups = this.#columns(results);
    const held = heldControl(this.element);
    this.#drawControls(results, known);
    this.#drawSizes();
    const grouped_targets = new Set(groups.map(({ target }) => target));
    const table = this.#table(groups, known);
    this.#body.replaceChildren(...olderVersions(known), table, ...markLegend(table), el("p", { class: "subtle evidence-legend" }, `What numbers rest on: ${evidenceLegend()}`), ...[energyNote(results.filter(({ target }) => grouped_targets.has(target)))].filter((note) => note !== null));
    this.#drawFigure();
    if (held) this.element.querySelector<HTMLElement>(held)?.focus();
    this.#drawn_ms = performance.now() - begun;
  }

  /** Puts the rows that pass the filter in their order, without drawing any anew; the drawing of them follows. */
  #arrange(): void {
    const held = heldControl(this.element);
    this.#rows_body.replaceChildren(...this.#ordered().flatMap((row) => this.#drawn_rows.get(row) ?? []));
    if (held && !this.element.contains(document.activeElement)) this.element.querySelector<HTMLElement>(held)?.focus({ preventScroll: true });
    this.#drawFigureSoon();
  }

  /** After what follows at once, such as the next letter of a filter. */
  #drawFigureSoon(): void {
    clearTimeout(this.#figure_timer);
    this.#figure_timer = setTimeout(() => void keepingFocus(this.#figure, () => this.#drawFigure()), FIGURE_DELAY_MS);
  }

  #drawFigure(): void {
    clearTimeout(this.#figure_timer);
    this.#redrawn.abort();
    this.#redrawn = new AbortController();
    const known = this.#rows.filter((row): row is Estimated => "summary" in row);
    const is_drawn = known.length > 1 && (known.length <= MAX_DRAWN_MEANWHILE || !this.#rows.some((row) => "waiting" in row));
    const target = this.#focus.targetIn({ results: known.flatMap(({ summary }) => summary.results) });
    this.#figure.replaceChildren(...(is_drawn ? [scatterPanel(known.filter((row) => this.#isShown(row)), target, this.#axes, this.#column, (axes) => this.#chooseAxes(axes), (row) => this.#open(row), this.#redrawn.signal)] : []));
  }

  #columns(results: Result[]): TargetColumns[] {
    const chosen = this.#focus.targetIn({ results });
    const devices = new Map(results.map(({ target, device }) => [target, device || target]));
    const targets = this.#shows_all ? [...devices.keys()] : chosen ? [chosen] : [];
    const columnsOf = (target: string): TargetColumns => ({
      target,
      device: devices.get(target) ?? target,
      columns: metricColumns(results.filter((result) => result.target === target)),
    });
    return targets.map(columnsOf).filter(({ columns }) => columns.length > 0 || !this.#shows_all);
  }

  #controls(): HTMLElement {
    this.#drawColumnForm();
    return el(
      "div",
      { class: "comparison-controls" },
      this.#lead,
      el("label", {}, "Filter ", this.#filter),
      el("label", {}, this.#meeting, " within the budget only"),
      budgetForm("comparison-budget", () => this.#focus.refresh()),
      this.#column_place,
      this.#tail,
    );
  }

  #drawColumnForm(): void {
    this.#column_place.replaceChildren(columnForm(this.#column, () => this.#rows.map(({ file }) => file), (column) => this.#setColumn(column)));
  }

  #drawControls(results: Result[], known: Estimated[]): void {
    const devices = new Map(results.map(({ target, device }) => [target, device || target]));
    const chosen = this.#focus.targetIn({ results });
    const choice = el("select", {
      id: "comparison-target",
      onchange: () => {
        this.#shows_all = choice.value === "";
        this.#sorting = null;
        if (choice.value === "") this.#draw();
        else this.#focus.chooseTarget(choice.value);
      },
    });
    choice.append(
      ...[...devices].map(([target, device]) => el("option", { value: target, selected: !this.#shows_all && target === chosen }, device)),
      el("option", { value: "", selected: this.#shows_all }, "All targets"),
    );
    const waiting = this.#rows.filter((row) => "waiting" in row).length;
    this.#lead.replaceChildren(el("h2", {}, format.plural(this.#rows.length, "file")), el("label", {}, "Target ", choice));
    this.#tail.replaceChildren(
      waiting > 0 ? el("span", { class: "subtle" }, `${waiting} still to come`) : "",
      this.#baseline === null ? "" : el("button", { type: "button", id: "no-baseline", onclick: () => this.#setBaseline(null) }, "Without baseline"),
      saveButton("CSV", "comparison.csv", "text/csv", () => comparisonCsv(known.map(({ summary }) => summary), this.#rows.filter((row) => "failure" in row), this.#column)),
    );
  }

  /** Asks for the sizes that files leave open, once all files were tried. */
  #drawSizes(): void {
    const names = this.#rows.some((row) => "waiting" in row) ? [] : missingSizes(this.#rows);
    if (names.join() === this.#asked_sizes) return;
    this.#asked_sizes = names.join();
    const give = this.#give;
    this.#sizes.replaceChildren(...(names.length > 0 && give ? [el("p", {}, "Some files leave sizes open; each is given those that it names."), sizesForm(names, give)] : []));
  }

  #chooseAxes(axes: Axes): void {
    this.#axes = axes;
    void keepingFocus(this.#figure, () => this.#drawFigure());
  }

  /** Whether a row passes the filter, or is pinned. */
  #isShown(row: ComparedFile): boolean {
    if ("key" in row && this.#pinned.has(row.key)) return true;
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.every((word) => row.file.toLowerCase().includes(word))) return false;
    if (!this.#meeting.checked) return true;
    return "summary" in row && surelyMeets(row.summary, this.#focus.targetIn(row.summary), readBudget());
  }

  #pin(key: string): void {
    if (!this.#pinned.delete(key)) this.#pinned.add(key);
    const is_pinned = this.#pinned.has(key);
    const pin = this.#rows_body.querySelector(`[data-pin="${CSS.escape(key)}"]`);
    pin?.setAttribute("aria-pressed", String(is_pinned));
    pin?.replaceChildren(is_pinned ? "Pinned" : "Pin");
    this.#arrange();
  }

  #setColumn(column: CustomColumn | null): void {
    keepColumn(column);
    const is_first = this.#column === null && column !== null;
    this.#column = column;
    if (is_first) this.#axes = { ...this.#axes, across: "own" };
    this.#drawColumnForm();
    this.#draw();
  }

  /** A number typed into a cell: the table stays as it is, so that the keyboard goes on from there. */
  #setOwnValue(file: string, value: number | null): void {
    if (!this.#column) return;
    const { [file]: _, ...values } = this.#column.values;
    this.#column = { ...this.#column, values: value === null ? values : { ...values, [file]: value } };
    keepColumn(this.#column);
    this.#drawFigureSoon();
  }

  #setBaseline(key: string | null): void {
    this.#baseline = key;
    this.#closeOperators();
    this.#draw();
  }

  #closeOperators(): void {
    this.#shown.abort();
    this.#side_by_side.replaceChildren();
  }

  /** The operators of a file beside those of the baseline. */
  async #showOperators(key: string): Promise<void> {
    const [left, right] = await Promise.all([this.#baseline === null ? null : this.#load(this.#baseline), this.#load(key)]);
    if (this.#signal.aborted) return;
    const close = (): void => {
      this.#closeOperators();
      this.element.querySelector<HTMLElement>(`[data-operators="${key}"]`)?.focus();
    };
    this.#shown.abort();
    this.#shown = new AbortController();
    const panel = left && right ? differencePanel(left, right, this.#focus, close, this.#shown.signal) : el("p", { class: "doubt" }, "This browser no longer keeps both reports.");
    this.#side_by_side.replaceChildren(panel);
    panel.querySelector("button")?.focus();
    panel.scrollIntoView({ block: "nearest" });
  }

  #table(groups: TargetColumns[], known: Estimated[]): HTMLElement {
    const columns = groups.flatMap(({ target, columns }) => columns.map((column) => ({ target, ...column })));
    const baseline = known.find(({ key }) => key === this.#baseline) ?? null;
    this.#sort_key = (row) => {
      const column = this.#sorting?.column ?? 0;
      if (column === 0) return row.file;
      if (column === this.#ownPlace(columns.length)) return this.#column && columnValueOf(this.#column, row.file);
      if (!("summary" in row)) return null;
      if (column <= FACTS.length) return FACTS[column - 1].key(row.summary.model);
      const result = resultOf(row.summary, columns[column - 1 - FACTS.length]);
      return result && isEstimate(result) ? result.value : null;
    };
    const scales = FACTS.map(({ key }) => format.columnScale(known.map(({ summary }) => Number(key(summary.model)) || 0)));
    this.#drawn_rows = new Map(this.#rows.map((row) => [row, this.#row(row, groups, scales, baseline)]));
    this.#rows_body.replaceChildren(...this.#ordered().flatMap((row) => this.#drawn_rows.get(row) ?? []));
    const head = el("thead");
    const drawHead = (): void => void keepingFocus(head, () => head.replaceChildren(...this.#headRows(groups, scales, () => (drawHead(), this.#arrange()))));
    drawHead();
    return el("table", { class: "comparison" }, head, this.#rows_body);
  }

  /** Rows that are shown: those that are pinned, then the others, both as they are sorted. */
  #ordered(): ComparedFile[] {
    const shown = [...this.#drawn_rows.keys()].filter((row) => this.#isShown(row));
    const sorted = this.#sorting ? sortBy(shown, this.#sorting, this.#sort_key) : shown;
    const isPinned = (row: ComparedFile): boolean => "key" in row && this.#pinned.has(row.key);
    return [...sorted.filter(isPinned), ...sorted.filter((row) => !isPinned(row))];
  }

  /** The column of one's own is the last one. */
  #ownPlace(n_columns: number): number {
    return this.#column === null ? -1 : 1 + FACTS.length + n_columns;
  }

  /** `sorted` is called once a click has changed the order. */
  #headRows(groups: TargetColumns[], scales: number[], sorted: () => void): HTMLElement[] {
    const sort = (column: number): void => {
      this.#sorting = sortingAfter(this.#sorting, column);
      sorted();
    };
    let column = 0;
    const head = (name: string, unit: string, attributes: Record<string, string>): HTMLElement => {
      const place = column++;
      return sortHead(name, unit, place, this.#sorting, { ...attributes, "data-column": String(place) }, sort);
    };
    const heads = [
      head("File", "", { class: "name" }),
      ...FACTS.map(({ name, unit }, i) => head(name, unit === "bytes" ? format.bytes(scales[i])[1] : unit === "count" ? format.count(scales[i])[1] : "", { class: "numeric wide-only" })),
      ...groups.flatMap(({ columns }) =>
        columns.map((metric, i) => {
          const [name, unit] = columnTitle(metric);
          return head(name, unit, { class: i === 0 ? "numeric first" : "numeric", title: columnMeaning(metric) });
        }),
      ),
      ...(this.#column ? [head(this.#column.name, "", { class: "numeric first" })] : []),
    ];
    const devices = groups.map(({ device, columns }) => el("th", { colspan: Math.max(1, columns.length), scope: "colgroup" }, device));
    return [el("tr", { class: "devices" }, el("td", {}), el("td", { class: "wide-only", colspan: FACTS.length }), ...devices, this.#column ? el("td", {}) : null), el("tr", {}, ...heads)];
  }

  #operatorsButton(key: string): HTMLElement {
    return el("button", { type: "button", class: "baseline", "data-operators": key, onclick: () => void this.#showOperators(key) }, "Operators side by side");
  }

  /** A number that can be typed over. */
  #ownCell(column: CustomColumn, file: string): HTMLElement {
    const input = el("input", {
      type: "number",
      step: "any",
      class: "own-value",
      "data-own": file,
      value: columnValueOf(column, file),
      "aria-label": `${column.name} of ${file}`,
      onchange: () => this.#setOwnValue(file, input.value === "" || !input.validity.valid ? null : input.valueAsNumber),
      onkeydown: ((event: KeyboardEvent) => void (event.key === "Enter" && focusBelow(input))) as EventListener,
    });
    return el("td", { class: "numeric first" }, input);
  }

  #row(row: ComparedFile, groups: TargetColumns[], scales: number[], baseline: Estimated | null): HTMLElement {
    if ("waiting" in row) return el("tr", { class: "waiting" }, nameCell(row.file), el("td", { class: "subtle", colspan: 100 }, "waiting…"));
    if ("failure" in row) return el("tr", {}, nameCell(row.file), el("td", { class: "failure", colspan: 100 }, asSentence(row.failure)));
    const { summary } = row;
    const open = el("button", { type: "button", class: "link", "data-open": row.key, onclick: () => this.#open(row) }, row.file);
    const is_baseline = row.key === this.#baseline;
    const mark = el(
      "button",
      { type: "button", class: "baseline", "data-baseline": row.key, "aria-pressed": String(is_baseline), onclick: () => this.#setBaseline(is_baseline ? null : row.key) },
      is_baseline ? "Baseline" : "Compare with this",
    );
    const is_pinned = this.#pinned.has(row.key);
    const pin = el("button", { type: "button", class: "pin", "data-pin": row.key, "aria-pressed": String(is_pinned), onclick: () => this.#pin(row.key) }, is_pinned ? "Pinned" : "Pin");
    return el(
      "tr",
      { class: is_baseline ? "is-baseline" : null },
      nameCell(open, el("span", { class: "narrow-only" }, factWords(summary.model)), mark, pin, baseline && !is_baseline ? this.#operatorsButton(row.key) : null),
      ...FACTS.map(({ text }, i) => el("td", { class: "numeric wide-only" }, text(summary.model, scales[i]))),
      ...groups.flatMap((group) => targetCells(summary, group, is_baseline ? null : baseline)),
      this.#column ? this.#ownCell(this.#column, row.file) : null,
    );
  }
}

/** A selector that finds the focused control again once it was drawn anew. */
function heldControl(element: HTMLElement): string | null {
  const held = document.activeElement;
  if (!(held instanceof HTMLElement) || !element.contains(held)) return null;
  if (held.id) return `#${held.id}`;
  const column = held.closest("th")?.getAttribute("data-column");
  if (column) return `th[data-column="${column}"] button`;
  for (const name of ["data-open", "data-baseline", "data-operators", "data-pin", "data-own"]) if (held.hasAttribute(name)) return `[${name}="${CSS.escape(held.getAttribute(name) ?? "")}"]`;
  return null;
}

/** The same cell of the next row that has one. */
function focusBelow(input: HTMLInputElement): void {
  const all = [...(input.closest("tbody")?.querySelectorAll<HTMLInputElement>(".own-value") ?? [])];
  all[all.indexOf(input) + 1]?.focus();
}

function nameCell(...name: (HTMLElement | string | null)[]): HTMLElement {
  return el("th", { scope: "row", class: "name" }, ...name);
}

function resultOf(summary: Summary, { target, metric }: { target: string; metric: string }): Result | undefined {
  return summary.results.find((result) => result.target === target && result.metric === metric);
}

/** In windows that have no room for a column each. */
function factWords({ file_bytes, precision, n_operators }: Summary["model"]): string {
  return [format.text(format.bytes(file_bytes)), precision === "none" ? "" : precision, format.plural(n_operators, "operator")].filter(Boolean).join(", ");
}

/** A cell a metric, or the reason across all of them where a target can estimate none. */
function targetCells(summary: Summary, { target, columns }: TargetColumns, baseline: Estimated | null): HTMLElement[] {
  const results = summary.results.filter((result) => result.target === target);
  const reason = results.find((result): result is Unavailable => !isEstimate(result));
  if (reason && !results.some(isEstimate)) {
    return [el("td", { class: "reason first", colspan: Math.max(1, columns.length), title: reason.unavailable }, `No estimate: ${reason.unavailable}`)];
  }
  return columns.map((column, i) => {
    const result = resultOf(summary, { target, metric: column.metric });
    const part = column.metric === "latency" ? onAcceleratorWords(summary, target) : null;
    const change = baseline && changeCell(result, resultOf(baseline.summary, { target, metric: column.metric }));
    const cell = estimateCell(result, column, part === null ? null : el("span", { class: "part-words", title: "The rest runs on a processor, whose time is in the latency alone." }, part), change);
    if (i === 0) cell.classList.add("first");
    const judgement = result && isEstimate(result) ? judgeEstimate(result, readBudget()) : null;
    if (judgement) {
      cell.classList.add(judgement.kind);
      cell.append(el("span", { class: "verdict" }, `${BUDGET_MARKS[judgement.kind]} ${judgement.words}`));
    }
    return cell;
  });
}

/** Reports that were kept have the numbers of the version that made them. */
function olderVersions(known: readonly Estimated[]): HTMLElement[] {
  const older = known.filter(({ summary }) => summary.litecast_version !== LITECAST_VERSION);
  if (older.length === 0) return [];
  const versions = [...new Set(older.map(({ summary }) => summary.litecast_version))].join(", ");
  return [el("p", { class: "partial older-version" }, `${older.length} of ${format.plural(known.length, "report")} ${older.length === 1 ? "has" : "have"} the estimates of LiteCast ${versions}, and this is ${LITECAST_VERSION}: open the files again for those of today.`)];
}

/** The meaning of the marks of differences, where a table has one. */
function markLegend(table: HTMLElement): HTMLElement[] {
  return table.querySelector(".difference.open") ? [el("p", { class: "subtle" }, DIFFERENCE_LEGEND)] : [];
}
