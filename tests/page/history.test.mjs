/** What was opened before: Back, Forward, reload, and files that are kept. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { dropBytes, dropFiles, waitCompared, waitDrawn, waitKept } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";

const { withPage, writeFile: writeModel } = browserForTests();

test("Back, Forward and reload keep what was opened", () =>
  withPage(async (page) => {
    const files = [await writeModel("first.tflite", residualModel(8)), await writeModel("second.tflite", residualModel(40))];
    await dropFiles(page, files);
    await waitCompared(page, 2);
    await page.locator('.comparison [data-open]:has-text("second.tflite")').focus();
    await page.keyboard.press("Enter");
    await waitDrawn(page, "second.tflite");
    assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "BODY", "the focus is somewhere");
    await page.goBack();
    await page.waitForSelector(".comparison [data-open]");
    assert.equal(await page.locator(".comparison tbody .value").count() > 0, true, "the estimates are still there");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "second.tflite", "on the row that was opened");
    await page.goForward();
    await waitDrawn(page, "second.tflite");
    await page.reload();
    await waitDrawn(page, "second.tflite");
    assert.ok(await page.isDisabled(".batch input"), "another batch needs the file");
    await page.goBack();
    await page.waitForSelector(".comparison [data-open]");
    assert.equal(await page.locator(".comparison [data-open]").count(), 2, "the comparison came back with its reports");
    await page.goBack();
    await page.waitForSelector(".history-list");
    assert.equal(await page.locator(".history-list li").count(), 3, "two reports and their comparison");
    await page.click('.history-list button:text-is("first.tflite")');
    await waitDrawn(page, "first.tflite");
    await page.click("#home");
    // It asks, and takes no for an answer.
    page.once("dialog", (dialog) => (assert.match(dialog.message(), /all 3 reports and comparisons/), dialog.dismiss()));
    await page.click("text=Forget all");
    assert.equal(await page.locator(".history-list li").count(), 3);
    page.once("dialog", (dialog) => dialog.accept());
    await page.click("text=Forget all");
    await page.waitForSelector(".history:empty", { state: "attached" });
  }));

test("files are kept only where a person wants that, and then a report can be changed after a reload", () =>
  withPage(async (page) => {
    await dropBytes(page, "kept.tflite", residualModel(12));
    await waitDrawn(page, "kept.tflite");
    await page.click("#home");
    await page.waitForSelector(".history-list");
    assert.equal(await page.isChecked("#keep-files"), false);
    await page.focus("#keep-files");
    await page.keyboard.press("Space");
    await dropBytes(page, "again.tflite", residualModel(16));
    await waitDrawn(page, "again.tflite");
    await waitKept(page, "files", 1); // once the report is on the screen
    await page.reload();
    await waitDrawn(page, "again.tflite");
    assert.equal(await page.isDisabled(".batch input"), false);
    await page.click("#home");
    await page.click('.history-list button:text-is("kept.tflite")');
    await waitDrawn(page, "kept.tflite");
    assert.ok(await page.isDisabled(".batch input"), "it was opened before files were to be kept");
    await page.click("#home");
    await page.waitForSelector("#keep-files");
    await page.uncheck("#keep-files");
    await page.click('.history-list button:text-is("again.tflite")');
    await waitDrawn(page, "again.tflite");
    await page.reload();
    await waitDrawn(page, "again.tflite");
    assert.ok(await page.isDisabled(".batch input"), "what was kept is forgotten");
  }));

test("the report of a large file is kept, although its worker ends", () =>
  withPage(async (page) => {
    await page.evaluate(() => {
      window.n_ended = 0;
      const { terminate } = Worker.prototype;
      Worker.prototype.terminate = function () {
        window.n_ended += 1;
        terminate.call(this);
      };
    });
    // Bytes behind the last table belong to nothing, and are copied into the module with the others.
    await dropBytes(page, "large.tflite", residualModel(8), { n_padding: 257 * 1024 ** 2 });
    await waitDrawn(page, "large.tflite");
    await page.waitForFunction(() => window.n_ended === 1);
    await waitKept(page, "reports", 1);
    await page.reload();
    await waitDrawn(page, "large.tflite");
  }));

test("a report that the last version kept is shown as one of this version", () =>
  withPage(async (page) => {
    const report = JSON.parse(await readFile(new URL("../stored_reports/version-1.json", import.meta.url), "utf8"));
    assert.equal(report.schema_version, 1);
    await dropBytes(page, "new.tflite", residualModel(8)); // makes the stores
    await waitDrawn(page, "new.tflite");
    await waitKept(page, "opened", 1);
    await page.evaluate(
      (report) =>
        new Promise((resolve) => {
          const opening = indexedDB.open("litecast");
          opening.onsuccess = () => {
            const database = opening.result;
            const { file, batch, model, results, operators } = report;
            const writing = database.transaction(["opened", "reports"], "readwrite");
            // As the last version kept it: the line of the history says no version.
            writing.objectStore("opened").put({ key: "old", file, batch, opened_ms: 1, n_operators: operators.length, estimates_id: "old", summary: { file, batch, model, results } });
            writing.objectStore("reports").put(report, "old");
            writing.oncomplete = () => (database.close(), resolve());
          };
        }),
      report,
    );
    await page.click("#home");
    await page.waitForSelector(`.history-list button:text-is("${report.file}")`);
    const lines = await page.$$eval(".history-list li", (items) => items.map(({ textContent }) => textContent.includes("by another build of LiteCast")));
    assert.deepEqual(lines, [false, true]);
    await page.click(`.history-list button:text-is("${report.file}")`);
    await waitDrawn(page, report.file);
    // The latency of that version was the NPU's part where another metric was that of the whole network.
    await page.selectOption("#target", "ethos-u55-128");
    assert.match(await page.textContent('.answer [data-metric="latency"] .quantity'), /2\.25\sms/u);
    assert.match(await page.textContent('.answer [data-metric="npu_latency"] .quantity'), /0\.114\sms|114\sµs/u);
  }));

test("times of files that were opened before are not kept", () =>
  withPage(async (page) => {
    for (const name of ["one.tflite", "two.tflite", "three.tflite"]) {
      await dropBytes(page, name, residualModel(8));
      await waitDrawn(page, name);
    }
    const names = await page.evaluate(() => ["mark", "measure"].flatMap((type) => performance.getEntriesByType(type).map(({ name }) => name)));
    assert.deepEqual(names.sort(), ["drawn", "drop", "estimates", "ready", "timeline"].map((name) => `litecast:${name}`));
  }));
