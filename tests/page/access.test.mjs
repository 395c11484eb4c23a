/** The page for everyone: axe-core on every view in both themes, small windows, touch, no network. */
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { after, before, test } from "node:test";
import { HEADERS } from "../../www/headers.mjs";
import { axeFindings, dropBytes, openBrowser, openPage, readEstimates, visitViews, waitDrawn } from "./browser.mjs";
import { residualModel } from "./model.mjs";

const DIST = fileURLToPath(new URL("../../www/dist/", import.meta.url));

let chromium;
before(async () => {
  chromium = await openBrowser();
});
after(() => chromium?.close());

async function withPage(use, settings) {
  const opened = await openPage(chromium, settings);
  try {
    await use(opened.page, opened);
    assert.deepEqual(opened.problems, [], "errors on the console");
  } finally {
    await opened.close();
  }
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe-core finds nothing on any view, ${colorScheme}`, () =>
    withPage(
      async (page) => {
        const findings = [];
        await visitViews(page, async (view) => findings.push(...(await axeFindings(page)).map((finding) => `${view}: ${finding}`)));
        assert.deepEqual(findings, []);
      },
      { options: { colorScheme, bypassCSP: true } },
    ));
}

test("at 400 % zoom nothing stays on top of what is read, and nothing is cut off", () =>
  withPage(
    async (page) => {
      await dropBytes(page, "zoomed.tflite", residualModel(12));
      await waitDrawn(page, "zoomed.tflite");
      assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".bar")).position), "static");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "sideways");
    },
    { options: { viewport: { width: 360, height: 225 }, deviceScaleFactor: 4 } },
  ));

test("on a phone a swipe over the graph scrolls the page, and no control covers another", () =>
  withPage(
    async (page) => {
      await dropBytes(page, "swiped.tflite", residualModel(60));
      await waitDrawn(page, "swiped.tflite");
      await page.evaluate(() => document.querySelector(".graph").scrollIntoView());
      const before = await page.evaluate(() => scrollY);
      const session = await page.context().newCDPSession(page);
      const box = await page.locator(".drawing").boundingBox();
      const [x, y] = [Math.round(box.x + box.width / 2), Math.round(box.y + 300)];
      const touch = (type, touchPoints) => session.send("Input.dispatchTouchEvent", { type, touchPoints });
      await touch("touchStart", [{ x, y }]);
      for (let step = 1; step <= 15; step++) await touch("touchMove", [{ x, y: y - 12 * step }]);
      await touch("touchEnd", []);
      await page.waitForFunction((before) => scrollY > before + 100, before);
      const boxes = await page.$$eval(".workbench-bar :is(button, select, input)", (all) => all.map((element) => element.getBoundingClientRect().toJSON()));
      const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
      for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) assert.ok(!overlap(a, b), `${JSON.stringify(a)} over ${JSON.stringify(b)}`);
    },
    { options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } },
  ));

test("without a network the page opens, and estimates as before", () =>
  withPage(
    async (page, { requests }) => {
      await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
      await page.reload();
      await page.waitForSelector("body[data-ready=yes]");
      await dropBytes(page, "online.tflite", residualModel(12));
      await waitDrawn(page, "online.tflite");
      const expected = await readEstimates(page);
      await page.context().setOffline(true);
      await page.goto(chromium.url);
      await page.waitForSelector("body[data-ready=yes]");
      await dropBytes(page, "offline.tflite", residualModel(12));
      await waitDrawn(page, "offline.tflite");
      assert.deepEqual(await readEstimates(page), expected);
      assert.ok(requests.length > 5);
    },
    { options: { serviceWorkers: "allow" } },
  ));

test("what is served compressed is what was built, under the page's policy", async () => {
  for (const name of ["litecast_bg.wasm", "assets/warm-up-int8.tflite", "main.js", "style.css"]) {
    const built = await readFile(`${DIST}${name}`);
    for (const [encoding, unpack] of [["br", brotliDecompressSync], ["gzip", gunzipSync]]) {
      const { headers, body } = await request(`${chromium.url}${name}?v=1`, encoding);
      assert.equal(headers["content-encoding"], encoding, name);
      assert.ok(unpack(body).equals(built), `${name} as ${encoding}`);
      for (const [key, value] of Object.entries(HEADERS)) assert.equal(headers[key], value, key);
      assert.match(headers["cache-control"], /immutable/);
    }
    const plain = await request(`${chromium.url}${name}`, "identity");
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.ok(plain.body.equals(built));
  }
  // Its name has the hash of its contents, in place of a version.
  const [, chunk] = /<link rel="modulepreload" href="(chunks\/[^"]+)">/.exec(await readFile(`${DIST}index.html`, "utf8"));
  assert.match((await request(`${chromium.url}${chunk}`, "br")).headers["cache-control"], /immutable/);
  assert.equal((await request(`${chromium.url}../package.json`, "identity")).status, 404);
  for (const name of ["_headers", ".htaccess", "vercel.json"]) {
    const text = await readFile(`${DIST}${name}`, "utf8");
    for (const value of Object.values(HEADERS)) assert.ok(text.includes(value), `${name} says ${value}`);
  }
});

/** As a client that says what it takes, and does not unpack it. */
async function request(url, encoding) {
  const { get } = await import("node:http");
  return new Promise((resolve, reject) => {
    get(url, { headers: { "accept-encoding": encoding } }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }));
    }).on("error", reject);
  });
}

test("the page works from a folder of a server that knows nothing of it", async () => {
  const types = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm", svg: "image/svg+xml" };
  const server = createServer(async (incoming, response) => {
    const name = new URL(incoming.url, "http://localhost").pathname.replace(/^\/some\/where\//, "") || "index.html";
    const found = await stat(`${DIST}${name}`).then((entry) => entry.isFile(), () => false);
    if (!found || !incoming.url.startsWith("/some/where/")) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[name.split(".").at(-1)] ?? "application/octet-stream" }).end(await readFile(`${DIST}${name}`));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { page, close, problems } = await openPage({ ...chromium, url: `http://127.0.0.1:${server.address().port}/some/where/` });
  await page.locator(".example").first().click();
  await page.waitForSelector("body[data-drawn]");
  assert.deepEqual(problems, []);
  await close();
  server.close();
});
