/** What numbers rest on, as it is drawn, and what they are the sum of. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { axeFindings, dropBytes, dropModels, openPage, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { mixedModel, residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";

const { termsOf } = await importSource("cost_terms.ts");
const { costColour } = await importSource("graph/ramp.ts");
const shared = browserForTests();
const { withPage } = shared;

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

for (const colorScheme of ["light", "dark"]) {
  test(`the legend of the graph has the colours of its boxes and the mark of its numbers, ${colorScheme}`, () =>
    withPage(
      async (page) => {
        await dropBytes(page, "legend.tflite", residualModel(12));
        await waitDrawn(page, "legend.tflite");
        await page.selectOption("#target", "ethos-u55-256");
        assert.match(await page.textContent(".legend"), /^◐ The compiler’s opinion/u);
        const ends = await page.$eval(".legend-ramp", (ramp) => {
          const colours = getComputedStyle(ramp).backgroundImage.match(/rgb\([^)]*\)/g).map((colour) => colour.match(/\d+/g).map(Number));
          return [colours[0], colours.at(-1)];
        });
        const expected = [0, 1].map((share) => costColour(share, colorScheme === "dark").match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16)));
        assert.deepEqual(ends, expected);
        // The costliest operator's box has the colour at the end of the ramp.
        const has_it = await page.evaluate(([red, green, blue]) => {
          const canvas = document.querySelector(".drawing");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          for (let i = 0; i < data.length; i += 4) if (data[i] === red && data[i + 1] === green && data[i + 2] === blue) return true;
          return false;
        }, ends[1]);
        assert.ok(has_it);
        await page.selectOption("#measure", "macs");
        assert.match(await page.textContent(".legend"), /^■ Counted/u);
      },
      { options: { colorScheme } },
    ));
}

test("what a person measured stands beside the estimate with a tick", () =>
  withPage(async (page) => {
    const sizes = [8, 20, 40];
    const times = [0.5, 0.9, 2.5];
    await page.evaluate(([sizes, times]) => localStorage.setItem("litecast.devices.1", JSON.stringify([{ name: "Bench", measurements: sizes.map((n, i) => ({ file: `m${n}.tflite`, measured_ms: times[i], estimates_ms: null, estimates_id: null })) }])), [sizes, times]);
    for (const n of sizes) {
      await dropBytes(page, `m${n}.tflite`, residualModel(n));
      await waitDrawn(page, `m${n}.tflite`);
    }
    await page.selectOption("#target", "device:Bench");
    const words = (await page.textContent('.answer [data-metric="latency"] .measured-words')).replaceAll("\u202f", " ");
    assert.match(words, /^✓ 2\.50 ms measured by you; the estimate is [−+]?[\d.]+ % off, (in|out)side its interval$/u);
    assert.equal(await page.locator(".interval-measured").count(), 1);
    assert.match(await page.textContent(".evidence-legend"), /✓ Measured by you/u);
    await page.selectOption("#target", "ethos-u55-256");
    assert.equal(await page.locator(".interval-measured").count(), 0, "of the device alone");
  }));
