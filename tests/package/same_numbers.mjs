/**
 * Chromium gives the numbers of Node.js, whose reports tests/package/api.test.mjs compares with those of the command:
 * for all example and shared files, every number of every report. Usage: node --test tests/package/same_numbers.mjs
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { launchChromium } from "../chromium.mjs";
import { root } from "./packed.mjs";

const MEDIA_TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };
const FOLDERS = ["www/examples", "../shared/models", "../shared/models-mcu"].map((folder) => path.join(root, folder)).filter(existsSync);

/** Files of the package, an empty page at every other path, and models by their number. */
function serve(files) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const model = /^\/model\/(\d+)$/.exec(pathname)?.[1];
    const file = model === undefined ? path.join(root, pathname) : files[model];
    if (!file?.startsWith(path.join(root, "pkg")) && model === undefined) return void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
    response.writeHead(200, { "content-type": MEDIA_TYPES[path.extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({ server, url: `http://127.0.0.1:${server.address().port}/` })));
}

const files = FOLDERS.flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => path.join(folder, name))).filter((file) => /\.(tflite|onnx)$/.test(file)).sort();

test("Chromium has the numbers of Node.js", async (context) => {
  const { server, url } = await serve(files);
  context.after(() => server.close());
  const browser = await launchChromium({ is_whole: true });
  context.after(() => browser.close());
  const page = await browser.newPage();
  await page.goto(url);
  const version = await page.evaluate(async () => {
    const { load } = await import("/pkg/index.js");
    window.litecast = await load();
    return navigator.userAgent;
  });
  const { load } = await import(pathToFileURL(path.join(root, "pkg/index.node.js")));
  const litecast = await load();

  const estimate = async (index) => {
    const response = await fetch(`/model/${index}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    try {
      return JSON.stringify(window.litecast.estimate(bytes, { name: "model" }));
    } catch ({ kind, message }) {
      return JSON.stringify({ kind, message });
    }
  };
  let n_numbers = 0;
  let n_reports = 0;
  for (const [index, file] of files.entries()) {
    let ours;
    try {
      ours = litecast.estimate(readFileSync(file), { name: "model" });
      n_reports += 1;
    } catch ({ kind, message }) {
      ours = { kind, message };
    }
    const text = JSON.stringify(ours, (_, value) => (typeof value === "number" ? ((n_numbers += 1), value) : value));
    assert.equal(await page.evaluate(estimate, index), text, file);
  }
  assert.ok(n_reports >= 3 && n_numbers > 1000);
  context.diagnostic(`${n_reports} reports of ${files.length} files, ${n_numbers} numbers, all the same in Node.js ${process.version} and ${/Chrome\/[\d.]+/.exec(version)?.[0]}`);
});
