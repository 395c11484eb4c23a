/** Archives of which some bytes were changed, read without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { residualModel } from "./model.mjs";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";
import { zipOfList } from "./zip.mjs";

const { openZip } = await importSource("worker/zip.ts");

const EXTREMES = [0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x08074b50, 0x04034b50, 0x02014b50, 0x06054b50, 0x06064b50];

/** Bytes of headers, and less often of contents, that are others, doubled or cut off. */
function mutant(archive, random) {
  const below = (n) => Math.floor(random() * n);
  let bytes = Buffer.from(archive);
  for (let n = below(6); n > 0 && bytes.length > 8; n--) {
    const from = random() < 0.7 ? Math.max(0, bytes.length - 500) : 0;
    const at = from + below(bytes.length - from - 3);
    const kind = random();
    if (kind < 0.4) bytes.writeUInt32LE(EXTREMES[below(EXTREMES.length)], at);
    else if (kind < 0.7) bytes[at] = below(256);
    else if (kind < 0.8) bytes = bytes.subarray(0, at);
    else if (kind < 0.9) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.max(0, at - below(100)))]);
    else bytes.writeUInt16LE(below(2 ** 16), at);
  }
  return bytes;
}

/** A refusal has a kind; everything else is a defect. */
function kindOf(error) {
  if (error.name !== "KnownError") throw error;
  return error.kind;
}

test("mutants of archives end in bytes or in a refusal with a kind", async () => {
  const model = residualModel(2);
  const random = randomNumbers(43);
  const tally = {};
  const count = (what) => (tally[what] = (tally[what] ?? 0) + 1);
  for (let i = 0; i < 500; i++) {
    const entries = Array.from({ length: 1 + Math.floor(4 * random()) }, (_, idx) => ({
      name: `m${idx}.tflite`,
      bytes: random() < 0.5 ? model : Buffer.alloc(Math.floor(3000 * random())),
      ...(random() < 0.1 ? { size: Math.floor(2 ** 32 * random()) } : {}),
      ...(idx > 0 && random() < 0.05 ? { at: 0 } : {}),
    }));
    const bytes = mutant(zipOfList(entries), random);
    const opened = await openZip(new File([bytes], "mutant.zip")).catch((error) => void count(kindOf(error)));
    for (const { failure, entry } of opened?.models ?? []) {
      if (failure) count(`entry: ${failure.kind}`);
      else await opened.unpack(entry).then(() => count("unpacked"), (error) => count(`unpacking: ${kindOf(error)}`));
    }
  }
  console.log(JSON.stringify(tally));
  for (const what of ["unpacked", "malformed", "unreadable", "unpacking: unreadable", "entry: too-large"]) assert.ok(tally[what] > 5, what);
});
