/** Targets that a person wants beside the one that is looked at, and those that were wanted before. */

/** Another format gets another key. */
const KEY = "litecast.wanted.1";
/** Each is estimated with every file. */
export const MAX_WANTED = 8;
const MAX_RECENT = 8;
/** Ids of targets are shorter. */
const MAX_ID_CHARACTERS = 100;

interface Kept {
  others: string[];
  recent: string[];
}

/** Whatever else is stored there counts as nothing. */
function read(): Kept {
  const ids = (value: unknown, n: number): string[] => (Array.isArray(value) ? [...new Set(value.filter((id): id is string => typeof id === "string" && id !== "" && id.length <= MAX_ID_CHARACTERS))].slice(0, n) : []);
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Record<keyof Kept, unknown>> | null;
    return { others: ids(kept?.others, MAX_WANTED - 1), recent: ids(kept?.recent, MAX_RECENT) };
  } catch {
    return { others: [], recent: [] };
  }
}

function write(kept: Kept): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing wants the default targets again.
  }
}

/** Wanted beside the one that is looked at, in the order in which they were chosen. */
export function otherTargets(): string[] {
  return read().others;
}

/** The one that was wanted last comes first. */
export function recentTargets(): string[] {
  return read().recent;
}

/** Wants these beside the one that is looked at. */
export function keepOtherTargets(others: readonly string[]): void {
  const { recent } = read();
  write({ others: [...others].slice(0, MAX_WANTED - 1), recent: [...new Set([...others, ...recent])].slice(0, MAX_RECENT) });
}

/** `target` is looked at instead of `before`: where it was wanted beside that one, both change places. */
export function rememberTarget(target: string, before: string): void {
  if (target === "") return;
  const { others, recent } = read();
  const swapped = before === "" ? others.filter((other) => other !== target) : others.map((other) => (other === target ? before : other));
  write({ others: swapped.filter((other) => other !== target), recent: [target, ...recent.filter((other) => other !== target)].slice(0, MAX_RECENT) });
}
