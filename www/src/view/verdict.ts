/** The sentence that a report opens with, and its mark. */
import { el } from "../dom.ts";
import { VERDICT_MARKS, type Verdict } from "../verdict.ts";

/** The first sentence is set larger than those after it. */
export function verdictPart({ kind, sentences: [first, ...others] }: Verdict): HTMLElement {
  const mark = VERDICT_MARKS[kind];
  return el(
    "p",
    { class: `report-verdict verdict-${kind}`, "data-verdict": kind },
    mark ? el("span", { class: "verdict-mark", "aria-hidden": "true" }, mark) : null,
    el("span", {}, el("strong", {}, first), ...(others.length > 0 ? [" ", el("span", { class: "verdict-more" }, others.join(" "))] : [])),
  );
}
