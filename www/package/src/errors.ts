/** What this package throws: always an error with a stable `kind`. */
import type { LitecastErrorKind } from "../types/index.d.ts";

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
  }
}

/** The error of an argument that is not of the expected type or range. */
export function wrongArgument(message: string): LitecastError {
  return new LitecastError("wrong-argument", message);
}

/** The error of a file beyond a limit. */
export function tooLarge(place: string, expected: string, found: number): LitecastError {
  return new LitecastError("too-large", `${place}: expected ${expected}, found ${found}`);
}

/** What the module threw, which has a kind unless it stopped at a defect of its own. */
export function fromModule(error: unknown, file?: string): LitecastError {
  if (error instanceof LitecastError) return error;
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
  if (value === null || value === undefined) return String(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  return name === "Object" ? "an object" : `a value of type ${name}`;
}
