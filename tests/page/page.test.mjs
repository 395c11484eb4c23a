/** The page as a person uses it: real drops, clicks and keys in Chromium, on the real module and predictor. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { countColours, dropBytes, dropFiles, dropModels, measures, openBrowser, openPage, picture, readEstimates, REPORT_LIMIT_MS, SHARED_MODELS, sourceOf, until, waitBothDrawn, waitCompared, waitDrawn, waitRedrawn, waitRepainted } from "./browser.mjs";
import { gzipSync } from "node:zlib";
import { residualGraph, residualModel } from "./model.mjs";
import { onnxModel } from "./onnx.mjs";
import { zipOf } from "./zip.mjs";

const NPUS = ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"];
const EDGE_TPU = "edgetpu-coral-dev-board";
const PROCESSORS = { "cortex-a76-rpi5": ["latency", "energy"], "cortex-a72-rpi4": ["latency"] };
const NPU_METRICS = ["latency", "sram_peak", "offchip_traffic", "sram_traffic", "energy"];
/** Two ends of an interval, in the unit of the value. */
const INTERVAL = String.raw`[\d.,]+ \u2013 [\d.,]+`;

let chromium;
let folder;
before(async () => {
  chromium = await openBrowser();
  folder = await mkdtemp(path.join(tmpdir(), "litecast-page-"));
});
after(async () => {
  await chromium?.close();
  await rm(folder, { recursive: true, force: true });
});

async function writeModel(name, bytes) {
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  return file;
}

/** Runs `use` on a fresh page; afterwards nothing may have gone wrong, and nothing may have left the origin. */
async function withPage(use, settings) {
  const opened = await openPage(chromium, settings);
  try {
    await use(opened.page, opened);
    const foreign = opened.requests.filter((url) => !url.startsWith(chromium.url) && !/^(data|blob):/.test(url));
    assert.deepEqual(foreign, [], "requests to elsewhere");
    assert.deepEqual(opened.problems, [], "errors on the console");
  } finally {
    await opened.close();
  }
}

/** `error_words` stands beside each number; files with operators never trained on have no interval. */
function assertEstimates(estimates, error_words = new RegExp(`^${INTERVAL}$`, "u")) {
  for (const target of NPUS) {
    const { metrics, reason } = estimates[target] ?? {};
    assert.deepEqual(Object.keys(metrics ?? {}).sort(), NPU_METRICS.toSorted(), `${target}: ${reason}`);
    for (const [metric, { value, error }] of Object.entries(metrics)) {
      assert.match(value, /^[\d.,]+\s(ms|µs|s|nJ|µJ|mJ|J|bytes|byte|KiB|MiB|GiB)$/u);
      // What cannot promise an interval says so.
      if (metric !== "energy" || error !== "no interval") assert.match(error, error_words);
    }
  }
  for (const [target, metrics] of Object.entries(PROCESSORS)) {
    assert.deepEqual(Object.keys(estimates[target]?.metrics ?? {}), metrics, `${target}: ${estimates[target]?.reason}`);
    assert.match(estimates[target].metrics.latency.value, /^[\d.,]+\s(ms|µs|s)$/u);
  }
  assert.match(estimates["tflite-micro"].metrics.arena.value, /^[\d.,]+\s(bytes|KiB|MiB)$/u);
  assert.equal(estimates["tflite-micro"].metrics.arena.error, "exact");
}

/** A compiler's estimates are not silicon, and processors were compared with measured networks. */
async function assertSources(page) {
  for (const target of NPUS) {
    assert.match(await sourceOf(page, target), /Compiler rules \(Vela 5\.2\.0\); mean error [\d.]+\s% against Vela 5\.2\.0 compiler estimates, not silicon/u);
  }
  for (const target of Object.keys(PROCESSORS)) {
    assert.match(await sourceOf(page, target), /Modelled \(LiteCast.*against networks measured on boards, each kind left out of the fit.*instructions of LiteRT 1\.4\.0 under QEMU/u);
  }
}

test("the first screen says what it is and keeps files here", () =>
  withPage(async (page) => {
    assert.match(await page.textContent(".start"), /What will this model cost on edge hardware\?/);
    assert.match(await page.textContent(".privacy"), /never leaves this machine/);
    assert.equal(await page.locator(".example").count(), 3);
    assert.ok((await page.locator("#known-targets tbody tr").count()) >= NPUS.length + Object.keys(PROCESSORS).length + 1);
      assert.match(await page.textContent('#known-targets tr:has-text("Ethos-U55, 256")'), /Vela 5\.2\.0 compiler estimates, not silicon[\d.]+\s%/u);
    assert.match(await page.textContent('#known-targets tr:has-text("Edge TPU")'), /Edge TPUmeasurements on hardware[\d.]+\s%/u);
    assert.match(await page.textContent(".known-sources"), /modelled, fitted to \d+ latencies/u);
    const table = await page.locator("#known-targets table").first().boundingBox();
    assert.ok(table.x + table.width <= 1440, "nothing is cut off at the right");
  }));

/** Tries to reach `elsewhere` in every way a page can; resolves to what the policy objected to. */
function reachOut(page, elsewhere) {
  return page.evaluate(async (elsewhere) => {
    const violations = new Set();
    addEventListener("securitypolicyviolation", (event) => violations.add(event.effectiveDirective));
    const load = (element) => new Promise((resolve) => {
      element.onload = element.onerror = resolve;
      element.src = `${elsewhere}${element.tagName}`;
      document.head.append(element);
    });
    const socket = () => new Promise((resolve) => {
      const socket = new WebSocket(elsewhere.replace("http", "ws"));
      socket.onopen = socket.onerror = resolve;
    });
    const tries = [
      () => fetch(`${elsewhere}fetch`, { mode: "no-cors" }),
      () => navigator.sendBeacon(`${elsewhere}beacon`, "bytes of a model"),
      socket,
      () => load(new Image()),
      () => load(document.createElement("script")),
      () => load(document.createElement("iframe")),
    ];
    for (const attempt of tries) await Promise.resolve().then(attempt).catch(() => undefined);
    // Of what the policy stops nothing comes: each is told in a task after the attempt.
    await new Promise((resolve) => setTimeout(resolve, 300));
    return [...violations].sort();
  }, elsewhere);
}

test("the content security policy stops every request to elsewhere", async () => {
  const arrived = [];
  const elsewhere = createServer((request, response) => {
    arrived.push(request.url);
    response.end();
  });
  elsewhere.on("upgrade", (request, socket) => arrived.push(request.url) && socket.destroy());
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${elsewhere.address().port}/`;

  const kept = await openPage(chromium);
  const violations = await reachOut(kept.page, url);
  await kept.close();
  assert.deepEqual(arrived, []);
  assert.deepEqual(violations, ["connect-src", "frame-src", "img-src", "script-src-elem"]);

  const freed = await openPage(chromium, { options: { bypassCSP: true } });
  await reachOut(freed.page, url);
  await until(() => new Set(arrived).size === 6, `all get through without the policy: ${arrived}`);
  await freed.close();
  elsewhere.close();
});

test("every example opens with one click", () =>
  withPage(async (page) => {
    for (let i = 0; i < 3; i++) {
      await page.locator(".example").nth(i).click();
      await page.waitForSelector("body[data-drawn]", { timeout: REPORT_LIMIT_MS });
      assertEstimates(await readEstimates(page));
      await assertSources(page);
      assert.ok((await countColours(page)) > 20, "the canvas is blank");
      const n_operators = Number((await page.textContent(".facts .term:first-child dd")).replaceAll(",", ""));
      assert.equal(Number(await page.getAttribute(".operators", "aria-rowcount")), n_operators + 1);
      await page.click("#home");
    }
  }));

test("a file dropped on the window gives a report, and the file is not sent anywhere", () =>
  withPage(async (page, { requests }) => {
    const file = await writeModel("residual.tflite", residualModel(40));
    const before = requests.length;
    await dropFiles(page, [file]);
    await waitDrawn(page, "residual.tflite");
    assertEstimates(await readEstimates(page), new RegExp(`^(${INTERVAL}|±\\s[\\d.]+\\s%|no interval)$`, "u"));
    assert.equal(await page.getAttribute(".operators", "aria-rowcount"), "41");
    assert.equal(await page.title(), "residual.tflite · LiteCast");
    await page.goBack();
    await page.waitForSelector(".start"); // Back leads to the first screen
    const asked = requests.slice(before).map((url) => url.replace(chromium.url, "").replace(/\?v=.*$/, ""));
    // The spare worker, the layout's, and pieces of the page's own code.
    assert.deepEqual(asked.filter((name) => !/^((estimate|layout)\.js|chunks\/.*\.js|assets\/.*)$/.test(name)), []);
  }));

test("the Edge TPU has a modelled latency, or a reason", () =>
  withPage(async (page) => {
    await dropBytes(page, "modelled.tflite", residualModel(8));
    await waitDrawn(page, "modelled.tflite");
    const { metrics } = (await readEstimates(page))[EDGE_TPU];
    assert.deepEqual(Object.keys(metrics), ["latency"]);
    assert.match(metrics.latency.value, /^[\d.]+\s(ms|µs)$/u);
    assert.match(metrics.latency.error, new RegExp(`^${INTERVAL}$`, "u"));
    assert.match(await sourceOf(page, EDGE_TPU), /Modelled \(LiteCast.*networks left out in turn were off by \d+ % in the mean, \d+ % at worst/);
    await page.click("#home");
    await page.locator('.example:has-text("transformer")').click();
    await page.waitForSelector("body[data-drawn]", { timeout: REPORT_LIMIT_MS });
    assert.match((await readEstimates(page))[EDGE_TPU].reason, /^No estimate: \d+ of \d+ operators do not run on the Edge TPU/);
  }));

/** Milliseconds on a card. */
function millisecondsOf(value) {
  const [number, unit] = value.split(/\s/u);
  return Number(number.replaceAll(",", "")) * { s: 1000, ms: 1, "µs": 0.001 }[unit];
}

/**
 * Runs before the real worker's code: files of these names keep it busy for ever, trap after half a second, or leave it
 * with a gigabyte of memory.
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
const reply = postMessage.bind(globalThis);
globalThis.postMessage = (message, transfer) => {
  if (file === "trap.tflite" && message.value?.report) return reply({ id: message.id, error: { kind: "internal", message: "unreachable" } });
  if (file === "large.tflite" && message.value?.report) message.value.memory_bytes = 1e9;
  reply(message, transfer);
};
`;
async function withStrangeFiles(page) {
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

const estimators = (page) => page.workers().filter((worker) => worker.url().includes("estimate.js"));

/** A worker has it when this resolves. */
async function dropHanging(page) {
  await page.evaluate(() => (window.last_posted = null));
  await dropBytes(page, "hang.tflite", residualModel(4));
  await page.waitForFunction(() => window.last_posted === "hang.tflite");
}

test("measured files calibrate every report to devices of one's own", () =>
  withPage(async (page) => {
    const open = async (name, n) => {
      await dropBytes(page, name, residualModel(n));
      await waitDrawn(page, name);
      return millisecondsOf((await readEstimates(page))["cortex-a76-rpi5"].metrics.latency.value);
    };
    for (const [name, n] of [["a.tflite", 4], ["b.tflite", 16], ["c.tflite", 64]]) {
      const estimate = await open(name, n);
      await page.evaluate(() => document.querySelector(".device").setAttribute("open", ""));
      await page.fill("#device-name", "Board");
      await page.fill("#measured", String(3 * estimate));
      await page.press("#measured", "Enter");
      await page.waitForSelector(`[data-device="Board"]:has-text("${name}")`);
    }
    await page.goto(chromium.url);
    await page.waitForSelector("body[data-ready]");
    const estimate = await open("d.tflite", 32);
    const found = millisecondsOf((await readEstimates(page))["device:Board"].metrics.latency.value);
    console.log(`calibrated ${found} ms, three times the estimate ${3 * estimate} ms`);
    assert.ok(Math.abs(found / (3 * estimate) - 1) < 0.03);
    assert.match(await sourceOf(page, "device:Board"), /Calibrated with your measurements.*3 measurements and the estimates for Raspberry Pi 5/u);
    assert.match(await page.textContent('[data-device="Board"] .fit'), /off by [\d.]+\s% in the mean/u);
    // A second device comes from a table; one of its files was not opened here.
    await page.click(".device-csv summary");
    await page.fill("#measurements-csv", "device,file,ms\nPhone,a.tflite,1\nPhone;b.tflite;200\nPhone\tc.tflite\t3\nPhone,never.tflite,4\nPhone,bad.tflite,x");
    await page.click("text=Import text");
    await page.waitForSelector('[data-device="Phone"] .doubt:has-text("Doubtful")');
    assert.match(await page.textContent(".device-outcome"), /4 measurements read; 1 of files that were not opened.*line 6: expected file and milliseconds/);
    const download = page.waitForEvent("download");
    await page.click("text=Export CSV");
    assert.match(await readFile(await (await download).path(), "utf8"), /^device,file,measured_ms\r\nBoard,a\.tflite,[\d.]+\r\n[^]*Phone,never\.tflite,4\r\n/);
    await page.click('[aria-label="Forget a.tflite on Board"]');
    await page.waitForSelector('[data-device="Board"]:has-text("1 more measured file")');
    await page.waitForSelector('table.targets tr[data-target="device:Board"]', { state: "detached" });
    // The worker that was to calibrate has been ended with the file that hung.
    await dropHanging(page);
    let n_ended = 0;
    for (const worker of estimators(page)) worker.once("close", () => (n_ended += 1));
    await page.keyboard.press("Escape");
    await until(() => n_ended > 0, "the worker with the file that hung is ended");
    await page.fill("#device-name", "Board");
    await page.fill("#measured", "1");
    await page.press("#measured", "Enter");
    await page.waitForSelector('[data-device="Board"] .fit');
  }, { prepare: withStrangeFiles }));

test("a batch is estimated anew, and one that cannot be is refused in words", () =>
  withPage(async (page) => {
    await dropBytes(page, "batch.tflite", residualModel(12));
    await waitDrawn(page, "batch.tflite");
    const cpu = async () => millisecondsOf((await readEstimates(page))["cortex-a76-rpi5"].metrics.latency.value);
    const one = await cpu();
    const change = async (batch) => {
      await page.fill(".batch input", batch);
      await page.press(".batch input", "Enter");
    };
    await waitRedrawn(page, "batch.tflite", () => change("4"));
    assert.match(await page.textContent("h1"), /batch 4/);
    const ratio = (await cpu()) / one;
    assert.ok(ratio > 3 && ratio < 4, `${ratio}`);
    assert.match((await readEstimates(page))[NPUS[0]].reason, /^No estimate: takes one input at a time, found 4/);
    // What cannot be had is refused beside the number, and the report stays.
    for (const wanted of ["0", "1000000", "2.5", ""]) {
      await change(wanted);
      assert.match(await page.textContent(".batch-words"), /whole number from 1 to 1,024/, wanted);
      assert.ok(await page.isVisible(".decide"), wanted);
    }
    await waitRedrawn(page, "batch.tflite", () => change("1"));
    assert.equal(await cpu(), one);
  }));

test("the file picker opens files", () =>
  withPage(async (page) => {
    const chooser = page.waitForEvent("filechooser");
    await page.locator(".start .pick").click();
    await (await chooser).setFiles(await writeModel("picked.tflite", residualModel(8)));
    await waitDrawn(page, "picked.tflite");
  }));

test("MACs on the page are those of the shapes", () =>
  withPage(async (page) => {
    // a residual block on 16×16×8: two 1×1 convolutions and one depthwise 3×3
    const expected = 16 * 16 * (2 * 8 * 8 + 8 * 9);
    await dropBytes(page, "block.tflite", residualModel(4));
    await waitDrawn(page, "block.tflite");
    assert.equal((await page.textContent(".facts .term:nth-child(2) dd")).replaceAll("\u202f", " "), `${(expected / 1000).toFixed(1)} k`);
  }));

test("what is not a model is refused in words", () =>
  withPage(async (page) => {
    const real = residualModel(12);
    const cases = [
      ["text.tflite", Buffer.from("hello, I am not a model"), /TFL3/],
      ["empty.tflite", Buffer.alloc(0), /expected/i],
      ["cut.tflite", real.subarray(0, real.length / 2), /expected/i],
      ["zeros.tflite", Buffer.concat([real.subarray(0, 8), Buffer.alloc(64)]), /expected|found/i],
    ];
    for (const [name, bytes, words] of cases) {
      await dropBytes(page, name, bytes);
      await page.waitForSelector(`.failure-panel:has-text("${name}")`, { timeout: REPORT_LIMIT_MS });
      assert.match(await page.textContent(".failure-panel .message"), words, name);
      assert.notEqual(await page.getAttribute(".failure-panel", "data-kind"), "internal", name);
    }
    await dropBytes(page, "good.tflite", real);
    await waitDrawn(page, "good.tflite");
  }));

test("a folder is walked, and one without models is refused in words", () =>
  withPage(async (page) => {
    const [full, empty] = [path.join(folder, "full"), path.join(folder, "empty")];
    await mkdir(path.join(full, "deeper"), { recursive: true });
    await mkdir(empty, { recursive: true });
    await writeFile(path.join(full, "one.tflite"), residualModel(8));
    await writeFile(path.join(full, "deeper", "two.tflite"), residualModel(12));
    await writeFile(path.join(full, "notes.txt"), "nothing to estimate");
    await dropFiles(page, [full]);
    await waitCompared(page, 2);
    await page.waitForSelector('.comparison [data-open]:has-text("two.tflite")');
    await dropFiles(page, [empty]);
    await page.waitForSelector(".failure-panel");
    assert.match(await page.textContent(".failure-panel .message"), /could not read it.*is it a folder/);
  }));

test("a new drop replaces the one on its way", () =>
  withPage(async (page) => {
    await dropBytes(page, "long.tflite", residualModel(3000));
    await dropBytes(page, "short.tflite", residualModel(8));
    await waitDrawn(page, "short.tflite");
    await page.waitForTimeout(1500);
    assert.equal(await page.getAttribute(".operators", "aria-rowcount"), "9");
    assert.equal(await page.title(), "short.tflite · LiteCast");
  }));

test("selection is one for graph, panel, timeline and table", () =>
  withPage(async (page) => {
    await dropBytes(page, "chain.tflite", residualModel(60));
    await waitDrawn(page, "chain.tflite");
    const selected = () => page.getAttribute(".operator-details", "data-operator").then(Number);
    const scrolled = await page.evaluate(() => (document.querySelector(".workbench").scrollIntoView(), scrollY));
    await page.click('button:text-is("Table")');
    await page.click('tr[data-operator="3"]');
    assert.equal(await selected(), 3);
    assert.ok(await page.locator(".inspector h2").isVisible());
    assert.equal(await page.evaluate(() => scrollY), scrolled, "details stand beside the table");
    assert.equal(await page.getAttribute(".timeline canvas", "aria-valuenow"), "3");
    await page.click(".inspector-bar .link");
    await page.click(".facts .link");
    const peak = await selected();
    assert.equal(await page.getAttribute('tr[aria-selected="true"]', "data-operator"), String(peak));
    await page.locator(".costliest button").nth(2).click();
    assert.equal(await page.getAttribute('.costliest [aria-pressed="true"]', "data-operator"), String(await selected()));
    await page.click('button:text-is("Graph")');
    await page.locator(".timeline canvas").scrollIntoViewIfNeeded();
    const box = await page.locator(".timeline canvas").boundingBox();
    await page.mouse.click(box.x + box.width - 2, box.y + 40);
    assert.equal(await selected(), 59);
    assert.match(await page.textContent(".operator-details"), /Attributes/);
    // the graph has followed: the middle of the canvas holds the last operator
    await page.locator(".drawing").scrollIntoViewIfNeeded();
    const graph = await page.locator(".drawing").boundingBox();
    await page.mouse.click(graph.x + 8, graph.y + graph.height - 8);
    assert.equal(await page.locator(".operator-details").count(), 0, "a click beside the boxes clears");
  }));

test("a click on a box in the drawing selects its operator", () =>
  withPage(async (page) => {
    await dropBytes(page, "clicked.tflite", residualModel(4));
    await waitDrawn(page, "clicked.tflite");
    await page.evaluate(() => document.querySelector(".workbench").scrollIntoView());
    const box = await page.locator(".drawing").boundingBox();
    const found = new Set();
    for (let y = 4; y < box.height; y += 12) {
      await page.mouse.click(box.x + box.width / 2, box.y + y);
      const details = page.locator(".operator-details");
      if (await details.count()) found.add(await details.getAttribute("data-operator"));
    }
    assert.deepEqual([...found].sort(), ["0", "1", "2", "3"]);
  }));

test("dragging, the wheel and the buttons move the drawing", () =>
  withPage(async (page) => {
    await dropBytes(page, "moved.tflite", residualModel(60));
    await waitDrawn(page, "moved.tflite");
    const box = await page.locator(".drawing").boundingBox();
    const [x, y] = [box.x + box.width / 2 + 200, box.y + 200];
    await page.mouse.move(x, y);
    const moves = {
      drag: async () => {
        await page.mouse.down();
        await page.mouse.move(x, y - 120, { steps: 4 });
        await page.mouse.up();
      },
      wheel: () => page.mouse.wheel(0, 200),
      "zoom by wheel": async () => {
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -200);
        await page.keyboard.up("Control");
      },
      fit: () => page.click('button:text-is("Fit")'),
      "zoom in": () => page.click('[aria-label="Zoom in"]'),
    };
    for (const move of Object.values(moves)) {
      const before = await picture(page);
      await move();
      await waitRepainted(page, before);
    }
    assert.equal(await page.evaluate(() => scrollY), 0, "the page stays where it is");
    assert.equal(await page.locator(".operator-details").count(), 0, "a drag selects nothing");
  }));

test("everything can be reached by keyboard", () =>
  withPage(async (page) => {
    await page.focus("#home");
    for (let i = 0; i < 4 && !(await page.evaluate(() => document.activeElement.matches(".example"))); i++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector("body[data-drawn]", { timeout: REPORT_LIMIT_MS });
    const selected = () => page.evaluate(() => document.querySelector(".operator-details")?.dataset.operator);
    await page.focus(".drawing");
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(), "0");
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(), "1");
    await page.keyboard.press("ArrowUp");
    assert.equal(await selected(), "0");
    const before = await countColours(page);
    for (const key of ["0", "+", "+", "-", "End", "Home"]) await page.keyboard.press(key);
    assert.ok(before > 1 && (await countColours(page)) > 1);
    await page.keyboard.press("Escape");
    assert.equal(await selected(), undefined);
    await page.focus('button:text-is("Table")');
    await page.keyboard.press("Enter");
    await page.focus(".operators");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(await selected(), "1");
    assert.equal(await page.getAttribute(".operators", "aria-activedescendant"), "operator-1");
    await page.focus(".timeline canvas");
    await page.keyboard.press("ArrowRight");
    assert.equal(await selected(), "2");
  }));

test("the chosen target's costs stand in the table, in the details and in the colours", () =>
  withPage(async (page) => {
    await dropBytes(page, "costs.tflite", residualModel(6));
    await waitDrawn(page, "costs.tflite");
    const measures_shown = await page.$$eval("#measure option", (all) => all.map((option) => option.value));
    assert.deepEqual(measures_shown.slice(0, 1), ["latency"]);
    for (const metric of ["offchip_traffic", "sram_traffic", "energy", "macs"]) assert.ok(measures_shown.includes(metric), `${metric} in ${measures_shown}`);
    await page.click('button:text-is("Table")');
    const head = page.locator(".operators th").nth(3);
    assert.match(await head.textContent(), /^Latency (ms|µs)$/u);
    await head.locator("button").click();
    const cell = page.locator("tr[data-operator] td:nth-child(4)").first();
    assert.match(await cell.textContent(), /^[\d.]+$/u);
    await cell.click();
    const terms = await page.$$eval(".operator-details .term", (all) => all.map((term) => term.textContent));
    assert.ok(terms.some((term) => /^Latency.*%/u.test(term)), `a share in ${terms}`);
    assert.ok(terms.some((term) => /^Raspberry Pi 5/u.test(term)), `other targets in ${terms}`);
    await page.click('button:text-is("Graph")');
    await page.waitForFunction(() => document.querySelector(".drawing").clientWidth > 0);
    const before = await picture(page);
    await page.selectOption("#measure", "macs");
    await waitRepainted(page, before); // another measure has other colours
    assert.match(await page.textContent(".legend"), /\d/);
  }));

test("what each of 10,000 operators costs is shown", () =>
  withPage(async (page) => {
    await dropBytes(page, "many.tflite", residualModel(10_000));
    await waitDrawn(page, "many.tflite");
    assert.match(await page.textContent(".timeline-words"), /^Peak: .* alive$/u, "memory over time has no limit of operators");
    await page.click('button:text-is("Table")');
    await page.waitForSelector("tr[data-operator]");
    const costs = await page.$$eval("tr[data-operator] td:nth-child(4)", (cells) => cells.map((cell) => cell.textContent));
    const shown = costs.filter((cost) => cost !== "–").length;
    console.log(`${shown} of ${costs.length} rows show a latency`);
    assert.ok(costs.length > 10 && shown >= costs.length / 2);
  }));

test("the table sorts, and a search finds operators in table and graph", () =>
  withPage(async (page) => {
    await dropBytes(page, "table.tflite", residualModel(20));
    await waitDrawn(page, "table.tflite");
    await page.click('button:text-is("Table")');
    const names = () => page.$$eval("tr[data-operator] td:nth-child(2)", (cells) => cells.map((cell) => cell.textContent));
    const macs = page.locator('.operators th:has-text("MACs")');
    await macs.locator("button").focus();
    await page.keyboard.press("Enter");
    assert.equal(await macs.getAttribute("aria-sort"), "descending");
    assert.equal((await names())[0], "DEPTHWISE_CONV_2D");
    await page.keyboard.press("Enter");
    assert.equal((await names())[0], "ADD");
    await page.fill(".search input", "depthwise");
    assert.equal(await page.textContent(".search [role=status]"), "5 found");
    assert.deepEqual(new Set(await names()), new Set(["DEPTHWISE_CONV_2D"]));
    assert.equal((await names()).length, 5);
    await page.press(".search input", "Enter");
    const first = await page.getAttribute(".operator-details", "data-operator");
    await page.press(".search input", "Enter");
    assert.ok(Number(await page.getAttribute(".operator-details", "data-operator")) > Number(first));
  }));

test("several files make a comparison: one metric and one unit a column, doubts, baseline, sorting, CSV", () =>
  withPage(async (page) => {
    const files = [await writeModel("a.tflite", residualModel(8)), await writeModel("bad.tflite", "no"), await writeModel("c.tflite", residualModel(400))];
    await dropFiles(page, files);
    await waitCompared(page, 3);
    const rows = page.locator(".comparison tbody tr");
    assert.match(await rows.nth(1).textContent(), /expected a TFLite file/i);
    assert.match(await rows.nth(2).textContent(), /400/);
    await page.selectOption("#comparison-target", "");
    const columns = await page.$$eval(".comparison thead tr:last-child th", (heads) => heads.map((head) => head.textContent));
    const devices = await page.$$eval(".comparison .devices th", (heads) => heads.flatMap((head) => new Array(head.colSpan).fill(head.textContent)));
    const cells = await rows.nth(2).locator("td").evaluateAll((all) => all.map((cell) => ({ metric: cell.dataset.metric, value: cell.querySelector(".value")?.textContent, doubt: cell.querySelector(".doubt-words")?.textContent })));
    assert.equal(cells.length, columns.length - 1);
    // Each number is that of the report, under the head of its target and metric.
    const names = { latency: "Latency", energy: "Energy", sram_peak: "SRAM peak", offchip_traffic: "Off-chip traffic", sram_traffic: "SRAM traffic", arena: "Tensor arena" };
    for (const [i, { metric, value, doubt }] of cells.entries()) {
      if (!metric) continue;
      assert.ok(columns[i + 1].startsWith(`${names[metric]} `), `${metric} under ${columns[i + 1]}`);
      assert.ok(value && doubt, `${metric} of ${devices[i - 4]}: ${value}, ${doubt}`);
    }
    await page.selectOption("#comparison-target", "cortex-a76-rpi5");
    await rows.nth(0).locator(".baseline").click();
    assert.match(await rows.nth(2).locator(".difference").first().textContent(), /^\+[\d.,]+\s%$/u);
    await rows.nth(2).locator("[data-operators]").focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".side-by-side tbody tr");
    assert.match(await page.textContent(".side-by-side .subtle"), /8 operators matched.*392 in one model alone/);
    assert.match(await page.textContent(".side-by-side"), /not there/);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".side-by-side").count(), 0, "closed by the button that has the focus");
    const latency = page.locator('.comparison th:has-text("Latency") button');
    await latency.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    assert.match(await rows.nth(0).textContent(), /c\.tflite/);
    assert.equal(await page.locator(".scatter .point").count(), 2);
    const download = page.waitForEvent("download");
    await page.click('.comparison-controls button:text-is("CSV")');
    const lines = (await readFile(await (await download).path(), "utf8")).trim().split("\r\n");
    assert.match(lines[0], /^file,batch,precision,operators,macs/);
    assert.ok(lines.length > 20 && lines.some((line) => line.startsWith("c.tflite,1,int8,400,")));
  }));

test("two models side by side: each metric, operators by each cost, and both graphs with one selection", () =>
  withPage(async (page) => {
    await dropModels(page, [residualModel(8), residualModel(12)]);
    await page.locator(".comparison .baseline").first().click();
    await page.locator("[data-operators]").focus();
    await page.keyboard.press("Enter");
    const totals = () => page.$$eval(".totals tbody tr", (rows) => Object.fromEntries(rows.map((row) => [row.children[0].textContent, [...row.children].slice(1).map(({ textContent }) => textContent)])));
    const on_npu = await totals();
    for (const name of ["Latency", "Energy", "SRAM peak", "MACs", "Operators"]) assert.equal(on_npu[name]?.length, 3, name);
    assert.deepEqual(on_npu["Operators"].map((text) => text.replace("\u202f", " ")), ["8", "12", "+50 %"]);
    assert.match(on_npu["Latency"][2], /^\+[\d.]+\s%( \?)?$/u);
    const head = () => page.textContent(".side-by-side-part > .scroller:last-child thead");
    assert.match(await head(), /ms|µs/u);
    await page.focus("#side-by-side-measure");
    await page.selectOption("#side-by-side-measure", "macs");
    assert.match(await head(), /Change [kM]/);
    assert.equal(await page.evaluate(() => document.activeElement.id), "side-by-side-measure", "the focus stays");
    await page.selectOption("#comparison-target", "cortex-a76-rpi5");
    assert.notDeepEqual((await totals())["Latency"], on_npu["Latency"], "another target has another latency");
    await page.locator(".side-by-side details > summary").focus();
    await page.keyboard.press("Enter");
    const drawings = page.locator(".one-graph .drawing");
    await waitBothDrawn(page);
    assert.equal(await drawings.count(), 2);
    await drawings.first().focus();
    await page.keyboard.press("Home");
    assert.match(await page.textContent(".side-by-side details > [role=status]"), /^CONV_2D #0, .* → CONV_2D #0, /);
    await drawings.last().focus();
    await page.keyboard.press("End");
    assert.match(await page.textContent(".side-by-side details > [role=status]"), /^not there → \w+ #11, /, "the longer one has more operators");
  }));

test("latency is drawn against memory or MACs, and comparisons stand in the history", () =>
  withPage(async (page) => {
    await dropModels(page, [residualModel(8), residualModel(40), residualModel(24)]);
    const places = () => page.$$eval(".scatter .point circle", (all) => all.map((circle) => circle.getAttribute("cx")).join());
    const by_memory = await places();
    await page.focus("#scatter-axis");
    await page.selectOption("#scatter-axis", "macs");
    assert.notEqual(await places(), by_memory);
    assert.equal(await page.evaluate(() => document.activeElement.id), "scatter-axis", "the focus stays");
    await page.waitForFunction(isKept, ["opened", 3]);
    await page.reload();
    await waitCompared(page, 3);
    await page.click("#home");
    await page.waitForSelector(".history-list");
    await page.click('.history-list button:text-is("Comparison of 3 files")');
    await waitCompared(page, 3);
    await page.click("#home");
    await page.click('[aria-label="Forget Comparison of 3 files"]');
    await page.waitForFunction(() => !document.querySelector('.history-list [data-view="comparison"]'));
    assert.equal(await page.locator(".history-list li").count(), 3, "the reports stay");
  }));

test("Back, Forward and reload keep what was opened", () =>
  withPage(async (page) => {
    const files = [await writeModel("first.tflite", residualModel(8)), await writeModel("second.tflite", residualModel(40))];
    await dropFiles(page, files);
    await waitCompared(page, 2);
    await page.locator('.comparison [data-open]:has-text("second.tflite")').focus();
    await page.keyboard.press("Enter");
    await waitDrawn(page, "second.tflite");
    assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "BODY", "the focus is somewhere");
    await page.goBack();
    await page.waitForSelector(".comparison [data-open]");
    assert.equal(await page.locator(".comparison tbody .value").count() > 0, true, "the estimates are still there");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "second.tflite", "on the row that was opened");
    await page.goForward();
    await waitDrawn(page, "second.tflite");
    await page.reload();
    await waitDrawn(page, "second.tflite");
    assert.ok(await page.isDisabled(".batch input"), "another batch needs the file");
    await page.goBack();
    await page.waitForSelector(".comparison [data-open]");
    assert.equal(await page.locator(".comparison [data-open]").count(), 2, "the comparison came back with its reports");
    await page.goBack();
    await page.waitForSelector(".history-list");
    assert.equal(await page.locator(".history-list li").count(), 3, "two reports and their comparison");
    await page.click('.history-list button:text-is("first.tflite")');
    await waitDrawn(page, "first.tflite");
    await page.click("#home");
    await page.click("text=Forget all");
    await page.waitForSelector(".history:empty", { state: "attached" });
  }));

/** Whether there is so much in a store of the page's database. */
function isKept([store, n]) {
  return new Promise((resolve) => {
    const opening = indexedDB.open("litecast");
    opening.onerror = () => resolve(false);
    opening.onsuccess = () => {
      const { result: database } = opening;
      const count = database.transaction(store).objectStore(store).count();
      count.onsuccess = () => (database.close(), resolve(count.result >= n));
    };
  });
}

test("files are kept only where a person wants that, and then a report can be changed after a reload", () =>
  withPage(async (page) => {
    await dropBytes(page, "kept.tflite", residualModel(12));
    await waitDrawn(page, "kept.tflite");
    await page.click("#home");
    await page.waitForSelector(".history-list");
    assert.equal(await page.isChecked("#keep-files"), false);
    await page.focus("#keep-files");
    await page.keyboard.press("Space");
    await dropBytes(page, "again.tflite", residualModel(16));
    await waitDrawn(page, "again.tflite");
    await page.waitForFunction(isKept, ["files", 1]); // once the report is on the screen
    await page.reload();
    await waitDrawn(page, "again.tflite");
    assert.equal(await page.isDisabled(".batch input"), false);
    await page.click("#home");
    await page.click('.history-list button:text-is("kept.tflite")');
    await waitDrawn(page, "kept.tflite");
    assert.ok(await page.isDisabled(".batch input"), "it was opened before files were to be kept");
    await page.click("#home");
    await page.waitForSelector("#keep-files");
    await page.uncheck("#keep-files");
    await page.click('.history-list button:text-is("again.tflite")');
    await waitDrawn(page, "again.tflite");
    await page.reload();
    await waitDrawn(page, "again.tflite");
    assert.ok(await page.isDisabled(".batch input"), "what was kept is forgotten");
  }));

test("a link opens an example on a target", () =>
  withPage(async (page) => {
    await page.goto(`${chromium.url}#example=cnn-cifar10-s7-i9.tflite&target=cortex-a72-rpi4&threads=2&resolution=0.75`);
    await page.reload();
    await waitDrawn(page, "cnn-cifar10-s7-i9.tflite");
    assert.equal(await page.inputValue("#target"), "cortex-a72-rpi4");
    assert.match(await page.textContent("#title"), /2 threads · 0\.75× resolution/);
    await page.waitForSelector("#tool-what-if");
    assert.equal(await page.getAttribute("#what-if-resolution", "aria-valuetext"), await page.textContent('output[for="what-if-resolution"]'));
  }));

test("a budget marks what is above it", () =>
  withPage(async (page) => {
    await dropBytes(page, "budget.tflite", residualModel(12));
    await waitDrawn(page, "budget.tflite");
    await page.fill("#budget-latency", "0.000001");
    await page.press("#budget-latency", "Enter");
    assert.match(await page.textContent('.metric.over[data-metric="latency"] .verdict'), /above the budget/);
    await page.fill("#budget-memory", "1000000");
    await page.press("#budget-memory", "Enter");
    assert.match(await page.textContent('.metric.within[data-metric="sram_peak"] .verdict'), /fits the budget/);
  }));

test("a screen reader hears when a report is ready, and where the keyboard is in the graph", () =>
  withPage(async (page) => {
    await dropBytes(page, "heard.tflite", residualModel(12));
    await waitDrawn(page, "heard.tflite");
    assert.match(await page.textContent("#announcer"), /^Report of heard\.tflite ready\. Arm Ethos-U55.*: Latency [\d.]+\s(ms|µs)/u);
    await page.focus(".drawing");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.match(await page.textContent(".graph [role=status].sr-only"), /^DEPTHWISE_CONV_2D, operator 2 of 12, Latency on Arm Ethos-U55/);
  }));

test("a file that hangs costs nothing but itself: cancelled, left for another, or after the time limit", () =>
  withPage(
    async (page) => {
      const good = residualModel(12);
      await dropBytes(page, "before.tflite", good);
      await waitDrawn(page, "before.tflite");
      const expected = await readEstimates(page);
      await dropBytes(page, "hang.tflite", good);
      await page.waitForSelector("#cancel:visible");
      await page.keyboard.press("Escape");
      await page.waitForSelector("#cancel", { state: "hidden" });
      assert.ok(await page.isVisible(".decide"), "the report that was shown stays");
      await dropBytes(page, "hang.tflite", good);
      await dropBytes(page, "after.tflite", good);
      await waitDrawn(page, "after.tflite");
      assert.deepEqual(await readEstimates(page), expected);
      await page.clock.install();
      await dropHanging(page);
      await page.clock.fastForward(61_000);
      await page.waitForSelector('.failure-panel[data-kind="time-limit"]');
      await dropBytes(page, "last.tflite", good);
      await page.waitForFunction(() => document.title.startsWith("last.tflite"));
      await page.clock.runFor(1000);
      await waitDrawn(page, "last.tflite");
      assert.deepEqual(await readEstimates(page), expected);
    },
    { prepare: withStrangeFiles },
  ));

test("a worker that trapped, even for a request that was given up, or grew large is ended", () =>
  withPage(
    async (page) => {
      const ended = new Set();
      const watch = () => estimators(page).forEach((worker) => worker.once("close", () => ended.add(worker)));
      const good = residualModel(12);
      await dropBytes(page, "good.tflite", good);
      await waitDrawn(page, "good.tflite");
      const expected = await readEstimates(page);
      for (const name of ["large.tflite", "trap.tflite"]) {
        await until(() => estimators(page).length === 2, "one at work, one spare");
        watch();
        await dropBytes(page, name, good);
        await page.waitForFunction((name) => window.last_posted === name, name);
        if (name === "trap.tflite") await page.keyboard.press("Escape");
        // What advice asked of it may have ended another one.
        await until(() => ended.size >= 1, `${name} ends its worker`);
        ended.clear();
        await dropBytes(page, "good.tflite", good);
        await page.waitForFunction(() => document.title.startsWith("good.tflite"));
        assert.deepEqual(await readEstimates(page), expected);
      }
    },
    { prepare: withStrangeFiles },
  ));

test("other formats are named, archives and C arrays are opened", () =>
  withPage(async (page) => {
    const model = residualModel(8);
    const safetensors = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from("{}"), Buffer.alloc(8)]);
    const refused = [
      ["weights.safetensors", safetensors, /safetensors/],
      ["model.pt", zipOf({ "model/data.pkl": Buffer.from("x") }), /a PyTorch file/],
      ["old.pth", Buffer.from([0x80, 2, 0x8a, 10, 0x6c]), /Python pickle.*PyTorch/],
      ["graph.pb", Buffer.from([8, 1, 18, 4, 0, 0]), /SavedModel in protocol buffers/],
      ["net.h5", Buffer.from("\x89HDF\r\n\x1a\n----", "latin1"), /HDF5/],
      ["nothing.zip", zipOf({ "readme.md": Buffer.from("x") }), /in the archive, found 1 file without one/],
      ["array.cc", Buffer.from("const int table[] = {1, 2, 3};"), /found 1 array without TFL3/],
      ["cut.zip", zipOf({ "a.tflite": model }).subarray(0, 60), /damaged/],
    ];
    for (const [name, bytes, words] of refused) {
      await dropBytes(page, name, bytes);
      await page.waitForSelector(`.failure-panel:has-text("${name}")`, { timeout: REPORT_LIMIT_MS });
      assert.match(await page.textContent(".failure-panel .message"), words, name);
    }
    const source = `// a model\nalignas(16) const unsigned char g_model[] = {\n${[...model].map((byte) => `0x${byte.toString(16)}`).join(", ")},\n};\nconst unsigned int g_model_len = ${model.length};\n`;
    await dropBytes(page, "model_data.cc", Buffer.from(source));
    await waitDrawn(page, "g_model.tflite");
    await dropBytes(page, "vision.task", zipOf({ "detector.tflite": model, "labels.txt": Buffer.from("cat") }));
    await waitDrawn(page, "detector.tflite");
    await dropBytes(page, "packed.tflite.gz", gzipSync(model));
    await waitDrawn(page, "packed.tflite");
    await dropBytes(page, "small.onnx", onnxModel());
    await waitDrawn(page, "small.onnx");
    assert.match(await page.textContent(".costliest"), /CONV_2D/);
    await dropBytes(page, "graph.json", Buffer.from(JSON.stringify(residualGraph(8))));
    await waitDrawn(page, "graph.json");
    await dropBytes(page, "two.zip", zipOf({ "x/one.tflite": model, "two.onnx": onnxModel() }));
    await waitCompared(page, 2);
    await page.waitForSelector('.comparison [data-open]:has-text("two.onnx")');
  }));

test("the report is saved and copied as JSON", () =>
  withPage(
    async (page) => {
      await dropBytes(page, "shared.tflite", residualModel(8));
      await waitDrawn(page, "shared.tflite");
      await page.click(".take summary");
      const download = page.waitForEvent("download");
      await page.click("text=Save JSON");
      const saved = JSON.parse(await readFile(await (await download).path(), "utf8"));
      assert.equal((await download).suggestedFilename(), "shared.litecast.json");
      assert.equal(saved.schema_version, 1);
      assert.equal(saved.file, "shared.tflite");
      assert.equal(saved.operators.length, 8);
      const latency = saved.results.find(({ target, metric }) => target === NPUS[0] && metric === "latency");
      assert.ok(latency.value > 0 && latency.unit === "ms");
      await page.click("text=Copy JSON");
      await page.waitForSelector("text=Copied");
      assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), saved);
      const taken = async (label) => {
        const download = page.waitForEvent("download");
        await page.click(`.take-list button:text-is("${label}")`);
        return readFile(await (await download).path());
      };
      const schema_download = page.waitForEvent("download");
      await page.click('.take-list a:text-is("JSON Schema")');
      const schema = JSON.parse(await readFile(await (await schema_download).path(), "utf8"));
      const { properties } = schema.$defs.Report;
      assert.deepEqual(Object.keys(saved).filter((name) => !(name in properties)), [], "the report has nothing that its schema does not know");
      const rows = (await taken("Save CSV")).toString().trim().split("\r\n");
      assert.equal(rows.length, 9);
      assert.match(rows[0], /ethos-u55-256 latency ms/);
      const { main } = JSON.parse(await taken("Save node data"));
      const parts = Object.values(main.results).map(({ value }) => value);
      assert.equal(parts.length, 8);
      assert.ok(Math.abs(parts.reduce((a, b) => a + b) / latency.value - 1) < 1e-3, "the operators' latencies add up");
      assert.match((await taken("Save SVG")).toString(), /^<svg [^]*CONV_2D/);
      assert.deepEqual([...(await taken("Save PNG")).subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
      const html = await writeModel("report.html", await taken("Save HTML"));
      const alone = await page.context().newPage();
      const asked = [];
      alone.on("request", (request) => asked.push(request.url()));
      await alone.goto(`file://${html}`);
      assert.match(await alone.textContent("body"), /shared\.tflite[^]*Arm Ethos-U55[^]*Latency[^]*DEPTHWISE_CONV_2D/);
      assert.ok(await alone.locator("svg text").count() >= 8);
      assert.equal(asked.length, 1, `one file and no requests: ${asked}`);
    },
    { options: { permissions: ["clipboard-read", "clipboard-write"], acceptDownloads: true } },
  ));

test("of 1,000 operators only the rows in view are elements", (context) =>
  withPage(async (page) => {
    await dropFiles(page, [await writeModel("thousand.tflite", residualModel(1000))]);
    await waitDrawn(page, "thousand.tflite");
    const { estimates, drawn } = await measures(page);
    context.diagnostic(`estimates ${estimates.toFixed(0)} ms, drawn ${drawn.toFixed(0)} ms`);
    assert.ok((await countColours(page)) > 20, "the canvas is blank");
    await page.click('button:text-is("Table")');
    // The table measures its height before it has rows.
    await page.waitForSelector("tr[data-operator]");
    const rows = await page.locator("tr[data-operator]").count();
    assert.ok(rows > 10 && rows < 100, `${rows} rows are elements`);
  }));

test("10,000 operators are drawn too", () =>
  withPage(async (page) => {
    await dropBytes(page, "huge.tflite", residualModel(10_000));
    await waitDrawn(page, "huge.tflite");
    await page.click(".graph-tools button:has-text('Fit')");
    assert.ok((await countColours(page)) > 5);
  }));

test("a phone shows it all without scrolling sideways, in both colour schemes", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await withPage(
      async (page) => {
        const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
        assert.ok(await fits(), "first screen");
        await dropBytes(page, "phone.tflite", residualModel(40));
        await waitDrawn(page, "phone.tflite");
        assert.ok(await fits(), "report");
        const shade = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).map(Number));
        assert.equal(shade.every((part) => part < 80), colorScheme === "dark");
      },
      { options: { viewport: { width: 390, height: 844 }, colorScheme } },
    );
  }
});

test("a module that is not one is named with its address", async () => {
  const html = (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" });
  const { page, close } = await openPage(chromium, { prepare: (page) => page.route("**/litecast_bg.wasm*", html) });
  assert.equal(await page.getAttribute("body", "data-ready"), "no");
  const words = await page.textContent("#ready");
  assert.ok(words.replace(/\?v=\w+/, "").includes(`${chromium.url}litecast_bg.wasm: expected a WebAssembly module (00 61 73 6d), found 3c 21 64 6f`), words);
  await dropBytes(page, "any.tflite", residualModel(4));
  await page.waitForSelector('.failure-panel[data-kind="asset"]');
  await close();
});

test("without the predictor the facts remain", async () => {
  const missing = (route) => route.fulfill({ status: 404 });
  const { page, close } = await openPage(chromium, { prepare: (page) => page.route("**/predictor.planes*", missing) });
  assert.match((await page.textContent("#ready")).replace(/\?v=\w+/, ""), /No learned estimates: .*predictor\.planes: expected a file, found HTTP status 404/);
  await dropBytes(page, "facts.tflite", residualModel(8));
  await waitDrawn(page, "facts.tflite");
  const cards = await readEstimates(page);
  assert.equal(cards["tflite-micro"].metrics.arena.error, "exact");
  assert.ok(NPUS.every((target) => Object.keys(cards[target]?.metrics ?? {}).length === 0));
  for (const target of [EDGE_TPU, ...Object.keys(PROCESSORS)]) assert.ok(cards[target].metrics.latency, `${target} needs no predictor`);
  await close();
});

const shared = (await readdir(SHARED_MODELS).catch(() => [])).filter((name) => name.endsWith(".tflite"));
test("every shared model gives a report or a clear error", { skip: shared.length === 0 && "no ../shared/models here" }, (context) =>
  withPage(async (page) => {
    for (const name of shared) {
      await dropFiles(page, [path.join(SHARED_MODELS, name)]);
      await page.waitForSelector(`body[data-drawn="${name}"], .failure-panel:has-text("${name}")`, { timeout: REPORT_LIMIT_MS });
      if (await page.locator(".failure-panel").count()) {
        const message = await page.textContent(".failure-panel .message");
        assert.notEqual(await page.getAttribute(".failure-panel", "data-kind"), "internal", `${name}: ${message}`);
        context.diagnostic(`${name}: ${message}`);
        continue;
      }
      const cards = await readEstimates(page);
      for (const target of NPUS) {
        const { metrics, reason } = cards[target] ?? {};
        assert.ok(reason || NPU_METRICS.every((metric) => metrics?.[metric]), `${name}: ${target} says neither a number nor a reason`);
      }
      context.diagnostic(`${name}: ${cards[NPUS[0]].metrics.latency?.value ?? cards[NPUS[0]].reason}`);
    }
  }));
