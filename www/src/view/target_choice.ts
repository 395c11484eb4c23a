/** The target that is looked at: of those that were estimated, or a board or GPU that can be. */
import { el } from "../dom.ts";
import type { Result } from "../report.ts";
import { THREADS } from "../threads.ts";
import { GPUS, familyOf } from "../words.ts";
import type { MoreTargets } from "./target_groups.ts";

/** Of the option that loads the GPUs. */
export const ALL_GPUS = "group:gpus";

export function targetChoice(groups: Map<string, Result[]>, chosen: string, more: MoreTargets): HTMLElement {
  const select = el("select", { id: "target", onchange: () => more.choose(select.value) });
  const families = new Map<string, HTMLElement>();
  const add = (family: string, value: string, words: string): void => {
    const group = families.get(family) ?? el("optgroup", { label: family });
    if (!families.has(family)) select.append(group);
    families.set(family, group);
    group.append(el("option", { value, selected: value === chosen }, words));
  };
  for (const [target, [{ device }]] of groups) add(familyOf(target), target, device || target);
  const addOffers = (): void => {
    for (const { family, target, words } of more.offers) if (!groups.has(target)) add(family, target, words);
    if (!families.has(GPUS)) add(GPUS, ALL_GPUS, "Estimate on GPUs… (loads 0.2 MB)");
  };
  // A hundred more: the estimates are on the screen before them.
  if (more.is_possible) requestAnimationFrame(() => setTimeout(addOffers));
  return el("label", { class: "target-choice" }, el("span", {}, "Target"), select);
}

/** Of a processor. */
export function threadsChoice(id: string, threads: number, choose: (threads: number) => void): HTMLElement {
  const select = el("select", { id, onchange: () => choose(Number(select.value)) });
  select.append(...[...new Set([...THREADS, threads])].map((n) => el("option", { value: n, selected: n === threads }, String(n))));
  return el("label", { class: "threads-choice" }, el("span", {}, "Threads"), select);
}
