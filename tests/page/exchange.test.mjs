/** What comes from elsewhere and goes elsewhere: messages of other pages, files that the system opens, and everything as one file. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import { dropBytes, dropModels, isKept, openPage, readEstimates, waitDrawn, waitKept } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { mixedModel, residualModel } from "./model.mjs";
import { LARGE_BACKUPS } from "./strange.mjs";

const shared = browserForTests();

/** A page of another origin that opens the page in a window, and what it hears from there. */
async function withOpener(use) {
  const server = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>other</title>"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { browser, url } = shared.chromium;
  const context = await browser.newContext({ serviceWorkers: "block" });
  const page = await context.newPage();
  try {
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const opened = context.waitForEvent("page");
    await page.evaluate((url) => {
      window.heard = [];
      addEventListener("message", ({ data, origin }) => heard.push({ ...data, origin }));
      window.other = window.open(url);
    }, url);
    const litecast = await opened;
    await litecast.waitForSelector("body[data-ready]", { timeout: 120_000 });
    /** Sends a message with the bytes of a model, and waits for its answer. */
    const ask = async (message, bytes) => {
      await page.evaluate(([message, base64]) => {
        const fields = base64 === null ? {} : { bytes: Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer };
        other.postMessage({ litecast: 1, ...fields, ...message }, "*");
      }, [message, bytes ? Buffer.from(bytes).toString("base64") : null]);
      return (await page.waitForFunction((id) => heard.find((answer) => answer.id === id), message.id, { timeout: 60_000 })).jsonValue();
    };
    await use({ page, litecast, ask, url });
  } finally {
    await context.close();
    server.close();
  }
}

test("a page that opened this one has models estimated and shown by messages", () =>
  withOpener(async ({ page, litecast, ask, url }) => {
    const [ready] = await page.evaluate(() => heard);
    assert.deepEqual([ready.litecast, ready.ready, ready.origin], [1, true, new URL(url).origin]);
    const { report } = await ask({ id: "a", kind: "estimate", name: "mixed.tflite" }, mixedModel());
    assert.deepEqual([report.file, report.operators.length], ["mixed.tflite", 4]);
    assert.ok(report.results.some(({ target, value }) => target === "ethos-u55-256" && value > 0));
    const few = await ask({ id: 2, kind: "estimate", name: "res.tflite", targets: ["cortex-a76-rpi5", "npu-board:imx93"] }, residualModel(8));
    assert.deepEqual([...new Set(few.report.results.map(({ target }) => target))], ["cortex-a76-rpi5", "npu-board:imx93"]);
    assert.equal(await litecast.evaluate(() => document.body.dataset.state), "start", "nothing is shown");
    const { opened } = await ask({ id: 3, kind: "open", name: "shown.tflite", targets: ["cortex-a76-rpi5"] }, residualModel(8));
    assert.equal(opened, true);
    await waitDrawn(litecast, "shown.tflite");
    assert.equal(await litecast.inputValue("#target"), "cortex-a76-rpi5");
    assert.equal(await litecast.evaluate(isKept, ["reports", 1]), false, "what others send is not kept");
  }));

test("a message that cannot be answered gets an error that says why, and what is none gets nothing", () =>
  withOpener(async ({ page, ask }) => {
    const wrong = [
      [{ kind: "delete", name: "x" }, "message", /^kind: expected `estimate` or `open`, found `delete`$/],
      [{ kind: "estimate", name: "" }, "message", /^name: expected/],
      [{ kind: "estimate", name: "x".repeat(301) }, "message", /^name: expected/],
      [{ kind: "estimate", name: "x", bytes: "TFL3" }, "message", /^bytes: expected an ArrayBuffer or a Blob, found `TFL3`$/],
      [{ kind: "estimate", name: "x", batch: 0 }, "message", /^batch: expected/],
      [{ kind: "estimate", name: "x", targets: [] }, "message", /^targets: expected/],
      [{ kind: "estimate", name: "x", targets: Array(33).fill("a") }, "message", /^targets: expected/],
      [{ kind: "estimate", name: "broken.tflite", bytes: undefined }, null, null],
    ];
    for (const [i, [message, kind, words]] of wrong.entries()) {
      const { error, report } = await ask({ id: i, ...message }, "bytes" in message ? null : Buffer.from("no model"));
      assert.equal(report, undefined);
      if (kind) assert.equal(error.kind, kind, JSON.stringify(error));
      if (words) assert.match(error.message, words);
    }
    const { error } = await ask({ id: "broken", kind: "estimate", name: "broken.tflite" }, Buffer.from("no model"));
    assert.ok(error.kind !== "internal" && error.message.length > 0, JSON.stringify(error));
    // What was moved with the message, as a port is, cannot come back: that message alone is refused.
    await page.evaluate(() => {
      const { port1 } = new MessageChannel();
      other.postMessage({ litecast: 1, id: port1, kind: "estimate", name: "x.tflite", bytes: new ArrayBuffer(9) }, "*", [port1]);
    });
    await page.waitForFunction(() => heard.some(({ id, error }) => id === null && /^id: expected/.test(error?.message)));
    const { error: next } = await ask({ id: "next", kind: "estimate", name: "broken.tflite" }, Buffer.from("no model"));
    assert.equal(next.kind, error.kind);
    // Not of this protocol.
    const before = await page.evaluate(() => heard.length);
    await page.evaluate(() => [null, "litecast", { litecast: 2, kind: "estimate" }, { litecast: 1 }, [1]].forEach((data) => other.postMessage(data, "*")));
    // Too many at a time.
    await page.evaluate(() => Array.from({ length: 40 }, (_, i) => other.postMessage({ litecast: 1, id: `many${i}`, kind: "estimate", name: "x.tflite", bytes: new ArrayBuffer(9) }, "*")));
    await page.waitForFunction((n) => heard.length === n + 40, before);
    const kinds = await page.evaluate((before) => heard.slice(before).map(({ error }) => error.kind), before);
    assert.ok(kinds.filter((kind) => kind === "busy").length >= 20, kinds.join());
    await page.waitForTimeout(200);
    assert.equal(await page.evaluate(() => heard.length), before + 40);
  }));

test("everything that the page keeps goes out and comes in as one file", async () => {
  const first = await openPage(shared.chromium);
  await first.page.fill("#first-target", "rpi4");
  await first.page.keyboard.press("Enter");
  await first.page.fill("#first-budget-latency", "7");
  await first.page.press("#first-budget-latency", "Enter");
  await dropBytes(first.page, "one.tflite", residualModel(8));
  await waitDrawn(first.page, "one.tflite");
  const estimates = await readEstimates(first.page);
  await dropModels(first.page, [8, 40].map((n) => residualModel(n)));
  await waitKept(first.page, "reports", 3);
  await first.page.click("#home");
  await first.page.waitForSelector(".history-list");
  const download = first.page.waitForEvent("download");
  await first.page.click("#export-all");
  const saved = await readFile(await (await download).path());
  await first.close();

  const second = await openPage(shared.chromium);
  const words = [];
  second.page.on("dialog", (dialog) => (words.push(dialog.message()), dialog.accept()));
  const importing = async (bytes) => second.page.setInputFiles("#import-picker", { name: "b.json", mimeType: "application/json", buffer: bytes });
  // What is no backup changes nothing and says so.
  for (const [bytes, found] of [["{", "another file"], ["[]", "another file"], ['{"litecast_backup":9}', "format 9 instead of 1"]]) {
    await importing(Buffer.from(bytes));
    await second.page.waitForFunction((found) => document.getElementById("status").textContent.includes(`found ${found}`), found);
  }
  const hostile = { litecast_backup: 1, settings: { "litecast.budget": 5, other: "x", "litecast.target": "ethos-u55-32" }, opened: [null, { key: "k" }], reports: [["k", {}], null], comparisons: [null, 5], files: [["k", "n", "%"], [1]] };
  const reloaded = second.page.waitForEvent("load");
  await importing(Buffer.from(JSON.stringify(hostile)));
  await reloaded;
  assert.match(words[0], /^Imported 0 reports, 0 comparisons and 1 setting; 10 parts of it could not be read/);
  await second.page.waitForSelector(".target-chip");
  assert.deepEqual(await second.page.evaluate(() => [localStorage.getItem("other"), localStorage.getItem("litecast.budget")]), [null, null]);
  // A file that ends early, or has more entries than a browser keeps, brings what is whole.
  for (const [file, expected] of [
    [saved.subarray(0, saved.length - 9), /^Imported 3 reports, 1 comparison and \d+ settings; 1 part of it could not be read/],
    [Buffer.from(JSON.stringify({ litecast_backup: 1, reports: Array(300).fill([]), files: [["k", "n", "AA=="]] })), /^Imported 0 reports, 0 comparisons and 0 settings; 300 parts/],
  ]) {
    const started = second.page.waitForEvent("load");
    await importing(file);
    await started;
    assert.match(words.pop(), expected);
  }
  // While a long one is read, it can be stopped.
  const [head, unit] = LARGE_BACKUPS["reports.backup"];
  await second.page.setInputFiles("#import-picker", await shared.writeFile("b.json", Buffer.concat([Buffer.from(head), Buffer.alloc(100 * 2 ** 20, unit)])));
  await second.page.waitForFunction(() => /^Reading b.json, \d+\u202f%…$/.test(document.getElementById("status").textContent));
  await second.page.keyboard.press("Escape");
  await second.page.waitForFunction(() => document.getElementById("status").textContent === "Cancelled.");
  const again = second.page.waitForEvent("load");
  await importing(saved);
  await again;
  assert.match(words[1], /^Imported 3 reports, 1 comparison and \d+ settings\. /);
  await second.page.waitForSelector('.target-chip[data-target="cortex-a72-rpi4"]');
  assert.equal(await second.page.inputValue("#first-budget-latency"), "7");
  assert.equal(await second.page.locator(".history-list li").count(), 4);
  await second.page.click('.history-list button:text-is("one.tflite")');
  await waitDrawn(second.page, "one.tflite");
  assert.deepEqual(await readEstimates(second.page), estimates);
  assert.deepEqual(second.problems, []);
  await second.close();
});

test("the installed page is offered for models, and opens those that the system gives it", async () => {
  const prepare = (page) => page.addInitScript(() => {
    Object.defineProperty(window, "launchQueue", { value: { setConsumer: (consume) => (window.launch = consume) } });
  });
  const { page, problems, close } = await openPage(shared.chromium, { prepare });
  const manifest = JSON.parse(await readFile(new URL("../../www/dist/manifest.webmanifest", import.meta.url), "utf8"));
  assert.deepEqual(manifest.file_handlers.flatMap(({ accept }) => Object.values(accept).flat()), [".tflite", ".lite", ".onnx", ".task", ".zip"]);
  await page.evaluate((base64) => {
    const file = new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], "launched.tflite");
    window.launch({ files: [{ getFile: async () => file }] });
  }, residualModel(8).toString("base64"));
  await waitDrawn(page, "launched.tflite");
  assert.deepEqual(problems, []);
  await close();
});

test("a saved page is interactive without any request: target, budget, order, search, one selection in table and graph", async () => {
  const name = "</script><img src=x onerror=alert(1)>$&.tflite";
  const { page, problems, close } = await openPage(shared.chromium);
  await dropBytes(page, name, mixedModel());
  await page.waitForSelector("body[data-drawn]");
  await page.selectOption("#target", "ethos-u55-256");
  await page.click(".take summary");
  const download = page.waitForEvent("download");
  await page.click("text=Save HTML");
  const saved = await shared.writeFile("saved.html", await readFile(await (await download).path()));
  const shown = await page.textContent(".report-verdict");
  assert.deepEqual(problems, []);
  await close();
  const context = await shared.chromium.browser.newContext();
  const alone = await context.newPage();
  const [asked, wrong] = [[], []];
  alone.on("request", (request) => asked.push(request.url()));
  alone.on("dialog", (dialog) => (wrong.push(dialog.message()), dialog.dismiss()));
  alone.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  alone.on("pageerror", (error) => wrong.push(String(error)));
  await alone.goto(`file://${saved}`);
  assert.equal(await alone.textContent(".report-verdict"), shown);
  assert.equal(await alone.textContent("h1"), name);
  await alone.selectOption("#target", "cortex-a76-rpi5");
  assert.match(await alone.textContent(".report-verdict"), /on Raspberry Pi 5/);
  assert.match(await alone.textContent("#operators thead"), /Latency on Raspberry Pi 5/);
  await alone.fill("#budget-latency", "0.000001");
  await alone.waitForSelector('[data-verdict="fails"]');
  const order = () => alone.$$eval("#operators tbody tr", (rows) => rows.map(({ dataset }) => dataset.operator));
  assert.deepEqual(await order(), ["0", "1", "2", "3"]);
  await alone.click("#operators thead button >> nth=0");
  await alone.click("#operators thead button >> nth=0");
  assert.deepEqual(await order(), ["3", "2", "1", "0"]);
  await alone.fill("#find", "conv");
  assert.deepEqual(await order(), ["1", "0"]);
  await alone.click('tr[data-operator="1"]');
  assert.equal(await alone.getAttribute("[data-operators][data-selected]", "data-operators"), "1");
  await alone.click('[data-operators="0"]');
  assert.equal(await alone.getAttribute("tr[data-selected]", "data-operator"), "0");
  await alone.focus("#operators");
  await alone.keyboard.press("ArrowUp");
  assert.equal(await alone.getAttribute("tr[data-selected]", "data-operator"), "1");
  assert.equal(asked.length, 1, `one file and no requests: ${asked}`);
  // No script but its own runs there.
  const blocked = await alone.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    return window.ran === undefined;
  });
  assert.ok(blocked);
  assert.equal(wrong.filter((words) => !/Content Security Policy/.test(words)).join(), "");
  await alone.screenshot({ path: process.env.SAVED_SHOT ?? `${shared.folder}/saved.png`, fullPage: true });
  await context.close();
});
