#!/usr/bin/env node
/**
 * The linker of the browser's modules: rustc's own, which makes all of them of one compilation, each of its exports and
 * with a file of its own. What nothing exported needs, the linker drops. Where tract was compiled, the package's module,
 * which loads networks, is linked beside that of the page.
 *
 * What crates register before a program starts, the linker cannot drop. No network that the trainer exports needs of tract
 * the transformations of models and the runtimes that are looked up by name (tract-core, 0.8 MB of code with all that they
 * call), nor the matrix kernels in portable code (tract-linalg, 0.4 MB), beside which there are SIMD kernels for every
 * product of floats. A module without networks needs none of what tract registers.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";

/** Archives with their constructors that are dropped, by a part of the symbols. */
const NO_EXPORTED_NETWORK_NEEDS = [
  { archive: /^libtract_core-[0-9a-f]+\.rlib$/, symbol: "tract_core" },
  { archive: /^libtract_linalg-[0-9a-f]+\.rlib$/, symbol: "tract_linalg7generic3mmm" },
];
const ALL_OF_TRACT = [{ archive: /^libtract_\w+-[0-9a-f]+\.rlib$/, symbol: "" }];

const LOADS_NETWORK = /^(__wbindgen_describe_)?engine_loadPredictor/;
/** The exports of `src/wasm_profiles.rs`, with a hash of our own crate. */
const MAKES_DEVICES =
  /^(?:__wbindgen_describe_)?(?:addMeasurement|baseFamilies|readDevice|factsOf|nextMeasurements|command|tools)(_[0-9a-f]+)$/;

const isOfEngine = (symbol) => !MAKES_DEVICES.test(symbol);
const PACKAGE = { file: "package.wasm", has: isOfEngine, dropped: NO_EXPORTED_NETWORK_NEEDS };
const PAGE = { file: "page.wasm", has: (symbol) => isOfEngine(symbol) && !LOADS_NETWORK.test(symbol), dropped: ALL_OF_TRACT };
const DEVICES = { file: "devices.wasm", has: (symbol) => !isOfEngine(symbol) || !isOfOurCrate(symbol), dropped: ALL_OF_TRACT };
/** Of a compilation without tract. */
const PAGE_ALONE = { ...PAGE, file: "page-alone.wasm", dropped: [] };
const DEVICES_ALONE = { ...DEVICES, file: "devices-alone.wasm", dropped: [] };

// https://github.com/WebAssembly/tool-conventions/blob/main/Linking.md
const CUSTOM_SECTION = 0;
const INIT_FUNCS = 6;
const SYMBOL_TABLE = 8;
/** Linkers skip subsections that they do not know. */
const UNKNOWN_SUBSECTION = 0x7f;
const [FUNCTION, DATA, GLOBAL, SECTION, EVENT, TABLE] = [0, 1, 2, 3, 4, 5];
const UNDEFINED = 0x10;
const EXPLICIT_NAME = 0x40;

function fail(message) {
  console.error(`link-wasm: ${message}`);
  process.exit(1);
}

class Reader {
  constructor(bytes, offset) {
    this.bytes = bytes;
    this.offset = offset;
  }

  byte() {
    return this.bytes[this.offset++];
  }

  /** LEB128. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  text() {
    const length = this.number();
    this.offset += length;
    return this.bytes.toString("latin1", this.offset - length, this.offset);
  }

  /** The symbol at this place, without a name where another file defines it. */
  symbol() {
    const [kind, flags] = [this.byte(), this.number()];
    if (kind === SECTION) return `section ${this.number()}`;
    if (kind === DATA) {
      const name = this.text();
      if (!(flags & UNDEFINED)) for (let field = 0; field < 3; field++) this.number();
      return name;
    }
    if (![FUNCTION, GLOBAL, EVENT, TABLE].includes(kind)) fail(`unknown kind of symbol ${kind}`);
    this.number();
    return !(flags & UNDEFINED) || flags & EXPLICIT_NAME ? this.text() : "";
  }
}

/** LEB128 of exactly `length` bytes. */
function padded(value, length) {
  return Array.from({ length }, (_, k) => (Math.floor(value / 2 ** (7 * k)) & 0x7f) | (k < length - 1 ? 0x80 : 0));
}

/** The parts of the section that linkers read: kind, first byte, first byte of the content, and end. */
function linkingParts(object) {
  const parts = [];
  const sections = new Reader(object, 8);
  while (sections.offset < object.length) {
    const id = sections.byte();
    const size = sections.number();
    const end = sections.offset + size;
    const reader = new Reader(object, sections.offset);
    sections.offset = end;
    if (id !== CUSTOM_SECTION || reader.text() !== "linking") continue;
    reader.number();
    while (reader.offset < end) {
      const start = reader.offset;
      const kind = reader.byte();
      const length = reader.number();
      parts.push({ kind, start, content: reader.offset, end: reader.offset + length });
      reader.offset += length;
    }
  }
  return parts;
}

/** Takes the constructors with `symbol` from an object file's list, without moving a byte behind it. Returns their number. */
function dropConstructors(object, symbol) {
  const parts = linkingParts(object);
  const [list, table] = [INIT_FUNCS, SYMBOL_TABLE].map((kind) => parts.find((part) => part.kind === kind));
  if (!list || !table) return 0;
  const symbols = new Reader(object, table.content);
  const names = Array.from({ length: symbols.number() }, () => symbols.symbol());
  const entries = new Reader(object, list.content);
  const kept = [];
  const n = entries.number();
  let n_kept = 0;
  for (let k = 0; k < n; k++) {
    const start = entries.offset;
    entries.number();
    if (names[entries.number()].includes(symbol)) continue;
    kept.push(...object.subarray(start, entries.offset));
    n_kept += 1;
  }
  if (n_kept === n) return 0;
  // Each entry has two bytes at least: there is room for the head of a part that is skipped, five bytes of size each.
  const content = [...padded(n_kept, 2), ...kept];
  const part = n_kept > 0 ? [INIT_FUNCS, ...padded(content.length, 5), ...content] : [];
  const left = list.end - list.start - part.length;
  if (left < 6) fail("too few constructors are dropped");
  object.set([...part, UNKNOWN_SUBSECTION, ...padded(left - 6, 5)], list.start);
  return n - n_kept;
}

/** The same for every object file in an archive, which is a list of headers of 60 bytes with a file behind each. */
function dropFromArchive(archive, symbol) {
  if (archive.toString("latin1", 0, 8) !== "!<arch>\n") fail("expected an archive");
  let n_dropped = 0;
  let header = 8;
  while (header + 60 <= archive.length) {
    const size = Number(archive.toString("latin1", header + 48, header + 58));
    const member = archive.subarray(header + 60, header + 60 + size);
    if (member.toString("latin1", 0, 4) === "\0asm") n_dropped += dropConstructors(member, symbol);
    header += 60 + size + (size % 2);
  }
  return n_dropped;
}

/** A copy of the archive without these constructors, and how many they were. */
function archiveWithout(symbol, option, folder) {
  const archive = readFileSync(option);
  const n_dropped = dropFromArchive(archive, symbol);
  const copy = path.join(folder, path.basename(option));
  writeFileSync(copy, archive);
  return [copy, n_dropped];
}

/** `options` with the exports of a module, the file to write, and copies in `folder` of archives that lose constructors. */
function optionsOf({ file, has, dropped }, options, folder) {
  const n_dropped = dropped.map(() => 0);
  const chosen = [];
  for (let idx = 0; idx < options.length; idx++) {
    const option = options[idx];
    const rule = dropped.findIndex(({ archive }) => archive.test(path.basename(option)));
    if (rule >= 0) {
      const [copy, n] = archiveWithout(dropped[rule].symbol, option, folder);
      n_dropped[rule] += n;
      chosen.push(copy);
    } else if (option === "--export") {
      idx += 1;
      if (has(options[idx])) chosen.push(option, options[idx]);
    } else if (option === "-o") {
      idx += 1;
      chosen.push(option, file);
    } else chosen.push(option);
  }
  const missing = n_dropped.indexOf(0);
  if (missing >= 0) fail(`expected constructors with ${dropped[missing].symbol}, found none`);
  return chosen;
}

function link(options) {
  // rustc puts the folder of its linker on the PATH; Debian's has LLVM's, which is of one flavour.
  let { status, error } = spawnSync("rust-lld", options, { stdio: "inherit" });
  if (error?.code === "ENOENT") {
    const flavour = options.indexOf("-flavor");
    ({ status, error } = spawnSync("wasm-ld", flavour < 0 ? options : options.toSpliced(flavour, 2), { stdio: "inherit" }));
  }
  if (error) fail(error.message);
  if (status !== 0) process.exit(status ?? 1);
}

const options = process.argv.slice(2);
const output = options[options.indexOf("-o") + 1];
const beside = (file) => path.join(path.dirname(output), file);
const has = (symbol) => options.some((option) => symbol.test(option));
const hashes = options.flatMap((option) => MAKES_DEVICES.exec(option)?.slice(1) ?? []);
if (new Set(hashes).size !== 1) fail(`expected exports that make devices, of one crate, found ${hashes.length}`);
function isOfOurCrate(symbol) {
  return symbol.endsWith(hashes[0]);
}
const modules = has(LOADS_NETWORK) ? [PACKAGE, PAGE, DEVICES] : [PAGE_ALONE, DEVICES_ALONE];
for (const module of modules) {
  const folder = mkdtempSync(path.join(tmpdir(), "link-wasm."));
  link(optionsOf({ ...module, file: beside(module.file) }, options, folder));
  rmSync(folder, { recursive: true });
}
// What cargo expects, under a name that all share.
copyFileSync(beside(modules[0].file), output);
// The crates of this link beside those of the compiler itself, by which a test judges the bill of materials.
const crates = options.filter((option) => option.endsWith(".rlib") && !option.includes("/rustlib/"));
const names = crates.map((option) => path.basename(option).replace(/^lib|-[0-9a-f]+\.rlib$/g, ""));
writeFileSync(beside(`${modules[0].file}.crates`), `${[...new Set(names)].sort().join("\n")}\n`);
