/** How a page answers files that nobody would drop: what it shows, and what its process holds. */
import { readFile } from "node:fs/promises";

/** The page gives up after 60 s, and says so. */
const FILE_LIMIT_MS = 90_000;
/** Until spare workers have started and what is garbage is collected. */
const SETTLE_MS = 3000;

/** The parts that `litecast-fuzz` wrote one after the other, each after its length in four bytes. */
export function* prefixed(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at);
    yield bytes.subarray(at + 4, end);
    at = end;
  }
}

/** Shown as a report or a refusal; which of them. */
export async function shown(page, name) {
  const handle = await page.waitForFunction(
    (name) => {
      const failed = document.querySelector(".failure-panel");
      if (failed && document.getElementById("title").textContent.includes(name)) return failed.dataset.kind ?? "none";
      return document.body.dataset.drawn === name ? "report" : null;
    },
    name,
    { timeout: FILE_LIMIT_MS },
  );
  return handle.jsonValue();
}

/** Process ids of pages, of which workers are part. */
export async function renderers(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

/** Leaves no garbage in a page and its workers; Chromium has to run with `--js-flags=--expose-gc`. */
export async function collect(page, settle_ms = SETTLE_MS) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await page.waitForTimeout(settle_ms);
  await session.send("HeapProfiler.collectGarbage");
  await session.detach();
  // The page's own collection leaves out the heaps of its workers.
  await Promise.all(page.workers().map((worker) => worker.evaluate(() => globalThis.gc())));
}

/** Resident bytes of the page's own process with its workers, after what is garbage is gone. */
export async function memoryBytes(browser, page) {
  await collect(page);
  const pages = await Promise.all(
    (await renderers(browser)).map(async (id) => Number((await readFile(`/proc/${id}/statm`, "utf8")).split(" ")[1])),
  );
  return Math.max(...pages) * 4096;
}
