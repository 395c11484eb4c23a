/** What a plan may change without a loss of accuracy, and by how much it may then make the network smaller. */
import * as format from "./format.ts";
import type { Asked } from "./requested_targets.ts";
import type { TargetChoice, TargetChoices } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { THREADS } from "./threads.ts";

/** A way to run the network that keeps its accuracy. */
export interface Way {
  scenario: Scenario;
  /** Each in words, for example `4 threads`. */
  words: readonly string[];
}

/** The chosen hardware, or another that runs the same network. */
export interface Hardware {
  choice: Asked;
  /** Null for the chosen one. */
  words: string | null;
  /** How far it is from the chosen one in the list of accelerators: the nearest is taken first. */
  distance: number;
  /** Under which it can be kept; null where the registry has it. */
  device: string | null;
}

/** What a search looks at. */
export interface PlanSpace {
  ways: readonly Way[];
  /** The chosen one first. */
  hardware: readonly Hardware[];
  /** Factors on the resolution and the width, from 1 downwards. */
  factors: readonly number[];
}

/** Finer steps give the same shapes in small networks. */
export const SMALLER_FACTORS: readonly number[] = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25];

/** What is known of a network and a target before the search. */
export interface Options {
  scenario: Scenario;
  is_float: boolean;
  has_threads: boolean;
}

/** Precision, operator order and threads, alone and together, from the fewest changes. */
export function waysOf({ scenario, is_float, has_threads }: Options): Way[] {
  const precisions = is_float && !scenario.int8 ? [false, true] : [scenario.int8];
  const orders = scenario.low_memory_order ? [true] : [false, true];
  const threads = has_threads ? THREADS.filter((n) => n >= scenario.threads) : [scenario.threads];
  const ways = precisions.flatMap((int8) => orders.flatMap((low_memory_order) => threads.map((n) => ({ ...scenario, int8, low_memory_order, threads: n }))));
  return ways.map((way) => ({ scenario: way, words: wordsOf(way, scenario) })).sort((a, b) => a.words.length - b.words.length);
}

function wordsOf(way: Scenario, before: Scenario): string[] {
  return [
    way.int8 && !before.int8 ? "quantise it to int8" : "",
    way.low_memory_order && !before.low_memory_order ? "write its operators in the order that needs the least memory" : "",
    way.threads !== before.threads ? `run it on ${format.plural(way.threads, "thread")}` : "",
  ].filter(Boolean);
}

/**
 * The chosen accelerator, with each memory mode that `isPossible`, and every other one in its default configuration.
 * A target without an accelerator is alone.
 */
export async function hardwareOf(choice: Asked, { npus, memory_modes }: TargetChoices, isPossible: (choice: TargetChoice) => Promise<boolean>): Promise<Hardware[]> {
  const chosen: Hardware = { choice, words: null, distance: 0, device: null };
  const place = npus.findIndex(({ id }) => id === choice.target);
  if (place < 0 || choice.board !== undefined) return [chosen];
  const now = choice.memory_mode ?? npus[place].memory_mode;
  const modes = await Promise.all(
    memory_modes.filter((mode) => mode !== now).map(async (memory_mode): Promise<Hardware[]> => {
      const other = { ...choice, name: `${choice.name} ${memory_mode}`, memory_mode };
      return (await isPossible(other)) ? [{ choice: other, words: `compile it for the memory mode ${memory_mode}`, distance: 0, device: `${choice.device ?? npus[place].device}, ${memory_mode}` }] : [];
    }),
  );
  const others = npus.flatMap(({ id, device }, i): Hardware[] => (i === place ? [] : [{ choice: { target: id, name: id }, words: `run it on the ${device}`, distance: Math.abs(i - place), device: null }]));
  return [chosen, ...modes.flat(), ...others];
}
