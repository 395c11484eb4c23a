/**
 * Long lists apart from the value that they are in. A browser copies a message, and what its database keeps, at once: a report of
 * 60,000 operators holds up the thread that reads it for half a second, and stands in memory once more meanwhile.
 */

/** Some entries of one list. */
export interface ListPart {
  /** Names of the fields that lead to the list. */
  path: readonly string[];
  items: unknown[];
}

/** Entries of a part: so many operators are copied in some milliseconds. */
const PART_LENGTH = 2048;
/** In the reply of a worker, the parts of a result by operator. */
const MAX_DEPTH = 5;
/** Lists of more entries are not searched for others. */
const MAX_SEARCHED = 1024;

/** The value, or a copy of it whose long lists are empty: `give` has their parts in order. */
export function withoutLongLists<Value>(value: Value, give: (part: ListPart) => void, path: readonly string[] = []): Value {
  if (typeof value !== "object" || value === null || path.length > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    if (value.length > PART_LENGTH) {
      for (let at = 0; at < value.length; at += PART_LENGTH) give({ path, items: value.slice(at, at + PART_LENGTH) });
      return [] as Value;
    }
    if (value.length > MAX_SEARCHED) return value;
  } else if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  let copy: Record<string, unknown> | null = null;
  for (const name in value) {
    const inner: unknown = (value as Record<string, unknown>)[name];
    if (typeof inner !== "object" || inner === null) continue;
    const bare: unknown = withoutLongLists(inner, give, [...path, name]);
    if (bare === inner) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    copy[name] = bare;
  }
  return (copy ?? value) as Value;
}

/** Puts a part behind those before it; false where the value has no such list of its own. The first one becomes the list. */
export function addPart(value: unknown, { path, items }: ListPart): boolean {
  let holder: unknown = null;
  let list = value;
  for (const name of path) {
    if (typeof list !== "object" || list === null || !Object.hasOwn(list, name)) return false;
    holder = list;
    list = (list as Record<string, unknown>)[name];
  }
  if (!Array.isArray(list) || holder === null) return false;
  if (list.length === 0) (holder as Record<string, unknown>)[path.at(-1)!] = items;
  else for (const item of items) list.push(item);
  return true;
}
