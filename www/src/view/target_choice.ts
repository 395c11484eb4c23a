/** The target that is looked at: of those that were estimated, or a board or GPU that can be. */
import { el } from "../dom.ts";
import type { Result } from "../report.ts";
import { THREADS } from "../threads.ts";
import { FAMILIES } from "../../package/src/catalogue.ts";
import { groupOf, headingOf } from "../targets.ts";
import type { MoreTargets } from "./target_groups.ts";
import { targetSelect } from "./target_select.ts";

/** Of the option that loads the GPUs. */
export const ALL_GPUS = "group:gpus";

/** The list of targets with a field that searches it. */
export function targetChoice(groups: Map<string, Result[]>, chosen: string, more: MoreTargets): HTMLElement {
  const { element, add } = targetSelect("target", "Target", chosen, more.choose);
  const named = new Map(more.offers.map(({ target, names }) => [target, names]));
  const known = [...groups].map(([target, [{ device }]]) => ({ family: headingOf(target).label, target, words: device || target, names: named.get(target) }));
  add(known);
  const addOffers = (): void => {
    const others = more.offers.filter(({ target }) => !groups.has(target));
    const has_gpus = [...groups.keys()].some((target) => groupOf(target) === "gpus");
    add([...others, ...(has_gpus ? [] : [{ family: FAMILIES["gpus"].label, target: ALL_GPUS, words: "Estimate on GPUs… (loads 0.2 MB)" }])]);
  };
  // A hundred more: the estimates are on the screen before them.
  if (more.is_possible) requestAnimationFrame(() => setTimeout(addOffers));
  return element;
}

/** Of a processor. */
export function threadsChoice(id: string, threads: number, choose: (threads: number) => void): HTMLElement {
  const select = el("select", { id, onchange: () => choose(Number(select.value)) });
  select.append(...[...new Set([...THREADS, threads])].map((n) => el("option", { value: n, selected: n === threads }, String(n))));
  return el("label", { class: "threads-choice" }, el("span", {}, "Threads"), select);
}
