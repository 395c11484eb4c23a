/** What a person relies on in small things: each message once, whole names, sorted tables, print, and what is dropped where. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { axeFindings, dropBytes, dropFiles, dropModels, openBrowser, openPage, readEstimates, waitAnswered, waitDrawn } from "./browser.mjs";
import { mixedModel, residualModel } from "./model.mjs";

const CPU = "cortex-a76-rpi5";

let chromium;
before(async () => {
  chromium = await openBrowser();
});
after(() => chromium?.close());

async function withReport(name, bytes, use, settings) {
  const { page, problems, close } = await openPage(chromium, settings);
  try {
    await dropBytes(page, name, bytes);
    await waitDrawn(page, name);
    await page.waitForSelector("#tool-what-if");
    await use(page);
    assert.deepEqual(problems, [], "errors on the console");
  } finally {
    await close();
  }
}

/** Drops a file on an element, as a hand would: it goes over the window first. */
async function dropOn(page, selector, name, text) {
  await page.locator(selector).evaluate(
    (element, [name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], name));
      for (const type of ["dragenter", "dragover", "drop"]) element.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    },
    [name, text],
  );
}

const options = (page, id) => page.$$eval(`#${id} option`, (all) => all.map(({ value }) => value));

test("the page estimates without a trained network, as the command does", () =>
  withReport("same.tflite", residualModel(8), async (page) => {
    await page.click(".take summary");
    const download = page.waitForEvent("download");
    await page.click("text=Save JSON");
    const saved = JSON.parse(await readFile(await (await download).path(), "utf8"));
    assert.equal(saved.bundle, null);
    const asked = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname));
    assert.ok(asked.some((name) => name.endsWith(".wasm")));
    assert.deepEqual(asked.filter((name) => /predictor|\/assets\/manifest/.test(name)), []);
    assert.equal(saved.sha256, createHash("sha256").update(residualModel(8)).digest("hex"));
  }));

test("each message stands once, with the answer where it is about the chosen target", () =>
  withReport("once.tflite", mixedModel(), async (page) => {
    let n_messages = 0;
    const with_answer = new Set();
    const below = new Set();
    const found_below = () => page.$$eval(".diagnostic > span:nth-child(2)", (all) => all.map((element) => element.textContent));
    // What is estimated only when it is chosen takes a while: one of each kind.
    const chosen_later = ["npu-board:imx93", "board:arduino-nano-33-ble", "cortex-m7-stm32h747@8"];
    for (const target of chosen_later) await page.waitForSelector(`#target option[value="${target}"]`, { state: "attached" });
    const estimated = await page.$$eval(".targets tr[data-target]", (rows) => rows.map((row) => row.dataset.target));
    for (const target of [...estimated, ...chosen_later]) {
      await page.selectOption("#target", target);
      await page.waitForSelector(`.targets tr.chosen[data-target="${target}"], .target-group tr.chosen[data-target="${target}"]`);
      const answer = await page.$$eval(".answer > p:is(.partial, .subtle)", (all) => all.map((element) => element.textContent.replace(/ Show$/, "").trim()));
      const notes = await found_below();
      n_messages += answer.length + notes.length;
      for (const message of answer) {
        assert.ok(!notes.includes(message), `${target}: twice: ${message}`);
        // The others are estimated while they are chosen, and what is about them goes with them.
        if (estimated.includes(target)) with_answer.add(message);
      }
      for (const message of notes) below.add(message);
      assert.equal(new Set([...answer, ...notes]).size, answer.length + notes.length, `${target}: ${[...answer, ...notes]}`);
    }
    assert.ok(n_messages > 0);
    for (const message of with_answer) assert.ok(below.has(message), `stands below where another target is chosen: ${message}`);
    console.log(`${with_answer.size} messages with an answer, ${below.size} below it`);
  }));

test("the costliest operators are told apart by their numbers, and no hint of a tool is cut off", () =>
  withReport("names.tflite", residualModel(40), async (page) => {
    for (const width of [1440, 1300, 1024, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const rows = await page.$$eval(".bar-row", (all) =>
        all.map((row) => {
          const [name, ordinal, value] = [".bar-name", ".ordinal", ".bar-value"].map((part) => row.querySelector(part).getBoundingClientRect());
          return { is_whole: ordinal.width > 8 && ordinal.left >= name.right && ordinal.right <= value.left, text: row.textContent };
        }),
      );
      assert.equal(rows.length, 10);
      for (const { is_whole, text } of rows) assert.ok(is_whole, `${width}: ${text}`);
      const cut = await page.$$eval(".workshop-bar button", (all) => all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1).map(({ textContent }) => textContent));
      assert.deepEqual(cut, [], `${width}`);
    }
    // Whatever is measured, the sums by kind stay in their panel.
    for (const measure of await options(page, "measure")) {
      await page.selectOption("#measure", measure);
      const [panel, table] = await page.$$eval(".costliest, .kinds", (all) => all.map((element) => element.getBoundingClientRect().right));
      assert.ok(table <= panel, `${measure}: ${table} > ${panel}`);
    }
  }));

test("the table of targets sorts by each metric, with the keyboard", () =>
  withReport("sorted.tflite", residualModel(12), async (page) => {
    const head = page.locator('.targets[data-targets="every"] thead th:has-text("Latency")');
    const latencies = () => page.$$eval('.targets[data-targets="every"] tbody td[data-metric="latency"] .value', (all) => all.map(({ textContent }) => Number(textContent.replaceAll(",", ""))));
    for (const [order, sign] of [["descending", -1], ["ascending", 1]]) {
      await head.locator("button").focus();
      await page.keyboard.press("Enter");
      const sorting = await head.getAttribute("aria-sort");
      const found = await latencies();
      const expected = found.toSorted((a, b) => (sorting === "ascending" ? 1 : -1) * (a - b));
      assert.ok(found.length > 5 && sorting, `${order}, ${sign}`);
      assert.deepEqual(found, expected, sorting);
    }
    assert.match(await page.evaluate(() => document.activeElement.textContent), /Latency/, "the focus stays on the head");
  }));

test("a report prints whole, without what only a screen needs", () =>
  withReport("printed.tflite", residualModel(40), async (page) => {
    await page.emulateMedia({ media: "print" });
    for (const part of [".bar", ".workbench-bar", ".workshop-place", ".device", ".budget"]) assert.ok(await page.isHidden(part), part);
    for (const part of [".answer", ".others", ".graph", ".timeline", ".costliest", ".facts"]) assert.ok(await page.isVisible(part), part);
    const cut = await page.$$eval(".others .scroller, .costliest, .inspector", (all) => all.filter(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1).map(({ className }) => className));
    assert.deepEqual(cut, []);
    assert.equal((await page.pdf()).subarray(0, 5).toString(), "%PDF-");
  }));

test("measurements are dropped on Your devices, a vela.ini on its form, and neither is taken for a model", () =>
  withReport("measured.tflite", residualModel(12), async (page) => {
    await dropOn(page, ".device", "measured.csv", "device,file,ms\nBench,measured.tflite,12.5\n");
    await page.waitForSelector('[data-device="Bench"]:has-text("measured.tflite")');
    assert.ok(await page.isHidden("#overlay"));
    await page.click("#tool-accelerators");
    await page.waitForSelector("#own-hardware");
    await dropOn(page, ".own-form", "mine.ini", "[System_Config.Wrong]\ncore_clock=fast\n");
    await page.waitForSelector('.own-form > p:has-text("mine.ini: ")');
    assert.ok(await page.isHidden("#overlay"));
    assert.equal(await page.getAttribute("body", "data-state"), "report");
    await dropBytes(page, "measured.csv", Buffer.from("device,file,ms\n"));
    await page.waitForSelector('.device-outcome:has-text("measured.csv: ")');
    await page.click("#home");
    await dropBytes(page, "measured.csv", Buffer.from("device,file,ms\n"));
    await page.waitForSelector('.failure-panel:has-text("on the report of their file")');
  }));

test("threads, batch and width change the answer on a processor, and what was never seen is said", async () =>
  withReport("slid.tflite", await readFile(new URL("../../www/examples/cnn-cifar10-s7-i9.tflite", import.meta.url)), async (page) => {
    await page.selectOption("#target", CPU);
    await page.click("#tool-what-if");
    const answer = async (name, key) => {
      await page.focus(`#what-if-${name}`);
      await page.keyboard.press(key);
      await waitAnswered(page);
      return page.textContent('.what-if-answer [data-metric="latency"]');
    };
    assert.match(await answer("threads", "ArrowRight"), /\u2212[\d.]+\s% from/u, "two threads are faster");
    await page.click('.what-if button:text-is("Reset")');
    assert.match(await answer("batch", "ArrowRight"), /\+[\d.]+\s% from/u, "two inputs take longer");
    await page.click('.what-if button:text-is("Reset")');
    assert.match(await answer("width", "ArrowLeft"), /\u2212[\d.]+\s% from/u, "narrower layers are faster");
    assert.match(await page.textContent(".what-if-answer"), /Weights[\d.,]+\s(KiB|bytes)\s?\u2212/u);
    const words = await page.$$eval(".what-if-answer > p", (all) => all.map(({ textContent }) => textContent));
    assert.ok(words.some((text) => /trained anew/.test(text)), `${words}`);
  }));

test("a file that is gone from the disk is refused in words, and the page goes on", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "litecast-gone-"));
  const file = path.join(folder, "gone.tflite");
  await writeFile(file, residualModel(8));
  const { page, problems, close } = await openPage(chromium);
  try {
    await dropFiles(page, [file]);
    await waitDrawn(page, "gone.tflite");
    await rm(file);
    await page.fill(".batch input", "2");
    await page.press(".batch input", "Enter");
    await page.waitForSelector('.batch-words:has-text("The browser could not read it")');
    assert.equal(await page.inputValue(".batch input"), "1");
    await dropBytes(page, "next.tflite", residualModel(4));
    await waitDrawn(page, "next.tflite");
    assert.deepEqual(problems, []);
  } finally {
    await close();
    await rm(folder, { recursive: true });
  }
});

test("in a long comparison the head stays, and the best files are named", async () => {
  const { page, problems, close } = await openPage(chromium, { options: { viewport: { width: 1024, height: 600 } } });
  await dropModels(page, [4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26].map((n) => residualModel(n)));
  const tops = () => page.$$eval(".comparison thead th:first-child", (heads) => heads.map((head) => Math.round(head.getBoundingClientRect().top)));
  const before = await tops();
  const scrolled = await page.locator(".comparison-panel .scroller").evaluate((scroller) => (scroller.scrollTo(0, 150), scroller.scrollTop));
  assert.ok(scrolled > 100, `${scrolled}`);
  assert.deepEqual(await tops(), before);
  // The smallest network takes the least time: nothing is better in both.
  assert.match(await page.textContent(".scatter .front-words"), /(Surely on the front|Perhaps): .*file0\.tflite/);
  const best = await page.locator(".scatter .point:is(.best, .maybe)").count();
  assert.ok(best >= 1 && best <= 12);
  assert.deepEqual(problems, []);
  await close();
});

test("the smallest accelerator is asked for with less SRAM than any needs", () =>
  withReport("swept.tflite", residualModel(40), async (page) => {
    await page.click("#tool-accelerators");
    await page.fill("#sweep-limit", "50");
    await page.press("#sweep-limit", "Enter");
    await page.waitForSelector('.sweep-words:has-text("The smallest that meets 50 ms: ")');
    await page.fill("#sweep-sram", "0.001");
    await page.press("#sweep-sram", "Enter");
    await page.waitForSelector('.sweep-words:has-text("None meets 50 ms and ")');
    assert.equal(await page.locator(".sweep-table td.over-limit").count(), await page.locator(".sweep-table tbody tr").count());
    await page.selectOption("#own-optimise", "Size");
    await page.click('.own-form button:text-is("Add")');
    await page.waitForSelector('table.targets tr[data-target="own:1"]:has-text("optimised for size")');
    const { metrics } = (await readEstimates(page))["own:1"];
    assert.ok(metrics.sram_peak && metrics.latency);
  }));

test("the page can be installed", async () => {
  const { page, close } = await openPage(chromium, { options: { serviceWorkers: "allow" } });
  const manifest = await page.evaluate(async () => (await fetch(document.querySelector("link[rel=manifest]").href)).json());
  assert.equal(manifest.display, "standalone");
  assert.equal(new URL(manifest.start_url, chromium.url).href, chromium.url);
  for (const { src, sizes } of manifest.icons) {
    const icon = await page.evaluate(async (src) => (await fetch(src)).headers.get("content-type"), new URL(src, chromium.url).href);
    assert.match(icon, /^image\//, `${src} ${sizes}`);
  }
  const session = await page.context().newCDPSession(page);
  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  const wrong = installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito");
  assert.deepEqual(wrong, []);
  await close();
});

test("at 200 % zoom with colours of the system nothing is cut off, and axe-core finds nothing", async () => {
  const { page, close } = await openPage(chromium, { options: { viewport: { width: 720, height: 450 }, bypassCSP: true, reducedMotion: "reduce", forcedColors: "active" } });
  await dropBytes(page, "large.tflite", residualModel(12));
  await waitDrawn(page, "large.tflite");
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide[0] <= wide[1], `${wide}`);
  assert.deepEqual(await axeFindings(page), []);
  await close();
});

test("a report prints on two pages that begin with file, target, date and versions", () =>
  withReport("printed.tflite", mixedModel(), async (page) => {
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
    assert.equal((pdf.match(/\/Type\s*\/Page\b/g) ?? []).length, 2);
    await page.emulateMedia({ media: "print" });
    const words = await page.textContent(".print-head");
    assert.match(words, /^printed\.tflite.*\d{4}.* operators.*LiteCast \d+\.\d+\.\d+.*report schema 2$/s);
    assert.ok(words.includes(await page.$eval("#target", (select) => select.selectedOptions[0].textContent)));
    for (const part of [".print-head", ".report-verdict", ".timeline", ".costliest"]) assert.ok(await page.isVisible(part), part);
    for (const part of [".timeline-tools", ".bar", ".next-step button"]) assert.ok(!(await page.isVisible(part)), part);
  }));
