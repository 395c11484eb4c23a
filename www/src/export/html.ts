/** The report as one page that opens from disk: no requests, text as text, and one script, which its own policy names. */
import { readBudget } from "../budget.ts";
import { el } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { GraphView } from "../graph/graph.ts";
import { operatorsLeftBy } from "../processor_split.ts";
import { type Report, type Result, groupByTarget, isEstimate } from "../report.ts";
import { AS_IT_IS, scenarioWords } from "../scenario.ts";
import { verdictOn } from "../verdict.ts";
import { verdictPart } from "../verdict_elements.ts";
import { doubtSentence, doubtWords, evidenceLegend, headlineDoubt, inMetricOrder, markedEvidence, metricName, metricNameOf, provenanceWords, asSentence, withDeviceNames } from "../words.ts";
import { svgOf } from "./drawing.ts";
import { operatorColumns, operatorsTable } from "./operators_table.ts";

/** A drawing of more boxes is large and shows nothing. */
const MAX_DRAWN_OPERATORS = 2000;

const STYLE = `
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { max-width: 1100px; margin: 24px auto; padding: 0 16px; }
table { border-collapse: collapse; margin: 8px 0 24px; } th, td { padding: 3px 10px; text-align: left; border-bottom: 1px solid #8884; vertical-align: top; }
.numeric { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.report-verdict { display: flex; gap: 10px; font-size: 1.15em; } .verdict-mark { font-weight: 700; } .verdict-meets .verdict-mark { color: light-dark(#25702f, #74c87c); } .verdict-doubtful .verdict-mark { color: light-dark(#9a5200, #f0b35a); } .verdict-fails .verdict-mark { color: light-dark(#b3261e, #ff8a80); }
.controls label { white-space: nowrap; margin-right: 12px; } .controls input[type="number"] { width: 80px; } thead button { all: unset; cursor: pointer; } thead button:focus-visible { outline: 2px solid; }
[aria-sort="ascending"] > button::after { content: " ↑"; } [aria-sort="descending"] > button::after { content: " ↓"; }
svg text { pointer-events: none; } tr[data-operator], [data-operators] { cursor: pointer; } tr[data-selected] { background: #2459d833; } rect[data-selected] { stroke: #c2410c; stroke-width: 4; stroke-dasharray: none; }
#operators { max-height: 80vh; } #operators thead th { position: sticky; top: 0; background: Canvas; }
@media print { .controls { display: none; } #operators { max-height: none; } }
.subtle { opacity: 0.75; } .wide { overflow: auto; } svg { max-width: 100%; height: auto; }
`;

function scenarioOf({ batch, what_if }: Report): string[] {
  return scenarioWords({ ...AS_IT_IS, batch, ...what_if });
}

/** The report as one HTML document that stays interactive: another target or budget, sorted and found operators. */
export async function htmlReport(report: Report, graph: GraphView | null, focus: Focus): Promise<string> {
  const response = await fetch(`viewer.js${VERSION}`);
  const script = response.ok ? await response.text() : "";
  const target = focus.targetIn(report);
  const page = document.implementation.createHTMLDocument(`${report.file} · LiteCast`);
  page.documentElement.lang = "en";
  const policy = el("meta", { "http-equiv": "Content-Security-Policy", content: `default-src 'none'; style-src 'unsafe-inline'; script-src '${await hashOf(script)}'` });
  page.head.prepend(el("meta", { charset: "utf-8" }), policy);
  page.head.append(el("meta", { name: "viewport", content: "width=device-width" }));
  page.body.append(
    el("h1", {}, report.file),
    el("p", { class: "subtle" }, `Estimated by LiteCast on ${new Date().toISOString().slice(0, 10)}${scenarioOf(report).map((words) => `, ${words}`).join("")}.`),
    el("div", { id: "controls" }),
    el("div", { id: "verdict" }, verdictPart(verdictOn(report, target, readBudget()))),
    factsTable(report),
    ...notes(report, "warning", "Warnings"),
    el("h2", {}, "Estimates"),
    estimatesTable(report),
    el("p", { class: "subtle" }, `What numbers rest on: ${evidenceLegend()}`),
    ...notes(report, "info", "Notes"),
    ...drawing(report, graph, focus),
    el("h2", {}, "Operators"),
    el("div", { id: "find-place" }),
    el("div", { class: "wide", id: "operators", tabindex: 0, role: "region", "aria-label": "Operators: arrows select one" }, operatorsTable(report.operators, operatorColumns(report, target))),
  );
  page.body.dataset["target"] = target;
  page.body.dataset["budget"] = JSON.stringify(readBudget());
  // The page's own policy allows no inline style, not even in a document that is never shown.
  const styled = page.documentElement.outerHTML.replace("</head>", () => `<style>${STYLE}</style></head>`);
  const held = `<script type="application/json" id="litecast-data">${JSON.stringify(report).replaceAll("<", "\\u003c")}</script><script>${script}</script>`;
  return `<!doctype html>\n${styled.replace(/<\/body><\/html>$/, () => `${held}</body></html>`)}\n`;
}

/** As a content security policy names a script. */
async function hashOf(script: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script)));
  return `sha256-${btoa(String.fromCharCode(...digest))}`;
}

function table(head: string[], rows: HTMLElement[]): HTMLElement {
  return el("table", {}, el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...rows));
}

function factsTable({ model }: Report): HTMLElement {
  const facts: [string, string][] = [
    ["Size", format.text(format.bytes(model.file_bytes))],
    ["Precision", model.precision],
    ["Operators", model.n_operators.toLocaleString("en")],
    ["MACs", format.text(format.count(model.macs))],
    ["Parameters", format.text(format.count(model.parameters))],
    ["Tensor arena", model.arena_bytes === null ? "not known" : format.text(format.bytes(model.arena_bytes))],
  ];
  return el("table", {}, ...facts.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "numeric" }, value))));
}

function estimatesTable(report: Report): HTMLElement {
  const row = (result: Result, i: number, n: number): HTMLElement => {
    const device = i === 0 ? el("th", { scope: "rowgroup", rowspan: n }, result.device || result.target, result.estimated_as ? `, as ${result.estimated_as}` : "") : null;
    if (!isEstimate(result)) return el("tr", {}, device, el("td", {}, metricName(result.metric)), el("td", { colspan: 4 }, `No estimate: ${result.unavailable}`));
    return el(
      "tr",
      {},
      device,
      el("td", {}, metricNameOf(result)),
      el("td", { class: "numeric" }, format.text(format.measure(result.value, result.unit))),
      el("td", { class: "numeric" }, doubtWords(result)),
      el("td", {}, [markedEvidence(result), headlineDoubt(result)].filter(Boolean).join(", ")),
      el("td", { class: "subtle" }, el("details", {}, el("summary", {}, `${provenanceWords(result.provenance)}.`), `${doubtSentence(result)}. ${result.provenance.configuration}`)),
    );
  };
  const rows = [...groupByTarget(report.results).values()].flatMap((results) => inMetricOrder(results).map((result, i) => row(result, i, results.length)));
  return el("div", { class: "wide" }, table(["Target", "Metric", "Estimate", "Interval", "Evidence", "Source"], rows));
}

function notes({ diagnostics, results }: Report, of_severity: "warning" | "info", title: string): HTMLElement[] {
  const shown = diagnostics.filter(({ severity }) => severity === of_severity);
  if (shown.length === 0) return [];
  const items = [...new Set(shown.map(({ message }) => asSentence(withDeviceNames(message, results))))];
  return [el("h2", {}, title), el("ul", {}, ...items.map((item) => el("li", {}, item)))];
}

function drawing(report: Report, graph: GraphView | null, focus: Focus): HTMLElement[] {
  const scene = graph?.scene();
  if (!graph || !scene || report.operators.length > MAX_DRAWN_OPERATORS) return [];
  const figure = el("figure", {}, el("figcaption", { class: "subtle" }, `Colour: ${focus.measureIn(report)?.title ?? "none"}`));
  figure.prepend(svgOf(report, scene, graph.shares(), operatorsLeftBy(report, focus.targetIn(report))));
  return [el("h2", {}, "Graph"), figure];
}
