/**
 * The entries of one JSON object of lists, read in pieces: no more of it is held at a time than one entry, and nothing is made
 * of an entry that has more than it may.
 */

/** What entries of one name may have. */
export interface Limits {
  /** Entries; those beyond are counted alone. */
  entries: number;
  /** Bytes of each. */
  bytes: number;
  /** Bytes together. */
  total_bytes: number;
}

/** A value of the object, or an entry of a list in it. `value` is undefined where it is no JSON, or more than its limits. */
export interface Entry {
  name: string;
  value: unknown;
}

/** Commas and brackets of an entry: a report of 100,000 operators has 6.5 million. */
const MAX_PARTS = 8_000_000;
/** Of the object. */
const MAX_NAMES = 1000;
const MAX_NAME_BYTES = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Largest code of what JSON counts as blank. */
const SPACE = 0x20;

/** What there was of a name, beside what there may be. */
interface Counted {
  limits: Limits | null;
  entries: number;
  bytes: number;
}

/** Where a reader is: before the object, in a name, before a value, in one, in a list, behind a list, behind the object. */
type Place = "start" | "name" | "value" | "single" | "list" | "behind" | "end" | "broken";

/** Reads pieces one after the other. */
export class EntryReader {
  readonly #limits: Readonly<Record<string, Limits>>;
  readonly #counted = new Map<string, Counted>();
  #place: Place = "start";
  #is_string = false;
  #is_escaped = false;
  /** Brackets that are open in the entry. */
  #depth = 0;
  #name = "";
  #n_names = 0;
  #of_name: Counted = { limits: null, entries: 0, bytes: 0 };
  /** Bytes that the entry may have. */
  #max_bytes = 0;
  /** Of the entry, before the current piece. */
  #held: Uint8Array[] = [];
  #n_bytes = 0;
  #n_parts = 0;
  #is_blank = true;
  #piece = new Uint8Array();
  #start = 0;
  #entries: Entry[] = [];
  /** Entries of which nothing was made. */
  n_left_out = 0;

  /** Names without limits are passed over. */
  constructor(limits: Readonly<Record<string, Limits>>) {
    this.#limits = limits;
  }

  /** The entries that end in this piece. */
  push(piece: Uint8Array<ArrayBuffer>): Entry[] {
    this.#piece = piece;
    this.#start = 0;
    for (let at = 0; at < piece.length && this.#place !== "broken"; at += 1) {
      if (this.#is_string) {
        at = this.#endOfString(at);
        continue;
      }
      const code = piece[at]!;
      if (code <= SPACE) continue;
      this.#read(code, at);
      this.#is_string = code === QUOTE;
    }
    this.#hold(piece.length);
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }

  /** Whether nothing of what follows is read. */
  isBroken(): boolean {
    return this.#place === "broken";
  }

  /** Whether all that was read was one object. */
  isWhole(): boolean {
    return this.#place === "end";
  }

  /** Where the string ends, or else the piece. */
  #endOfString(start: number): number {
    const quote = this.#piece.indexOf(QUOTE, start);
    const end = quote < 0 ? this.#piece.length : quote;
    let first = end;
    while (first > start && this.#piece[first - 1] === BACKSLASH) first -= 1;
    const is_odd = (end - first) % 2 === 1;
    const is_escaped = first === start ? is_odd !== this.#is_escaped : is_odd;
    this.#is_string = quote < 0 || is_escaped;
    this.#is_escaped = quote < 0 && is_escaped;
    return end;
  }

  #read(code: number, at: number): void {
    if (this.#place === "value") this.#place = code === OPEN_LIST ? "list" : "single";
    else if (this.#place === "list" || this.#place === "single") return this.#readInside(code, at);
    else if (this.#place === "name") return this.#readName(code, at);
    else return this.#move(this.#behind(code), at);
    if (this.#place === "list") this.#move("list", at);
    else this.#readInside(code, at);
  }

  #behind(code: number): Place {
    if (this.#place === "start") return code === OPEN_OBJECT ? "name" : "broken";
    if (this.#place === "end") return "broken";
    if (code === COMMA) return "name";
    return code === CLOSE_OBJECT ? "end" : "broken";
  }

  #readName(code: number, at: number): void {
    if (code === COLON) {
      this.#hold(at);
      const name = this.#parsed();
      this.#begin(typeof name === "string" ? name : "");
      this.#n_names += 1;
      this.#move(this.#n_names > MAX_NAMES ? "broken" : "value", at);
    } else if (code === CLOSE_OBJECT && this.#is_blank) this.#move("end", at);
    else this.#is_blank = false;
  }

  #begin(name: string): void {
    this.#name = name;
    const limits = (Object.hasOwn(this.#limits, name) && this.#limits[name]) || null;
    this.#of_name = this.#counted.get(name) ?? { limits, entries: 0, bytes: 0 };
    if (limits) this.#counted.set(name, this.#of_name);
  }

  #readInside(code: number, at: number): void {
    const is_opening = code === OPEN_LIST || code === OPEN_OBJECT;
    const is_closing = code === CLOSE_LIST || code === CLOSE_OBJECT;
    const ends = this.#depth === 0 && (is_closing || code === COMMA);
    if (!ends) {
      this.#is_blank = false;
      if (is_opening || is_closing || code === COMMA) this.#n_parts += 1;
      this.#depth += is_opening ? 1 : is_closing ? -1 : 0;
      return;
    }
    if (!this.#is_blank || code === COMMA) this.#give(at);
    if (this.#place === "single") return this.#move(this.#behind(code), at);
    const behind = code === CLOSE_LIST ? "behind" : "broken";
    this.#move(code === COMMA ? "list" : behind, at);
  }

  /** What follows belongs to something else. */
  #move(place: Place, at: number): void {
    this.#place = place;
    this.#start = at + 1;
    if (this.#held.length > 0) this.#held = [];
    this.#n_bytes = 0;
    this.#n_parts = 0;
    this.#is_blank = true;
    const { limits, entries } = this.#of_name;
    const max_bytes = limits && entries < limits.entries ? limits.bytes : 0;
    this.#max_bytes = place === "name" ? MAX_NAME_BYTES : max_bytes;
  }

  #give(at: number): void {
    this.#hold(at);
    const of_name = this.#of_name;
    if (!of_name.limits) return;
    of_name.entries += 1;
    of_name.bytes += this.#n_bytes;
    if (of_name.entries > of_name.limits.entries || of_name.bytes > of_name.limits.total_bytes) this.n_left_out += 1;
    else this.#entries.push({ name: this.#name, value: this.#parsed() });
  }

  #hold(end: number): void {
    this.#n_bytes += end - this.#start;
    if (this.#isTooMuch()) this.#held.length = 0;
    else if (end > this.#start) this.#held.push(this.#piece.slice(this.#start, end));
    this.#start = end;
  }

  #isTooMuch(): boolean {
    return this.#n_bytes > this.#max_bytes || this.#n_parts > MAX_PARTS;
  }

  #parsed(): unknown {
    if (this.#isTooMuch()) return undefined;
    const decoder = new TextDecoder("utf-8", { fatal: true });
    try {
      const parts = this.#held.map((part) => decoder.decode(part, { stream: true }));
      return JSON.parse(parts.join("") + decoder.decode());
    } catch {
      return undefined;
    }
  }
}
