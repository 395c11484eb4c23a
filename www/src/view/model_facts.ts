/** What the file is: facts that need no estimate. */
import { el, quantity, term } from "../dom.ts";
import * as format from "../format.ts";
import type { Report, Tensor } from "../report.ts";
import type { Selection } from "../selection.ts";

/** Inputs or outputs listed one by one; recurrent models have hundreds of states. */
const MAX_LISTED_TENSORS = 8;

/** Why there is no arena. */
function noArena({ fits }: Report): string {
  return fits?.boards.find(({ reason }) => reason !== undefined)?.reason ?? "not known";
}

/** The exact facts of a model. */
export function modelFacts(report: Report, selection: Selection): HTMLElement {
  const { model } = report;
  return el(
    "div",
    { class: "facts" },
    el("h2", {}, "Model"),
    el(
      "dl",
      { class: "terms" },
      term("Operators", model.n_operators.toLocaleString("en")),
      term("MACs", quantity(format.count(model.macs))),
      term("Parameters", quantity(format.count(model.parameters))),
      term("Weights", quantity(format.bytes(model.weight_bytes)), el("span", { class: "subtle" }, weightWords(report))),
      term("Tensor arena", model.arena_bytes === null ? noArena(report) : quantity(format.bytes(model.arena_bytes))),
      term("of which activations", model.activation_bytes === null ? "not known" : quantity(format.bytes(model.activation_bytes))),
      peakTerm(report, selection),
      term("Precision", model.precision === "none" ? "none: no operator multiplies" : model.precision),
      term("Tensors", model.n_tensors.toLocaleString("en")),
      ...tensorTerms(report, model.inputs, "Input"),
      ...tensorTerms(report, model.outputs, "Output"),
      model.n_subgraphs > 1 ? term("Subgraphs", subgraphList(report)) : null,
      model.signatures.length > 0 ? term("Signatures", model.signatures.join(", ")) : null,
      model.description ? term("Description", model.description) : null,
    ),
  );
}

/** Why operators or parameters add up to something else than the weights. */
function weightWords({ model, operators }: Report): string {
  const sum = operators.reduce((bytes, { weight_bytes }) => bytes + weight_bytes, 0);
  const shared = sum > model.weight_bytes ? ` Constants that operators share count once: by operator they add up to ${format.text(format.bytes(sum))}.` : "";
  return model.weight_bytes > 4 * model.parameters ? `${shared} The file says how to fill some constants, which are no parameters.` : shared;
}

function peakTerm(report: Report, selection: Selection): HTMLElement | null {
  const peak = report.model.peak_operator;
  if (peak === null || !report.operators[peak]) return null;
  const show = (): void => selection.select(peak, "facts");
  return term("Most activations at", el("button", { type: "button", class: "link", onclick: show }, `${report.operators[peak].name} #${peak}`));
}

function tensorTerms(report: Report, indices: number[], role: string): HTMLElement[] {
  const terms = indices.slice(0, MAX_LISTED_TENSORS).flatMap((index) => {
    const tensor = report.tensors[index];
    return tensor ? [term(role, `${tensor.type} ${format.shape(tensor.shape)}`, el("span", { class: "subtle" }, dynamicWords(tensor)))] : [];
  });
  const rest = indices.length - MAX_LISTED_TENSORS;
  return rest > 0 ? [...terms, term("", `and ${format.plural(rest, role.toLowerCase())} more`)] : terms;
}

function subgraphList(report: Report): HTMLElement {
  const items = report.model.subgraphs.map(({ name, n_operators }, i) =>
    el("li", {}, `${name || `subgraph ${i}`}: ${format.plural(n_operators, "operator")}`),
  );
  return el("ul", { class: "plain" }, ...items);
}

/** Which dimensions the file leaves open, and what they were counted as. */
export function dynamicWords({ shape, shape_signature }: Tensor): string {
  const open = (shape_signature ?? []).flatMap((size, i) => (size < 0 ? [`dimension ${i} counted as ${shape[i]}`] : []));
  return open.length === 0 ? "" : ` · dynamic: ${open.join(", ")}`;
}
