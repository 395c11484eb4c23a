/** Files that leave sizes of their inputs open. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropBytes, dropModels, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { openModel, residualModel } from "./model.mjs";
import { CHANNELS, residualOnnx } from "./onnx_model.mjs";

const { withPage } = browserForTests();

/** MACs as the facts say them. */
const macs = (page) => page.locator('.terms dt:text-is("MACs") + dd').first().textContent();

test("an ONNX file with named sizes asks for them, and its report takes others", () =>
  withPage(async (page) => {
    await dropBytes(page, "fixed.onnx", residualOnnx(10, [1, CHANNELS, 56, 40]));
    await waitDrawn(page, "fixed.onnx");
    const expected = await macs(page);
    await dropBytes(page, "open.onnx", residualOnnx(10, ["batch", CHANNELS, "height", "width"]));
    await page.waitForSelector('.failure-panel[data-kind="unknown-dimension"]');
    await page.focus(".sizes-form label:nth-of-type(1) input");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("56");
    await page.keyboard.press("Tab");
    await page.keyboard.type("40");
    await page.keyboard.press("Enter");
    await waitDrawn(page, "open.onnx");
    assert.equal(await macs(page), expected);
    assert.match(await page.textContent("#title"), /height = 56 · width = 40/);
    await page.locator(".size input").last().fill("80");
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => document.getElementById("title").textContent.includes("width = 80"));
    await page.goBack();
    await page.waitForFunction(() => document.getElementById("title").textContent.includes("width = 40"));
    await page.reload();
    await waitDrawn(page, "open.onnx");
    assert.ok(await page.isDisabled(".size input"), "another size needs the file");
  }));

test("open sizes of a TFLite file are counted as 1, and given beside the report", () =>
  withPage(async (page) => {
    await dropBytes(page, "fixed.tflite", residualModel(8));
    await waitDrawn(page, "fixed.tflite");
    const expected = await macs(page);
    await dropBytes(page, "open.tflite", openModel(8));
    await waitDrawn(page, "open.tflite");
    assert.notEqual(await macs(page), expected);
    const sizes = page.locator(".size input");
    assert.deepEqual(await sizes.evaluateAll((inputs) => inputs.map(({ value }) => value)), ["1", "1"]);
    for (const place of [0, 1]) {
      await sizes.nth(place).fill("16");
      await page.keyboard.press("Tab");
      const words = [".1 = 16", ".2 = 16"][place];
      await page.waitForFunction((words) => document.getElementById("title").textContent.includes(words) && document.body.dataset.drawn, words);
    }
    assert.equal(await macs(page), expected);
    await sizes.nth(0).fill("-1");
    await page.keyboard.press("Tab");
    assert.equal(await sizes.nth(0).evaluate((input) => input.validity.valid), false, "is no size");
    assert.equal(await macs(page), expected, "and changes nothing");
  }));

test("files of a comparison that leave sizes open are given those that each names", () =>
  withPage(async (page) => {
    const models = [residualOnnx(10, [1, CHANNELS, 56, 40]), residualOnnx(10, ["batch", CHANNELS, "height", "width"]), residualOnnx(10, [1, CHANNELS, "side", 40])].map((model) => Buffer.from(model));
    await dropModels(page, models, ["fixed.onnx", "open.onnx", "side.onnx"]);
    assert.equal(await page.locator(".comparison td.failure").count(), 2);
    const names = await page.$$eval(".comparison-sizes label", (all) => all.map(({ textContent }) => textContent.trim()));
    assert.deepEqual(names, ["height", "width", "side"]);
    for (const [i, size] of ["56", "40", "56"].entries()) await page.locator(".comparison-sizes input").nth(i).fill(size);
    await page.click('.comparison-sizes button:text-is("Estimate with these sizes")');
    await page.waitForFunction(() => document.querySelectorAll(".comparison td.failure").length === 0 && document.querySelectorAll(".comparison [data-open]").length === 3);
    const latencies = await page.$$eval('.comparison td[data-metric="latency"] .value', (all) => all.map(({ textContent }) => textContent));
    assert.equal(new Set(latencies).size, 1, `${latencies}`);
    assert.equal(await page.locator(".comparison-sizes input").count(), 0);
  }));
