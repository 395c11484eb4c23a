/**
 * C sources of 64 MiB, or backups of 256 MiB, on the page in headless Chromium: `node tests/page/large_sources.mjs [--backups]
 * [--runs 3]`. Of each file, the slowest of the runs: from the drop to the answer on the screen, the longest task of the
 * page's own thread (as long as this it did not answer), the processor's time of all tasks of that thread together, which
 * other programs do not stretch, and the most memory of its process beyond what it held before.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { dropFiles, openBrowser, openPage } from "./browser.mjs";
import { renderers } from "./judged.mjs";
import { LARGE_BACKUPS, LARGE_SOURCES } from "./strange.mjs";

const { values } = parseArgs({ options: { runs: { type: "string", default: "3" }, backups: { type: "boolean", default: false } } });
const MIB = 2 ** 20;

/** By process of a page, the largest first: milliseconds of the processor of its own thread, and the most resident megabytes so far. */
async function taken(browser) {
  const ids = await renderers(browser);
  const of = async (id) => {
    const [nanoseconds] = (await readFile(`/proc/${id}/task/${id}/schedstat`, "utf8")).split(" ");
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${id}/status`, "utf8"));
    return [id, [Number(nanoseconds) / 1e6, (Number(kilobytes) * 1024) / 1e6]];
  };
  return new Map((await Promise.all(ids.map(of))).toSorted(([, [, one]], [, [, other]]) => other - one));
}

/** Files with what they begin with and what they are made of. What a file of a kilobyte takes is not the length's doing. */
function largeFiles() {
  if (!values.backups) return [["small.h", 2 ** 10, "", "a"], ...Object.entries(LARGE_SOURCES).map(([name, unit]) => [name, 64 * MIB, "", unit])];
  const [[, small]] = Object.entries(LARGE_BACKUPS);
  return [["small.backup", 2 ** 10, ...small], ...Object.entries(LARGE_BACKUPS).map(([name, parts]) => [name, 256 * MIB, ...parts])];
}

/** Resolves when the page has answered. */
async function openFile(page, file, name) {
  if (!values.backups) {
    await dropFiles(page, [file]);
    return page.waitForSelector(`.failure-panel:has-text("${name}")`, { timeout: 120_000 });
  }
  await page.setInputFiles("#import-picker", file);
  return page.waitForFunction(() => /^(Imported|Expected a file)/i.test(document.getElementById("status").textContent), null, { timeout: 120_000 });
}

const folder = await mkdtemp(path.join(tmpdir(), "litecast-"));
try {
  console.log("file                 answer ms  longest task ms  own thread ms  memory MB");
  for (const [name, n_bytes, head, unit] of largeFiles()) {
    const file = path.join(folder, name);
    await writeFile(file, Buffer.concat([Buffer.from(head), Buffer.alloc(n_bytes, unit)]));
    const runs = [];
    for (let run = 0; run < Number(values.runs); run++) {
      // A browser of its own: the most memory of a process is kept for as long as it lives.
      const chromium = await openBrowser();
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
      const start = performance.now();
      await openFile(page, file, name);
      const answer = performance.now() - start;
      await page.waitForTimeout(200); // long tasks are reported after they end
      const task = await page.evaluate(() => window.longest_task_ms);
      const [[id, after]] = await taken(chromium.browser);
      runs.push([answer, task, ...after.map((one, idx) => one - before.get(id)[idx])]);
      await chromium.close();
    }
    const worst = [0, 1, 2, 3].map((column) => Math.max(...runs.map((run) => run[column])).toFixed(0));
    console.log(`${name.padEnd(19)} ${worst[0].padStart(10)} ${worst[1].padStart(16)} ${worst[2].padStart(14)} ${worst[3].padStart(10)}`);
  }
} finally {
  await rm(folder, { recursive: true });
}
