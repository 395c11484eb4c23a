/**
 * Times of the page in headless Chromium: `node tests/page/bench.mjs [MODEL] [--runs 9]`. Each line is the median of the
 * runs, with the fastest and the slowest; the first run of a page is reported apart, since the browser still compiles then.
 *
 *   ready      navigation to an estimator that has made its first prediction
 *   estimates  drop to estimates on the screen
 *   drawn      drop to the drawn graph
 *   task       longest task of the page's own thread: as long as this it did not answer
 */
import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { dropFiles, measures, openBrowser, openPage, SHARED_MODELS, waitDrawn } from "./browser.mjs";
import { residualModel } from "./model.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string", default: "9" } },
});
const model = positionals[0] ?? path.join(SHARED_MODELS, "mobile_models__mobilenet_edgetpu_224_1.0_uint8.tflite");

async function watchTasks(page) {
  await page.addInitScript(() => {
    window.longest_task_ms = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest_task_ms = Math.max(window.longest_task_ms, duration);
    }).observe({ type: "longtask" });
  });
}

async function timeOne(page, file) {
  await page.click("#home");
  await page.evaluate(() => {
    performance.clearMeasures();
    window.longest_task_ms = 0;
  });
  await dropFiles(page, [file]);
  await waitDrawn(page, path.basename(file));
  await page.waitForTimeout(100); // long tasks are reported after they end
  const { estimates, drawn } = await measures(page);
  return { estimates, drawn, task: await page.evaluate(() => window.longest_task_ms) };
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function line(name, numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return `  ${name.padEnd(10)} ${median(numbers).toFixed(0).padStart(6)} ms   (${low.toFixed(0)} to ${high.toFixed(0)})`;
}

async function bench(chromium, name, file) {
  const started = performance.now();
  const { page, close } = await openPage(chromium, { prepare: watchTasks });
  const ready = performance.now() - started;
  const first = await timeOne(page, file);
  const runs = [];
  for (let i = 0; i < Number(values.runs); i++) runs.push(await timeOne(page, file));
  await close();
  console.log(`${name}, ${runs.length} runs (page ready after ${ready.toFixed(0)} ms; first drop: estimates ${first.estimates.toFixed(0)} ms, drawn ${first.drawn.toFixed(0)} ms)`);
  for (const key of ["estimates", "drawn", "task"]) console.log(line(key, runs.map((run) => run[key])));
}

const folder = await mkdtemp(path.join(tmpdir(), "litecast-bench-"));
const chromium = await openBrowser();
try {
  const found = await access(model).then(() => true, () => false);
  if (found) await bench(chromium, path.basename(model), model);
  else console.log(`skipped: ${model} is not here`);
  const thousand = path.join(folder, "residual_1000.tflite");
  await writeFile(thousand, residualModel(1000));
  await bench(chromium, "1,000 operators", thousand);
} finally {
  await chromium.close();
  await rm(folder, { recursive: true });
}
