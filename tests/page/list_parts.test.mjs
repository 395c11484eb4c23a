/** Long lists travel between threads, and are kept, in parts: what comes together again is what it was. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { dropBytes, openPage, readEstimates, until, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";

const { addPart, withoutLongLists } = await importSource("list_parts.ts");
const shared = browserForTests();
const { withPage } = shared;

/** More than a worker that stays may have reported. */
const N_OPERATORS = 21_000;

test("values are what they were, whatever lists they have", () => {
  const random = randomNumbers(7);
  const below = (n) => Math.floor(random() * n);
  const value = (depth) => {
    if (depth === 0 || random() < 0.2) return [below(9), `text${below(9)}`, null, true][below(4)];
    if (random() < 0.5) return Array.from({ length: random() < 0.3 ? 2000 + below(5000) : below(4) }, () => (depth === 1 ? below(9) : { a: below(9) }));
    return Object.fromEntries(Array.from({ length: below(5) }, (_, idx) => [`${idx}`, value(depth - 1)]));
  };
  let n_parts = 0;
  for (let round = 0; round < 300; round += 1) {
    const whole = { value: value(5) };
    const expected = structuredClone(whole);
    const parts = [];
    const bare = withoutLongLists(whole, (part) => parts.push(structuredClone(part)));
    assert.deepEqual(whole, expected, "the value itself stays as it is");
    const copy = structuredClone(bare);
    for (const part of parts) assert.ok(addPart(copy, part));
    assert.deepEqual(copy, expected);
    n_parts += parts.length;
    if (parts.length > 0) assert.ok(JSON.stringify(bare).length < JSON.stringify(whole).length / 2 || JSON.stringify(bare).length < 50_000);
  }
  console.log(`${n_parts} parts`);
  assert.ok(n_parts > 100);
});

test("a part of a list that is not there is refused, and reaches nothing else", () => {
  const value = { list: [], text: "text" };
  for (const path of [["other"], ["text"], ["list", "length"], ["__proto__"], ["constructor", "prototype"], ["list", "__proto__"], [], ["list", "0", "1"]]) assert.equal(addPart(value, { path, items: [1] }), false, path.join());
  assert.deepEqual(value, { list: [], text: "text" });
  assert.equal({}.polluted, undefined);
  // What is no plain object is not looked into.
  const bytes = new Uint8Array(5000);
  assert.deepEqual(withoutLongLists({ bytes }, () => assert.fail()).bytes, bytes);
});

const keys = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        const opening = indexedDB.open("litecast");
        opening.onsuccess = () => {
          const all = opening.result.transaction("reports").objectStore("reports").getAllKeys();
          all.onsuccess = () => (opening.result.close(), resolve(all.result));
        };
      }),
  );

test("a report of many operators is kept in parts, shown again, exported, imported and forgotten", () =>
  withPage(async (page) => {
    await dropBytes(page, "many.tflite", residualModel(N_OPERATORS));
    await waitDrawn(page, "many.tflite");
    const estimates = await readEstimates(page);
    const last = async (page) => {
      await page.click('button:text-is("Table")');
      // Rows come with the next frame.
      await page.waitForSelector(".operator-table tr[data-operator]");
      return page.textContent(".operator-table");
    };
    const table = await last(page);
    assert.match(table, /21,000 operators/);
    // The whole comes last.
    await until(async () => (await keys(page)).some((key) => !key.includes("/")), "the report is kept");
    const kept = await keys(page);
    assert.ok(kept.length > 30, `${kept.length} entries`);
    await page.reload();
    await waitDrawn(page, "many.tflite");
    assert.deepEqual(await readEstimates(page), estimates);
    assert.equal(await last(page), table);
    await page.click("#home");
    const download = page.waitForEvent("download");
    await page.click("#export-all");
    const saved = await readFile(await (await download).path());
    const { reports } = JSON.parse(saved);
    assert.equal(reports.length, 1);
    assert.equal(reports[0][1].operators.length, N_OPERATORS);

    const second = await openPage(shared.chromium);
    second.page.on("dialog", (dialog) => dialog.accept());
    const reloaded = second.page.waitForEvent("load");
    await second.page.setInputFiles("#import-picker", { name: "b.json", mimeType: "application/json", buffer: saved });
    await reloaded;
    assert.equal((await keys(second.page)).length, kept.length);
    await second.page.click('.history-list button:text-is("many.tflite")');
    await waitDrawn(second.page, "many.tflite");
    assert.deepEqual(await readEstimates(second.page), estimates);
    await second.close();

    // Without one of its parts it is no report any more.
    await page.evaluate(
      () =>
        new Promise((resolve) => {
          const opening = indexedDB.open("litecast");
          opening.onsuccess = () => {
            const transaction = opening.result.transaction("reports", "readwrite");
            const all = transaction.objectStore("reports").getAllKeys();
            all.onsuccess = () => transaction.objectStore("reports").delete(all.result.find((key) => key.endsWith("-3")));
            transaction.oncomplete = () => (opening.result.close(), resolve());
          };
        }),
    );
    await page.reload();
    await page.click('.history-list button:text-is("many.tflite")');
    await page.waitForSelector('.failure-panel[data-kind="damaged"]');
    await page.click("#home");
    await page.click(".history-list .forget, .history-list button[aria-label^=Forget]");
    await until(async () => (await keys(page)).length === 0, "nothing is kept");
  }));
