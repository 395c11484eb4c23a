/** What if, advice, accelerators, and the folded drawing: with the keyboard where a hand would use one. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { countColours, dropBytes, openPage, picture, readEstimates, REPORT_LIMIT_MS, waitAnswered, waitDrawn, waitRedrawn, waitRepainted } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { branchedModel, floatModel, heavyModel, mixedModel, residualModel, wideModel } from "./model.mjs";

const NPU = "ethos-u55-256";
const N_NPUS = 11;
const INI = `
[System_Config.My_Board]
core_clock=123e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
OffChipFlash_clock_scale=0.125
[Memory_Mode.My_Mode]
const_mem_area=Axi1
arena_mem_area=Axi0
cache_mem_area=Axi0
`;

const shared = browserForTests();

async function withReport(name, bytes, use, settings) {
  const { page, problems, close } = await openPage(shared.chromium, settings);
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

/** With the keyboard alone. */
async function press(page, selector) {
  await page.focus(selector);
  await page.keyboard.press("Enter");
}

/** Presses an arrow until the slider shows `words`. */
async function slide(page, name, key, words) {
  await page.focus(`#what-if-${name}`);
  for (let i = 0; i < 40; i++) {
    if ((await page.getAttribute(`#what-if-${name}`, "aria-valuetext")) === words) return;
    await page.keyboard.press(key);
  }
  assert.fail(`${name} never shows ${words}`);
}

/** Text of a metric of the answer, once it is that of all sliders. */
async function answered(page, metric) {
  await waitAnswered(page);
  return page.textContent(`.what-if-answer [data-metric="${metric}"]`);
}

test("half the resolution is a quarter of the work, in the panel and in a report of its own", () =>
  withReport("sized.tflite", residualModel(40), async (page) => {
    const macs = async () => Number(/MACs([\d.]+)/.exec(await page.textContent(".facts"))[1]);
    const whole = await macs();
    await page.click("#tool-what-if");
    await slide(page, "resolution", "ArrowLeft", "8×8");
    await answered(page, "latency");
    assert.match(await page.textContent(".what-if-answer"), /MACs[\d.]+\s[kM]\u221275\s%/u);
    assert.ok(await page.isDisabled("#what-if-batch"), "NPUs take one input at a time");
    await page.click('button:text-is("Report of this network")');
    await page.waitForSelector('.title:has-text("0.5× resolution")');
    await page.waitForSelector("body[data-drawn]");
    assert.ok(Math.abs((await macs()) - whole / 4) < 0.01 * whole, `${whole} -> ${await macs()}`);
    assert.match(await page.textContent(".facts"), /InputINT8 1×8×8×8/);
    await page.locator(".costliest button").first().click();
    assert.match(await page.textContent(".operator-details"), /INT8 1×8×8×8/);
    await waitRedrawn(page, "sized.tflite", () => page.goBack());
    assert.equal(await macs(), whole, "Back leads to the file as it is");
    await page.click("#home");
    await page.waitForSelector('.history-list button:text-is("sized.tflite, 0.5× resolution")');
  }));

test("latency follows the clock, and an accelerator with it can be kept and forgotten", () =>
  withReport("clocked.tflite", residualModel(24), async (page) => {
    await page.click("#tool-what-if");
    await page.waitForFunction(() => !document.getElementById("what-if-clock").disabled);
    const latency = async (clock, key) => {
      await slide(page, "clock", key, `${clock}\u202fMHz`);
      const [, value, unit] = /Latency([\d.]+)\s(ms|µs)/u.exec(await answered(page, "latency"));
      return Number(value) * (unit === "ms" ? 1000 : 1);
    };
    const [slow, fast] = [await latency(200, "ArrowLeft"), await latency(400, "ArrowRight")];
    assert.ok(Math.abs(slow / fast - 2) < 0.02, `${slow} µs at 200 MHz, ${fast} µs at 400 MHz`);
    await page.click('button:text-is("Keep as an accelerator")');
    await page.waitForSelector('table.targets tr[data-target="own:1"]');
    const { metrics } = (await readEstimates(page))["own:1"];
    assert.ok(metrics.latency, "it is a target like any other");
    await page.reload();
    await waitDrawn(page, "clocked.tflite");
    assert.ok((await readEstimates(page))["own:1"] === undefined, "a kept report is as it was");
    await dropBytes(page, "other.tflite", residualModel(12));
    await waitDrawn(page, "other.tflite");
    assert.ok((await readEstimates(page))["own:1"].metrics.latency, "new reports have it");
    await page.click("#tool-accelerators");
    await page.click('button:has-text("forget")');
    await page.waitForSelector('table.targets tr[data-target="own:1"]', { state: "detached" });
  }));

test("sliders of the hardware start at what it has", () =>
  withReport("in-force.tflite", residualModel(12), async (page) => {
    await page.click("#tool-what-if");
    const shows = (words) => page.waitForFunction((words) => words.every(([name, text]) => document.getElementById(`what-if-${name}`).getAttribute("aria-valuetext") === text), words);
    await page.selectOption("#target", "ethos-u65-512");
    await shows([["sram", "384\u202fKiB"], ["clock", "1000\u202fMHz"]]);
    await page.selectOption("#target", "npu-board:imx93");
    await page.waitForSelector('.answer [data-metric="npu_latency"]');
    await shows([["sram", "384\u202fKiB"], ["clock", "1000\u202fMHz"]]);
    await page.selectOption("#target", "ethos-u55-256");
    await shows([["sram", "no limit"], ["clock", "500\u202fMHz"]]);
    // Back to what is in force is no change.
    await page.focus("#what-if-clock");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    assert.ok(await page.isDisabled('.what-if button:text-is("Reset")'));
  }));

test("the budget turns an answer red while a slider moves", () =>
  withReport("red.tflite", residualModel(12), async (page) => {
    await page.fill("#budget-latency", "0.000001");
    await page.press("#budget-latency", "Enter");
    await page.click("#tool-what-if");
    await slide(page, "resolution", "ArrowRight", "32×32");
    await page.waitForSelector('.what-if-answer .metric.over[data-metric="latency"]');
    await page.click('.what-if button:text-is("Reset")');
    assert.equal(await page.locator(".what-if-answer *").count(), 0);
    assert.equal(await page.getAttribute("#what-if-resolution", "aria-valuetext"), "16×16");
  }));

test("what cannot be built is said in words, and the report stays", () =>
  withReport("tied.tflite", residualModel(40), async (page) => {
    await page.click("#tool-what-if");
    // Every layer of these blocks shares its weights with one that the input is added to.
    await slide(page, "width", "ArrowLeft", "0.5×");
    await waitAnswered(page);
    assert.match(await page.textContent(".what-if-words"), /^No other (width|size)/);
    assert.ok(await page.isDisabled('button:text-is("Report of this network")'));
  }));

test("the smallest accelerator that meets a latency is found, with the clock that it needs", () =>
  withReport("swept.tflite", residualModel(40), async (page) => {
    await page.click("#tool-accelerators");
    await page.fill("#sweep-limit", "1");
    await page.press("#sweep-limit", "Enter");
    await page.waitForSelector(".sweep-words");
    const rows = await page.locator(".sweep-table tbody tr").evaluateAll((rows) =>
      rows.map((row) => ({ npu: row.dataset.npu, chosen: row.className === "chosen", mhz: Number(row.lastChild.textContent.replace(/\D/g, "")) })),
    );
    assert.equal(rows.length, N_NPUS);
    const best = rows.find(({ mhz }) => mhz <= 1000);
    assert.equal(rows.find(({ chosen }) => chosen)?.npu, best?.npu);
    assert.match(await page.textContent(".sweep-words"), best ? new RegExp(`from ${best.mhz} MHz`) : /None meets/);
    const sweep = await page.evaluate(() => performance.getEntriesByName("litecast:sweep").at(-1).duration);
    console.log(`sweep over ${N_NPUS} accelerators: ${sweep.toFixed(0)} ms`);
  }));

test("an accelerator is chosen from a vela.ini, and a wrong file is refused in words", () =>
  withReport("own.tflite", residualModel(12), async (page) => {
    const [ini, broken] = [path.join(shared.folder, "mine.ini"), path.join(shared.folder, "broken.ini")];
    await writeFile(ini, INI);
    await writeFile(broken, "[System_Config.Broken]\ncore_clock=fast\n");
    await page.click("#tool-accelerators");
    await page.waitForSelector("#own-hardware");
    await page.setInputFiles("#own-ini", broken);
    await page.waitForSelector('.own-form > p:has-text("broken.ini: ")');
    await page.setInputFiles("#own-ini", ini);
    await page.waitForSelector('#own-system option[value="My_Board"]', { state: "attached" });
    await page.selectOption("#own-hardware", "ethos-u55-64");
    await page.selectOption("#own-system", "My_Board");
    await page.selectOption("#own-mode", "My_Mode");
    await page.fill("#own-sram", "64");
    await page.press("#own-sram", "Enter");
    await page.waitForSelector('table.targets tr[data-target="own:1"]');
    await page.selectOption("#target", "own:1");
    assert.match(await page.textContent(".sources"), /My_Board, My_Mode, arena cache of 65536 bytes/);
    await page.selectOption("#own-hardware", "board:imx93");
    await page.click('.own-form button:text-is("Add")');
    await page.waitForSelector('table.targets tr[data-target="own:2"]');
  }));

test("advice: channels just above a multiple, with what the next lower number saves", () =>
  withReport("seventeen.tflite", residualModel(24, 17), async (page) => {
    await page.click("#tool-advice");
    await page.waitForSelector('[data-advice="channels"]', { timeout: REPORT_LIMIT_MS });
    const words = await page.textContent('[data-advice="channels"]');
    assert.match(words, /17 channels 16/);
    assert.match(words, /Saves [\d.]+\s(ms|µs) of latency \(\u2212[\d.]+\s%\)/u);
    await page.click('[data-advice="channels"] button');
    await page.waitForSelector('.title:has-text("16 instead of 17 channels")');
    await page.waitForSelector("body[data-drawn]");
    await page.locator(".costliest button").first().click();
    assert.match(await page.textContent(".operator-details"), /×16/);
    assert.doesNotMatch(await page.textContent(".operator-details"), /×17/);
  }));

test("advice: a smaller accelerator within the budget becomes a target with one click", () =>
  withReport("small.tflite", residualModel(24), async (page) => {
    await page.fill("#budget-latency", "50");
    await page.press("#budget-latency", "Enter");
    await page.selectOption("#target", "ethos-u65-512");
    await page.click("#tool-advice");
    await page.waitForSelector('[data-advice="smaller"]', { timeout: REPORT_LIMIT_MS });
    assert.match(await page.textContent('[data-advice="smaller"]'), /32 MACs\/cycle.*Saves 480 multipliers/s);
    await page.click('[data-advice="smaller"] button');
    await page.waitForSelector('table.targets tr.chosen[data-target="own:1"]');
  }));

test("advice: a float network is shown in int8 with what that saves", () =>
  withReport("float.tflite", floatModel(), async (page) => {
    await page.selectOption("#target", "cortex-a76-rpi5");
    await press(page, "#tool-advice");
    await page.waitForSelector('[data-advice="int8"]', { timeout: REPORT_LIMIT_MS });
    assert.match(await page.textContent('[data-advice="int8"] .saving'), /^Saves [\d.]+\s(ms|µs) of latency \(\u2212[\d.]+\s%\)/u);
    await page.selectOption("#target", "ethos-u55-256");
    await page.waitForSelector('[data-advice="int8"] .saving:has-text("Takes ")');
    assert.match(await page.textContent('[data-advice="int8"] .saving'), /^Takes [\d.]+\s(ms|µs) on Arm Ethos-U55.*, which does not run the float network\.$/u);
    await waitRedrawn(page, "float.tflite", () => press(page, '[data-advice="int8"] button'));
    assert.match(await page.textContent(".title"), /quantised to int8/);
    assert.match(await page.textContent(".facts"), /Precisionint8/);
  }));

test("advice: an operator that falls to the processor is led to", () =>
  withReport("mixed.tflite", mixedModel(), async (page) => {
    await page.selectOption("#target", "ethos-u55-256");
    await press(page, "#tool-advice");
    await page.waitForSelector('[data-advice="cpu"]', { timeout: REPORT_LIMIT_MS });
    assert.match(await page.textContent('[data-advice="cpu"]'), /1 operator falls to the CPU: DEPTH_TO_SPACE \(.*\)\. Replace it/);
    await press(page, '[data-advice="cpu"] button');
    assert.match(await page.textContent(".operator-details"), /DEPTH_TO_SPACE/);
  }));

test("advice: more SRAM for feature maps that exceed it becomes a target", () =>
  withReport("wide.tflite", wideModel(), async (page) => {
    await page.selectOption("#target", "ethos-u65-512");
    await press(page, "#tool-advice");
    await page.waitForSelector('[data-advice="memory"]', { timeout: REPORT_LIMIT_MS });
    assert.match(await page.textContent('[data-advice="memory"]'), /768\sKiB of SRAM instead of 384\sKiB.*Saves [\d.]+\s(ms|µs) of latency/su);
    await press(page, '[data-advice="memory"] button');
    await page.waitForSelector('table.targets tr.chosen[data-target="own:1"]');
    assert.match(await page.textContent(".sources"), /arena cache of 786432 bytes/);
  }));

test("advice: the width at which the weights fit the Edge TPU, which streams them otherwise", () =>
  withReport("heavy.tflite", heavyModel(), async (page) => {
    await page.selectOption("#target", "edgetpu-coral-dev-board");
    assert.match(await page.textContent(".answer > .subtle"), /[\d.]+ of [\d.]+ MiB of parameters do not fit on the chip.*takes [\d.]+ of [\d.]+ ms/);
    await press(page, "#tool-advice");
    await page.waitForSelector('[data-advice="memory"]', { timeout: REPORT_LIMIT_MS });
    assert.match(await page.textContent('[data-advice="memory"]'), /The weights \(8\.[\d]+\sMiB\) do not fit the Edge TPU's 8 MiB .* At 0\.9× the width they fit\.Saves [\d.]+\s(ms|µs) of latency/su);
    await waitRedrawn(page, "heavy.tflite", () => press(page, '[data-advice="memory"] button'));
    assert.match(await page.textContent(".title"), /0\.9× width/);
  }));

test("advice: an order that needs less memory, which is exact", () =>
  withReport("branched.tflite", branchedModel(), async (page) => {
    const arena = async () => (await readEstimates(page))["tflite-micro"].metrics.arena.value;
    const before = await arena();
    await press(page, "#tool-advice");
    await page.waitForSelector('[data-advice="order"]', { timeout: REPORT_LIMIT_MS });
    const [, less] = /Saves ([\d.]+\s[KM]iB) of activations .*, exact/u.exec(await page.textContent('[data-advice="order"] .saving'));
    await waitRedrawn(page, "branched.tflite", () => press(page, '[data-advice="order"] button'));
    const kib = (text) => Number(text.split(/\s/u)[0]) * (/MiB/.test(text) ? 1024 : 1);
    const after = await arena();
    assert.ok(Math.abs(kib(before) - kib(after) - kib(less)) < 1, `${before} - ${after} = ${less}`);
  }));

test("blocks fold and unfold, and the small map moves the drawing", () =>
  withReport("folded.tflite", residualModel(120), async (page) => {
    await page.setViewportSize({ width: 1440, height: 1400 }); // the whole drawing
    const colours = await countColours(page);
    assert.ok(colours > 1);
    const map = page.locator(".minimap");
    assert.ok(await map.isVisible());
    const place = await map.boundingBox();
    const before = await picture(page);
    await page.mouse.click(place.x + place.width / 2, place.y + place.height - 4);
    await waitRepainted(page, before);
    assert.match(await page.textContent(".graph-tools"), /Fold \d+ blocks/);
    await page.click('.graph-tools button:has-text("Fold")');
    await page.waitForSelector('.graph-tools button:text-is("Unfold blocks")');
    await page.focus(".drawing");
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.waitForSelector('.graph-tools button:has-text("Fold")');
    assert.equal(await page.getAttribute(".operator-details", "data-operator"), "0");
  }));

/** The first worker for layouts never answers for large graphs; the one that takes its place does. */
async function withEndlessLayout(page) {
  const body = await readFile(new URL("../../www/dist/layout.js", import.meta.url), "utf8");
  const endless = `addEventListener("message", (event) => event.data.call?.node_widths.length > 1000 && event.stopImmediatePropagation());\n${body}`;
  const options = { contentType: "text/javascript" };
  await page.route("**/layout.js*", (route) => route.fulfill({ ...options, body: endless }), { times: 1 });
}

test("a long layout can be stopped and begun again", () =>
  withReport(
    "warm.tflite",
    residualModel(4),
    async (page) => {
      await dropBytes(page, "long.tflite", residualModel(2000));
      await page.waitForSelector('.graph-note button:text-is("Stop")');
      await page.focus('.graph-note button:text-is("Stop")');
      await page.keyboard.press("Enter");
      await page.waitForSelector('.graph-note:has-text("The layout was stopped")');
      await page.focus('.graph-note button:text-is("Lay out")');
      await page.keyboard.press("Enter");
      await page.waitForSelector(".graph-note:empty", { state: "attached" });
      assert.ok((await countColours(page)) > 1);
    },
    { prepare: withEndlessLayout },
  ));
