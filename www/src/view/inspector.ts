/** The side panel: the selected operator in full, or the model where none is selected. */
import { type Measure, costText, isNegligible, latenciesOf } from "../costs.ts";
import { el, quantity, term } from "../dom.ts";
import * as format from "../format.ts";
import { KIND_NAMES, kindOf } from "../kinds.ts";
import type { Operator, Quantization, Report, Tensor } from "../report.ts";
import type { Selection } from "../selection.ts";
import { modelFacts } from "./facts.ts";

export function inspector(report: Report, selection: Selection): HTMLElement {
  const panel = el("aside", { class: "inspector panel", "aria-label": "Details", tabindex: -1 });
  const show = (index: number | null): void => {
    const operator = index === null ? undefined : report.operators[index];
    panel.replaceChildren(operator ? operatorDetails(report, operator, selection) : modelFacts(report, selection));
    panel.scrollTop = 0;
  };
  show(selection.index);
  selection.onChange(show);
  return panel;
}

function operatorDetails(report: Report, operator: Operator, selection: Selection): HTMLElement {
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
    operatorCosts(report, operator),
    operatorLatencies(latenciesOf(report), operator),
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

function operatorLatencies(latencies: Measure[], { index }: Operator): HTMLElement | null {
  if (latencies.length === 0) return null;
  const row = (latency: Measure): HTMLElement => {
    const value = latency.values[index];
    const share = isNegligible(latency, value) ? "" : ` (${format.percent((100 * value) / latency.total)})`;
    const words = [costText(latency, value), el("span", { class: "subtle" }, share)];
    return el("div", { class: "term", title: latency.title }, el("dt", {}, latency.name), el("dd", {}, ...words));
  };
  return el("section", {}, el("h3", {}, "Estimated latency"), el("dl", { class: "terms" }, ...latencies.map(row)));
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
    el("span", { class: "mono" }, `${tensor.type} ${format.shape(tensor.shape_signature ?? tensor.shape)}`),
    el("span", { class: "subtle" }, `${size}${role}`),
  ];
  if (tensor.quantization) lines.push(el("span", { class: "subtle mono" }, quantizationText(tensor.quantization)));
  return lines;
}

function quantizationText({ scale, zero_point, per_channel }: Quantization): string {
  if (per_channel !== null) return `${per_channel} scales, one a channel`;
  if (scale.length === 0) return "no scale";
  return `real = ${Number(scale[0].toPrecision(5))} × (q − ${zero_point[0] ?? 0})`;
}
