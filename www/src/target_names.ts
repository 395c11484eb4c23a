/** Finding a target by whatever people call it: its id, its maker's name, a chip, a board, a core or an alias. */
import { TARGETS } from "../package/src/catalogue.ts";
import { describedTarget, headingOf } from "./targets.ts";

/** A target that can be chosen. */
export interface TargetOption {
  family: string;
  target: string;
  words: string;
  /** What else people call it. */
  names?: string | undefined;
}

function squashed(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** What a target is called besides its words. */
function otherNames({ target, names = "" }: TargetOption): string[] {
  const description = describedTarget(target);
  return [target, names, ...(description ? [description.short_label, ...description.aliases] : [])];
}

/** Whether every word of what was typed stands in a name. */
export function matchesTyped(option: TargetOption, typed: string): boolean {
  const text = squashed([option.words, ...otherNames(option)].join(" "));
  return typed.split(/\s+/).every((word) => text.includes(squashed(word)));
}

/** Behind all others that are found: releases of a runtime, by their `@`. */
const RANK_OF_RELEASES = 5;

/** In small letters, with one space for whatever stands between words. */
function spaced(text: string): string {
  return ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim()} `;
}

/**
 * The options that are found: first those that are called so, then those in whose name it stands as words, those that are
 * also called so, such as by their chip, and those whose name begins so.
 */
export function findTargets<Option extends TargetOption>(options: readonly Option[], typed: string): Option[] {
  const wanted = squashed(typed);
  if (wanted === "") return [];
  const rank = (option: Option): number => {
    if (option.target.includes("@")) return RANK_OF_RELEASES;
    if ([option.target, option.words].map(squashed).includes(wanted)) return 0;
    if (spaced(option.words).includes(spaced(typed))) return 1;
    const names = [option.words, ...otherNames(option)].map(squashed);
    if (names.includes(wanted)) return 2;
    return names.some((name) => name.startsWith(wanted)) ? 3 : 4;
  };
  const ranked = options.filter((option) => matchesTyped(option, typed)).map((option) => ({ option, rank: rank(option) }));
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ option }) => option);
}

/** What `options` lack of the catalogue: GPUs, whose constants are loaded once one of them is estimated, among them. */
export function restOfCatalogue(options: readonly TargetOption[]): TargetOption[] {
  const listed = new Set(options.map(({ target }) => target));
  const others = Object.entries(TARGETS).filter(([target]) => !listed.has(target));
  return others.map(([target, { short_label }]) => ({ family: headingOf(target).label, target, words: short_label }));
}
