/** What targets are: those of the engine by its catalogue, and boards, accelerators and devices that only this page names. */
import { FAMILIES, TARGETS } from "../package/src/catalogue.ts";
import type { TargetDescription } from "../package/types/index.d.ts";

/** Before the colon of an id that this page gives: a board by its microcontroller or its Ethos-U, or what a person made. */
export type Space = "board" | "npu-board" | "own" | "device" | "measured";

/** A heading in lists of targets. */
export interface Heading {
  id: string;
  label: string;
}

/** A list that is closed until a reader opens it, by the id of its family. */
export type Group = string;
/** Every family that is such a list, in the order of the engine. */
export const GROUPS: readonly Group[] = Object.values(FAMILIES).filter(({ group }) => group !== null).map(({ id }) => id);
/** Those whose constants are files of their own, which are loaded when somebody asks for them. */
export type LoadedGroup = "gpus" | "phones-and-boards";
const LOADED: Record<LoadedGroup, string> = { gpus: "0.2 MB", "phones-and-boards": "22 kB" };

/** Whether the constants of a group are in a file of their own. */
export function isLoadedGroup(group: Group): group is LoadedGroup {
  return Object.hasOwn(LOADED, group);
}

/** What stands beside the label of a group: what it is of, and before it is open how much is loaded for it. */
export function groupWords(group: Group, is_open: boolean): string {
  const loads = !is_open && isLoadedGroup(group) ? `; loads ${LOADED[group]}` : "";
  return `${FAMILIES[group].group}${loads}`;
}

/** Boards that are estimated on their Ethos-U. */
export const NPU_BOARDS: Heading = { id: "npu-boards", label: "Boards with an Ethos-U" };
/** Boards that are estimated on their core. */
export const MICROCONTROLLER_BOARDS: Heading = { id: "boards", label: "Microcontroller boards" };
const OTHERS: Heading = { id: "others", label: "Other targets" };
const SPACES: Record<Space, Heading> = {
  device: { id: "devices", label: "Your devices" },
  measured: { id: "devices", label: "Your devices" },
  own: { id: "own", label: "Your accelerators" },
  "npu-board": NPU_BOARDS,
  board: FAMILIES["microcontrollers"],
};

/** The id of a target that this page names. */
export function idInSpace(space: Space, name: string | number): string {
  return `${space}:${name}`;
}

/** The name that {@link idIn} was given; null for targets of the engine and of other spaces. */
export function nameInSpace(space: Space, target: string): string | null {
  const colon = target.indexOf(":");
  return colon >= 0 && target.slice(0, colon) === space ? target.slice(colon + 1) : null;
}

/** The id of the board that a target is; null for others. */
export function boardOf(target: string): string | null {
  return nameInSpace("board", target) ?? nameInSpace("npu-board", target);
}

function spaceOf(target: string): Space | null {
  return (Object.keys(SPACES) as Space[]).find((space) => nameInSpace(space, target) !== null) ?? null;
}

type Described = Omit<TargetDescription, "family"> & { family: string };

/** As the engine describes a target, under any of its releases; null for what the page names, and for targets of other versions. */
export function describedTarget(target: string): Described | null {
  const [id] = target.split("@");
  return Object.hasOwn(TARGETS, id) ? TARGETS[id] : null;
}

/** The ids of a target under each release that can be chosen of its runtime, with the runtime in words. */
export function releasesOf(id: string): { target: string; words: string }[] {
  const { releases = [], release_words = [] } = describedTarget(id) ?? {};
  return releases.map((release, i) => ({ target: `${id}@${release}`, words: release_words[i] ?? release }));
}

/** The heading that a target stands under. */
export function headingOf(target: string): Heading {
  const space = spaceOf(target);
  if (space !== null) return SPACES[space];
  const description = describedTarget(target);
  return description ? FAMILIES[description.family] : OTHERS;
}

/** Null for targets that every report is of. */
export function groupOf(target: string): Group | null {
  const { id } = headingOf(target);
  return GROUPS.find((group) => group === id) ?? null;
}

/** Whether threads of a target can be chosen. */
export function hasThreads(target: string): boolean {
  return describedTarget(target)?.options.includes("threads") === true;
}

/** Whether a target leaves operators to a processor beside it, which can be chosen. */
export function hasHost(target: string): boolean {
  const space = spaceOf(target);
  return space === "own" || space === "npu-board" || describedTarget(target)?.options.includes("host") === true;
}

/** Whether a target runs a network beside a processor that could run it as well. */
export function isAccelerator(target: string): boolean {
  const description = describedTarget(target);
  return hasHost(target) || (description !== null && FAMILIES[description.family].is_accelerator);
}
