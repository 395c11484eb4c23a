/** Targets that reports have because a person asked for them: groups that were opened, a board, or another Ethos-U. */
import type { Estimator } from "./estimator.ts";
import { accelerators } from "./accelerators.ts";
import type { TargetChoice, TargetChoices, TargetInfo } from "./report.ts";
import { TARGETS } from "../package/src/catalogue.ts";
import { measuredDevices, measuredTarget } from "./measured_devices.ts";
import { otherTargets } from "./remembered_targets.ts";
import { GROUPS, type Group, type LoadedGroup, MICROCONTROLLER_BOARDS, NPU_BOARDS, boardOf, groupOf, headingOf, idInSpace, isLoadedGroup, releasesOf } from "./targets.ts";

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

/** Keeps for the next visit whether a group is open. */
export function rememberGroup(group: Group, is_open: boolean): void {
  const groups = GROUPS.filter((other) => (other === group ? is_open : openGroups().includes(other)));
  try {
    localStorage.setItem(KEY, JSON.stringify(groups));
  } catch {
    // A browser that keeps nothing asks again for every file.
  }
}

/** The constants of groups that have a file of them are loaded first. */
export async function targetsOf(group: Group, estimator: Estimator): Promise<Asked[]> {
  if (isLoadedGroup(group)) return (await estimator.loaded(group)).map(({ id }) => ({ target: id, name: id }));
  const { others } = await estimator.started;
  return others.filter(({ id }) => groupOf(id) === group).map(({ id }) => ({ target: id, name: id }));
}

/** A target that not every report has; null for the others. */
export async function askedTarget(target: string, estimator: Estimator): Promise<Asked | null> {
  const id = boardOf(target);
  if (id === null) {
    const { others } = await estimator.started;
    const [known, release] = target.split("@");
    const group = groupOf(target);
    const other = [...others, ...(group !== null && isLoadedGroup(group) ? await estimator.loaded(group) : [])].find((other) => other.id === known);
    return other && (release === undefined || other.description.releases?.includes(release)) ? { target, name: target } : null;
  }
  const { boards, microcontrollers } = await estimator.choices(null);
  // The engine says what the estimates are for: the board or the compiler, and the runtime with its release.
  return [...boards, ...microcontrollers].some((board) => board.id === id) ? { board: id, name: target } : null;
}

function npuBoardName({ name, npu, npu_clock_mhz }: TargetChoices["boards"][number]): string {
  return `${name} (${npu.replace("ethos-u", "Ethos-U")}, ${npu_clock_mhz} MHz)`;
}

/** A target that can be chosen and is then estimated. */
export interface Offer {
  family: string;
  target: string;
  words: string;
  /** What else people call it: its chip. */
  names?: string | undefined;
  /** Of a board with an Ethos-U, where it is known. */
  sram_bytes?: number | null;
}

/** Phones and NPU boards in every way that was measured on them; their constants are loaded when one is chosen. */
function learnedOffers(): Offer[] {
  const learned = Object.entries(TARGETS).filter(([id]) => groupOf(id) === "phones-and-boards");
  return learned.flatMap(([id, { short_label, runtime, aliases }]) => [
    { family: headingOf(id).label, target: id, words: `${short_label}, ${runtime}`, names: aliases.join(" ") },
    ...releasesOf(id).slice(1).map(({ target, words }) => ({ family: headingOf(id).label, target, words: `${short_label}, ${words}`, names: aliases.join(" ") })),
  ]);
}

/** Every Ethos-U, every release of ST Edge AI, every board, phone and NPU, besides what all reports are of. */
export function offersOf(others: readonly TargetInfo[], { boards, microcontrollers }: TargetChoices): Offer[] {
  return [
    ...others.filter(({ id }) => groupOf(id) === null).map(({ id, device }) => ({ family: headingOf(id).label, target: id, words: device })),
    ...others.flatMap(({ id, description: { short_label } }) => releasesOf(id).map(({ target, words }) => ({ family: headingOf(id).label, target, words: `${short_label}, ${words}` }))),
    ...learnedOffers(),
    ...boards.map((board) => ({ family: NPU_BOARDS.label, target: idInSpace("npu-board", board.id), words: npuBoardName(board), names: board.host, sram_bytes: board.sram_bytes })),
    ...others.filter(({ id }) => groupOf(id) !== null).map(({ id, device, description: { short_label, runtime, aliases } }) => ({ family: headingOf(id).label, target: id, words: `${short_label}, ${runtime}`, names: [device, ...aliases].join(" ") })),
    ...microcontrollers.filter(({ id }) => !boards.some((board) => board.id === id)).map(({ id, name, chip, core, npu }) => ({ family: MICROCONTROLLER_BOARDS.label, target: idInSpace("board", id), words: `${name} (${npu ?? core})`, names: chip })),
  ];
}

/** What a person made: accelerators with a clock or memories of their own, and devices from profiles. */
export function ownTargets(): Asked[] {
  return [...accelerators(), ...measuredDevices().map(measuredTarget)];
}

/** Groups whose constants devices from profiles are estimated with. */
function groupsOfBases(): LoadedGroup[] {
  const groups = measuredDevices().map(({ document }) => groupOf(document.base));
  return [...new Set(groups)].filter((group) => group !== null && isLoadedGroup(group));
}

/** As the target of a report can be estimated again: one of the registry, a board, or an accelerator of one's own. */
export function choiceOf(target: string): Asked {
  const made = ownTargets().find(({ name }) => name === target);
  if (made) return made;
  const board = boardOf(target);
  return { ...(board === null ? { target } : { board }), name: target };
}

/** What a report is of beyond the registry, where `chosen` is the target that was looked at last: that one, and those wanted beside it. */
export async function askedTargets(chosen: string, estimator: Estimator): Promise<Asked[]> {
  await Promise.all(groupsOfBases().map((group) => estimator.loaded(group).catch(() => [])));
  const groups = await Promise.all(openGroups().map((group) => targetsOf(group, estimator).catch(() => [])));
  const listed = [...ownTargets(), ...groups.flat()];
  const wanted = [...new Set([chosen, ...otherTargets()])].filter((target) => !listed.some(({ name }) => name === target));
  const others = await Promise.all(wanted.map((target) => askedTarget(target, estimator).catch(() => null)));
  return [...listed, ...others.filter((other) => other !== null)];
}
