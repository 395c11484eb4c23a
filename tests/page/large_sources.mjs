/**
 * C sources of 64 MiB, backups of 256 MiB or networks of 60,000 named operators on the page in headless Chromium:
 * `node tests/page/large_sources.mjs [--backups | --networks | FILE...] [--runs 3]`. FILE is a model. Of each file, the slowest of the runs: from the drop to the answer on the screen, the longest task of the
 * page's own thread (as long as this it did not answer), and the most memory of its
 * process beyond what it held before. Other programs do not stretch the processor's time of that longest task, of all tasks
 * of that thread together, and of all workers of the page.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { dropFiles, openBrowser, openPage, waitDrawn } from "./browser.mjs";
import { renderers } from "./judged.mjs";
import { namedNetworks } from "./named_networks.mjs";
import { LARGE_BACKUPS, LARGE_SOURCES } from "./strange.mjs";

const { values, positionals } = parseArgs({
  options: { runs: { type: "string", default: "3" }, backups: { type: "boolean", default: false }, networks: { type: "boolean", default: false } },
  allowPositionals: true,
});
const is_model = values.networks || positionals.length > 0;
const N_OPERATORS = 60_000;
const MIB = 2 ** 20;

/** Milliseconds of the processor that a thread has taken. */
async function processorTime(thread) {
  const [nanoseconds] = (await readFile(`${thread}/schedstat`, "utf8")).split(" ");
  return Number(nanoseconds) / 1e6;
}

async function workersTime(id) {
  const threads = (await readdir(`/proc/${id}/task`)).map((thread) => `/proc/${id}/task/${thread}`);
  const times = threads.map(async (thread) => ((await readFile(`${thread}/comm`, "utf8")).startsWith("DedicatedWorker") ? processorTime(thread) : 0));
  return (await Promise.all(times)).reduce((one, other) => one + other, 0);
}

/**
 * By process of a page, the largest first: milliseconds of the processor of its own thread and of its workers, and the most
 * resident megabytes so far.
 */
async function taken(browser) {
  const ids = await renderers(browser);
  const of = async (id) => {
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${id}/status`, "utf8"));
    return [id, [await processorTime(`/proc/${id}/task/${id}`), await workersTime(id), (Number(kilobytes) * 1024) / 1e6]];
  };
  return new Map((await Promise.all(ids.map(of))).toSorted(([, [, , one]], [, [, , other]]) => other - one));
}

/** Of the page's own thread in a trace, the processor's milliseconds of the task that took most of them. */
function longestTask(trace, id) {
  const { traceEvents } = JSON.parse(trace);
  const own = traceEvents.filter(({ pid, tid, name }) => pid === id && tid === id && name.endsWith("RunTask"));
  return Math.max(0, ...own.map(({ tdur = 0 }) => tdur / 1e3));
}

/** Names and contents, one after the other. What a file of a kilobyte takes is not the length's doing. */
async function* largeFiles() {
  const filled = (n_bytes, head, unit) => Buffer.concat([Buffer.from(head), Buffer.alloc(n_bytes, unit)]);
  if (is_model) {
    for (const file of positionals) yield [path.basename(file), await readFile(file)];
    if (values.networks) yield* Object.entries(namedNetworks(N_OPERATORS));
    return;
  }
  const n_bytes = values.backups ? 256 * MIB : 64 * MIB;
  const files = Object.entries(values.backups ? LARGE_BACKUPS : LARGE_SOURCES).map(([name, made]) => [name, ...(values.backups ? made : ["", made])]);
  const [[, head, unit]] = files;
  yield values.backups ? ["small.backup", filled(2 ** 10, head, unit)] : ["small.h", filled(2 ** 10, "", "a")];
  for (const [name, head, unit] of files) yield [name, filled(n_bytes, head, unit)];
}

/** Resolves when the page has answered. */
async function openFile(page, file, name) {
  if (is_model) {
    await dropFiles(page, [file]);
    return waitDrawn(page, name);
  }
  if (!values.backups) {
    await dropFiles(page, [file]);
    return page.waitForSelector(`.failure-panel:has-text("${name}")`, { timeout: 120_000 });
  }
  await page.setInputFiles("#import-picker", file);
  return page.waitForFunction(() => /^(Imported|Expected a file)/i.test(document.getElementById("status").textContent), null, { timeout: 120_000 });
}

const folder = await mkdtemp(path.join(tmpdir(), "litecast-"));
try {
  console.log("                     by the clock, ms                of the processor, ms");
  console.log("file                   answer  longest task  longest task  own thread  workers  memory MB");
  for await (const [name, contents] of largeFiles()) {
    const file = path.join(folder, name);
    await writeFile(file, contents);
    const runs = [];
    for (let run = 0; run < Number(values.runs); run++) {
      // A browser of its own: the most memory of a process is kept for as long as it lives.
      const chromium = await openBrowser({ is_whole: true });
      const { page } = await openPage(chromium);
      await page.waitForTimeout(1000);
      await page.evaluate(() => {
        window.longest_task_ms = 0;
        // Where a dialog fails, the page shows its words, and does not start again.
        window.alert = (words) => {
          throw new Error(words);
        };
        new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) window.longest_task_ms = Math.max(window.longest_task_ms, duration);
        }).observe({ type: "longtask" });
      });
      const before = await taken(chromium.browser);
      await chromium.browser.startTracing(page, { categories: ["toplevel"] });
      const start = performance.now();
      await openFile(page, file, name);
      const answer = performance.now() - start;
      await page.waitForTimeout(200); // long tasks are reported after they end
      const task = await page.evaluate(() => window.longest_task_ms);
      const [[id, after]] = await taken(chromium.browser);
      const trace = await chromium.browser.stopTracing();
      runs.push([answer, task, longestTask(trace, id), ...after.map((one, idx) => one - before.get(id)[idx])]);
      await chromium.close();
    }
    const worst = [8, 13, 13, 11, 8, 10].map((width, column) => Math.max(...runs.map((run) => run[column])).toFixed(0).padStart(width));
    console.log(`${name.padEnd(20)} ${worst.join(" ")}`);
  }
} finally {
  await rm(folder, { recursive: true });
}
