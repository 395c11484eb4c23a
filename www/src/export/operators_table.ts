/** The operators of an exported report with what each costs on a target. */
import { type Measure, columnText, columnUnit, estimatesAndProfiles } from "../costs.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { operatorsLeftBy } from "../processor_split.ts";
import type { Operator, Report } from "../report.ts";

/** A column: what a cell shows, and what rows are sorted by. */
export interface OperatorColumn {
  title: string;
  is_numeric: boolean;
  text(operator: Operator): string;
  key(operator: Operator): number | string;
}

/** Columns of the operators on a target. */
export function operatorColumns(report: Report, target: string): OperatorColumn[] {
  const left = operatorsLeftBy(report, target);
  const measures = estimatesAndProfiles(report).filter((measure) => measure.target === target);
  const outputText = ({ outputs }: Operator): string => {
    const output = report.tensors[outputs[0] ?? -1];
    return output ? `${format.shape(output.shape)} ${output.type}` : "";
  };
  const nameText = ({ index, name }: Operator): string => (left.has(index) ? `${name} (on the CPU: ${left.get(index)})` : name);
  const measured = (measure: Measure): OperatorColumn => ({
    title: `${measure.title}, ${columnUnit(measure)}`,
    is_numeric: true,
    text: ({ index }) => columnText(measure, measure.values[index]),
    key: ({ index }) => measure.values[index],
  });
  return [
    { title: "#", is_numeric: true, text: ({ index }) => String(index), key: ({ index }) => index },
    { title: "Operator", is_numeric: false, text: nameText, key: ({ name }) => name },
    { title: "Output", is_numeric: false, text: outputText, key: outputText },
    { title: "MACs", is_numeric: true, text: ({ macs }) => format.text(format.count(macs)), key: ({ macs }) => macs },
    ...measures.map(measured),
  ];
}

/** A row for each of `operators`; `head` makes the contents of a column's head. */
export function operatorsTable(operators: readonly Operator[], columns: readonly OperatorColumn[], head: (column: OperatorColumn, i: number) => Node | string = ({ title }) => title): HTMLElement {
  const kind = ({ is_numeric }: OperatorColumn): string | null => (is_numeric ? "numeric" : null);
  const heads = columns.map((column, i) => el("th", { scope: "col", class: kind(column) }, head(column, i)));
  const rows = operators.map((operator) => el("tr", { "data-operator": operator.index }, ...columns.map((column) => el("td", { class: kind(column) }, column.text(operator)))));
  return el("table", { class: "operators" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
}
