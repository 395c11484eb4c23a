/** Files on which the worker does what no real file should make it do, and large ones. */
import { dropBytes } from "./browser.mjs";
import { residualModel } from "./model.mjs";

/**
 * Runs before the real worker's code: files of these names keep it busy for ever, trap after half a second, leave it
 * with a gigabyte of memory, or have it wait for the browser's database for ever.
 */
const WORKER_PRELUDE = `
let file = "";
addEventListener("message", ({ data }) => {
  file = data.call?.file ?? file;
  if (file === "hang.tflite") for (;;);
  if (file === "trap.tflite") {
    const until = performance.now() + 100;
    while (performance.now() < until);
  }
});
const open = indexedDB.open.bind(indexedDB);
indexedDB.open = (...named) => (file === "unkept.tflite" ? new EventTarget() : open(...named));
const reply = postMessage.bind(globalThis);
globalThis.postMessage = (message, transfer) => {
  if (file === "trap.tflite" && message.value?.report) return reply({ id: message.id, error: { kind: "internal", message: "unreachable" } });
  if (file === "large.tflite" && message.value?.report) message.value.is_spent = true;
  reply(message, transfer);
};
`;

/** What `openPage` prepares a page with on which such files are dropped. */
export async function withStrangeFiles(page) {
  await page.route("**/estimate.js*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: WORKER_PRELUDE + (await response.text()) });
  });
  await page.addInitScript(() => {
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, transfer) {
      window.last_posted = message.call?.file ?? window.last_posted;
      post.call(this, message, transfer);
    };
  });
}

/** The page's workers that estimate. */
export const estimators = (page) => page.workers().filter((worker) => worker.url().includes("estimate.js"));

/** A worker has it when this resolves. */
export async function dropHanging(page) {
  await page.evaluate(() => (window.last_posted = null));
  await dropBytes(page, "hang.tflite", residualModel(4));
  await page.waitForFunction(() => window.last_posted === "hang.tflite");
}

/** C sources without a model, by what they are made of: files of 64 MiB repeat it. */
export const LARGE_SOURCES = {
  "word.h": "a",
  "base64.h": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n",
  "quotes.h": '"a\n',
  "comment.h": "/*",
  "braces.h": "{",
  "arrays.h": "int a[]={0};",
};

/** Files that begin as backups do, by how they begin and what they are made of. */
export const LARGE_BACKUPS = {
  "reports.backup": ['{"litecast_backup":1,"reports":[', "[],"],
  "one-report.backup": ['{"litecast_backup":1,"reports":[["key",[', "{},"],
  "deep.backup": ['{"litecast_backup":1,"opened":[', "["],
  "names.backup": ['{"litecast_backup":1,', '"opened":[],'],
  "settings.backup": ['{"litecast_backup":1,"settings":{', '"litecast.a":"",'],
  "text.backup": ['{"litecast_backup":1,"files":[["key","name","', "A"],
  "escapes.backup": ['{"litecast_backup":1,"files":[["key","name","', "\\\\"],
  "another.backup": ['{"a":[', "0,"],
};
