/** Threads that a processor runs a network on, remembered in this browser for the files that follow. */
import { AS_IT_IS, type Scenario } from "./scenario.ts";
import { hasThreads } from "./targets.ts";

/** Numbers of threads that can be chosen. */
export const THREADS = [1, 2, 3, 4, 6, 8];
const KEY = "litecast.threads";

/** The number that was kept last; 1 where the browser keeps nothing. */
export function readThreads(): number {
  try {
    const kept = Number(localStorage.getItem(KEY));
    return THREADS.includes(kept) ? kept : 1;
  } catch {
    return 1;
  }
}

/** Keeps the number for the next visit. */
export function writeThreads(threads: number): void {
  try {
    localStorage.setItem(KEY, String(threads));
  } catch {
    // A browser that keeps nothing takes one thread again.
  }
}

/** How a new file is run on the target that is wanted. */
export function firstScenario(wanted: string): Scenario {
  return hasThreads(wanted) ? { ...AS_IT_IS, threads: readThreads() } : AS_IT_IS;
}
