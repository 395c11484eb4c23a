/** The target that is looked at: of those that were estimated, or a board or GPU that can be. */
import { BOARD_PREFIX } from "../asked.ts";
import { el } from "../dom.ts";
import type { Report, Result } from "../report.ts";
import { GPUS, familyOf } from "../words.ts";
import type { MoreTargets } from "./target_groups.ts";

/** Of the option that loads the GPUs. */
export const ALL_GPUS = "group:gpus";

export function targetChoice(report: Report, groups: Map<string, Result[]>, chosen: string, more: MoreTargets): HTMLElement {
  const families = new Map<string, HTMLElement[]>();
  const add = (family: string, value: string, words: string): void => {
    const option = el("option", { value, selected: value === chosen }, words);
    families.set(family, [...(families.get(family) ?? []), option]);
  };
  for (const [target, [{ device }]] of groups) add(familyOf(target), target, device || target);
  if (more.is_possible) {
    const boards = report.fits?.boards.filter(({ id }) => !groups.has(BOARD_PREFIX + id)) ?? [];
    for (const { id, name, core } of boards) add("Microcontroller boards", BOARD_PREFIX + id, `${name} (${core})`);
    if (!families.has(GPUS)) add(GPUS, ALL_GPUS, "Estimate on GPUs… (loads 0.2 MB)");
  }
  const select = el("select", { id: "target", onchange: () => more.choose(select.value) });
  select.append(...[...families].map(([label, options]) => el("optgroup", { label }, ...options)));
  return el("label", { class: "target-choice" }, el("span", {}, "Target"), select);
}
