/** The sentence that a report opens with, and its mark. */
import { el } from "./dom.ts";
import { VERDICT_MARKS, type Verdict } from "./verdict.ts";

function markOf(kind: Verdict["kind"]): HTMLElement | null {
  const mark = VERDICT_MARKS[kind];
  return mark ? el("span", { class: "verdict-mark", "aria-hidden": "true" }, mark) : null;
}

/** The first sentence is set larger than those after it. */
export function verdictPart({ kind, sentences: [first, ...others] }: Verdict): HTMLElement {
  return el(
    "p",
    { class: `report-verdict verdict-${kind}`, "data-verdict": kind },
    markOf(kind),
    el("span", {}, el("strong", {}, first), ...(others.length > 0 ? [" ", el("span", { class: "verdict-more" }, others.join(" "))] : [])),
  );
}

/** One of several: the decisive sentence, which `open` opens. */
export function verdictItem({ kind, sentences: [first] }: Verdict, open: () => void): HTMLElement {
  return el("li", { class: `verdict-item verdict-${kind}`, "data-verdict": kind }, markOf(kind), el("button", { type: "button", class: "link", onclick: open }, first));
}
