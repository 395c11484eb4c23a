/** What a program gives in the place of a file of this package → its bytes, checked. */
import type { FileSource, ResponseLike } from "../types/index.d.ts";
import { isBytes, tag, viewOf } from "./arguments.ts";
import { inWords, isLitecastError, LitecastError, readingLater, thrownInWords, wrongArgument } from "./errors.ts";

/** What differs between a browser and a server. */
export interface Platform {
  /** Decodes Brotli. */
  decompress(bytes: Uint8Array): Promise<Uint8Array>;
  /** The bytes at a URL, or at a path where there are files. */
  read(url: string): Promise<Uint8Array>;
  /** Hexadecimal digits, where that takes less time than the module takes. */
  sha256?(bytes: Uint8Array): string;
}

/** A file that a caller may give. */
export interface Expected {
  /** As in `load({ ... })`. */
  option: string;
  words: string;
  magic: readonly number[];
  /** What a caller without such a file does. */
  without: string;
}

/** How the module is recognised. */
export const WASM: Expected = { option: "wasm", words: "a WebAssembly module", magic: [0x00, 0x61, 0x73, 0x6d], without: "leave out `wasm` to use the copy inside the package" };
const NO_PREDICTOR = "leave out `predictor`, which no target of this version asks";
/** The field `ir_version`, which writers of ONNX put first. */
export const NETWORK: Expected = { option: "predictor.network", words: "an ONNX file", magic: [0x08], without: NO_PREDICTOR };
/** An opening brace, after what JSON allows before it. */
export const MANIFEST: Expected = { option: "predictor.manifest", words: "a manifest in JSON", magic: [0x7b], without: NO_PREDICTOR };

const is_response = (value: object): value is ResponseLike => "arrayBuffer" in value && typeof value.arrayBuffer === "function";

/** Contents of what a caller gave as a file; throws a `LitecastError` that names the option. */
export async function bytesFrom(given: FileSource | PromiseLike<FileSource>, expected: Expected, platform: Platform): Promise<Uint8Array> {
  const source = await resolved(given, expected);
  const { bytes, place } = await readingLater(expected.option, () => read(source, expected, platform));
  check(bytes, place, expected);
  return bytes;
}

/** What a caller's promise becomes, such as that of a request, which may fail. */
export async function resolved(given: unknown, { option, words }: Expected): Promise<unknown> {
  try {
    return await given;
  } catch (error) {
    throw isLitecastError(error) ? error : new LitecastError("asset", `${option}: expected ${words}, but its promise was rejected (${thrownInWords(error)})`, error);
  }
}

async function read(source: unknown, expected: Expected, platform: Platform): Promise<{ bytes: Uint8Array; place: string }> {
  if (isBytes(source)) return { bytes: unshared(viewOf(source, expected.option)), place: expected.option };
  const url = typeof source === "string" ? source : tag(source) === "URL" ? (source as { href: string }).href : null;
  if (url !== null) return { bytes: await platform.read(url), place: url };
  if (typeof source === "object" && source !== null && is_response(source)) {
    const { url = "", ok = true, status = 0 } = source;
    const place = url || expected.option;
    if (!ok) throw new LitecastError("asset", `${place}: expected ${expected.words}, found HTTP status ${status}`);
    const body = await resolved(source.arrayBuffer(), expected);
    if (!isBytes(body)) throw wrongArgument(`${place}: expected bytes of arrayBuffer(), found ${inWords(body)}`);
    return { bytes: unshared(viewOf(body, place)), place };
  }
  throw wrongArgument(`${expected.option}: expected a URL, a Response or bytes, found ${inWords(source)}`);
}

/** Neither compilers of modules nor decoders of text take memory that is shared. */
function unshared(bytes: Uint8Array): Uint8Array {
  return tag(bytes.buffer) === "SharedArrayBuffer" ? bytes.slice() : bytes;
}

/** Names a page that a server gave in the place of a file, which bundlers' servers do. */
function check(bytes: Uint8Array, place: string, { words, magic, without }: Expected): void {
  const start = magic[0] === 0x7b ? bytes.subarray(firstLetter(bytes)) : bytes;
  if (magic.every((byte, idx) => start[idx] === byte)) return;
  const hex = (list: Iterable<number>): string => Array.from(list, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const is_page = bytes[firstLetter(bytes)] === 0x3c;
  const description = is_page ? `a page of HTML or XML (${hex(bytes.subarray(0, 4))})` : hex(bytes.subarray(0, 4)) || "nothing";
  const fix = is_page
    ? `; the server has no such file and answers with a page: serve the file there, or ${without}`
    : "";
  throw new LitecastError("asset", `${place}: expected ${words} (${hex(magic)}), found ${description}${fix}`);
}

/** After white space and a byte order mark. */
function firstLetter(bytes: Uint8Array): number {
  const skipped = [0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf];
  const first = bytes.subarray(0, 1024).findIndex((byte) => !skipped.includes(byte));
  return Math.max(first, 0);
}
