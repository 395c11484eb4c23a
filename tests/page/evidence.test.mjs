/** What numbers rest on, as it is drawn, and what they are the sum of. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { axeFindings, dropBytes, dropModels, openPage, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { mixedModel, residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";

const { termsOf } = await importSource("sums.ts");
const shared = browserForTests();

test("the terms of a number add up to it, each with its source", async () => {
  const { page, problems, close } = await openPage(shared.chromium);
  await dropBytes(page, "sum.tflite", mixedModel());
  await waitDrawn(page, "sum.tflite");
  await page.click(".take summary");
  const download = page.waitForEvent("download");
  await page.click("text=Save JSON");
  const report = JSON.parse(await readFile(await (await download).path(), "utf8"));
  let n_checked = 0;
  for (const estimate of report.results.filter(({ value }) => value > 0)) {
    const terms = termsOf(report, estimate);
    if (terms.length === 0) {
      assert.ok(estimate.metric === "sram_peak" || !estimate.operators, `${estimate.target} ${estimate.metric} has parts and no terms`);
      continue;
    }
    n_checked += 1;
    const sum = terms.reduce((total, { value }) => total + value, 0);
    assert.ok(Math.abs(sum / estimate.value - 1) < 1e-3, `${estimate.target} ${estimate.metric}: ${sum} instead of ${estimate.value}`);
    for (const { words, value, source } of terms) assert.ok(words && source && value >= 0, `${estimate.target} ${estimate.metric}: ${words} ${value}`);
  }
  console.log(`${n_checked} sums`);
  assert.ok(n_checked >= 15, `${n_checked}`);
  await page.selectOption("#target", "ethos-u55-256");
  await page.click('[data-metric="latency"] .sum summary');
  const words = await page.textContent('[data-metric="latency"] .sum .terms');
  assert.match(words, /NPU: 3 of 4 operators.*Compiler rules \(Vela 5\.2\.0\).*CPU: 1 on .*MHz/);
  assert.deepEqual(problems, []);
  await close();
});

test("every grade of evidence has its own mark and texture, with a legend, wherever numbers stand", async () => {
  const { page, close } = await openPage(shared.chromium, { options: { bypassCSP: true } });
  await dropBytes(page, "marks.tflite", mixedModel());
  await waitDrawn(page, "marks.tflite");
  await page.selectOption("#target", "ethos-u55-256");
  const marks = await page.$$eval(".targets td [class*=evidence-]", (all) => all.map((element) => [...element.classList].find((name) => name.startsWith("evidence-")) + getComputedStyle(element, "::before").content[1]));
  assert.deepEqual([...new Set(marks)].sort(), ["evidence-assumed○", "evidence-compiler◐", "evidence-counted■", "evidence-measured●"]);
  const textures = new Set();
  for (const [target, metric] of [["ethos-u55-256", "latency"], ["ethos-u55-256", "npu_latency"], ["cortex-a76-rpi5", "latency"], ["tflite-micro", "arena"]]) {
    await page.selectOption("#target", target);
    await page.waitForSelector(`tr.chosen[data-target="${target}"]`);
    textures.add(await page.$eval(`.answer [data-metric="${metric}"] .interval-range`, (element) => { const { backgroundImage, boxShadow } = getComputedStyle(element); return `${backgroundImage} ${boxShadow}`; }));
  }
  assert.equal(textures.size, 4, [...textures].join("\n"));
  const legend = /■ Counted.*● Fitted to measurements.*◐ The compiler’s opinion.*○ Assumed/s;
  assert.match(await page.textContent(".evidence-legend"), legend);
  assert.deepEqual(await axeFindings(page), []);
  await dropModels(page, [8, 12].map((n) => residualModel(n)));
  assert.match(await page.textContent(".comparison-panel .evidence-legend"), legend);
  await close();
});
