/**
 * A thousand hostile files on one page: `node tests/page/hostile.mjs [--files 1000] [--seed 1] [--mutants FILE]`. Mutants
 * of the examples and of a residual network are dropped one after the other, in turns with those that
 * `litecast-fuzz --target mutants` wrote to FILE: valid FlatBuffers, most of which pass the verifier. Every one has to end
 * in a report or a refusal in words, also in an archive or as a C source, good files between them in the numbers that they had at first, and the memory of the
 * page within 20 % of what it was.
 */
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { dropBytes, openBrowser, openPage, readEstimates, waitDrawn } from "./browser.mjs";
import { memoryBytes, prefixed, shown } from "./judged.mjs";
import { residualModel } from "./model.mjs";
import { randomNumbers } from "./random.mjs";
import { zipOf } from "./zip.mjs";

const EXAMPLES = fileURLToPath(new URL("../../www/examples/", import.meta.url));
const GOOD_EVERY = 50;
const MAX_GROWTH = 0.2;
const N_BEFORE = 60;

const { values } = parseArgs({ options: { files: { type: "string", default: "1000" }, seed: { type: "string", default: "1" }, mutants: { type: "string" } } });

const EXTREMES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

/** Some bytes changed, cut off, doubled or replaced by numbers at the ends of their range. */
function mutant(seed_file, random) {
  const below = (n) => Math.floor(random() * n);
  let bytes = Buffer.from(seed_file);
  for (let n = 1 + below(6); n > 0; n--) {
    const at = below(bytes.length - 4);
    const kind = random();
    if (kind < 0.4) bytes.writeUInt32LE(EXTREMES[below(EXTREMES.length)], at & ~3);
    else if (kind < 0.7) bytes[at] = below(256);
    else if (kind < 0.8) bytes.writeUInt32LE(below(2 ** 32), at & ~3);
    else if (kind < 0.9) bytes.copy(bytes, at, below(bytes.length - 64), Math.min(bytes.length, below(64) + at));
    else if (bytes.length > 4096) bytes = bytes.subarray(0, 64 + below(bytes.length - 64));
  }
  return bytes;
}

/** In turns as it is, in an archive, compressed, and as a C source; each tenth archive is a mutant itself. */
function wrapped(name, bytes, i, random) {
  if (i % 10 === 3) return [`${name}.zip`, zipOf({ [name]: bytes, "readme.txt": Buffer.from("x") })];
  if (i % 10 === 5) return [`${name}.gz`, gzipSync(bytes)];
  if (i % 10 === 7) return [`${name}.h`, Buffer.from(`const unsigned char ${path.parse(name).name}[] = {${[...bytes].join(",")}};`)];
  if (i % 10 === 9) return [`${name}.zip`, mutant(zipOf({ [name]: bytes }), random)];
  return [name, bytes];
}

async function good(page, i) {
  const name = `good${i}.tflite`;
  await dropBytes(page, name, residualModel(40));
  await waitDrawn(page, name);
  return readEstimates(page);
}

const names = (await readdir(EXAMPLES)).filter((name) => name.endsWith(".tflite"));
const seeds = [residualModel(24), ...(await Promise.all(names.map((name) => readFile(path.join(EXAMPLES, name)))))];
const random = randomNumbers(Number(values.seed));
const valid = values.mutants ? [...prefixed(await readFile(values.mutants))] : [];
const chromium = await openBrowser({ is_whole: true, args: ["--js-flags=--expose-gc"] });
const { page, close } = await openPage(chromium);
const crashes = [];
page.on("crash", () => crashes.push("the page crashed"));

const expected = await good(page, 0);
// What a page keeps of the files that it has seen is bounded, and there after some dozens of those that mutants are of.
for (let i = 1; i <= N_BEFORE; i++) {
  await dropBytes(page, `seed${i}.tflite`, seeds[i % seeds.length]);
  await waitDrawn(page, `seed${i}.tflite`);
}
const before = await memoryBytes(chromium.browser, page);
const tally = {};
let slowest_ms = 0;
for (let i = 1; i <= Number(values.files); i++) {
  const begun = performance.now();
  const name = `mutant${i}.tflite`;
  const of_fuzzer = i % 2 === 0 ? valid[i / 2 - 1] : undefined;
  await dropBytes(page, ...wrapped(name, of_fuzzer ?? mutant(seeds[i % seeds.length], random), i, random));
  const kind = await shown(page, name);
  slowest_ms = Math.max(slowest_ms, performance.now() - begun);
  tally[kind] = (tally[kind] ?? 0) + 1;
  if (i % GOOD_EVERY === 0) assert.deepEqual(await good(page, 1000 + i), expected, `after ${i} hostile files`);
}
for (let i = 0; i < 3; i++) assert.deepEqual(await good(page, 5000 + i), expected);
const after = await memoryBytes(chromium.browser, page);
await close();
await chromium.close();
console.log(`${values.files} hostile files: ${Object.entries(tally).sort(([, a], [, b]) => b - a).map(([kind, n]) => `${n} ${kind}`).join(", ")}`);
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
const growth = (after.own - before.own) / before.resident;
console.log(`slowest ${slowest_ms.toFixed(0)} ms; memory of the page ${mebibytes(before.resident)} before, of them ${mebibytes(before.own)} of no file, and ${mebibytes(after.own)} after: ${(100 * growth).toFixed(1)} % more`);
assert.deepEqual(crashes, []);
assert.equal(tally.internal ?? 0, 0, "a file made the module trap");
assert.equal(tally.none ?? 0, 0, "a refusal without a kind");
assert.ok(growth <= MAX_GROWTH, `grown by ${after.own - before.own} bytes of ${before.resident}`);
