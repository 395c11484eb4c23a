/**
 * The page in headless Chromium: `node tests/page/bench.mjs [MODEL] [--runs 5] [--before-first 500] [--only timeline]`. Each line is the
 * median of the runs, with the fastest and the slowest. The first file of a visit is dropped so many milliseconds after the
 * page is ready.
 *
 *   ready       navigation to an estimator that can estimate
 *   download    bytes that a first visit asks for, as compressed ahead with brotli
 *   estimates   drop to estimates on the screen; `first` on a fresh page
 *   drawn       drop to the drawn graph
 *   task        longest task of the page's own thread: as long as this it did not answer
 *   pan         frames a second while the drawing of 1,000 and of 10,000 operators is panned
 *   timeline    the page's own thread for the first drawing of the timeline of 10,000 operators
 *   drag        the same for a frame while it is dragged and zoomed, 95th percentile
 *   slider      a slider's move to the answer of the chosen target
 *   sweep       all accelerators for one latency
 *   GPUs        bytes more where somebody asks for GPUs
 *   axe-core    findings on all views in both themes
 *   keyboard    controls of all views that a walk with Tab does not reach, or whose focus is not seen
 */
import { access, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { axeFindings, dropBytes, dropFiles, keyboardFindings, measures, openBrowser, openPage, SHARED_MODELS, visitViews, waitDrawn } from "./browser.mjs";
import { residualModel } from "./model.mjs";
import { residualOnnx } from "./onnx_model.mjs";

const DIST = fileURLToPath(new URL("../../www/dist/", import.meta.url));
const MOBILENET = "coral__mobilenet_v1_0.75_192_quant.tflite";
/** A person takes at least as long to drop the next file. */
const BEFORE_NEXT_MS = 1000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string", default: "5" }, only: { type: "string" }, "before-first": { type: "string", default: "500" } },
});
const BEFORE_FIRST_MS = Number(values["before-first"]);
const model = positionals.length > 0 ? path.resolve(positionals[0]) : path.join(SHARED_MODELS, MOBILENET);

async function watchTasks(page) {
  await page.addInitScript(() => {
    window.longest_task_ms = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest_task_ms = Math.max(window.longest_task_ms, duration);
    }).observe({ type: "longtask" });
  });
}

async function timeOne(page, file) {
  await page.evaluate(() => {
    document.getElementById("home").click();
    performance.clearMeasures();
    window.longest_task_ms = 0;
  });
  await dropFiles(page, [file]);
  await waitDrawn(page, path.basename(file));
  await page.waitForTimeout(100); // long tasks are reported after they end
  const { estimates, drawn } = await measures(page);
  // A file without an estimate takes less time, and is not what is asked about. Targets that nobody chose may refuse it.
  if (await page.evaluate(() => [...document.querySelectorAll("main section:not(.others)")].some((part) => part.textContent.includes("No estimate: ")))) throw new Error(`${file}: expected an estimate on the chosen target`);
  return { estimates, drawn, task: await page.evaluate(() => window.longest_task_ms) };
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function line(name, numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return `  ${name.padEnd(10)} ${median(numbers).toFixed(0).padStart(6)} ms   (${low.toFixed(0)} to ${high.toFixed(0)})`;
}

/** Bytes of the files that a first visit asks for, as the server would send them. */
async function downloadBytes(requests, url) {
  const names = new Set(requests.map((request) => new URL(request).pathname.slice(new URL(url).pathname.length) || "index.html"));
  const size = (name) => stat(`${DIST}${name}`).then((entry) => entry.size, () => null);
  const sizes = await Promise.all([...names].map(async (name) => (await size(`${name}.br`)) ?? (await size(name)) ?? 0));
  return sizes.reduce((a, b) => a + b, 0);
}

async function benchStart(chromium) {
  const ready = [];
  const tasks = [];
  let download = 0;
  for (let i = 0; i < Number(values.runs); i++) {
    const { page, requests, close } = await openPage(chromium, { prepare: watchTasks });
    ready.push(await page.evaluate(() => performance.getEntriesByName("litecast:ready")[0].startTime));
    await page.waitForTimeout(100);
    tasks.push(await page.evaluate(() => window.longest_task_ms));
    download = await downloadBytes(requests, chromium.url);
    await close();
  }
  console.log(`page, ${ready.length} fresh visits`);
  console.log(line("ready", ready));
  console.log(line("task", tasks));
  console.log(`  ${"download".padEnd(10)} ${(download / 1e6).toFixed(2).padStart(6)} MB`);
}

async function bench(chromium, name, file) {
  const firsts = [];
  for (let i = 0; i < Number(values.runs); i++) {
    const { page, close } = await openPage(chromium, { prepare: watchTasks });
    await page.waitForTimeout(BEFORE_FIRST_MS);
    firsts.push(await timeOne(page, file));
    await close();
  }
  const { page, close } = await openPage(chromium, { prepare: watchTasks });
  const runs = [];
  for (let i = 0; i < Number(values.runs) + 1; i++) {
    await page.waitForTimeout(i === 0 ? BEFORE_FIRST_MS : BEFORE_NEXT_MS);
    runs.push(await timeOne(page, file));
  }
  await close();
  const later = runs.slice(1);
  console.log(`${name}, ${later.length} runs`);
  console.log(line("first", firsts.map(({ estimates }) => estimates)));
  for (const key of ["estimates", "drawn"]) console.log(line(key, later.map((run) => run[key])));
  console.log(line("task", [...firsts, ...later].map(({ task }) => task)));
}

async function benchAccess(chromium) {
  for (const colorScheme of ["light", "dark"]) {
    const { page, close } = await openPage(chromium, { options: { colorScheme, bypassCSP: true } });
    const findings = [];
    await visitViews(page, async (view) => findings.push(...(await axeFindings(page)).map((finding) => `${view}: ${finding}`)));
    await close();
    console.log(`axe-core, ${colorScheme}: ${findings.length} findings`);
    for (const finding of findings) console.log(`  ${finding}`);
  }
  const { page, close } = await openPage(chromium);
  const findings = [];
  await visitViews(page, async (view) => findings.push(...(await keyboardFindings(page)).map((finding) => `${view}: ${finding}`)));
  await close();
  console.log(`keyboard: ${findings.length} findings`);
  for (const finding of findings) console.log(`  ${finding}`);
}

/** What is asked for beside the page where somebody asks for GPUs. */
async function benchGpus(chromium) {
  const { page, requests, close } = await openPage(chromium);
  const name = "asks_for_gpus.tflite";
  await dropBytes(page, name, residualModel(60));
  await waitDrawn(page, name);
  const n_before = requests.length;
  await page.click("#tool-gpus");
  await page.waitForSelector(".sweep-drawing");
  const download = await downloadBytes(requests.slice(n_before), chromium.url);
  await close();
  console.log(`GPUs asked for\n  ${"download".padEnd(10)} ${(download / 1e6).toFixed(2).padStart(6)} MB`);
}

/** Frames of a second in which the drawing moves with each. */
function panFrames(page) {
  return page.evaluate(async () => {
    const canvas = document.querySelector(".drawing");
    let n_frames = 0;
    const begun = performance.now();
    while (performance.now() < begun + 1000) {
      const deltaY = (n_frames % 60) - 30;
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, deltaX: deltaY / 2, bubbles: true, cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      n_frames += 1;
    }
    return (1000 * n_frames) / (performance.now() - begun);
  });
}

async function benchPan(chromium, n_operators) {
  const { page, close } = await openPage(chromium);
  const name = `pan_${n_operators}.tflite`;
  await dropBytes(page, name, residualModel(n_operators));
  await waitDrawn(page, name);
  await page.waitForTimeout(1000);
  const frames = [];
  for (let i = 0; i < Number(values.runs); i++) frames.push(await panFrames(page));
  await close();
  console.log(`${n_operators.toLocaleString("en")} operators\n  ${"pan".padEnd(10)} ${median(frames).toFixed(0).padStart(6)} frames/s   (${Math.min(...frames).toFixed(0)} to ${Math.max(...frames).toFixed(0)})`);
}

/** The page's own thread for each frame that something asked for, by a script that runs before all others. */
function watchFrames(page) {
  return page.addInitScript(() => {
    window.frames_ms = [];
    const ask = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (paint) =>
      ask((time) => {
        const begun = performance.now();
        paint(time);
        window.frames_ms.push(performance.now() - begun);
      });
  });
}

/** Frames of a timeline that is zoomed and then dragged, in ms each. */
function dragFrames(page) {
  return page.evaluate(async () => {
    const canvas = document.querySelector(".timeline canvas");
    const { left, top, width } = canvas.getBoundingClientRect();
    const nextFrame = () => new Promise((resolve) => setTimeout(resolve, 20));
    const point = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, button: 0, clientX: left + x, clientY: top + 40, bubbles: true }));
    canvas.setPointerCapture = () => undefined; // of a pointer that no hand holds
    window.frames_ms = [];
    for (let i = 0; i < 12; i++) {
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i < 6 ? -30 : 10, ctrlKey: true, clientX: left + width / 2, clientY: top + 40, bubbles: true, cancelable: true }));
      await nextFrame();
    }
    point("pointerdown", width / 2);
    for (let i = 0; i < 60; i++) {
      point("pointermove", width / 2 + 200 * Math.sin(i / 6));
      await nextFrame();
    }
    point("pointerup", width / 2);
    return window.frames_ms;
  });
}

async function benchTimeline(chromium, n_operators) {
  const firsts = [];
  const frames = [];
  for (let i = 0; i < Number(values.runs); i++) {
    const { page, close } = await openPage(chromium, { prepare: watchFrames });
    const name = `timeline_${n_operators}.tflite`;
    await dropBytes(page, name, residualModel(n_operators));
    await waitDrawn(page, name);
    firsts.push((await measures(page)).timeline);
    await page.locator(".timeline").scrollIntoViewIfNeeded();
    await page.waitForTimeout(500);
    // Folded blocks are fewer bars.
    if ((await page.locator('.timeline button:text-is("Unfold blocks")').count()) > 0) await page.click('.timeline button:text-is("Unfold blocks")');
    await page.waitForTimeout(200);
    frames.push(...(await dragFrames(page)));
    await close();
  }
  const sorted = frames.toSorted((a, b) => a - b);
  const p95 = sorted[Math.ceil(0.95 * sorted.length) - 1];
  console.log(`timeline of ${n_operators.toLocaleString("en")} operators`);
  console.log(line("timeline", firsts));
  console.log(`  ${"drag".padEnd(10)} ${p95.toFixed(1).padStart(6)} ms   (95th percentile of ${sorted.length} frames, median ${sorted[sorted.length >> 1].toFixed(1)}, longest ${sorted.at(-1).toFixed(1)})`);
}

/** Sliders and the sweep over all accelerators, on one network. */
async function benchWhatIf(chromium, name, file) {
  const { page, close } = await openPage(chromium, { prepare: watchTasks });
  await dropFiles(page, [file]);
  await waitDrawn(page, path.basename(file));
  await page.click("#tool-what-if");
  await page.waitForFunction(() => !document.getElementById("what-if-clock").disabled);
  const all = (measure) => page.evaluate((measure) => performance.getEntriesByName(`litecast:${measure}`).map(({ duration }) => duration), measure);
  for (let i = 0; i < Number(values.runs) + 1; i++) {
    await page.focus("#what-if-resolution");
    await page.keyboard.press(i % 2 === 0 ? "ArrowLeft" : "ArrowRight");
    await page.waitForTimeout(400);
  }
  await page.click("#tool-accelerators");
  for (let i = 0; i < Number(values.runs) + 1; i++) {
    await page.press("#sweep-limit", "Enter");
    await page.waitForTimeout(900);
  }
  const [what_if, sweep] = [await all("what-if"), await all("sweep")];
  await close();
  console.log(`what if, ${name}`);
  if (what_if.length > 1) console.log(line("slider", what_if.slice(1)));
  if (sweep.length > 1) console.log(line("sweep", sweep.slice(1)));
}

const folder = await mkdtemp(path.join(tmpdir(), "litecast-bench-"));
const chromium = await openBrowser({ is_whole: true });
try {
  if (values.only === "timeline") await benchTimeline(chromium, 10_000);
  else await benchAll(chromium);
} finally {
  await chromium.close();
  await rm(folder, { recursive: true });
}

async function benchAll(chromium) {
  await benchStart(chromium);
  const found = await access(model).then(() => true, () => false);
  if (found) await bench(chromium, path.basename(model), model);
  else console.log(`skipped: ${model} is not here`);
  const thousand = path.join(folder, "residual_1000.tflite");
  await writeFile(thousand, residualModel(1000));
  await bench(chromium, "1,000 operators", thousand);
  const onnx = path.join(folder, "residual_300.onnx");
  await writeFile(onnx, residualOnnx(300));
  await bench(chromium, "300 operators of ONNX", onnx);
  await benchGpus(chromium);
  await benchPan(chromium, 1000);
  await benchPan(chromium, 10_000);
  await benchTimeline(chromium, 10_000);
  const mobilenet = path.join(SHARED_MODELS, MOBILENET);
  if (await access(mobilenet).then(() => true, () => false)) await benchWhatIf(chromium, MOBILENET, mobilenet);
  else console.log(`skipped: ${MOBILENET} is not here`);
  await benchAccess(chromium);
}
