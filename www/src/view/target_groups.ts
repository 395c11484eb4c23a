/** Targets that are estimated when their group is opened: a file is seldom meant for all of them. */
import type { Offer } from "../requested_targets.ts";
import { el } from "../dom.ts";
import type { Host, Result } from "../report.ts";
import { FAMILIES } from "../../package/src/catalogue.ts";
import { type Group, groupOf, groupWords } from "../targets.ts";

/** How a report comes by targets that it does not have yet. */
export interface MoreTargets {
  /** Whether there is a file to estimate. */
  is_possible: boolean;
  /** What can be chosen besides the targets of the report. */
  offers: readonly Offer[];
  /** Processors that can stand beside an Ethos-U. */
  hosts: readonly Host[];
  /** Looks at a target, which is estimated first where the report does not have it. */
  choose: (target: string) => void;
  /** Estimates every Ethos-U that leaves operators out again, with this processor beside it; null for the usual ones. */
  chooseHost: (host: string | null) => void;
  /** Estimates on all targets of a group, or forgets them. */
  show: (group: Group, is_shown: boolean) => Promise<void>;
}

/** Open where the report has results of the group; `table` draws them. */
export function groupPanel(group: Group, results: readonly Result[], table: (results: readonly Result[]) => HTMLElement, { is_possible, show }: MoreTargets): HTMLElement | null {
  const group_results = results.filter(({ target }) => groupOf(target) === group);
  if (group_results.length === 0 && !is_possible) return null;
  const note = el("p", { class: "subtle group-note", role: "status" });
  const toggle = async (event: Event): Promise<void> => {
    event.preventDefault();
    note.textContent = group_results.length === 0 ? "Estimating…" : "";
    details.open = true;
    try {
      await show(group, group_results.length === 0);
    } catch (error) {
      note.textContent = (error as Error).message;
    }
  };
  const summary = el("summary", { onclick: ((event: Event) => void toggle(event)) as EventListener }, el("strong", {}, FAMILIES[group].label), el("span", { class: "subtle" }, ` ${groupWords(group, group_results.length > 0)}`));
  const details = el("details", { class: "target-group", "data-group": group, open: group_results.length > 0 }, summary, group_results.length > 0 ? table(group_results) : null, note);
  return details;
}
