#!/usr/bin/env node
/**
 * order-functions.mjs FROM TO: names the functions of a module so that `wasm-opt --reorder-functions-by-name` puts
 * similar ones side by side. After brotli the browser's module is then 30 kB smaller: a compressor spends fewer bits on
 * what it has just seen, and compilers write instances of one generic function far from each other.
 *
 * The functions that are called most stay in front, because their indices take one byte; `wasm-opt --reorder-functions`
 * has put them there.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

const CUSTOM_SECTION = 0;
const IMPORT_SECTION = 2;
const CODE_SECTION = 10;
const FUNCTION_NAMES = 1;

/** Indices of one byte. */
const N_SHORT_INDICES = 128;
/** Instructions in a row that are compared as one. */
const SHINGLE = 8;
/** How many of the smallest hashes of a function's shingles are kept, each under another hash function. */
const N_HASHES = 128;
/** So many of them are equal at least where two functions count as similar. */
const MIN_EQUAL_HASHES = 2;
/** Functions with one equal hash that are looked at. */
const MAX_CANDIDATES = 60;

/** Instructions with one number or type behind them: blocks, branches, calls, variables, tables, constants, references. */
const HAS_NUMBER = new Set([
  ...[0x02, 0x03, 0x04, 0x0c, 0x0d, 0x10, 0x12],
  ...[0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3f, 0x40, 0x41, 0x42, 0xd0, 0xd2],
]);

class Reader {
  constructor(bytes, offset) {
    this.bytes = bytes;
    this.offset = offset;
  }

  /** LEB128. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.offset++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  skip(length) {
    this.offset += length;
  }

  /** Alignment and offset of a load or store, and the memory where there are several. */
  memoryArgument() {
    if (this.number() & 0x40) this.number();
    this.number();
  }

  /** A limit of a table or memory. */
  limits() {
    const flags = this.number();
    this.number();
    if (flags & 1) this.number();
  }
}

function leb(value) {
  const bytes = [];
  for (; value >= 0x80; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return [...bytes, value];
}

/** The sections of a module: kind, first byte of the content, and end. */
function sectionsOf(module) {
  const sections = [];
  const reader = new Reader(module, 8);
  while (reader.offset < module.length) {
    const kind = reader.number();
    const length = reader.number();
    sections.push({ kind, start: reader.offset, end: reader.offset + length });
    reader.skip(length);
  }
  return sections;
}

function nImportedFunctions(module, section) {
  const reader = new Reader(module, section.start);
  let n_functions = 0;
  for (let n = reader.number(); n > 0; n--) {
    reader.skip(reader.number());
    reader.skip(reader.number());
    const kind = reader.number();
    if (kind === 0) {
      reader.number();
      n_functions += 1;
    } else if (kind === 1) {
      reader.skip(1);
      reader.limits();
    } else if (kind === 2) {
      reader.limits();
    } else {
      reader.skip(2);
    }
  }
  return n_functions;
}

/** The bytes of each function. */
function bodiesOf(module, section) {
  const reader = new Reader(module, section.start);
  return Array.from({ length: reader.number() }, () => {
    const length = reader.number();
    reader.skip(length);
    return module.subarray(reader.offset - length, reader.offset);
  });
}

/** Vectors: instructions of this prefix have a number of their own. */
const SIMD_PREFIX = 0xfd;
/** Bulk memory, tables, and conversions that saturate. */
const OTHER_PREFIX = 0xfc;

/** Instructions of vectors by number → where their immediates end. */
function skipSimd(reader, number) {
  if (number <= 11 || (number >= 84 && number <= 93)) {
    reader.memoryArgument();
    if (number >= 84 && number <= 91) reader.skip(1);
  } else if (number <= 13) {
    reader.skip(16);
  } else if (number >= 21 && number <= 34) {
    reader.skip(1);
  }
}

function skipOther(reader, number) {
  if (number < 8) return;
  reader.number();
  if (number === 8 || number === 10 || number === 12 || number === 14) reader.number();
}

/** The instructions of a function without their immediates, which differ where functions are alike. */
function instructionsOf(body) {
  const instructions = [];
  const reader = new Reader(body, 0);
  for (let n = reader.number(); n > 0; n--) {
    reader.number();
    reader.skip(1);
  }
  while (reader.offset < body.length) {
    const code = body[reader.offset++];
    instructions.push(code);
    if (code === SIMD_PREFIX || code === OTHER_PREFIX) {
      const number = reader.number();
      instructions.push(number & 0xff);
      if (code === SIMD_PREFIX) skipSimd(reader, number);
      else skipOther(reader, number);
    } else if (code === 0x0e) {
      // br_table
      for (let n = reader.number(); n >= 0; n--) reader.number();
    } else if (code === 0x11 || code === 0x13) {
      // Indirect calls.
      reader.number();
      reader.number();
    } else if (code === 0x1c) {
      // select with types
      reader.skip(reader.number());
    } else if (code >= 0x28 && code <= 0x3e) {
      reader.memoryArgument();
    } else if (code === 0x43) {
      reader.skip(4);
    } else if (code === 0x44) {
      reader.skip(8);
    } else if (HAS_NUMBER.has(code)) {
      reader.number();
    } else if (code > 0xc4 && code !== 0xd1) {
      throw new Error(`expected an instruction, found ${code}`);
    }
  }
  return instructions;
}

/** The smallest hash of a function's shingles under each of `N_HASHES` hash functions. */
function signatureOf(body) {
  const instructions = instructionsOf(body);
  const smallest = new Uint32Array(N_HASHES).fill(0xffffffff);
  for (let start = 0; start === 0 || start + SHINGLE <= instructions.length; start++) {
    let hash = 0;
    for (const code of instructions.slice(start, start + SHINGLE)) hash = Math.imul(hash ^ code, 0x01000193);
    for (let k = 0; k < N_HASHES; k++) {
      let mixed = Math.imul(hash ^ Math.imul(k + 1, 0x9e3779b1), 0x85ebca6b);
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 0;
      if (mixed < smallest[k]) smallest[k] = mixed;
    }
  }
  return smallest;
}

/** Indices of `bodies`, each behind the most similar one that is left. */
function bySimilarity(bodies) {
  const signatures = bodies.map(signatureOf);
  const with_hash = new Map();
  const key = (idx, k) => k * 2 ** 32 + signatures[idx][k];
  for (let idx = 0; idx < bodies.length; idx++) {
    for (let k = 0; k < N_HASHES; k++) {
      const group = with_hash.get(key(idx, k));
      if (group) group.push(idx);
      else with_hash.set(key(idx, k), [idx]);
    }
  }
  const order = [];
  const is_placed = new Uint8Array(bodies.length);
  let first_left = 0;
  let next;
  while (order.length < bodies.length) {
    if (next === undefined) {
      while (is_placed[first_left]) first_left++;
      next = first_left;
    }
    order.push(next);
    is_placed[next] = 1;
    const n_equal = new Map();
    for (let k = 0; k < N_HASHES; k++) {
      const left = with_hash.get(key(next, k)).filter((idx) => !is_placed[idx]);
      with_hash.set(key(next, k), left);
      for (const idx of left.slice(0, MAX_CANDIDATES)) n_equal.set(idx, (n_equal.get(idx) ?? 0) + 1);
    }
    const length = bodies[next].length;
    const rank = (idx) => n_equal.get(idx) - Math.abs(bodies[idx].length - length) / 2 ** 32;
    let best;
    for (const [idx, n] of n_equal) {
      if (n >= MIN_EQUAL_HASHES && (best === undefined || rank(idx) > rank(best))) best = idx;
    }
    next = best;
  }
  return order;
}

const [from, to] = process.argv.slice(2);
const module = readFileSync(from);
const sections = sectionsOf(module);
const find = (kind) => sections.find((section) => section.kind === kind);
const imports = find(IMPORT_SECTION);
const n_imported = imports ? nImportedFunctions(module, imports) : 0;
const bodies = bodiesOf(module, find(CODE_SECTION));
const n_short = Math.max(N_SHORT_INDICES - n_imported, 0);
const similar = bySimilarity(bodies.slice(n_short)).map((idx) => idx + n_short);
const order = [...bodies.keys()].slice(0, n_short).concat(similar);
const place = new Array(bodies.length);
order.forEach((idx, k) => (place[idx] = k));
const names = place.flatMap((k, idx) => {
  const name = Buffer.from(String(k).padStart(6, "0"));
  return [...leb(n_imported + idx), name.length, ...name];
});
const list = [...leb(bodies.length), ...names];
const content = [4, ...Buffer.from("name"), FUNCTION_NAMES, ...leb(list.length), ...list];
writeFileSync(to, Buffer.concat([module, Buffer.from([CUSTOM_SECTION, ...leb(content.length), ...content])]));
