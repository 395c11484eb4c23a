/** What the tests of one file share. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before } from "node:test";
import { openBrowser, usePage } from "./browser.mjs";

export const NPUS = ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"];
export const EDGE_TPU = "edgetpu-coral-dev-board";
/** With the metrics that they have. */
export const PROCESSORS = { "cortex-a76-rpi5": ["latency", "energy"], "cortex-a72-rpi4": ["latency"] };

/** One browser (see `launchChromium`) and one folder for all tests of the file that calls this; both are there once its tests run. */
export function browserForTests(options) {
  const shared = {
    chromium: null,
    folder: null,

    /** See `usePage`. */
    withPage(use, settings) {
      return usePage(shared.chromium, use, settings);
    },

    /** The path of a new file in the folder. */
    async writeFile(name, bytes) {
      const file = path.join(shared.folder, name);
      await writeFile(file, bytes);
      return file;
    },
  };
  before(async () => {
    shared.chromium = await openBrowser(options);
    shared.folder = await mkdtemp(path.join(tmpdir(), "litecast-page-"));
  });
  after(async () => {
    await shared.chromium?.close();
    if (shared.folder) await rm(shared.folder, { recursive: true, force: true });
  });
  return shared;
}
