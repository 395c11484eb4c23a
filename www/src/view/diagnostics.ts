/** Doubts and notes about the numbers, in words; those about one operator lead to it. */
import { el } from "../dom.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import type { Diagnostic, Report } from "../report.ts";
import type { Selection } from "../selection.ts";
import { asSentence, withDeviceNames } from "../words.ts";
import { groupOf } from "../targets.ts";

/** More of one code than this are counted, not listed. */
const MAX_OF_ONE_CODE = 4;
/** More lines than this are folded away, so that the graph stays on the first screen. */
const MAX_OPEN_LINES = 3;

/** Drawn again when the report has notes of more targets. */
export function diagnosticList(report: Report, selection: Selection, focus: Focus, signal: AbortSignal): HTMLElement {
  const panel = el("section", { class: "diagnostics-panel", "aria-label": "Notes and warnings" });
  let drawn: Diagnostic[] | null = null;
  let chosen = "";
  const draw = (): void => {
    const target = focus.targetIn(report);
    if (report.diagnostics === drawn && target === chosen) return;
    [drawn, chosen] = [report.diagnostics, target];
    panel.replaceChildren(...lists(report, target, selection));
    panel.hidden = panel.textContent === "";
  };
  focus.onChange(draw, signal);
  draw();
  return panel;
}

function lists(report: Report, chosen: string, selection: Selection): HTMLElement[] {
  const position = new Map(report.operators.map(({ operator_idx, index }) => [operator_idx, index]));
  const groups = new Map<string, Diagnostic[]>();
  for (const diagnostic of distinct(report, chosen)) groups.set(diagnostic.code, [...(groups.get(diagnostic.code) ?? []), diagnostic]);
  const items = [...groups.values()]
    .sort((a, b) => rank(a[0]) - rank(b[0]))
    .flatMap((group) => [
      ...group.slice(0, MAX_OF_ONE_CODE).map((diagnostic) => item(diagnostic, position, selection)),
      ...(group.length > MAX_OF_ONE_CODE ? [more(group)] : []),
    ]);
  const list = (part: HTMLElement[]): HTMLElement => el("ul", { class: "diagnostics plain" }, ...part);
  const n_open = items.length <= MAX_OPEN_LINES ? items.length : MAX_OPEN_LINES - 1;
  const rest = items.slice(n_open);
  return [list(items.slice(0, n_open)), ...(rest.length > 0 ? [el("details", {}, el("summary", {}, format.plural(rest.length, "more note")), list(rest))] : [])];
}

/** Codes of notes that explain the chosen target's numbers, or say how to run the model there. */
const EXPLANATIONS = new Set(["mig-profile", "edge-tpu-streaming"]);
/** What a target leaves to a processor is shown by itself. */
const SHOWN_AS_PARTS = "cpu-fallback";

/** Whether it stands with the answer for the chosen target, and nowhere else. */
export function isWithAnswer({ targets, severity, code }: Diagnostic, chosen: string): boolean {
  return targets?.includes(chosen) === true && code !== SHOWN_AS_PARTS && (severity === "warning" || EXPLANATIONS.has(code));
}

/** About targets none of which the report lists: they were forgotten, or asked for by themselves. */
function isOfOthers({ targets }: Diagnostic, shown: ReadonlySet<string>): boolean {
  return targets !== undefined && !targets.some((target) => shown.has(target) && groupOf(target) === null);
}

/** Each message once, with how often it stands there, and targets by the names of their devices. */
function distinct({ diagnostics, results }: Report, chosen: string): Diagnostic[] {
  const times = new Map<string, { first: Diagnostic; n: number }>();
  const shown = new Set(results.map(({ target }) => target));
  const keyOf = ({ code, message }: Diagnostic): string => `${code} ${withoutPlace(message)}`;
  // The same doubt about another target, for example about the processor beside both, is not said twice.
  const answered = new Set(diagnostics.filter((diagnostic) => isWithAnswer(diagnostic, chosen)).map(keyOf));
  for (const diagnostic of diagnostics.filter((diagnostic) => !isOfOthers(diagnostic, shown) && !answered.has(keyOf(diagnostic)))) {
    const key = keyOf(diagnostic);
    const known = times.get(key);
    if (known) known.n += 1;
    else times.set(key, { first: diagnostic, n: 1 });
  }
  return [...times.values()].map(({ first, n }) => {
    const message = withDeviceNames(first.message, results);
    return { ...first, message: n > 1 ? `${message} (and ${n - 1} more times, elsewhere)` : message };
  });
}

/** A message without the tensor or operator that it is about: what stands in backquotes or is numbered. */
function withoutPlace(message: string): string {
  return message.replace(/`[^`]*`/g, "").replace(/\b(tensor|operator|subgraph|buffer) #?\d+/g, "");
}

function rank({ severity }: Diagnostic): number {
  return severity === "warning" ? 0 : 1;
}

function item(diagnostic: Diagnostic, position: Map<number, number>, selection: Selection): HTMLElement {
  const operator = diagnostic.operator_idx === undefined ? undefined : position.get(diagnostic.operator_idx);
  return el(
    "li",
    { class: `diagnostic ${diagnostic.severity}`, "data-code": diagnostic.code },
    el("span", { class: "severity" }, diagnostic.severity === "warning" ? "Warning" : "Note"),
    el("span", {}, asSentence(diagnostic.message)),
    operator === undefined
      ? null
      : el("button", { type: "button", class: "link", onclick: () => selection.select(operator, "diagnostics") }, "Show"),
  );
}

function more(group: Diagnostic[]): HTMLElement {
  const n = group.length - MAX_OF_ONE_CODE;
  return el("li", { class: `diagnostic ${group[0].severity}` }, el("span", { class: "severity" }), `and ${n.toLocaleString("en")} more like this`);
}
