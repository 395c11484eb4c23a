/**
 * Byte arrays of a C or C++ source that hold a TFLite file, as `xxd -i` and TFLM's generator write them. The source is read
 * in pieces, each byte once, and nothing is kept of it but the bytes of models and the start of the last name.
 */

/** An array that begins as a TFLite file does; without `bytes` where it cannot be read to its end. */
export interface CArray {
  name: string;
  bytes: Uint8Array<ArrayBuffer> | null;
  /** Why there are no bytes. */
  problem: string;
}

/** Longer names are cut. */
const MAX_NAME_BYTES = 200;
/** `TFL3` at bytes 4 to 7. */
const MAGIC = [0x54, 0x46, 0x4c, 0x33];
const HEAD_BYTES = 8;
const MIN_CAPACITY = 64 * 1024;

const enum Mode {
  Code,
  Word,
  Number,
  Slash,
  LineComment,
  BlockComment,
  BlockStar,
  Quoted,
  Escaped,
}

/** What may come next in a list of numbers between braces. */
const enum Next {
  /** Outside of a list, or in one that holds something else. */
  Nothing,
  Value,
  Digits,
  Comma,
}

/** Letters and digits last: words are made of them. */
const enum Kind {
  Other,
  Space,
  Letter,
  Digit,
}

const KINDS = new Uint8Array(256).fill(Kind.Letter, 0x80);
for (const space of " \t\r\n\v\f") KINDS[space.charCodeAt(0)] = Kind.Space;
for (let digit = 0x30; digit <= 0x39; digit++) KINDS[digit] = Kind.Digit;
for (let letter = 0x41; letter <= 0x5a; letter++) KINDS[letter] = KINDS[letter | 0x20] = Kind.Letter;
KINDS[0x5f] = Kind.Letter;

const NO_DIGIT = 99;
/** Value of a digit in any base. */
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGITS[digit.charCodeAt(0)] = DIGITS[digit.toUpperCase().charCodeAt(0)] = value;
}
/** Of whole numbers: `u`, `l` and `z`. */
const SUFFIXES = new Set([..."uUlLzZ"].map((letter) => letter.charCodeAt(0)));

/** Reads pieces of a source one after the other. */
export class CArrayReader {
  /** Arrays with the head of a TFLite file, up to `max_arrays`. */
  readonly models: CArray[] = [];
  /** Lists of numbers between braces, models or not. */
  n_arrays = 0;
  /** Models beyond `max_arrays`. */
  n_left_out = 0;
  readonly #max_arrays: number;
  #mode = Mode.Code;
  #quote = 0;
  /** Whether the line of a comment ends with a backslash, as far as it is read. */
  #is_joined = false;
  readonly #word = new Uint8Array(MAX_NAME_BYTES);
  #word_length = 0;
  /** The word before the first bracket of a declaration. */
  readonly #declared = new Uint8Array(MAX_NAME_BYTES);
  #declared_length = 0;
  #is_declared = false;
  /** Of the number that is being read. */
  #base = 10;
  #n_digits = 0;
  #value = 0;
  #has_suffix = false;
  #is_negative = false;
  /** Of the list that is being read. */
  #next = Next.Nothing;
  #name = "";
  #n_values = 0;
  #bytes = new Uint8Array(HEAD_BYTES);
  /** Whether the list began as a model does. */
  #is_model = false;

  constructor(max_arrays: number) {
    this.#max_arrays = max_arrays;
  }

  push(source: Uint8Array): void {
    for (let at = 0; at < source.length; ) at = this.#step(source, at);
  }

  /** Reads one token, or a part of it, from `at` on; where the next one begins. */
  #step(source: Uint8Array, at: number): number {
    switch (this.#mode) {
      case Mode.Code:
        return this.#code(source, at);
      case Mode.Word:
        return this.#takeLetters(source, at);
      case Mode.Number:
        return this.#takeDigits(source, at);
      case Mode.LineComment:
        return this.#skipLine(source, at);
      case Mode.BlockComment:
        return this.#skipTo(0x2a, Mode.BlockStar, source, at);
      case Mode.Quoted:
        return this.#takeQuoted(source, at);
      case Mode.Escaped:
        this.#mode = Mode.Quoted;
        return at + 1;
      case Mode.BlockStar:
        if (source[at] !== 0x2a) this.#mode = source[at] === 0x2f ? Mode.Code : Mode.BlockComment;
        return at + 1;
      case Mode.Slash:
        this.#mode = source[at] === 0x2f ? Mode.LineComment : source[at] === 0x2a ? Mode.BlockComment : Mode.Code;
        if (this.#mode !== Mode.Code) return at + 1;
        this.#spoil("a slash");
        return at;
    }
  }

  #code(source: Uint8Array, at: number): number {
    for (; at < source.length; at++) {
      const byte = source[at]!;
      const kind = KINDS[byte];
      if (kind === Kind.Space) continue;
      if (kind === Kind.Digit) {
        if (this.#next === Next.Comma) this.#spoil("a number without a comma before it");
        this.#startNumber(byte);
        this.#mode = Mode.Number;
        return at + 1;
      }
      if (kind === Kind.Letter) {
        this.#spoil("a name");
        this.#word_length = 0;
        this.#mode = Mode.Word;
        return at;
      }
      this.#mode = this.#punctuation(byte);
      if (this.#mode !== Mode.Code) return at + 1;
    }
    return at;
  }

  #skipTo(end: number, mode: Mode, source: Uint8Array, at: number): number {
    const end_at = source.indexOf(end, at);
    if (end_at < 0) return source.length;
    this.#mode = mode;
    return end_at + 1;
  }

  /** To the end of the line, and to that of the next one where a backslash joins them, behind which compilers skip spaces. */
  #skipLine(source: Uint8Array, at: number): number {
    const end_at = source.indexOf(0x0a, at);
    let last = (end_at < 0 ? source.length : end_at) - 1;
    while (last >= at && KINDS[source[last]!] === Kind.Space) last--;
    if (last >= at) this.#is_joined = source[last] === 0x5c;
    if (end_at < 0) return source.length;
    if (!this.#is_joined) this.#mode = Mode.Code;
    this.#is_joined = false;
    return end_at + 1;
  }

  #takeLetters(source: Uint8Array, at: number): number {
    const word = this.#word;
    let length = this.#word_length;
    for (; at < source.length; at++) {
      const byte = source[at]!;
      if (KINDS[byte]! < Kind.Letter) {
        this.#mode = Mode.Code;
        break;
      }
      if (length < MAX_NAME_BYTES) word[length++] = byte;
    }
    this.#word_length = length;
    return at;
  }

  /** Texts end with their line, also where somebody has forgotten the quote. */
  #takeQuoted(source: Uint8Array, at: number): number {
    for (; at < source.length; at++) {
      const byte = source[at];
      if (byte !== this.#quote && byte !== 0x0a && byte !== 0x5c) continue;
      this.#mode = byte === 0x5c ? Mode.Escaped : Mode.Code;
      return at + 1;
    }
    return at;
  }

  #takeDigits(source: Uint8Array, at: number): number {
    if (this.#next === Next.Nothing) return this.#skipNumber(source, at);
    for (; at < source.length; at++) {
      const digit = DIGITS[source[at]!]!;
      if (digit < this.#base && !this.#has_suffix) {
        this.#value = Math.min(this.#value * this.#base + digit, 2 ** 30);
        this.#n_digits += 1;
      } else if (!this.#takeMark(source[at]!)) {
        this.#endNumber();
        this.#mode = Mode.Code;
        return at;
      }
    }
    return at;
  }

  /** A number outside of lists, whose value nobody asks for. */
  #skipNumber(source: Uint8Array, at: number): number {
    while (at < source.length && (KINDS[source[at]!]! >= Kind.Letter || source[at] === 0x27)) at++;
    if (at < source.length) this.#mode = Mode.Code;
    return at;
  }

  /** After the last piece. */
  end(): void {
    if (this.#mode === Mode.Number) this.#endNumber();
    this.#spoil("the end of the source");
  }

  #punctuation(byte: number): Mode {
    if (byte === 0x2c && this.#next === Next.Comma) {
      this.#next = Next.Value;
      return Mode.Code;
    }
    if (byte === 0x2f) return Mode.Slash;
    if (byte === 0x7b) {
      this.#startList();
      return Mode.Code;
    }
    if (byte === 0x7d) {
      this.#endList();
      this.#is_declared = false;
      return Mode.Code;
    }
    if ((byte === 0x2d || byte === 0x2b) && this.#next === Next.Value) {
      this.#is_negative = byte === 0x2d;
      this.#next = Next.Digits;
      return Mode.Code;
    }
    this.#spoil("something else");
    if (byte === 0x22 || byte === 0x27) {
      this.#quote = byte;
      return Mode.Quoted;
    }
    if (byte === 0x3b) this.#is_declared = false;
    if (byte === 0x5b && !this.#is_declared) {
      this.#is_declared = true;
      // Byte by byte: a view for each declaration costs more than to read it.
      for (let idx = 0; idx < this.#word_length; idx++) this.#declared[idx] = this.#word[idx]!;
      this.#declared_length = this.#word_length;
    }
    return Mode.Code;
  }

  #startNumber(byte: number): void {
    this.#base = byte === 0x30 ? 8 : 10;
    this.#n_digits = 1;
    this.#value = byte - 0x30;
    this.#has_suffix = false;
  }

  /** What is in a number beside its digits; false where it has ended. What is no number of C has a value that is no byte. */
  #takeMark(byte: number): boolean {
    if (byte === 0x27) return true; // between digits, as C++ has it
    if (KINDS[byte]! < Kind.Letter) return false;
    const is_prefix = this.#n_digits === 1 && this.#value === 0 && this.#base === 8;
    if (is_prefix && (byte | 0x20) === 0x78) this.#base = 16;
    else if (is_prefix && (byte | 0x20) === 0x62) this.#base = 2;
    else if (SUFFIXES.has(byte)) this.#has_suffix = true;
    else this.#value = NaN;
    return true;
  }

  #endNumber(): void {
    if (this.#next !== Next.Value && this.#next !== Next.Digits) return;
    const has_digits = this.#n_digits > 1 || this.#base === 8 || this.#base === 10;
    const value = !has_digits ? NaN : this.#is_negative ? -this.#value : this.#value;
    this.#is_negative = false;
    if (this.#n_values === 0) this.n_arrays += 1;
    if (!(value >= -128 && value <= 255)) return this.#spoil("a number that is no byte");
    this.#next = Next.Comma;
    if (this.#n_values === this.#bytes.length) this.#grow();
    this.#bytes[this.#n_values++] = value;
    if (this.#n_values === HEAD_BYTES) this.#readHead();
  }

  /** Of what is no model, nothing more is kept. */
  #readHead(): void {
    if (MAGIC.some((byte, idx) => this.#bytes[4 + idx] !== byte)) this.#next = Next.Nothing;
    else if (this.models.length >= this.#max_arrays) {
      this.n_left_out += 1;
      this.#next = Next.Nothing;
    } else {
      this.#is_model = true;
      const word = this.#is_declared ? this.#declared.subarray(0, this.#declared_length) : this.#word.subarray(0, this.#word_length);
      this.#name = new TextDecoder().decode(word);
    }
  }

  #grow(): void {
    const grown = new Uint8Array(Math.max(MIN_CAPACITY, 2 * this.#bytes.length));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }

  #startList(): void {
    this.#spoil("another brace");
    this.#next = Next.Value;
    this.#n_values = 0;
    this.#is_negative = false;
  }

  #endList(): void {
    if (this.#next === Next.Digits) this.#spoil("a sign without a number");
    if (this.#is_model) this.models.push({ name: this.#name, bytes: this.#bytes.slice(0, this.#n_values), problem: "" });
    this.#leaveList();
  }

  /** The list holds something else than bytes. */
  #spoil(what: string): void {
    if (this.#next === Next.Nothing) return;
    if (this.#is_model) this.models.push({ name: this.#name, bytes: null, problem: `expected a number from 0 to 255 or } after ${this.#n_values} bytes of the array, found ${what}` });
    this.#leaveList();
  }

  #leaveList(): void {
    if (this.#is_model) this.#bytes = new Uint8Array(HEAD_BYTES);
    this.#is_model = false;
    this.#next = Next.Nothing;
  }
}
