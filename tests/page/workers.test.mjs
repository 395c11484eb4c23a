/**
 * What goes wrong behind the page: files that hang, workers that trap or grow, and parts of the page that are missing.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropBytes, openPage, readEstimates, until, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { dropHanging, estimators, withStrangeFiles } from "./strange.mjs";

const shared = browserForTests();
const { withPage } = shared;

test("a file that hangs costs nothing but itself: cancelled, left for another, or after the time limit", () =>
  withPage(
    async (page) => {
      const good = residualModel(12);
      await dropBytes(page, "before.tflite", good);
      await waitDrawn(page, "before.tflite");
      const expected = await readEstimates(page);
      await dropBytes(page, "hang.tflite", good);
      await page.waitForSelector("#cancel:visible");
      await page.keyboard.press("Escape");
      await page.waitForSelector("#cancel", { state: "hidden" });
      assert.ok(await page.isVisible(".decide"), "the report that was shown stays");
      await dropBytes(page, "hang.tflite", good);
      await dropBytes(page, "after.tflite", good);
      await waitDrawn(page, "after.tflite");
      assert.deepEqual(await readEstimates(page), expected);
      await page.clock.install();
      await dropHanging(page);
      await page.clock.fastForward(61_000);
      await page.waitForSelector('.failure-panel[data-kind="time-limit"]');
      await dropBytes(page, "last.tflite", good);
      await page.waitForFunction(() => document.title.startsWith("last.tflite"));
      await page.clock.runFor(1000);
      await waitDrawn(page, "last.tflite");
      assert.deepEqual(await readEstimates(page), expected);
    },
    { prepare: withStrangeFiles },
  ));

test("a worker that trapped, even for a request that was given up, or grew large is ended", () =>
  withPage(
    async (page) => {
      const ended = new Set();
      const watch = () => estimators(page).forEach((worker) => worker.once("close", () => ended.add(worker)));
      const good = residualModel(12);
      await dropBytes(page, "good.tflite", good);
      await waitDrawn(page, "good.tflite");
      const expected = await readEstimates(page);
      for (const name of ["large.tflite", "trap.tflite"]) {
        await until(() => estimators(page).length === 2, "one at work, one spare");
        watch();
        await dropBytes(page, name, good);
        await page.waitForFunction((name) => window.last_posted === name, name);
        if (name === "trap.tflite") await page.keyboard.press("Escape");
        // What advice asked of it may have ended another one.
        await until(() => ended.size >= 1, `${name} ends its worker`);
        ended.clear();
        await dropBytes(page, "good.tflite", good);
        await page.waitForFunction(() => document.title.startsWith("good.tflite"));
        assert.deepEqual(await readEstimates(page), expected);
      }
    },
    { prepare: withStrangeFiles },
  ));

test("a module that is not one is named with its address", async () => {
  const html = (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" });
  const { page, close } = await openPage(shared.chromium, { prepare: (page) => page.route("**/litecast_bg.wasm*", html) });
  assert.equal(await page.getAttribute("body", "data-ready"), "no");
  const words = await page.textContent("#ready");
  assert.ok(words.replace(/\?v=\w+/, "").includes(`${shared.chromium.url}litecast_bg.wasm: expected a WebAssembly module (00 61 73 6d), found 3c 21 64 6f`), words);
  await dropBytes(page, "any.tflite", residualModel(4));
  await page.waitForSelector('.failure-panel[data-kind="asset"]');
  await close();
});
