/** Where the cost is: the costliest operators, and the sums by kind. */
import { type Measure, costText, shareText } from "../costs.ts";
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { KIND_NAMES, costsByKind, kindOf } from "../kinds.ts";
import type { Report } from "../report.ts";
import type { Linked } from "../graph/graph.ts";
import { markedEvidence } from "../words.ts";

const N_COSTLIEST = 10;

/** The operators with the largest parts of the chosen measure. */
export function costliestPanel(report: Report, { selection, focus }: Linked, signal: AbortSignal): HTMLElement {
  const panel = el("section", { class: "costliest panel", "aria-label": "Where the cost is" });
  const draw = (): void => {
    const measure = focus.measureIn(report);
    const held = panel.contains(document.activeElement) ? document.activeElement?.getAttribute("data-operator") : null;
    panel.replaceChildren(...(measure ? [...operatorList(report, measure, selection.index, (index) => selection.select(index, "costliest")), kindTable(report, measure)] : []));
    if (held) panel.querySelector<HTMLElement>(`button[data-operator="${held}"]`)?.focus();
  };
  selection.onChange(draw);
  focus.onChange(draw, signal);
  draw();
  return panel;
}

function operatorList(report: Report, measure: Measure, selected: number | null, select: (index: number) => void): HTMLElement[] {
  const places = measure.values.map((_, index) => index).sort((a, b) => measure.values[b] - measure.values[a] || a - b);
  const costliest = places.slice(0, N_COSTLIEST);
  const most = measure.values[costliest[0]] || 1;
  const items = costliest.map((index) => {
    const { name } = report.operators[index];
    const value = measure.values[index];
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "bar-row", "data-operator": index, "aria-pressed": String(index === selected), onclick: () => select(index) },
        bar(value / most),
        el("span", { class: `dot kind-${kindOf(report.operators[index])}` }),
        el("span", { class: "bar-name" }, name),
        el("span", { class: "ordinal" }, `#${index}`),
        el("span", { class: "bar-value" }, costText(measure, value)),
        el("span", { class: "bar-share" }, shareText(measure, value)),
      ),
    );
  });
  const sum = costliest.reduce((all, index) => all + measure.values[index], 0);
  const share = measure.is_sum && measure.total > 0 && costliest.length > 1 ? `${format.percent(Math.min(100, (100 * sum) / measure.total))} of all` : "";
  return [
    el("h2", {}, costliest.length === N_COSTLIEST ? "Ten costliest operators" : "Costliest operators", el("span", { class: "subtle" }, share)),
    el("ol", { class: `plain bars${evidenceClass(measure)}`, title: markedEvidence(measure) }, ...items),
  ];
}

/** Also the legend of the kinds. */
function kindTable(report: Report, measure: Measure): HTMLElement {
  const rows = costsByKind(report.operators, measure.values, measure.is_sum);
  const most = rows[0]?.[1].cost || 1;
  const items = rows.map(([kind, { n, cost }]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, bar(cost / most), el("span", { class: `dot kind-${kind}` }), KIND_NAMES[kind]),
      el("td", { class: "numeric" }, n.toLocaleString("en")),
      el("td", { class: "numeric" }, shareText(measure, cost) || costText(measure, cost)),
    ),
  );
  const head = ["Kind", "Operators", measure.name].map((name, i) => el("th", { scope: "col", class: i === 0 ? null : "numeric" }, name));
  return el("table", { class: `kinds${evidenceClass(measure)}` }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...items));
}

/** The texture of its bars. */
function evidenceClass({ evidence }: Measure): string {
  return evidence ? ` evidence-${evidence}` : "";
}

function bar(share: number): HTMLElement {
  const element = el("span", { class: "bar-fill", "aria-hidden": "true" });
  element.style.width = `${Math.max(0, Math.min(100, 100 * share)).toFixed(1)}%`;
  return element;
}
