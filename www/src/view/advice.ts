/** Advice for the chosen target, computed once the page is left alone. */
import { addAccelerator, keepAccelerators } from "../accelerators.ts";
import { type Advice, adviceOn } from "../advice.ts";
import { readBudget } from "../budget.ts";
import { el } from "../dom.ts";
import { type Estimator, readFile } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import { hybridOf } from "../processor_split.ts";
import type { Report } from "../report.ts";
import type { Selection } from "../selection.ts";
import type { Tool } from "./tool_tabs.ts";
import type { Opened } from "./what_if.ts";

/** Estimates that nobody asked for wait until those that somebody did are on the screen. */
const DELAY_MS = 400;

/** Each piece of advice takes several estimates: of larger networks it would keep a worker busy for long. */
const MAX_OPERATORS = 5000;
const MAX_FILE_BYTES = 64 * 1024 ** 2;

/** `changed` is called when there is another accelerator to estimate on. */
export function adviceTool(report: Report, { file, scenario, change }: Opened, estimator: Estimator, focus: Focus, selection: Selection, changed: () => void, signal: AbortSignal): Tool {
  const hint = el("span", { class: "subtle" });
  const list = el("ul", { class: "plain advice-list" });
  const note = el("p", { class: "subtle", role: "status" }, file ? "Computing…" : "Open the file again: advice is computed from it.");
  let round = new AbortController();
  let advised = "";

  const act = ({ show }: Advice): void => {
    if ("scenario" in show) return change(show.scenario);
    if ("operator" in show) return selection.select(show.operator, "advice");
    const kept = addAccelerator(show.accelerator);
    keepAccelerators(kept);
    changed();
    focus.chooseTarget(kept.at(-1)?.name ?? "");
  };
  const is_large = report.operators.length > MAX_OPERATORS || report.model.file_bytes > MAX_FILE_BYTES;
  if (is_large) note.textContent = "No advice for a network this large.";

  const compute = async (): Promise<void> => {
    const target = focus.targetIn(report);
    const budget = readBudget();
    const subject = `${target} ${budget.latency_ms} ${hybridOf(report, target)?.host?.id}`;
    if (!file || is_large || subject === advised || target === "") return;
    advised = subject;
    round.abort();
    round = new AbortController();
    const { signal: own } = round;
    list.replaceChildren();
    hint.textContent = "";
    note.textContent = "Computing…";
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    if (own.aborted) return;
    try {
      const bytes = await readFile(file);
      for await (const advice of adviceOn({ report, file: { name: report.file, bytes }, scenario, target, latency_budget_ms: budget.latency_ms }, estimator, own)) {
        if (own.aborted) return;
        list.append(adviceItem(advice, () => act(advice)));
        hint.textContent = String(list.children.length);
      }
      if (list.children.length === 0) hint.textContent = "none found";
      const device = report.results.find((result) => result.target === target)?.device ?? target;
      const smaller = budget.latency_ms === null ? " Set a latency budget to hear of smaller accelerators." : "";
      note.textContent = `${list.children.length === 0 ? `Nothing was found that saves on ${device}.` : `For ${device}; each saving is the difference of two estimates.`}${smaller}`;
    } catch (error) {
      if (!own.aborted) note.textContent = `No advice: ${(error as Error).message}`;
    }
  };
  focus.onChange(() => void compute(), signal);
  signal.addEventListener("abort", () => round.abort());
  void compute();
  return { id: "advice", label: "Advice", hint, body: () => el("div", { class: "advice-body" }, list, note) };
}

function adviceItem(advice: Advice, act: () => void): HTMLElement {
  return el(
    "li",
    { class: "advice", "data-advice": advice.kind },
    el("p", {}, advice.words),
    el("p", { class: "saving" }, `${advice.saving}.`),
    el("button", { type: "button", onclick: act }, advice.show.label),
  );
}
