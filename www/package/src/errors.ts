/** What this package throws: always an error with a stable `kind`. */
import type { LitecastErrorKind } from "../types/index.d.ts";

/** Characters of what a message repeats. */
export const MAX_SHOWN = 60;

/** Every error of the class. A proxy of one is none, though `instanceof` says so. */
const litecast_errors = new WeakSet<object>();

/** What every method throws: `kind` is a stable identifier, the message is for people. */
export class LitecastError extends Error {
  override readonly name = "LitecastError";
  readonly kind: LitecastErrorKind;
  readonly dimensions: readonly string[];
  declare readonly file?: string | undefined;

  constructor(kind: LitecastErrorKind, message: string, cause?: unknown, dimensions: readonly string[] = [], file?: string) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.dimensions = dimensions;
    if (file !== undefined) this.file = file;
    litecast_errors.add(this);
  }
}

/** Whether something that was thrown is an error of this package. Runs none of its code, which may throw anew. */
export function isLitecastError(thrown: unknown): thrown is LitecastError {
  return typeof thrown === "object" && thrown !== null && litecast_errors.has(thrown);
}

/** The error of an argument that is not of the expected type or range. */
export function wrongArgument(message: string, cause?: unknown): LitecastError {
  return new LitecastError("wrong-argument", message, cause);
}

/** What was thrown, in a few words. It may be anything: no error, or one whose own code throws. */
export function thrownInWords(thrown: unknown): string {
  try {
    const message = (thrown as Partial<Error> | null | undefined)?.message;
    return (typeof message === "string" ? message : String(thrown)).slice(0, MAX_SHOWN);
  } catch {
    return UNREADABLE;
  }
}

/**
 * Reads what a program gave. Its getters, proxies and iterators are code of that program, which may throw anything: an error
 * of this package names the argument then, with what was thrown as its `cause`.
 */
export function reading<Value>(place: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw unreadable(place, error);
  }
}

/** As `reading`, of what has to be waited for. */
export async function readingLater<Value>(place: string, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    throw unreadable(place, error);
  }
}

function unreadable(place: string, thrown: unknown): LitecastError {
  if (isLitecastError(thrown)) return thrown;
  return wrongArgument(`${place}: expected a value that can be read, but reading it failed (${thrownInWords(thrown)})`, thrown);
}

/** The error of a file beyond a limit. */
export function tooLarge(place: string, expected: string, found: number): LitecastError {
  return new LitecastError("too-large", `${place}: expected ${expected}, found ${found}`);
}

/** What the module threw, which has a kind unless it stopped at a defect of its own. */
export function fromModule(error: unknown, file?: string): LitecastError {
  if (isLitecastError(error)) return error;
  const { kind, message, dimensions } = (error ?? {}) as { kind?: unknown; message?: unknown; dimensions?: string[] };
  const words = typeof message === "string" ? message : String(error);
  if (typeof kind === "string") return new LitecastError(kind, words + sizesToGive(kind, dimensions), undefined, dimensions, file);
  return new LitecastError("internal", `a defect of litecast stopped the module (${words}); please report it`, error);
}

/** The option that a file with open sizes needs, as it is typed. */
function sizesToGive(kind: string, dimensions: readonly string[] | undefined): string {
  if (kind !== "unknown-dimension" || !dimensions?.length) return "";
  return `; give { dimensions: { ${dimensions.map((name) => `${JSON.stringify(name)}: size`).join(", ")} } }`;
}

/** A value in a few words, for a message: never its contents. */
export function inWords(value: unknown): string {
  try {
    return kindInWords(value);
  } catch {
    return UNREADABLE; // a proxy
  }
}

const UNREADABLE = "a value that cannot be read";

function kindInWords(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  return name === "Object" ? "an object" : `a value of type ${name}`;
}
