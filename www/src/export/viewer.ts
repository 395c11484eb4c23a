/**
 * What makes an exported page interactive: it runs inside of that page, which holds the report as JSON, and asks nothing of
 * the network. Without it the page shows the target and the budget that it was saved with.
 */
import { BUDGET_FIELDS, type Budget, type BudgetField, budgetOf } from "../budget.ts";
import { el } from "../dom.ts";
import { type Report, groupByTarget } from "../report.ts";
import { verdictOn } from "../verdict.ts";
import { type Sorting, sortBy, sortHead, sortingAfter } from "../sorting.ts";
import { verdictPart } from "../verdict_elements.ts";
import { operatorColumns, operatorsTable } from "./operators_table.ts";

const report = JSON.parse(document.getElementById("litecast-data")?.textContent ?? "null") as Report;
const place = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;

let target = document.body.dataset["target"] ?? "";
let budget: Budget = budgetOf(JSON.parse(document.body.dataset["budget"] ?? "{}"));
let sorting: Sorting | null = null;
let selected: number | null = null;
let wanted = "";

function drawVerdict(): void {
  place("verdict").replaceChildren(verdictPart(verdictOn(report, target, budget)));
}

function drawOperators(): void {
  const columns = operatorColumns(report, target);
  const words = wanted.toLowerCase();
  const shown = report.operators.filter((operator) => words === "" || columns.slice(1, 3).some((column) => column.text(operator).toLowerCase().includes(words)));
  const { column = 0 } = sorting ?? {};
  const listed = sorting && columns[column] ? sortBy(shown, sorting, (operator) => columns[column].key(operator)) : shown;
  const sort = (i: number): void => {
    sorting = sortingAfter(sorting, i);
    drawOperators();
    place("operators").querySelectorAll<HTMLElement>("thead button")[i]?.focus();
  };
  const table = operatorsTable(listed, columns);
  const heads = columns.map(({ title, is_numeric }, i) => sortHead(title, "", i, sorting, { class: is_numeric ? "numeric" : "" }, sort));
  table.querySelector("thead tr")?.replaceChildren(...heads);
  place("operators").replaceChildren(table);
  place("n-shown").textContent = words === "" ? "" : `${shown.length} of ${report.operators.length} operators`;
  mark();
}

/** The same operator in table and graph. */
function mark(): void {
  for (const row of document.querySelectorAll<HTMLElement>("tr[data-operator]")) row.toggleAttribute("data-selected", Number(row.dataset["operator"]) === selected);
  for (const box of document.querySelectorAll<SVGElement>("[data-operators]")) box.toggleAttribute("data-selected", selected !== null && box.dataset["operators"]?.split(" ").includes(String(selected)));
}

function select(event: Event): void {
  const element = event.target as Element;
  const row = element.closest<HTMLElement>("tr[data-operator]");
  const box = element.closest<SVGElement>("[data-operators]");
  if (!row && !box) return;
  const index = Number(row ? row.dataset["operator"] : box?.dataset["operators"]?.split(" ")[0]);
  selected = index === selected ? null : index;
  mark();
  const other = row ? "[data-operators][data-selected]" : "tr[data-selected]";
  document.querySelector(other)?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** Arrows go through the rows that are shown. */
function step(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const rows = [...place("operators").querySelectorAll<HTMLElement>("tr[data-operator]")];
  const at = rows.findIndex(({ dataset }) => Number(dataset["operator"]) === selected);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))];
  if (!next) return;
  event.preventDefault();
  selected = Number(next.dataset["operator"]);
  mark();
  next.scrollIntoView({ block: "nearest" });
}

function controls(): HTMLElement {
  const choice = el("select", { id: "target", onchange: () => ((target = choice.value), drawVerdict(), drawOperators()) });
  choice.append(...[...groupByTarget(report.results)].map(([id, [{ device }]]) => el("option", { value: id, selected: id === target }, device || id)));
  const field = ({ name, label, unit }: BudgetField): HTMLElement => {
    const input = el("input", { id: `budget-${label.toLowerCase()}`, type: "number", min: 0, step: "any", value: budget[name], oninput: () => ((budget = budgetOf({ ...budget, [name]: input.valueAsNumber })), drawVerdict()) });
    return el("label", {}, `${label} `, input, ` ${unit} `);
  };
  return el("p", { class: "controls" }, el("label", {}, "Target ", choice), " ", ...BUDGET_FIELDS.map(field));
}

const find = el("input", { id: "find", type: "search", "aria-label": "Find operators", placeholder: "Find operators", oninput: () => ((wanted = find.value), drawOperators()) });
place("controls").replaceChildren(controls());
place("find-place").replaceChildren(el("p", { class: "controls" }, find, " ", el("span", { id: "n-shown", class: "subtle", role: "status" })));
document.addEventListener("click", select);
place("operators").addEventListener("keydown", step);
drawVerdict();
drawOperators();
