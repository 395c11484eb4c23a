/** What a browser kept is checked when it is read back: another build wrote it, or somebody changed it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropBytes, until, waitCompared, waitDrawn, waitKept } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";
import { dropHanging, estimators, withStrangeFiles } from "./strange.mjs";

const { nameInSpace } = await importSource("targets.ts");
const { withPage } = browserForTests();

/** Changes what a store of the page's database has: `change` is the body of a function of `value`, which returns another. */
function changeKept(page, store, change) {
  const walk = (store, changed) =>
    new Promise((resolve, reject) => {
      const opening = indexedDB.open("litecast");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const { result: database } = opening;
        const transaction = database.transaction(store, "readwrite");
        const cursor = transaction.objectStore(store).openCursor();
        cursor.onsuccess = () => {
          if (!cursor.result) return;
          cursor.result.update(changed(cursor.result.value));
          cursor.result.continue();
        };
        transaction.oncomplete = () => (database.close(), resolve());
        transaction.onerror = transaction.onabort = () => reject(transaction.error);
      };
    });
  return page.evaluate(`(${walk})(${JSON.stringify(store)}, (value) => { ${change} })`);
}

const readKept = (page, store) =>
  page.evaluate(
    (store) =>
      new Promise((resolve) => {
        const opening = indexedDB.open("litecast");
        opening.onsuccess = () => {
          const all = opening.result.transaction(store).objectStore(store).getAll();
          all.onsuccess = () => (opening.result.close(), resolve(all.result));
        };
      }),
    store,
  );

/** In a report, or a refusal in words. */
async function outcome(page, file) {
  const handle = await page.waitForFunction((file) => {
    const failed = document.querySelector(".failure-panel");
    if (failed) return failed.dataset.kind;
    return document.body.dataset.drawn === file ? "report" : null;
  }, file);
  return handle.jsonValue();
}

async function openAndKeep(page, name = "kept.tflite") {
  await dropBytes(page, name, residualModel(12));
  await waitDrawn(page, name);
  await waitKept(page, "reports", 1);
}

test("a report is kept although its worker was ended before it had kept it", () =>
  withPage(async (page) => {
    await dropBytes(page, "unkept.tflite", residualModel(12));
    await waitDrawn(page, "unkept.tflite");
    await page.waitForTimeout(200); // its worker waits for the database by now
    let n_ended = 0;
    for (const worker of estimators(page)) worker.once("close", () => (n_ended += 1));
    await dropHanging(page);
    await page.keyboard.press("Escape");
    await until(() => n_ended > 0, "the worker with the file that hung is ended");
    await waitKept(page, "opened", 1);
    assert.deepEqual((await readKept(page, "reports")).map(({ file }) => file), ["unkept.tflite"]);
  }, { prepare: withStrangeFiles }));

/** Each is no report any more. */
const DAMAGES = {
  "no object": "return 7;",
  "an array": "return [value];",
  "no results": "delete value.results; return value;",
  "results that are none": "value.results = {}; return value;",
  "a value that is a word": 'value.results[0].value = "12"; return value;',
  "a value without end": "value.results.find((result) => 'value' in result).value = Infinity; return value;",
  "no number": "value.model.macs = NaN; return value;",
  "a negative count": "value.operators[0].macs = -1; return value;",
  "no tensors": "value.tensors = []; return value;",
  "fewer operators": "value.operators.length = 3; return value;",
  "an edge to nowhere": "value.edges[0].dst = 1e9; return value;",
  "an edge backwards": "value.edges[0].src = value.edges[0].dst; return value;",
  "an operator of another place": "value.operators[2].index = 7; return value;",
  "parts of another length": "value.results.find(({ operators }) => operators).operators.push(1); return value;",
  "a name that is a number": "value.file = 7; return value;",
  "a shape that is a word": 'value.tensors[0].shape = "1x2"; return value;',
  "an input that is none": "value.operators[0].inputs = [0.5]; return value;",
  "a date for attributes": "value.operators[0].attributes = new Date(0); return value;",
  "a circle of attributes": "const circle = {}; circle.circle = circle; value.operators[0].attributes = circle; return value;",
  "another scenario": "value.what_if = { batch: 'many' }; return value;",
  "boards that are none": "value.fits.boards = [null]; return value;",
  "a diagnostic without words": "value.diagnostics.push({ severity: 'warning', code: 'x' }); return value;",
};

test("a report that was changed in the browser's database is refused in words", () =>
  withPage(async (page) => {
    await openAndKeep(page);
    const [whole] = await readKept(page, "reports");
    for (const [what, change] of Object.entries(DAMAGES)) {
      await changeKept(page, "reports", `value = ${JSON.stringify(whole)}; ${change}`);
      await page.reload();
      assert.equal(await outcome(page, "kept.tflite"), "damaged", what);
    }
    await changeKept(page, "reports", `return ${JSON.stringify(whole)};`);
    await page.reload();
    assert.equal(await outcome(page, "kept.tflite"), "report", "as it was");
    await page.click("#home");
    await page.waitForSelector(".history-list");
    await changeKept(page, "opened", "value.summary.results = [{ value: 1 }]; return value;");
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    assert.equal(await page.locator(".history-list li").count(), 0, "a line of the history that cannot be read");
  }));

const OTHERS = [null, 0, 1, -1, 1e9, 1e308, 0.5, true, "", "x", "__proto__", "\u202e<b>", "y".repeat(5000), [], [null], {}, { value: 1 }];

/** The same with a value somewhere that is another, or gone. */
function changed(report, random) {
  const copy = structuredClone(report);
  let at = copy;
  for (;;) {
    const names = Object.keys(at);
    const name = names[Math.floor(random() * names.length)];
    if (typeof at[name] === "object" && at[name] !== null && Object.keys(at[name]).length > 0 && random() < 0.85) {
      at = at[name];
      continue;
    }
    if (random() < 0.1 && !Array.isArray(at)) delete at[name];
    else at[name] = OTHERS[Math.floor(random() * OTHERS.length)];
    return copy;
  }
}

test("what is taken for a report is shown, whatever was changed in it", () =>
  withPage(async (page) => {
    const { readReport } = await importSource("report_check.ts");
    await openAndKeep(page);
    const [whole] = await readKept(page, "reports");
    assert.ok(readReport(structuredClone(whole)));
    const random = randomNumbers(43);
    let [n_taken, n_refused] = [0, 0];
    while (n_taken < 24) {
      const report = changed(whole, random);
      if (!readReport(structuredClone(report))) {
        n_refused += 1;
        continue;
      }
      n_taken += 1;
      await changeKept(page, "reports", `return ${JSON.stringify(report)};`);
      await page.reload();
      assert.equal(await outcome(page, report.file), "report", `change ${n_taken}`);
    }
    console.log(`${n_taken} changed reports shown, ${n_refused} refused`);
    assert.ok(n_refused > 0);
  }));

test("a report of an earlier build, which lacks what was added since, is shown", () =>
  withPage(async (page) => {
    await openAndKeep(page);
    await changeKept(page, "reports", "for (const name of ['fits', 'left_out', 'sha256', 'bundle', 'what_if']) delete value[name]; for (const tensor of value.tensors) delete tensor.shape_signature; for (const result of value.results) if (result.provenance) result.provenance.kind = 'of-another-build'; return value;");
    await page.reload();
    assert.equal(await outcome(page, "kept.tflite"), "report");
  }));

test("comparisons and files that were changed are refused or left out", () =>
  withPage(async (page) => {
    await page.click("#home");
    await page.evaluate(() => localStorage.setItem("litecast.keep-files", "yes"));
    await openAndKeep(page);
    await waitKept(page, "files", 1);
    await changeKept(page, "files", "return 'no file';");
    await page.reload();
    await waitDrawn(page, "kept.tflite");
    assert.ok(await page.isDisabled(".batch input"), "what is no file is none");
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      for (const name of ["a.tflite", "b.tflite"]) transfer.items.add(new File(["no model"], name));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await waitCompared(page, 2);
    await waitKept(page, "comparisons", 1);
    await changeKept(page, "comparisons", "value.rows = [null, 7]; return value;");
    await page.reload();
    assert.equal(await outcome(page, ""), "damaged");
    await page.click("#home");
    await page.waitForSelector(".history-list");
    assert.equal(await page.locator(".history-list li").count(), 1, "the report alone");
  }));

test("accelerators, devices and choices that were changed cost no file its report", () =>
  withPage(async (page) => {
    const changes = {
      "litecast.accelerators.1": [{ name: "own:1", device: "Clock", target: "ethos-u55-128", clock_mhz: "fast" }, { name: "own:2", device: "Gone", target: "ethos-u99-1" }, { name: "own:3", device: "Good", target: "ethos-u55-64" }, null, 7, { name: "own:4", device: "Zero", target: "ethos-u55-64", clock_mhz: 0 }],
      "litecast.devices.1": [{ name: "d", measurements: [{ file: "x", measured_ms: -1, estimates_ms: {}, estimates_id: null }] }, 3, { name: 4 }],
      "litecast.budget": { latency_ms: "x", memory_kib: -5 },
      "litecast.application": [1, 2],
      "litecast.groups.1": { microcontrollers: true },
      "litecast.threads": "x",
      "litecast.host": "no-such-host",
      "litecast.target": "\u202e",
      "litecast.metric": "__proto__",
    };
    await page.evaluate((changes) => {
      for (const [key, value] of Object.entries(changes)) localStorage.setItem(key, typeof value === "string" ? value : JSON.stringify(value));
    }, changes);
    await page.reload();
    await page.waitForSelector("body[data-ready]");
    await openAndKeep(page);
    const results = (await readKept(page, "reports"))[0].results.filter(({ target }) => nameInSpace("own", target) !== null);
    assert.ok(results.some(({ target, value }) => target === "own:3" && value > 0), "the good one is estimated");
    for (const target of ["own:2", "own:4"]) assert.match(results.find((result) => result.target === target)?.unavailable ?? "", /expected|no target has this id/, target);
    assert.ok(!results.some(({ target }) => target === "own:1"), "what is no accelerator is left out");
    await page.evaluate(() => {
      for (const key of Object.keys(localStorage)) localStorage.setItem(key, "{");
    });
    await page.reload();
    await until(() => page.evaluate(() => document.body.dataset.drawn === "kept.tflite"), "the report is shown again");
  }));
