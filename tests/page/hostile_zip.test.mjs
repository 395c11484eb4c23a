/** Archives with a structure that somebody thought of, read without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";
import { zipOf, zipOfList } from "./zip.mjs";

const { openZip } = await importSource("worker/zip.ts");
const MIB = 2 ** 20;
const model = residualModel(4);

const repeated = (bytes, n) => Buffer.alloc(bytes.length * n, bytes);

/** An archive whose last record and directory have other numbers: `[offset in the record, bytes, value]`. */
function withNumbers(archive, numbers, signature = "PK\x05\x06") {
  const bytes = Buffer.from(archive);
  const at = bytes.lastIndexOf(Buffer.from(signature, "latin1"));
  for (const [offset, n_bytes, value] of numbers) bytes.writeUIntLE(value, at + offset, n_bytes);
  return bytes;
}

/** A record of ZIP64 with these numbers before the end of the archive. */
function zip64(archive, value) {
  const at = archive.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  const record = Buffer.alloc(56);
  record.write("PK\x06\x06", "latin1");
  record.writeBigUInt64LE(44n, 4);
  for (const offset of [24, 32, 40, 48]) record.writeBigUInt64LE(value, offset);
  const locator = Buffer.alloc(20);
  locator.write("PK\x06\x07", "latin1");
  locator.writeBigUInt64LE(BigInt(at), 8);
  locator.writeUInt32LE(1, 16);
  const end = withNumbers(archive, [[8, 2, 0xffff], [10, 2, 0xffff], [12, 4, 0xffffffff], [16, 4, 0xffffffff]]).subarray(at);
  return Buffer.concat([archive.subarray(0, at), record, locator, end]);
}

const good = zipOf({ "m.tflite": model });
const zeros = deflateRawSync(Buffer.alloc(256 * MIB));

/** As many extra fields as an entry may have, each of another type and without contents. */
const EMPTY_FIELDS = Buffer.alloc(65_532);
for (let idx = 0; idx < EMPTY_FIELDS.length / 4; idx += 1) EMPTY_FIELDS.writeUInt16LE(0x1000 + idx, 4 * idx);

/** By name, what is expected of the model `m.tflite`, which stands first: its bytes, a refusal, or either. */
const CASES = {
  "an entry of empty blocks without end": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, { name: "e.tflite", packed: repeated(Buffer.from([0, 0, 0, 0xff, 0xff]), 2 * MIB), size: 100 }]),
    "read",
  ],
  "entries of zeros that tell their length": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 40 }, (_, idx) => ({ name: `z${idx}.tflite`, packed: zeros, size: 256 * MIB }))]),
    "read",
  ],
  "entries of zeros that tell another length": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 40 }, (_, idx) => ({ name: `z${idx}.tflite`, packed: zeros, size: 1000 }))]),
    "read",
  ],
  "all entries at one place": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 5_000 }, (_, idx) => ({ name: `s${idx}.tflite`, bytes: model, at: 0 }))]),
    "refused",
  ],
  "long names": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 200 }, (_, idx) => ({ name: `${"n".repeat(65_000)}${idx}.tflite`, bytes: model }))]),
    "read",
  ],
  "long comments": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 800 }, (_, idx) => ({ name: `${idx}.tflite`, comment: "c".repeat(65_535) }))]),
    "read",
  ],
  "extra fields of nothing": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 800 }, (_, idx) => ({ name: `${idx}.tflite`, extra: EMPTY_FIELDS }))]),
    "read",
  ],
  "models without end": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 60_000 }, (_, idx) => ({ name: `${idx}.tflite` }))]),
    "read",
  ],
  "names that mean something elsewhere": [
    () => zipOf({ "m.tflite": model, "__proto__.tflite": model, "../../x.tflite": model, "/x.tflite": model, "C:\\x.tflite": model, "\0.tflite": model, "con.tflite": model }),
    "read",
  ],
  // Were they models, the first one would be none.
  "attributes that macOS packs beside files": [() => zipOf({ "__MACOSX/._m.tflite": Buffer.from([0, 5, 22, 7]), "folder/._m.onnx": Buffer.alloc(20), "m.tflite": model }), "read"],
  "no entries at all": [() => zipOf({}), "refused"],
  "one name many times": [
    () => zipOfList(Array.from({ length: 300 }, () => ({ name: "m.tflite", bytes: model }))),
    "either",
  ],
  "folders": [
    () => zipOfList([{ name: "m.tflite", bytes: model }, ...Array.from({ length: 20_000 }, (_, idx) => ({ name: `${idx}/` }))]),
    "read",
  ],
  "archives in an archive": [
    () => zipOf({ "m.tflite": model, "inner.zip": zipOf({ "inner.zip": zipOf({ "x.tflite": model }) }) }),
    "read",
  ],
  "junk before the archive": [() => Buffer.concat([Buffer.alloc(32 * MIB, "PK\x01\x02"), good]), "either"],
  "a comment of ends": [
    () => {
      const end = withNumbers(good, [[20, 2, 65_516]]);
      return Buffer.concat([end, Buffer.alloc(65_516, Buffer.from("PK\x05\x06\0\0\0\0\xff\xff\xff\xff\0\0\0\0", "latin1"))]);
    },
    "either",
  ],
  "more entries than the directory has": [() => withNumbers(good, [[8, 2, 65_000], [10, 2, 65_000]]), "either"],
  "no entries": [() => withNumbers(good, [[8, 2, 0], [10, 2, 0]]), "either"],
  // Archives that extract themselves have such a directory.
  "a directory beyond the archive": [() => withNumbers(good, [[16, 4, 0xfffffff0]]), "either"],
  "a directory of its own length": [() => withNumbers(good, [[12, 4, good.length], [16, 4, 0]]), "refused"],
  "encrypted": [() => withNumbers(good, [[8, 2, 1]], "PK\x01\x02"), "refused"],
  "another method": [() => withNumbers(good, [[10, 2, 99]], "PK\x01\x02"), "refused"],
  "lengths of 64 bits": [() => zip64(good, 2n ** 63n - 1n), "refused"],
  "numbers of 64 bits": [() => zip64(good, 2n ** 64n - 1n), "refused"],
  "its end twice": [() => Buffer.concat([good, good.subarray(-22)]), "either"],
  "its first half": [() => good.subarray(0, good.length / 2), "refused"],
};

function heldBytes() {
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  return arrayBuffers + heapUsed;
}

/** `read` or the kind of the refusal of the first model, and the most bytes that JavaScript holds. */
async function outcome(bytes) {
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, heldBytes())), 1);
  const kindOf = (error) => {
    assert.equal(error.name, "KnownError", error.stack);
    return error.kind;
  };
  try {
    const opened = await openZip(new File([bytes], "hostile.zip"));
    let first;
    for (const { failure, entry } of opened.models) {
      const what = failure?.kind ?? (await opened.unpack(entry).then((unpacked) => (Buffer.from(unpacked).equals(model) ? "read" : "other"), kindOf));
      first ??= what;
    }
    return [first ?? "no model", opened.models.length, most];
  } catch (error) {
    return [kindOf(error), 0, most];
  } finally {
    clearInterval(watch);
  }
}

for (const [name, [archive, expected]] of Object.entries(CASES)) {
  test(`an archive with ${name}`, async () => {
    const bytes = archive();
    const before = heldBytes();
    const start = process.cpuUsage();
    const [what, n_models, most] = await outcome(bytes);
    const { user, system } = process.cpuUsage(start);
    const taken = Math.max(0, most - before) / 1e6;
    console.log(`${name}: ${(bytes.length / 1e6).toFixed(1)} MB, ${what}, ${n_models} models listed, ${((user + system) / 1e6).toFixed(2)} s, ${taken.toFixed(0)} MB more`);
    if (expected === "read") assert.equal(what, "read");
    if (expected === "refused") assert.ok(!["read", "other", "no model"].includes(what), what);
    assert.ok(taken <= 3 * bytes.length / 1e6 + 300, `${taken} MB`);
  });
}
