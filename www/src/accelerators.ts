/** Accelerators of one's own: an Ethos-U or a board with a clock and memories that a person chose, kept in this browser. */
import { prepareTarget } from "../package/src/arguments.ts";
import type { TargetChoice } from "./report.ts";
import { idInSpace, nameInSpace } from "./targets.ts";

/** `name` is the target's id in reports. */
export type Accelerator = TargetChoice & { name: string; device: string };

/** Another format gets another key. */
const KEY = "litecast.accelerators.1";
/** Each is estimated with every file. */
export const MAX_ACCELERATORS = 12;
/** Of a `vela.ini`: the one that Vela brings has 15 kB. */
export const MAX_INI_CHARACTERS = 200_000;

/** Whatever else is stored there counts as nothing. */
export function accelerators(): Accelerator[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isAccelerator).slice(0, MAX_ACCELERATORS) : [];
  } catch {
    return [];
  }
}

/** False where the browser keeps nothing. */
export function keepAccelerators(kept: readonly Accelerator[]): boolean {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}

/** With a new id; what is as one that is kept already takes its place. */
export function addAccelerator(choice: TargetChoice & { device: string }): Accelerator[] {
  const others = accelerators().filter(({ device }) => device !== choice.device);
  const numbers = others.map(({ name }) => Number(nameInSpace("own", name)) || 0);
  return [...others, { ...choice, name: idInSpace("own", Math.max(0, ...numbers) + 1) }].slice(-MAX_ACCELERATORS);
}

function isAccelerator(value: unknown): value is Accelerator {
  try {
    const { name, device, target, board } = prepareTarget(value, "");
    return name !== undefined && nameInSpace("own", name) !== null && device !== undefined && (target !== undefined || board !== undefined);
  } catch {
    return false;
  }
}
