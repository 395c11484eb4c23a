/** The side panel: the selected operator in full, or the model where none is selected. */
import { type Measure, costText, estimatesAndProfiles, latenciesOf, shareText } from "../costs.ts";
import { el, keepingFocus, quantity, term } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { KIND_NAMES, kindOf } from "../kinds.ts";
import type { Operator, Quantization, Report, Tensor } from "../report.ts";
import type { Selection } from "../selection.ts";
import { dynamicWords, modelFacts } from "./model_facts.ts";
import type { Linked } from "../graph/graph.ts";

/** Facts and costs of the chosen operator. */
export function inspectorPanel(report: Report, { selection, focus }: Linked, signal: AbortSignal): HTMLElement {
  const panel = el("aside", { class: "inspector panel", "aria-label": "Details", tabindex: -1 });
  const show = (index: number | null): void => {
    const operator = index === null ? undefined : report.operators[index];
    // Stepping through the operators with the keyboard goes on where it was.
    void keepingFocus(panel, () => {
      panel.replaceChildren(operator ? operatorDetails(report, operator, selection, focus) : modelFacts(report, selection));
      panel.scrollTop = 0;
    });
  };
  show(selection.index);
  selection.onChange(show);
  focus.onChange(() => show(selection.index), signal);
  return panel;
}

function operatorDetails(report: Report, operator: Operator, selection: Selection, focus: Focus): HTMLElement {
  const kind = kindOf(operator);
  return el(
    "div",
    { class: "operator-details", "data-operator": operator.index },
    el(
      "div",
      { class: "inspector-bar" },
      el("button", { type: "button", class: "link", onclick: () => selection.select(null, "inspector") }, "← Model"),
      stepButtons(report, operator, selection),
    ),
    el("h2", {}, el("span", { class: `dot kind-${kind}` }), operator.name, el("span", { class: "ordinal" }, `#${operator.index}`)),
    el("p", { class: "subtle" }, `${operator.custom ? "Custom operator" : KIND_NAMES[kind]} · number ${operator.operator_idx} in the file`),
    ...operatorEstimates(report, operator, focus.targetIn(report)),
    operatorCosts(report, operator),
    attributeList(operator),
    tensorList("Inputs", operator.inputs, report),
    tensorList("Outputs", operator.outputs, report),
  );
}

function stepButtons(report: Report, { index }: Operator, selection: Selection): HTMLElement {
  const step = (label: string, words: string, to: number): HTMLElement =>
    el(
      "button",
      { type: "button", "aria-label": words, title: words, disabled: !report.operators[to], onclick: () => selection.select(to, "inspector") },
      label,
    );
  return el("span", { class: "steps" }, step("‹", "Previous operator", index - 1), step("›", "Next operator", index + 1));
}

function operatorCosts(report: Report, operator: Operator): HTMLElement {
  const share = report.model.macs > 0 ? ` (${format.percent((100 * operator.macs) / report.model.macs)})` : "";
  return el(
    "dl",
    { class: "terms" },
    operator.macs > 0 ? term("MACs", quantity(format.count(operator.macs)), el("span", { class: "subtle" }, share)) : null,
    operator.parameters > 0 ? term("Parameters", quantity(format.count(operator.parameters))) : null,
    operator.weight_bytes > 0 ? term("Weights", quantity(format.bytes(operator.weight_bytes))) : null,
    term("Reads", quantity(format.bytes(operator.input_bytes))),
    term("Writes", quantity(format.bytes(operator.output_bytes))),
    term("Alive while it runs", operator.live_bytes === null ? "not known" : quantity(format.bytes(operator.live_bytes))),
  );
}

/** On the chosen target in full, then the latency on the others. */
function operatorEstimates(report: Report, { index }: Operator, target: string): HTMLElement[] {
  const device = (id: string | null): string => report.results.find((result) => result.target === id)?.device || (id ?? "");
  const row = (measure: Measure, name: string): HTMLElement => {
    const share = shareText(measure, measure.values[index]);
    const words = [costText(measure, measure.values[index]), el("span", { class: "subtle" }, share && ` (${share})`)];
    return el("div", { class: "term", title: measure.title }, el("dt", {}, name), el("dd", {}, ...words));
  };
  const section = (title: string, rows: HTMLElement[]): HTMLElement[] =>
    rows.length === 0 ? [] : [el("section", {}, el("h3", {}, title), el("dl", { class: "terms" }, ...rows))];
  const measures = estimatesAndProfiles(report);
  const here = measures.filter((measure) => measure.target === target);
  const elsewhere = latenciesOf(report).filter((measure) => measure.target !== target);
  return [
    ...section(device(target), here.map((measure) => row(measure, measure.name))),
    ...section("Latency on other targets", elsewhere.map((measure) => row(measure, device(measure.target)))),
  ];
}

function attributeList({ attributes }: Operator): HTMLElement | null {
  const entries = Object.entries(attributes ?? {});
  if (entries.length === 0) return null;
  const terms = entries.map(([name, value]) => term(name, attributeText(value)));
  return el("section", {}, el("h3", {}, "Attributes"), el("dl", { class: "terms mono" }, ...terms));
}

function attributeText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.join(", ")}]`;
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function tensorList(title: string, indices: (number | null)[], report: Report): HTMLElement | null {
  if (indices.length === 0) return null;
  const items = indices.map((index) => {
    const tensor = index === null ? undefined : report.tensors[index];
    return el("li", { class: "tensor" }, ...(tensor ? tensorLines(tensor) : [el("span", { class: "subtle" }, "left out (optional)")]));
  });
  return el("section", {}, el("h3", {}, title), el("ol", { class: "plain tensors" }, ...items));
}

function tensorLines(tensor: Tensor): HTMLElement[] {
  const size = tensor.bytes === null ? "size not known" : format.text(format.bytes(tensor.bytes));
  const role = tensor.constant ? " · constant" : tensor.variable ? " · variable" : "";
  const lines = [
    el("span", { class: "tensor-name", title: tensor.name }, el("bdi", {}, tensor.name || `tensor ${tensor.index}`)),
    el("span", { class: "mono" }, `${tensor.type} ${format.shape(tensor.shape)}`),
    el("span", { class: "subtle" }, `${size}${role}${dynamicWords(tensor)}`),
  ];
  if (tensor.quantization) lines.push(el("span", { class: "subtle mono" }, quantizationText(tensor.quantization)));
  return lines;
}

function quantizationText({ scale, zero_point, per_channel }: Quantization): string {
  if (per_channel !== null) return `${per_channel} scales, one a channel`;
  if (scale.length === 0) return "no scale";
  return `real = ${Number(scale[0].toPrecision(5))} × (q − ${zero_point[0] ?? 0})`;
}
