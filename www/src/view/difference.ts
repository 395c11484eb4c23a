/** Two models side by side: matched operators, and what each costs more or less. */
import { type Measure, columnText, columnUnit } from "../costs.ts";
import { el } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { kindOf } from "../kinds.ts";
import { type Match, matchOperators } from "../match.ts";
import type { Report } from "../report.ts";
import { shapeText } from "./graph/scene.ts";

/** Rows are sorted by how much they change; further ones change less than any of these. */
const MAX_ROWS = 200;

interface Row extends Match {
  change: number;
}

/** `left` is the baseline. `close` is called when the person has seen enough. */
export function differencePanel(left: Report, right: Report, focus: Focus, close: () => void): HTMLElement {
  const target = focus.targetIn(left);
  const measure = focus.measureIn(left);
  const other = focus.measureIn(right);
  const head = el(
    "header",
    {},
    el("h3", {}, `${right.file} against ${left.file}`),
    el("button", { type: "button", onclick: close }, "Close"),
  );
  if (!measure || !other || measure.metric !== other.metric || measure.target !== other.target) {
    return el("section", { class: "side-by-side", "aria-label": "Operators side by side" }, head, el("p", {}, `There is no cost by operator that both have on ${target}.`));
  }
  const rows = rowsOf(left, right, measure, other);
  const n_matched = rows.filter((row) => row.left !== null && row.right !== null).length;
  const shown = rows.slice(0, MAX_ROWS);
  const words =
    `${measure.title}. ${format.plural(n_matched, "operator")} matched by output tensor, or by kind, shape and order; ` +
    `${rows.length - n_matched} in one model alone. Largest changes first${rows.length > shown.length ? `, ${shown.length} of ${rows.length.toLocaleString("en")}` : ""}.`;
  const names = ["Operator", "Output shape", `${left.file} ${columnUnit(measure)}`, `${right.file} ${columnUnit(measure)}`, `Change ${columnUnit(measure)}`];
  return el(
    "section",
    { class: "side-by-side", "aria-label": "Operators side by side" },
    head,
    el("p", { class: "subtle" }, words),
    el(
      "div",
      { class: "scroller", tabindex: 0, role: "region", "aria-label": "Operators side by side, scrollable" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...names.map((name, i) => el("th", { scope: "col", class: i > 1 ? "numeric" : null }, name)))),
        el("tbody", {}, ...shown.map((row) => rowElement(row, left, right, measure, other))),
      ),
    ),
  );
}

function rowsOf(left: Report, right: Report, measure: Measure, other: Measure): Row[] {
  const cost = ({ values }: Measure, index: number | null): number => (index === null ? 0 : values[index]);
  const rows = matchOperators(left, right).map((match) => ({ ...match, change: cost(other, match.right) - cost(measure, match.left) }));
  return rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}

function rowElement({ left: i, right: j, change }: Row, left: Report, right: Report, measure: Measure, other: Measure): HTMLElement {
  const [report, index] = j !== null ? [right, j] : [left, i ?? 0];
  const operator = report.operators[index];
  const in_unit = (value: number): string => columnText({ ...measure, total: 0 }, value);
  const sign = change > 0 ? "+" : change < 0 ? "\u2212" : "";
  const place = [i === null ? null : `#${i}`, j === null ? null : `#${j}`].map((words) => words ?? "–").join(" → ");
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("span", { class: `dot kind-${kindOf(operator)}` }), operator.name, el("span", { class: "ordinal" }, place)),
    el("td", {}, shapeText(report, operator.outputs[0] ?? -1)),
    el("td", { class: "numeric" }, i === null ? "not there" : columnText(measure, measure.values[i])),
    el("td", { class: "numeric" }, j === null ? "not there" : columnText({ ...other, scale: measure.scale }, other.values[j])),
    el("td", { class: `numeric difference ${change > 0 ? "more" : "less"}` }, change === 0 ? "0" : `${sign}${in_unit(Math.abs(change))}`),
  );
}
