/** Byte arrays in C sources, read in pieces of any length. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";

const { CArrayReader } = await importSource("c_arrays.ts");

/** `piece` is the length of the pieces. */
function read(source, { piece = source.length || 1, max_arrays = 1000 } = {}) {
  const bytes = Buffer.from(source);
  const reader = new CArrayReader(max_arrays);
  for (let at = 0; at < bytes.length; at += piece) reader.push(bytes.subarray(at, at + piece));
  reader.end();
  return reader;
}

const HEAD = [0x1c, 0, 0, 0, 0x54, 0x46, 0x4c, 0x33];
const MODEL = [...HEAD, 0, 255, 7, 8, 9, 128];
const list = (bytes, write = String) => bytes.map(write).join(", ");
const hex = (byte) => `0x${byte.toString(16).padStart(2, "0")}`;

/** Sources with what they hold: the name and the bytes of each model. */
const READ = {
  "xxd -i": [`unsigned char net_tflite[] = {\n  ${list(MODEL, hex)}\n};\nunsigned int net_tflite_len = 14;\n`, "net_tflite"],
  "alignment, attributes and a macro": [`#include "x.h"\nalignas(16) const unsigned char g_model[] DATA_ALIGN_ATTRIBUTE __attribute__((aligned(4))) = {${list(MODEL, hex)},};`, "g_model"],
  "a length in brackets": [`const uint8_t model[MODEL_LENGTH] PROGMEM = {${list(MODEL)}};`, "model"],
  "std::array": [`constexpr std::array<uint8_t, 14> model = {{${list(MODEL)}}};`, "model"],
  "without an equals sign": [`const uint8_t model[]{${list(MODEL)}};`, "model"],
  "signed bytes": [`const signed char model[] = {${list(MODEL, (byte) => String(byte > 127 ? byte - 256 : byte))}};`, "model"],
  "suffixes, octal, binary and separators": [`char model[] = {0x1Cu, 0, 00, 0U, 0124, 0x4'6, 0b1001100, 063L, 0, 255uL, 7, 010, 9, 0X80};`, "model"],
  "comments that hold code": [`/* x[] = { 1 } */ char model[] = { // {\n ${list(MODEL.slice(0, 5))}, /* "}" */ ${list(MODEL.slice(5))} /**/ };`, "model"],
  "line comments that go on": [`// \\\n x[] = { \\ \t\r\n 1 }\nchar model[] = {${list(MODEL.slice(0, 5))}, // a \\ b \\\n 1, 2,\n${list(MODEL.slice(5))}};`, "model"],
  "texts that hold code": [`char *t = "a[] = {\\"1, 2"; char q = '"'; char model[] = {${list(MODEL)}};`, "model"],
  "a quote that is not closed": [`#error don't\nchar model[] = {${list(MODEL)}};`, "model"],
};

test("arrays of the usual generators are read, and of the language", () => {
  for (const [what, [source, name]] of Object.entries(READ)) {
    for (const piece of [1, 3, source.length]) {
      const { models } = read(source, { piece });
      assert.deepEqual(models.map(({ name, bytes }) => [name, [...(bytes ?? [])]]), [[name, MODEL]], `${what}, in pieces of ${piece}`);
    }
  }
});

test("numbers are those of a C compiler", (context) => {
  const compiler = ["cc", "gcc", "clang"].find((name) => spawnSync(name, ["--version"]).status === 0);
  if (!compiler) return context.skip("page: no C compiler here");
  const folder = mkdtempSync(path.join(tmpdir(), "litecast-c-"));
  try {
    const numbers = ["0", "00", "07", "010", "0377", "9", "255", "0x0", "0Xff", "0xFfu", "12U", "12ul", "12LLU", "-1", "- 128", "+ 3", "0b101", "0B11111111u"];
    const source = `unsigned char model[] = {${list(HEAD)}, ${numbers.join(", ")}};\n`;
    const program = `#include <stdio.h>\n${source}int main(void) { for (unsigned i = 0; i < sizeof model; i++) printf("%d ", model[i]); return 0; }\n`;
    writeFileSync(path.join(folder, "numbers.c"), program);
    const built = spawnSync(compiler, ["-w", "-o", path.join(folder, "numbers"), path.join(folder, "numbers.c")]);
    assert.equal(built.status, 0, String(built.stderr));
    const expected = String(spawnSync(path.join(folder, "numbers")).stdout).trim().split(" ").map(Number);
    assert.deepEqual([...read(source).models[0].bytes], expected);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("arrays that begin as a model and hold something else are named with the place", () => {
  const cases = {
    "a name": `char m[] = {${list(MODEL)}, FOO};`,
    "a number that is no byte": `char m[] = {${list(MODEL)}, 256};`,
    "a number without a comma before it": `char m[] = {${list(MODEL)} 1};`,
    "something else": `char m[] = {${list(MODEL)}, 1.5};`,
    "another brace": `char m[] = {${list(MODEL)}, {1}};`,
    "a sign without a number": `char m[] = {${list(MODEL)}, -};`,
    "the end of the source": `char m[] = {${list(MODEL)}`,
  };
  for (const [words, source] of Object.entries(cases)) {
    const { models } = read(source);
    assert.equal(models.length, 1, words);
    assert.equal(models[0].bytes, null, words);
    assert.match(models[0].problem, new RegExp(`after 1[45] bytes of the array, found ${words}$`));
  }
  for (const number of ["0x", "0B", "-0x", "0xu"]) assert.equal(read(`char m[] = {${list(MODEL)}, ${number}};`).models[0].bytes, null, number);
});

test("what is no model is counted, and models beyond the limit too", () => {
  assert.equal(read("const int table[] = {1, 2, 3}; int f() { return 0; }").n_arrays, 1);
  const many = read(`x[] = {${list(HEAD)}};`.repeat(5), { max_arrays: 3 });
  assert.equal(many.models.length, 3);
  assert.equal(many.n_left_out, 2);
  for (const source of ["", "{", "}", "'", '"', "/", "/*", "\\", "0x", "x[", "\0", "-", "={,}"]) assert.deepEqual(read(source).models, [], source);
});

test("steps grow as the source does, whatever it is made of", () => {
  // The reader goes over a source once: each byte is looked at once in its piece, and a piece is never looked at again.
  const units = ["a", "1", "{", "[", "'", '"a', "/*", "//", "x[]={", "{1},", "0x1,", `x[]={${list(HEAD)}};`, "\\", "é", "a[]=", "QUJD\n"];
  const looked = (unit, n) => {
    const source = Buffer.from(unit.repeat(n));
    let n_looks = 0;
    const watched = new Proxy(source, {
      get(target, name) {
        if (typeof name === "string" && /^\d+$/.test(name)) n_looks += 1;
        if (name === "indexOf")
          return (byte, from) => {
            const found = target.indexOf(byte, from);
            n_looks += (found < 0 ? target.length : found + 1) - from;
            return found;
          };
        return target[name];
      },
    });
    const reader = new CArrayReader(10);
    reader.push(watched);
    reader.end();
    return n_looks;
  };
  for (const unit of units) {
    const [once, tenfold] = [looked(unit, 300), looked(unit, 3000)];
    assert.ok(tenfold <= 10.5 * once, `${unit}: ${once} looks, ${tenfold} at ten times the length`);
    assert.ok(once <= 6 * 300 * Buffer.byteLength(unit), `${unit}: ${once} looks`);
  }
});

const TOKENS = ["{", "}", "[", "]", "=", ";", ",", '"', "'", "\\", "/", "*", "//", "/*", "*/", "\n", " ", "0x1c", "0", "84", "70", "255", "256", "-1", "0b1", "07", "1'0", "a", "char", "é", `{${list(HEAD)},`, "-", "1.5", "u", "0x"];

test("random sources are read the same in pieces of any length", () => {
  const random = randomNumbers(43);
  const below = (n) => Math.floor(random() * n);
  const found = (source, piece) => {
    const { models, n_arrays, n_left_out } = read(source, { piece, max_arrays: 5 });
    return { models: models.map(({ name, bytes, problem }) => [name, bytes && [...bytes], problem]), n_arrays, n_left_out };
  };
  let n_models = 0;
  for (let i = 0; i < 3000; i++) {
    const source = Buffer.from(Array.from({ length: below(40) }, () => TOKENS[below(TOKENS.length)]).join(random() < 0.5 ? "" : " "));
    const whole = found(source);
    n_models += whole.models.length;
    for (const piece of [1, 2 + below(7)]) assert.deepEqual(found(source, piece), whole, source.toString());
  }
  assert.ok(n_models > 100, `${n_models} models`);
});
