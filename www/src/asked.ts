/** Targets that reports have because a person asked for them: groups that were opened, and a board. */
import type { Estimator } from "./estimator.ts";
import { accelerators } from "./accelerators.ts";
import type { TargetChoice } from "./report.ts";
import { MICROCONTROLLERS, familyOf } from "./words.ts";

export type Group = "microcontrollers" | "gpus";
const GROUPS: readonly Group[] = ["microcontrollers", "gpus"];

/** Before the id of a board, as the id of a target in reports. */
export const BOARD_PREFIX = "board:";

/** Another format gets another key. */
const KEY = "litecast.groups.1";

/** A target under the id that reports have it by. */
export type Asked = TargetChoice & { name: string };

/** Those that every report is of. Whatever else is stored there counts as nothing. */
export function openGroups(): Group[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? GROUPS.filter((group) => kept.includes(group)) : [];
  } catch {
    return [];
  }
}

export function rememberGroup(group: Group, is_open: boolean): void {
  const groups = GROUPS.filter((other) => (other === group ? is_open : openGroups().includes(other)));
  try {
    localStorage.setItem(KEY, JSON.stringify(groups));
  } catch {
    // A browser that keeps nothing asks again for every file.
  }
}

/** The constants of GPUs are loaded first. */
export async function targetsOf(group: Group, estimator: Estimator): Promise<Asked[]> {
  if (group === "gpus") return (await estimator.gpus()).map(({ id }) => ({ target: id, name: id }));
  const { others } = await estimator.started;
  return others.filter(({ id }) => familyOf(id) === MICROCONTROLLERS).map(({ id }) => ({ target: id, name: id }));
}

/** A board as a target; null where nobody measured its processor, or for another id. */
export async function boardTarget(target: string, estimator: Estimator): Promise<Asked | null> {
  const id = target.startsWith(BOARD_PREFIX) ? target.slice(BOARD_PREFIX.length) : "";
  const { boards, microcontrollers } = await estimator.choices(null);
  const board = boards.find((board) => board.id === id) ?? microcontrollers.find((board) => board.id === id && board.latency);
  return board ? { board: id, name: target, device: board.name } : null;
}

/** As the target of a report can be estimated again: one of the registry, a board, or an accelerator of one's own. */
export function choiceOf(target: string): Asked {
  const own = accelerators().find(({ name }) => name === target);
  if (own) return own;
  const place: TargetChoice = target.startsWith(BOARD_PREFIX) ? { board: target.slice(BOARD_PREFIX.length) } : { target };
  return { ...place, name: target };
}

/** What a report is of beyond the registry, where `chosen` is the target that was looked at last. */
export async function askedTargets(chosen: string, estimator: Estimator): Promise<Asked[]> {
  const groups = await Promise.all(openGroups().map((group) => targetsOf(group, estimator).catch(() => [])));
  const board = chosen.startsWith(BOARD_PREFIX) ? await boardTarget(chosen, estimator).catch(() => null) : null;
  return [...accelerators(), ...groups.flat(), ...(board ? [board] : [])];
}
