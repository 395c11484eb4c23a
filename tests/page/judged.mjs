/** How a page answers files that nobody would drop: what it shows, and what its process holds. */
import { readFile } from "node:fs/promises";

/** The page gives up after 60 s, and says so. */
const FILE_LIMIT_MS = 90_000;
/** Until spare workers have started, and the memory of collected garbage is the system's again. */
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

/**
 * Leaves no garbage in a page and its workers, and no empty room in their heaps; Chromium has to run with
 * `--js-flags=--expose-gc`.
 */
export async function collect(page, settle_ms = SETTLE_MS) {
  const session = await page.context().newCDPSession(page);
  for (let i = 0; i < 2; i++) {
    await session.send("HeapProfiler.collectGarbage");
    // A worker that opens archives may end meanwhile.
    await Promise.all(page.workers().map((worker) => worker.evaluate(collectWorker).catch(() => undefined)));
    await page.waitForTimeout(settle_ms);
  }
  await session.detach();
}

/**
 * The page's own collection leaves out the heaps of its workers. An ordinary one of theirs leaves young generations as large
 * as they were: up to 48 MiB of a worker that has made many reports, of which 1 MiB is in use, and which the browser takes
 * back once the worker is idle for some seconds. The last resort takes it back at once, as the page's collection does for
 * the page.
 */
function collectWorker() {
  globalThis.gc({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** Bytes of a line of a process's status. */
export async function statusBytes(id, line) {
  const status = await readFile(`/proc/${id}/status`, "utf8");
  return 1024 * Number(status.match(new RegExp(`^${line}:\\s+(\\d+)`, "m"))[1]);
}

/**
 * What the page's own process holds with its workers, after what is garbage is gone: `resident` bytes, and `own`, those of
 * them that are of no file. The system drops parts of the browser's program while others need memory, and reads them anew.
 */
export async function memoryBytes(browser, page) {
  await collect(page);
  const held = async (id) => {
    const [resident, anonymous, shared, swapped] = await Promise.all(["VmRSS", "RssAnon", "RssShmem", "VmSwap"].map((line) => statusBytes(id, line)));
    return { resident, own: anonymous + shared + swapped };
  };
  const pages = await Promise.all((await renderers(browser)).map(held));
  return pages.reduce((a, b) => (b.own > a.own ? b : a));
}
