/** Archives, compressed files and C sources that were made to cost much, or whose entries are strange. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { dropBytes, dropFiles, REPORT_LIMIT_MS, until, waitCompared, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { LARGE_SOURCES } from "./strange.mjs";
import { zipOf, zipOfList } from "./zip.mjs";

const shared = browserForTests();
const { withPage } = shared;
const model = residualModel(8);
const MIB = 2 ** 20;

/** The kind and the words of a refusal of all of a file. */
async function refusal(page, name, bytes) {
  await dropBytes(page, name, bytes);
  await page.waitForSelector(`.failure-panel:has-text("${name.replace(/\.gz$/, "")}")`, { timeout: REPORT_LIMIT_MS });
  return [await page.getAttribute(".failure-panel", "data-kind"), await page.textContent(".failure-panel .message")];
}

/** The rows of the comparison that a file becomes. */
async function rowsOf(page, name, bytes, n_rows) {
  await dropBytes(page, name, bytes);
  await waitCompared(page, n_rows);
  return page.evaluate(() => [...document.querySelectorAll(".comparison tbody tr")].map((row) => row.textContent));
}

/** An archive in which each entry's bytes hold the headers and bytes of those behind it. */
function nestedZip(n_entries) {
  const names = Array.from({ length: n_entries }, (_, idx) => Buffer.from(`m${idx}.tflite`));
  const packed = deflateRawSync(model);
  let inner = Buffer.alloc(0);
  const spans = [];
  for (const name of names.toReversed()) {
    const stored = inner.length === 0 ? packed : inner;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(inner.length === 0 ? 8 : 0, 4);
    common.writeUInt32LE(crc32(inner.length === 0 ? model : inner), 10);
    common.writeUInt32LE(stored.length, 14);
    common.writeUInt32LE(inner.length === 0 ? model.length : inner.length, 18);
    common.writeUInt16LE(name.length, 22);
    inner = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, name, stored]);
    spans.unshift({ name, common, length: inner.length });
  }
  const central = spans.map(({ name, common, length }) => {
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(inner.length - length, 10);
    return Buffer.concat([Buffer.from("PK\x01\x02\x14\0", "latin1"), common, rest, name]);
  });
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(central.length, 4);
  end.writeUInt16LE(central.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(inner.length, 12);
  return Buffer.concat([inner, directory, Buffer.from("PK\x05\x06", "latin1"), end]);
}

test("entries that share bytes are refused", () =>
  withPage(async (page) => {
    const same = zipOfList([{ name: "a.tflite", bytes: model }, ...Array.from({ length: 30 }, (_, idx) => ({ name: `b${idx}.tflite`, bytes: model, at: 0 }))]);
    const longer = zipOfList([{ name: "a.tflite", bytes: model, packed_size: 2 * deflateRawSync(model).length }, { name: "b.tflite", bytes: model }]);
    for (const [name, bytes] of Object.entries({ "same.zip": same, "longer.zip": longer, "nested.zip": nestedZip(12) })) {
      const [kind, words] = await refusal(page, name, bytes);
      assert.equal(kind, "malformed", `${name}: ${words}`);
      assert.match(words, /found one from byte \d+ to byte \d+ of the archive, and another from byte \d+/);
    }
  }));

test("announced lengths are checked before and while entries are unpacked, and cost no other entry", () =>
  withPage(async (page) => {
    const large = Buffer.alloc(2 * MIB);
    const rows = await rowsOf(
      page,
      "sizes.zip",
      zipOfList([
        { name: "announced.tflite", bytes: model, size: 4 * 1024 * MIB - 2 },
        { name: "more.tflite", bytes: large, size: 1000 },
        { name: "less.tflite", bytes: model, size: MIB },
        { name: "good.tflite", bytes: model },
        { name: "damaged.tflite", bytes: model, packed: Buffer.alloc(200, 0xff) },
        { name: "also-good.tflite", bytes: model },
      ]),
      6,
    );
    assert.match(rows[0], /at most 32\.\d\sMiB when unpacked, found 4\.00\sGiB; unpack it, and open/);
    for (const idx of [1, 2, 4]) assert.match(rows[idx], /could not be unpacked/, rows[idx]);
    for (const idx of [3, 5]) assert.match(rows[idx], /int8/, rows[idx]);
  }));

test("an archive has a budget over all of its entries, and the page says what they have together", () =>
  withPage(async (page) => {
    const entries = Array.from({ length: 18 }, (_, idx) => ({ name: `m${idx}.tflite`, bytes: model, size: 30 * MIB }));
    const rows = await rowsOf(page, "many.zip", zipOfList([{ name: "good.tflite", bytes: model }, ...entries]), 19);
    assert.match(rows[0], /int8/);
    for (const row of rows.slice(1, 18)) assert.match(row, /could not be unpacked/, row);
    assert.match(rows[18], /expected an archive that unpacks to at most 51\d\sMiB; the entries before this one have 510\sMiB, and it has 30\.0\sMiB/i);
    assert.match(await page.textContent("#status"), /^19 files \(510\sMiB unpacked in all\)\.$/);
    await page.waitForSelector('.comparison [data-open]:has-text("good.tflite")');
  }));

test("strange names of entries refuse no other entry", () =>
  withPage(async (page) => {
    const names = ["good.tflite", "../../x.tflite", "/y.tflite", "C:\\z.tflite", "a\0b.tflite", Buffer.from("\xff\xfe\x80.tflite", "latin1"), `${"n".repeat(60_000)}.tflite`, ".tflite", "\u202egpj.tflite", "<img src=x onerror=alert(1)>.tflite", "__proto__/constructor.tflite", "good.tflite", "\r\n\x1b[31m.tflite"];
    const rows = await rowsOf(page, "names.zip", zipOfList(names.map((name) => ({ name, bytes: model }))), names.length);
    for (const [idx, row] of rows.entries()) assert.match(row, /int8/, String(names[idx]).slice(0, 40));
    await page.click('.comparison [data-open]:has-text("y.tflite")');
    await waitDrawn(page, "y.tflite");
  }));

test("an archive of 65,000 entries has its one model", () =>
  withPage(async (page) => {
    const others = Object.fromEntries(Array.from({ length: 65_000 }, (_, idx) => [`d/${idx}.txt`, Buffer.alloc(0)]));
    await dropFiles(page, [await shared.writeFile("entries.zip", zipOf({ ...others, "m.tflite": model }))]);
    await waitDrawn(page, "m.tflite");
  }));

test("a model of an archive is unpacked again for another batch", () =>
  withPage(async (page) => {
    await dropBytes(page, "vision.task", zipOf({ "detector.tflite": model }));
    await waitDrawn(page, "detector.tflite");
    await until(() => page.workers().every((worker) => !worker.url().includes("open.js")), "the worker that opened it has ended");
    await page.fill(".batch input", "2");
    await page.press(".batch input", "Enter");
    await page.waitForFunction(() => document.getElementById("title").textContent.includes("batch 2"));
  }));

test("compressed files are refused by the length that they announce, and stopped where they have more", () =>
  withPage(async (page) => {
    const packed = gzipSync(Buffer.concat([model, Buffer.alloc(40 * MIB)]));
    const [kind, words] = await refusal(page, "bomb.tflite.gz", packed);
    assert.equal(kind, "too-large", words);
    assert.match(words, /at most 32\.\d\sMiB when unpacked, found 40\.0\sMiB/);
    const liar = Buffer.from(packed);
    liar.writeUInt32LE(1000, liar.length - 4);
    for (const [name, bytes] of Object.entries({ "liar.gz": liar, "cut.gz": gzipSync(model).subarray(0, 300), "head.gz": Buffer.from([0x1f, 0x8b]) })) {
      const [kind, words] = await refusal(page, name, bytes);
      assert.ok(["unreadable", "too-large"].includes(kind), `${name}: ${kind}, ${words}`);
    }
    await dropBytes(page, "good.tflite.gz", gzipSync(model));
    await waitDrawn(page, "good.tflite");
  }));

test("C sources of 64 MiB are answered, whatever they are made of", () =>
  withPage(async (page) => {
    for (const [name, unit] of Object.entries(LARGE_SOURCES)) {
      await dropFiles(page, [await shared.writeFile(name, Buffer.alloc(64 * MIB, unit))]);
      await page.waitForSelector(`.failure-panel:has-text("${name}")`, { timeout: REPORT_LIMIT_MS });
      assert.equal(await page.getAttribute(".failure-panel", "data-kind"), "no-model", name);
    }
    await dropFiles(page, [await shared.writeFile("larger.h", Buffer.alloc(64 * MIB + 1, " "))]);
    await page.waitForSelector('.failure-panel[data-kind="too-large"]');
    const source = Buffer.concat([Buffer.from("char x[] = {"), Buffer.from([...model].join()), Buffer.from("}; int after = 1;"), Buffer.alloc(32 * MIB, "// more\n")]);
    await dropFiles(page, [await shared.writeFile("model.h", source)]);
    await waitDrawn(page, "x.tflite");
  }));

test("Escape stops what a worker opens", () =>
  withPage(
    async (page) => {
      const openers = () => page.workers().filter((worker) => worker.url().includes("open.js"));
      await dropBytes(page, "hang.h", Buffer.from("int a;"));
      await page.waitForSelector("#cancel:visible");
      await until(() => openers().length === 1, "the worker has started");
      await page.keyboard.press("Escape");
      await page.waitForSelector("#cancel", { state: "hidden" });
      assert.equal(await page.textContent("#status"), "Cancelled.");
      await until(() => openers().length === 0, "the worker has ended");
      await dropBytes(page, "good.tflite", model);
      await waitDrawn(page, "good.tflite");
    },
    {
      prepare: (page) =>
        page.route("**/open.js*", async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: `addEventListener("message", ({ data }) => { if (data.call.file.name === "hang.h") for (;;); });\n${await response.text()}` });
        }),
    },
  ));
