/** Two builds of the page: a server has the later one while tabs, workers and a service worker are of the one before. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, readFile, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../../www/serve.mjs";
import { dropBytes, openPage, readEstimates, until, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { zipOf } from "./zip.mjs";

const DIST = fileURLToPath(new URL("../../www/dist/", import.meta.url));
const shared = browserForTests({ is_whole: true });
const model = residualModel(8);

/** Copies of the page that differ in the version that their files are asked for with, at one address in turns. */
const builds = { folder: null, server: null, url: null };

before(async () => {
  builds.folder = await mkdtemp(path.join(tmpdir(), "litecast-builds-"));
  for (const name of ["old", "new"]) {
    const folder = path.join(builds.folder, name);
    await cp(DIST, folder, { recursive: true, filter: (file) => !/\.(map|br|gz)$/.test(file) });
    if (name === "new") await rename(folder);
  }
  await choose("old");
  await goOnline();
});
after(async () => {
  if (builds.server) await goOffline();
  if (builds.folder) await rm(builds.folder, { recursive: true, force: true });
});

/** At the same address each time. */
async function goOnline() {
  const port = builds.url ? Number(new URL(builds.url).port) : 0;
  Object.assign(builds, await serve({ port, folder: path.join(builds.folder, "served") }));
}

/** Not by the browser, which leaves service workers their network. */
function goOffline() {
  const closed = new Promise((resolve) => builds.server.close(resolve));
  builds.server.closeAllConnections();
  return closed;
}

/** What the address gives from now on. */
async function choose(name) {
  await unlink(path.join(builds.folder, "served")).catch(() => undefined);
  await symlink(path.join(builds.folder, name), path.join(builds.folder, "served"));
}

/** Gives the files of a build another version, and chunks other names, as another source would. */
async function rename(folder) {
  const page = await readFile(path.join(folder, "index.html"), "utf8");
  const version = page.match(/main\.js\?v=(\w+)/)[1];
  const chunks = (await readdir(path.join(folder, "chunks"))).filter((name) => name.endsWith(".js"));
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of found.filter(({ name }) => /\.(js|html|webmanifest)$/.test(name))) {
    const file = path.join(entry.parentPath, entry.name);
    let text = (await readFile(file, "utf8")).replaceAll(version, "0".repeat(version.length));
    for (const chunk of chunks) text = text.replaceAll(chunk, `new-${chunk}`);
    await writeFile(entry.parentPath.endsWith("chunks") ? path.join(entry.parentPath, `new-${entry.name}`) : file, text);
    if (entry.parentPath.endsWith("chunks")) await unlink(file);
  }
}

const versionOf = (page) => page.evaluate(() => new URL(document.querySelector("script").src).searchParams.get("v"));

async function estimates(page, name) {
  await dropBytes(page, name, model);
  await waitDrawn(page, name);
  return readEstimates(page);
}

test("without a service worker, a tab says that the server has another build", async () => {
  await choose("old");
  const { page, problems, close } = await openPage({ browser: shared.chromium.browser, url: builds.url });
  const expected = await estimates(page, "before.tflite");
  await choose("new");
  await dropBytes(page, "a.zip", zipOf({ "a.tflite": model }));
  await page.waitForSelector('.failure-panel[data-kind="other-build"]');
  assert.match(await page.textContent(".failure-panel .message"), /another build of this page since this tab was opened; reload the tab/);
  await page.reload();
  await page.waitForSelector("body[data-ready=yes]");
  assert.equal(await versionOf(page), "0".repeat(16));
  assert.deepEqual(await estimates(page, "after.tflite"), expected);
  await dropBytes(page, "a.zip", zipOf({ "a.tflite": model }));
  await waitDrawn(page, "a.tflite");
  assert.deepEqual(problems, []);
  await close();
});

test("with a service worker, tabs of two builds go on with their own files, without a network and after a step back too", async () => {
  await choose("old");
  const { page: old, problems, close } = await openPage({ browser: shared.chromium.browser, url: builds.url }, { options: { serviceWorkers: "allow" } });
  const n_filled = (page) => page.evaluate(async () => (await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).match("./")))).filter(Boolean).length);
  const active = async (page, n_caches) => {
    await page.evaluate(() => navigator.serviceWorker.ready);
    await until(async () => (await n_filled(page)) === n_caches, `${n_caches} caches with all files`);
    await until(() => page.evaluate(() => navigator.serviceWorker.controller?.state === "activated"), "a service worker is active");
  };
  await active(old, 1);
  const expected = await estimates(old, "first.tflite");
  await choose("new");
  // The service worker of the old build answers this tab.
  const later = await old.context().newPage();
  later.on("pageerror", (error) => problems.push(String(error)));
  await later.goto(builds.url);
  await later.waitForSelector("body[data-ready=yes]");
  assert.notEqual(await versionOf(later), await versionOf(old));
  assert.deepEqual(await estimates(later, "second.tflite"), expected);
  await active(later, 2);
  await goOffline();
  for (const page of [old, later]) {
    await dropBytes(page, "a.zip", zipOf({ "a.tflite": model }));
    await waitDrawn(page, "a.tflite");
    assert.deepEqual(await readEstimates(page), expected);
  }
  await later.reload();
  await waitDrawn(later, "a.tflite");
  assert.equal(await versionOf(later), "0".repeat(16));
  await goOnline();
  // Back to the old build, whose cache is older than that of the new one.
  await choose("old");
  await later.reload();
  await waitDrawn(later, "a.tflite");
  await later.evaluate(async () => (await navigator.serviceWorker.getRegistration()).update());
  await until(() => later.evaluate(() => navigator.serviceWorker.getRegistration().then(({ installing, waiting }) => !installing && !waiting)), "the update has ended");
  await active(later, 2);
  await goOffline();
  await later.reload();
  await waitDrawn(later, "a.tflite");
  assert.equal(await versionOf(later), await versionOf(old));
  assert.deepEqual(problems.filter((words) => !words.includes("ERR_CONNECTION_REFUSED")), []);
  await close();
  await goOnline();
});
