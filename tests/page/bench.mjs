/**
 * The page in headless Chromium: `node tests/page/bench.mjs [MODEL] [--runs 5]`. Each line is the median of the runs, with
 * the fastest and the slowest. Last, estimates a second of the npm package on one thread, for networks of 70 operators:
 * all of it, and the predictor alone, whose time is what the same files take more than without it.
 *
 *   ready       navigation to an estimator that can estimate
 *   download    bytes that a first visit asks for, as compressed ahead with brotli
 *   estimates   drop to estimates on the screen; `first` on a fresh page
 *   drawn       drop to the drawn graph
 *   task        longest task of the page's own thread: as long as this it did not answer
 *   axe-core    findings on all views in both themes
 */
import { access, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { axeFindings, dropFiles, measures, openBrowser, openPage, SHARED_MODELS, visitViews, waitDrawn } from "./browser.mjs";
import { residualModel } from "./model.mjs";

const DIST = fileURLToPath(new URL("../../www/dist/", import.meta.url));
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PACKAGE_ORIGIN = "http://localhost:1";
const N_OPERATORS = 70;
const N_FILES = 64;
const BATCH_SIZES = [1, 8, 64];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string", default: "5" } },
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
  await page.evaluate(() => {
    document.getElementById("home").click();
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
    await page.waitForTimeout(500); // a person takes longer to drop a file
    firsts.push(await timeOne(page, file));
    await close();
  }
  const { page, close } = await openPage(chromium, { prepare: watchTasks });
  const runs = [];
  for (let i = 0; i < Number(values.runs) + 1; i++) runs.push(await timeOne(page, file));
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
}

/** A blank page of an origin of its own that serves the package and the bundle. */
async function openPackage({ browser }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const served = { "/": null, "/litecast.js": "pkg", "/litecast_bg.wasm": "pkg", "/predictor.onnx": "bundle", "/manifest.json": "bundle" };
  await page.route(`${PACKAGE_ORIGIN}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    const folder = served[pathname];
    if (folder) await route.fulfill({ path: path.join(ROOT, folder, pathname) });
    else await route.fulfill({ contentType: "text/html", body: "" });
  });
  await page.goto(PACKAGE_ORIGIN);
  return { page, close: () => context.close() };
}

/** Runs in the page. Milliseconds of each run: `read` without the predictor, and by the number of files of a call. */
async function timePackage({ base64, n_files, batch_sizes, n_runs }) {
  const { default: init, Predictor, analyze } = await import("/litecast.js");
  await init();
  const [onnx, manifest] = await Promise.all([
    fetch("/predictor.onnx").then((response) => response.arrayBuffer()),
    fetch("/manifest.json").then((response) => response.text()),
  ]);
  const predictor = new Predictor(new Uint8Array(onnx), manifest);
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const files = new Array(n_files).fill({ name: "network.tflite", bytes });
  const time = (run) => {
    const started = performance.now();
    run();
    return performance.now() - started;
  };
  const runs = [];
  for (let i = 0; i < n_runs + 1; i++) {
    const read = time(() => files.forEach((file) => analyze(file.bytes, file.name)));
    const estimated = batch_sizes.map((size) =>
      time(() => {
        for (let start = 0; start < n_files; start += size) predictor.estimateMany(files.slice(start, start + size));
      }),
    );
    runs.push({ read, estimated });
  }
  return runs.slice(1); // the browser still compiles in the first
}

async function benchPackage(chromium) {
  const { page, close } = await openPackage(chromium);
  const base64 = residualModel(N_OPERATORS).toString("base64");
  const runs = await page.evaluate(timePackage, { base64, n_files: N_FILES, batch_sizes: BATCH_SIZES, n_runs: Number(values.runs) });
  await close();
  const rate = (ms) => ((1e3 * N_FILES) / median(ms)).toFixed(0).padStart(6);
  console.log(`npm package, networks of ${N_OPERATORS} operators, ${runs.length} runs`);
  for (const [index, size] of BATCH_SIZES.entries()) {
    const all = rate(runs.map(({ estimated }) => estimated[index]));
    const predictor = rate(runs.map(({ estimated, read }) => estimated[index] - read));
    console.log(`  ${String(size).padStart(2)} at a time ${all} reports/s, predictor alone ${predictor} graphs/s`);
  }
}

const folder = await mkdtemp(path.join(tmpdir(), "litecast-bench-"));
const chromium = await openBrowser();
try {
  await benchStart(chromium);
  const found = await access(model).then(() => true, () => false);
  if (found) await bench(chromium, path.basename(model), model);
  else console.log(`skipped: ${model} is not here`);
  const thousand = path.join(folder, "residual_1000.tflite");
  await writeFile(thousand, residualModel(1000));
  await bench(chromium, "1,000 operators", thousand);
  await benchAccess(chromium);
  await benchPackage(chromium);
} finally {
  await chromium.close();
  await rm(folder, { recursive: true });
}
