/** The best next step of a network that does not meet what is asked of it, with its numbers, and a button that shows it. */
import { addAccelerator, keepAccelerators } from "../accelerators.ts";
import { type Budget, readBudget } from "../budget.ts";
import { el } from "../dom.ts";
import { type Estimator, readFile } from "../estimator.ts";
import type { Focus } from "../focus.ts";
import * as format from "../format.ts";
import { type Explore, type Plan, type Search, findPlan, meetsBudget } from "../plans.ts";
import { type Hardware, type Options, SMALLER_FACTORS, hardwareOf, waysOf } from "../plan_space.ts";
import { type Asked, choiceOf } from "../requested_targets.ts";
import { type Report, estimateOf, isEstimate } from "../report.ts";
import type { Scenario } from "../scenario.ts";
import { hasThreads, nameInSpace } from "../targets.ts";
import { judgeableBudget, verdictOn } from "../verdict.ts";
import { metricName } from "../words.ts";
import type { MoreTargets } from "./target_groups.ts";
import type { Opened } from "./what_if.ts";

/** What nobody asked for waits until what somebody did is on the screen. */
const DELAY_MS = 400;
/** A search takes dozens of estimates: of larger networks it would keep a worker busy for minutes. */
const MAX_OPERATORS = 2000;
const MAX_FILE_BYTES = 32 * 1024 ** 2;

/** A part of the page that is there where there is something to do. */
export interface NextStep {
  element: HTMLElement;
  /** Looks again, where target, budget or estimates are others than before. */
  refresh(): void;
}

/** `changed` is called when there is another accelerator to estimate on. */
export function nextStep(report: Report, { file, scenario, change }: Opened, estimator: Estimator, focus: Focus, more: MoreTargets, changed: () => void, signal: AbortSignal): NextStep {
  const element = el("div", { class: "next-step", role: "status", hidden: true });
  let asked = "";
  let round = new AbortController();
  signal.addEventListener("abort", () => round.abort());
  const show = (plan: Plan): void => showPlan(plan, scenario, focus, more, { change, changed });

  const refresh = (): void => {
    const target = focus.targetIn(report);
    const budget = readBudget();
    const sram_bytes = more.offers.find((offer) => offer.target === target)?.sram_bytes ?? null;
    const subject = JSON.stringify([target, budget, sram_bytes, report.results.length]);
    if (subject === asked) return;
    asked = subject;
    round.abort();
    round = new AbortController();
    const judgeable = judgeableBudget(report, target, budget);
    const verdict = verdictOn(report, target, judgeable, sram_bytes);
    const has_part = verdict.kind === "none" && report.results.some((result) => result.target === target && isEstimate(result));
    element.hidden = file === null || !isSearchable(report, target) || has_part || meetsBudget(verdict);
    if (element.hidden) return;
    element.replaceChildren(el("p", { class: "subtle" }, "Looking for the change that meets it…"));
    void look(choiceOf(target), judgeable, sram_bytes, round.signal);
  };

  const look = async (choice: Asked, budget: Budget, sram_bytes: number | null, own: AbortSignal): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    if (own.aborted || !file) return;
    try {
      const bytes = { name: report.file, bytes: await readFile(file) };
      const choices = await estimator.choices(choice.vela_ini ?? null);
      const all_hardware = await hardwareOf(choice, choices, (other) => estimator.inForce(other).then(() => true, () => false));
      const ways = waysOf(optionsOf(report, scenario, choice.name));
      const explore: Explore = (next, among) => estimator.explore(bytes, next, { targets: [], more_targets: among.map((one) => one.choice), is_summary: true }, own).catch(() => null);
      const find = (hardware: readonly Hardware[]): Promise<Search> => findPlan({ report, scenario, budget, sram_bytes }, { ways, hardware, factors: SMALLER_FACTORS }, explore, own);
      const search = await find(all_hardware);
      if (own.aborted) return;
      element.replaceChildren(...searchParts(search, report, choice.name, show));
      // Who cannot choose other silicon asks for what there is without.
      if (!search.plan || search.plan.hardware.distance === 0) return;
      const stay = await find(all_hardware.filter(({ distance }) => distance === 0));
      if (!own.aborted) element.append(...stayParts(stay, report, choice.name, show));
    } catch (error) {
      if (!own.aborted) element.replaceChildren(el("p", { class: "doubt" }, `No next step: ${(error as Error).message}.`));
    }
  };
  return { element, refresh };
}

/** Changes network and target to those of a plan: `change` makes another report, `changed` says that there is one more accelerator. */
function showPlan({ hardware, scenario: wanted }: Plan, scenario: Scenario, focus: Focus, more: MoreTargets, { change, changed }: { change: (scenario: Scenario) => void; changed: () => void }): void {
  const is_same_network = JSON.stringify(wanted) === JSON.stringify(scenario);
  if (hardware.device !== null) {
    const { name: _, ...choice } = hardware.choice;
    const kept = addAccelerator({ ...choice, device: hardware.device });
    keepAccelerators(kept);
    if (is_same_network) changed();
    focus.chooseTarget(kept.at(-1)?.name ?? "");
  } else if (hardware.words !== null) {
    if (is_same_network) more.choose(hardware.choice.name);
    else focus.chooseTarget(hardware.choice.name);
  }
  if (!is_same_network) change(wanted);
}

/** A device of one's own is measured, not estimated, and large networks take too long. */
function isSearchable({ operators, model }: Report, target: string): boolean {
  return target !== "" && nameInSpace("device", target) === null && operators.length <= MAX_OPERATORS && model.file_bytes <= MAX_FILE_BYTES;
}

function optionsOf({ tensors, operators }: Report, scenario: Scenario, target: string): Options {
  return { scenario, is_float: operators.some(({ outputs }) => outputs.some((tensor) => tensors[tensor]?.type === "FLOAT32")), has_threads: hasThreads(target) };
}

function searchParts({ plan, nearest, n_estimates, is_complete }: Search, report: Report, target: string, show: (plan: Plan) => void): HTMLElement[] {
  const bounds = `${format.plural(n_estimates, "network")} estimated${is_complete ? "" : "; the search was ended before it was through"}.`;
  const wanted = plan ?? nearest;
  if (!wanted) return [el("p", { class: "subtle" }, `No change of precision, order, hardware, resolution or width could be estimated: ${bounds}`)];
  const lead = plan ? "Best next step: " : "No plan of up to three changes meets it. The nearest: ";
  return [
    el("p", { class: "next-step-words" }, el("strong", {}, lead), `${listed(wanted.changes)}.`),
    el("p", { class: "next-step-numbers" }, `${wanted.verdict.sentences[0]} ${differenceWords(wanted, report, target)}`),
    el("p", { class: "buttons" }, el("button", { type: "button", id: "show-plan", class: "primary", onclick: () => show(wanted) }, "Show this plan"), el("span", { class: "subtle" }, ` ${bounds}`)),
  ];
}

/** The same without another accelerator. */
function stayParts({ plan }: Search, report: Report, target: string, show: (plan: Plan) => void): HTMLElement[] {
  if (!plan) return [el("p", { class: "subtle" }, "On this accelerator no plan of up to three changes meets it.")];
  return [
    el("p", { class: "next-step-stay" }, el("strong", {}, "On this accelerator: "), `${listed(plan.changes)}. ${plan.verdict.sentences[0]} ${differenceWords(plan, report, target)} `, el("button", { type: "button", class: "link", onclick: () => show(plan) }, "Show it")),
  ];
}

/** What the plan changes of the numbers: the latency before, and what it takes away. */
function differenceWords({ removed_macs, report: after, hardware }: Plan, report: Report, target: string): string {
  const parts = ["latency", "sram_peak", "arena", "energy"].flatMap((metric) => {
    const [before, now] = [estimateOf(report.results, target, metric), estimateOf(after.results, hardware.choice.name, metric)];
    // Energies of different parts of a device cannot be compared.
    if (!before || !now || !(before.value > 0) || before.value === now.value || before.provenance.scope !== now.provenance.scope) return [];
    return [`${metricName(metric)} ${format.relativeChange(now.value / before.value)} (from ${format.text(format.measure(before.value, before.unit))})`];
  });
  const { macs } = report.model;
  const removed = removed_macs > 0 && macs > 0 ? `Removes ${format.percent((100 * removed_macs) / macs)} of the multiply-accumulates, which costs accuracy.` : "Removes no multiply-accumulates.";
  return `${parts.length > 0 ? `${parts.join(", ")}. ` : ""}${removed}`;
}

function listed(changes: readonly string[]): string {
  const words = changes.length < 2 ? changes.join("") : `${changes.slice(0, -1).join(", ")} and ${changes.at(-1)}`;
  return words.charAt(0).toUpperCase() + words.slice(1);
}
