/** Targets that are estimated when somebody asks: boards, microcontrollers, GPUs; and networks in two parts. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dropBytes, dropModels, openBrowser, openPage, readEstimates, REPORT_LIMIT_MS, sourceOf, waitDrawn, waitRedrawn } from "./browser.mjs";
import { floatModel, mixedModel, residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";

const { TARGETS } = await importSource("../package/src/catalogue.ts");

const NANO = "board:arduino-nano-33-ble";
const RA8M1 = "board:ek-ra8m1";

let chromium;
before(async () => {
  chromium = await openBrowser();
});
after(() => chromium?.close());

async function withReport(name, bytes, use) {
  const { page, problems, requests, close } = await openPage(chromium);
  try {
    await dropBytes(page, name, bytes);
    await waitDrawn(page, name);
    await page.waitForSelector("#tool-what-if");
    await use(page, requests);
    assert.deepEqual(problems, [], "errors on the console");
  } finally {
    await close();
  }
}

/** With the keyboard alone. */
async function press(page, selector, key = "Enter") {
  await page.focus(selector);
  await page.keyboard.press(key);
}

const group = (name) => `.target-group[data-group="${name}"]`;

/** Targets with results, of a group. */
const targetsOf = (page, name) => page.locator(`${group(name)} tr[data-target]`).evaluateAll((rows) => rows.map((row) => row.dataset.target));

const verdicts = (page) => page.locator(".boards-table tbody tr").evaluateAll((rows) => rows.map((row) => ({ board: row.dataset.board, verdict: row.children[3].textContent, ram: row.children[4].textContent })));

test("every board says whether the model fits beside an application, or what is short", () =>
  withReport("fits.tflite", residualModel(40), async (page) => {
    assert.match(await page.textContent("#tool-boards"), /Boards fits \d+ of \d+ microcontrollers/);
    await press(page, "#tool-boards");
    const alone = await verdicts(page);
    assert.ok(alone.length >= 40, `${alone.length} boards`);
    assert.match(await page.textContent(".boards"), /Needs [\d.]+\s[KM]iB of RAM for the tensor arena \(at most [\d.]+\s[KM]iB\), with 4\.00\sKiB kept for a stack, and about [\d.]+\s[KM]iB of flash/u);
    const fits = (list) => list.filter(({ verdict }) => verdict === "Fits").map(({ board }) => board);
    assert.ok(fits(alone).includes("arduino-nano-33-ble"));
    await page.fill("#application-ram", "250");
    await page.keyboard.press("Enter");
    await page.waitForSelector('[data-board="arduino-nano-33-ble"] .fit-no');
    const beside = await verdicts(page);
    assert.match(beside.find(({ board }) => board === "arduino-nano-33-ble").ram, /^[\d.]+\s(KiB|bytes) short$/u);
    assert.ok(fits(beside).length < fits(alone).length && fits(beside).every((board) => fits(alone).includes(board)));
    assert.match(await page.textContent("#tool-boards"), new RegExp(`fits ${fits(beside).length} of`));
    // The next report is of the same application.
    await dropBytes(page, "next.tflite", residualModel(40));
    await waitDrawn(page, "next.tflite");
    await page.waitForSelector(`#tool-boards:has-text("fits ${fits(beside).length} of")`);
  }));

test("a board that is chosen is estimated, remembered, and says what its numbers rest on", () =>
  withReport("board.tflite", residualModel(12), async (page) => {
    await press(page, "#tool-boards");
    await press(page, '[data-board="arduino-nano-33-ble"] button');
    await page.waitForSelector('.metric[data-metric="latency"]');
    await page.waitForFunction((nano) => document.getElementById("target").value === nano, NANO);
    assert.match(await page.textContent(".answer"), /Fits: RAM [\d.]+\s[KM]iB left, flash [\d.]+\s[KM]iB left/u);
    for (const metric of ["latency", "weights_flash", "file_flash", "arena"]) assert.ok(await page.isVisible(`.answer [data-metric="${metric}"]`), metric);
    assert.match(await page.textContent(".sources"), /Modelled \(LiteCast.*against measurements on hardware/);
    assert.deepEqual(await targetsOf(page, "microcontrollers"), [NANO]);
    await dropBytes(page, "after.tflite", residualModel(8));
    await waitDrawn(page, "after.tflite");
    assert.equal(await page.inputValue("#target"), NANO, "the next file is of the same board");
    // A core that nobody measured: room alone.
    await page.selectOption("#target", RA8M1);
    await page.waitForSelector('.answer .reason:has-text("no board with a Cortex-M85 was measured")');
    assert.match(await page.textContent(".answer .fit"), /^Fits: RAM/);
    // The same core on a board that nobody measured.
    await page.selectOption("#target", "board:microbit-v2");
    await page.waitForSelector('.answer:has-text("BBC micro:bit V2, TensorFlow Lite Micro"):has-text("transferred from Arduino Nano 33 BLE")');
    // ST's numbers; the room is that of another runtime, which needs its arena in one piece.
    await page.selectOption("#target", "board:stm32h747i-disco");
    await page.waitForSelector('.answer [data-metric="activation_ram"]');
    assert.match(await page.textContent(".answer .fit"), /^With TensorFlow Lite Micro instead: Fits: RAM [\d.]+\s[KM]iB left \(512\sKiB in one piece\), flash [\d.]+\s[KM]iB left, under TensorFlow Lite Micro\.$/u);
  }));

/** Chooses this target alone on the first screen. */
async function wantOnly(page, target) {
  while ((await page.locator(".chip-remove").count()) > 0) await page.locator(".chip-remove").first().click();
  await page.fill("#first-target", target);
  await page.click(`#first-target-list [data-target="${target}"]`);
}

const wanted = (page) => page.$$eval(".target-chip", (all) => all.map(({ dataset }) => dataset.target));

test("a target is chosen before any file, a board or a GPU too", async () => {
  const { page, problems, close } = await openPage(chromium);
  await page.waitForSelector("#first-target");
  await wantOnly(page, NANO);
  await dropBytes(page, "first.tflite", residualModel(8));
  await waitDrawn(page, "first.tflite");
  assert.equal(await page.inputValue("#target"), NANO);
  await page.click("#home");
  assert.deepEqual(await wanted(page), [NANO]);
  await wantOnly(page, "rtx-5090");
  await dropBytes(page, "second.tflite", residualModel(8));
  await waitDrawn(page, "second.tflite");
  assert.equal(await page.inputValue("#target"), "rtx-5090");
  await page.reload();
  await waitDrawn(page, "second.tflite");
  await page.click("#home");
  await page.waitForSelector('.target-chip[data-target="rtx-5090"]');
  assert.deepEqual(problems, [], "errors on the console");
  await close();
});

test("every Ethos-U and every board with one can be chosen before any file, and a processor's threads", async () => {
  const { page, problems, close } = await openPage(chromium);
  await page.waitForSelector("#first-target");
  for (const target of Object.keys(TARGETS)) {
    await page.fill("#first-target", target);
    assert.equal(await page.locator("#first-target-list [role=option]").first().getAttribute("data-target"), target, "by its id");
  }
  for (const [i, target] of ["ethos-u55-32", "npu-board:imx93"].entries()) {
    await wantOnly(page, target);
    await dropBytes(page, `npu${i}.tflite`, residualModel(8));
    await waitDrawn(page, `npu${i}.tflite`);
    assert.equal(await page.inputValue("#target"), target);
    assert.ok(await page.isVisible('.answer [data-metric="latency"]'), target);
    assert.match(await page.textContent(".answer"), /The accelerator runs all of it: all 8 operators\./);
    await page.click("#home");
  }
  assert.ok(await page.isHidden("#first-threads"), "an accelerator has none");
  await wantOnly(page, "cortex-a76-rpi5");
  await page.selectOption("#first-threads", "4");
  await dropBytes(page, "several.tflite", residualModel(40));
  await waitDrawn(page, "several.tflite");
  assert.match(await page.textContent(".title"), /4 threads/);
  const latency = async () => (await readEstimates(page))["cortex-a76-rpi5"].metrics.latency.value;
  const four = await latency();
  await waitRedrawn(page, "several.tflite", () => page.selectOption("#threads", "1"));
  assert.doesNotMatch(await page.textContent(".title"), /thread/);
  assert.notEqual(await latency(), four);
  // Another target of the report is estimated when it is chosen.
  await page.selectOption("#target", "ethos-u65-256");
  await page.waitForSelector('.targets tr.chosen[data-target="ethos-u65-256"] [data-metric="latency"] .value');
  assert.equal(await page.locator("#threads").count(), 0);
  assert.deepEqual(problems, [], "errors on the console");
  await close();
});

test("what helps to decide is said: the arena, what stays on the chip, a processor that is faster", () =>
  withReport("decided.tflite", residualModel(8), async (page) => {
    await page.selectOption("#target", "tflite-micro");
    const whole = await page.textContent(".answer .fit");
    const [, all, activations, rest] = /^The arena: ([\d.]+\s\w+) with the kernels of CMSIS-NN: ([\d.]+\s\w+) of activations and ([\d.]+\s\w+)/u.exec(whole);
    const kib = (text) => Number(text.split(/\s/u)[0]) / (/KiB/.test(text) ? 1 : 1024);
    assert.ok(Math.abs(kib(all) - kib(activations) - kib(rest)) < 0.02 * kib(all), whole);
    await page.selectOption("#target", "edgetpu-coral-dev-board");
    assert.match(await page.textContent(".answer"), /All weights \([\d.]+\s\w+\) stay on the chip between inferences/u);
    const faster = await page.$$eval(".remark", (all) => all.map(({ textContent }) => textContent).find((words) => words.startsWith("A processor")));
    const { metrics } = (await readEstimates(page))["edgetpu-coral-dev-board"];
    const others = Object.entries(await readEstimates(page)).filter(([target]) => TARGETS[target]?.family === "processors");
    const least = Math.min(...others.map(([, { metrics }]) => Number(metrics.latency.value.split(" ")[0])));
    assert.equal(faster !== undefined, least < Number(metrics.latency.value.split(" ")[0]), `${faster}, ${least}, ${metrics.latency.value}`);
  }));

test("energies that count different things are told apart beside the table", () =>
  withReport("energy.tflite", residualModel(8), async (page) => {
    assert.match(await page.textContent(".others .energy-note"), /cannot be compared\. Arm Ethos-U55[^:]*: MACs and SRAM, without flash[^.]*\. Arm Ethos-U65/);
  }));

test("microcontrollers are a group that is opened, remembered and closed with the keyboard", () =>
  withReport("grouped.tflite", residualModel(12), async (page) => {
    assert.deepEqual(await targetsOf(page, "microcontrollers"), []);
    await press(page, `${group("microcontrollers")} summary`);
    await page.waitForSelector(`${group("microcontrollers")} tr[data-target="cortex-m4-tflm"]`);
    const found = await targetsOf(page, "microcontrollers");
    assert.ok(found.length >= 7, found.join());
    const latency = (target) => page.textContent(`tr[data-target="${target}"] [data-metric="latency"] .value`);
    assert.match(await latency("cortex-m7-stm32h747"), /^[\d.,]+$/);
    await page.click(`tr[data-target="cortex-m7-stm32h747"] button`);
    for (const metric of ["activation_ram", "weights_flash"]) assert.ok(await page.isVisible(`.answer [data-metric="${metric}"]`), metric);
    await dropBytes(page, "again.tflite", residualModel(16));
    await waitDrawn(page, "again.tflite");
    assert.deepEqual(await targetsOf(page, "microcontrollers"), found, "new reports have the group");
    await press(page, `${group("microcontrollers")} summary`);
    await page.waitForSelector(`${group("microcontrollers")}:not([open])`);
    await dropBytes(page, "closed.tflite", residualModel(8));
    await waitDrawn(page, "closed.tflite");
    assert.deepEqual(await targetsOf(page, "microcontrollers"), []);
  }));

test("the constants of GPUs are loaded when a GPU is asked for, and not before", () =>
  withReport("gpu.tflite", residualModel(40), async (page, requests) => {
    const asked = () => requests.filter((url) => url.includes("gpu.json")).length;
    assert.equal(asked(), 0);
    await press(page, `${group("gpus")} summary`);
    await page.waitForSelector(`${group("gpus")} tr[data-target="rtx-3090"]`);
    assert.equal(asked(), 1);
    await page.selectOption("#target", "rtx-3090");
    for (const metric of ["latency", "throughput", "training_step", "memory", "training_memory"]) assert.ok(await page.isVisible(`.answer [data-metric="${metric}"]`), metric);
    assert.match(await page.textContent(".answer"), /Smallest slices that hold .* A100 40 GB 1g\.5gb/);
    assert.match(await sourceOf(page, "rtx-3090"), /Modelled.*PyTorch 2\.4.*AMP/, "so small a network waits for the host, which nobody measured");
    await page.fill(".batch input", "64");
    await page.press(".batch input", "Enter");
    await page.waitForSelector('.title:has-text("batch 64")');
    await page.waitForSelector("body[data-drawn]");
    const { "rtx-3090": first } = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll("tr[data-target]")].map((row) => [row.dataset.target, row.querySelector('[data-metric="throughput"] .value')?.textContent])));
    assert.match(first ?? "", /^[\d.,]+$/, "the group is open in the next report");
    assert.equal(asked(), 1);
  }));

test("the constants of phones are loaded when one is chosen or the group is opened", () =>
  withReport("phones.tflite", residualModel(40), async (page, requests) => {
    const asked = () => requests.filter((url) => url.includes("accelerators.json")).length;
    assert.equal(asked(), 0);
    await page.selectOption("#target", "galaxy-s24@qnn");
    await page.waitForSelector(`${group("phones-and-boards")} tr[data-target="galaxy-s24@qnn"]`);
    assert.equal(asked(), 1);
    assert.match(await sourceOf(page, "galaxy-s24@qnn"), /Learned from measured.*QNN.*Qualcomm/);
    // The group holds what was chosen: it is closed first, and opened for all.
    const heading = `${group("phones-and-boards")} summary`;
    await press(page, heading);
    await page.waitForSelector(`${group("phones-and-boards")}:not([open])`);
    await press(page, heading);
    await page.waitForSelector(`${group("phones-and-boards")} tr[data-target="galaxy-s25"]`);
    assert.equal(asked(), 1);
  }));

test("what a network took on one phone corrects the estimates of the others, until it is taken back", () =>
  withReport("elsewhere.tflite", residualModel(40), async (page) => {
    await page.selectOption("#target", "galaxy-s24@qnn");
    await page.waitForSelector(`${group("phones-and-boards")} tr[data-target="galaxy-s24@qnn"]`);
    const shown = () => page.locator('.answer [data-metric="latency"] .quantity').textContent();
    const before = await shown();
    await page.click(".elsewhere summary");
    // That of the chosen device itself would be the answer.
    const devices = await page.locator("#elsewhere-device option").evaluateAll((options) => options.map(({ value }) => value));
    assert.ok(devices.includes("galaxy-s22@qnn") && devices.every((device) => !device.startsWith("galaxy-s24")), `${devices}`);
    await page.selectOption("#elsewhere-device", "galaxy-s22@qnn");
    await page.fill("#elsewhere-ms", "50");
    await press(page, "#elsewhere-ms");
    await page.waitForFunction((words) => document.querySelector('.answer [data-metric="latency"] .quantity')?.textContent !== words, before);
    assert.match(await page.textContent(".elsewhere summary"), /^Estimated by 50\.0\sms measured on .*Galaxy S22.*, QNN$/u);
    assert.match(await sourceOf(page, "galaxy-s24@qnn"), /50 ms measured on galaxy-s22@qnn|50 ms measured on .*S22/);
    assert.equal(await page.inputValue("#elsewhere-ms"), "50");
    const corrected = await shown();
    assert.notEqual(corrected, before);
    await page.click(".elsewhere button:not([type=submit])");
    await page.waitForFunction((words) => document.querySelector('.answer [data-metric="latency"] .quantity')?.textContent === words, before);
    assert.equal(await page.textContent(".elsewhere summary"), "Measured on another Snapdragon?");
    // Boards of other makers, and processors, have no such field.
    for (const other of ["rk3588", "cortex-a76-rpi5"]) {
      await page.selectOption("#target", other);
      await page.waitForSelector(`tr.chosen[data-target="${other}"]`);
      assert.equal(await page.locator(".elsewhere").count(), 0, other);
    }
  }));

test("the batch sweep shows the knee, what fits, and the same numbers as a table", () =>
  withReport("swept.tflite", residualModel(60), async (page) => {
    await press(page, "#tool-gpus");
    await page.waitForSelector(".sweep-drawing");
    const rows = await page.locator(".batch-table tbody tr").evaluateAll((rows) => rows.map((row) => ({ batch: Number(row.children[0].textContent), throughput: Number(row.children[3].textContent.replaceAll(",", "")), is_knee: row.className === "chosen" })));
    assert.deepEqual(rows.map(({ batch }) => batch), Array.from({ length: 11 }, (_, i) => 2 ** i));
    const best = Math.max(...rows.map(({ throughput }) => throughput));
    const knee = rows.find(({ throughput }) => throughput >= 0.9 * best);
    assert.deepEqual(rows.filter(({ is_knee }) => is_knee), [knee]);
    const words = knee.batch === 1024 ? /still grows at batch 1,024/ : new RegExp(`From batch ${knee.batch} on`);
    assert.match(await page.textContent(".sweep-words"), words);
    assert.equal(await page.locator(".sweep-drawing circle").count(), rows.length);
    const largest = await page.locator(".memory-table tbody tr").evaluateAll((rows) => rows.map((row) => Number(row.children[1].textContent.replaceAll(",", ""))));
    assert.ok(largest.length === 6 && largest.every((batch, i) => i === 0 || batch >= largest[i - 1]), largest.join());
    await page.selectOption("#sweep-gpu", "rtx-5090");
    await press(page, '.batch-sweep button:text-is("Make it the target")');
    await page.waitForSelector(".batch-table");
  }));

test("each number says what it rests on, and a float file as what it is estimated", () =>
  withReport("float.tflite", floatModel(), async (page) => {
    const answer = (metric, part) => page.textContent(`.answer [data-metric="${metric}"] ${part}`);
    await page.selectOption("#target", "ethos-u55-256");
    assert.equal(await answer("latency", ".part-words"), "as int8");
    assert.equal(await answer("latency", ".evidence"), "◐ The compiler’s opinion");
    assert.match(await answer("latency", ".doubt-words"), /\(90\s%\)$/u);
    assert.match(await answer("energy", "dt"), /without flash/);
    assert.equal(await answer("energy", ".doubt"), "compared with nothing");
    assert.match(await page.textContent('table.targets[data-targets="every"] thead'), /float32, or as it says/);
    await page.selectOption("#target", "cortex-a76-rpi5");
    assert.equal(await page.locator(".answer .part-words").count(), 0);
    assert.equal(await answer("latency", ".evidence"), "● Fitted to measurements");
  }));

test("a network in two parts says which, why, and what both take on the chosen processor", () =>
  withReport("mixed.tflite", mixedModel(), async (page) => {
    await page.selectOption("#target", "ethos-u55-256");
    const words = await page.textContent(".hybrid");
    assert.match(words, /3 of 4 operators on the accelerator, 1 on the processor, with 2 changes between them/);
    assert.match(words, /Left to the processor: DEPTH_TO_SPACE \(.*\)\./);
    // Numbers of a part never stand as if they were those of the whole.
    assert.equal(await page.textContent('.answer [data-metric="latency"] dt'), "Latency");
    assert.equal(await page.textContent('.answer [data-metric="npu_latency"] dt'), "NPU part, by its compiler: 3 of 4 operators on the NPU");
    assert.equal(await page.textContent('.targets [data-target="ethos-u55-256"] th .part-words'), "3 of 4 operators on the NPU");
    const quantities = (text) => [...text.matchAll(/([\d.,]+)\s(ns|µs|ms|s)\b/gu)].map(([, n, unit]) => Number(n.replaceAll(",", "")) * { ns: 1e-6, "µs": 1e-3, ms: 1, s: 1000 }[unit]);
    const times = async () => quantities(await page.textContent(".hybrid-times"));
    const shown = async (metric) => quantities(await page.textContent(`.answer [data-metric="${metric}"] .quantity`))[0];
    const [npu, cpu, all] = await times();
    assert.ok(Math.abs(all / (npu + cpu) - 1) < 0.01, `${npu} + ${cpu} = ${all} ms`);
    assert.equal(all, await shown("latency"));
    assert.ok(Math.abs(npu / (await shown("npu_latency")) - 1) < 0.01, `${npu} ms of ${await shown("npu_latency")} ms`);
    assert.equal(await page.inputValue("#host"), "cortex-m7-tflm");
    await page.click("#tool-advice");
    await page.waitForSelector('[data-advice="cpu"] .saving:has-text("Cortex-M7")', { timeout: REPORT_LIMIT_MS });
    const targets = () => page.$$eval(".targets tr[data-target]", (rows) => rows.map(({ dataset }) => dataset.target));
    const before = await targets();
    await page.selectOption("#host", "cortex-a76-rpi5");
    await page.waitForSelector('[data-advice="cpu"] .saving:has-text("Cortex-A76")', { timeout: REPORT_LIMIT_MS });
    const [same, faster, both] = await times();
    assert.equal(same, npu);
    assert.ok(faster < cpu, `${faster} ms on a Cortex-A76, ${cpu} ms on a Cortex-M7`);
    assert.equal(both, await shown("latency"));
    assert.deepEqual(await targets(), before, "each target stays in its place");
    await page.selectOption("#host", "");
    await page.waitForFunction(() => document.querySelector("#host")?.value === "cortex-m7-tflm");
    assert.deepEqual((await times()).slice(0, 2), [npu, cpu]);
    await page.selectOption("#host", "cortex-a76-rpi5");
    await page.waitForFunction(() => document.querySelector("#host")?.value === "cortex-a76-rpi5");
    // Processors run all of it.
    await page.selectOption("#target", "cortex-a76-rpi5");
    assert.equal(await page.locator(".hybrid").count(), 0);
    assert.equal(await page.textContent('.answer [data-metric="latency"] dt'), "Latency");
    assert.equal(await page.locator('.targets [data-target="cortex-a76-rpi5"] .part-words').count(), 0);
    await page.selectOption("#target", "ethos-u55-256");
    await dropModels(page, [mixedModel(), residualModel(8)]);
    const cells = await page.$$eval('.comparison tbody tr', (rows) => rows.map((row) => row.querySelector('[data-metric="latency"]')).map((cell) => [cell.querySelector(".part-words")?.textContent ?? "all", cell.querySelector(".value").textContent]));
    assert.deepEqual(cells.map(([part]) => part), ["3 of 4 operators on the NPU", "all"]);
    assert.ok(cells.every(([, value]) => Number(value) > 0));
  }));

test("several targets are typed by the names people use, kept, and each has a verdict beside the budget", async () => {
  const { page, problems, close } = await openPage(chromium);
  await page.waitForSelector("#first-target");
  assert.deepEqual(await wanted(page), []);
  for (const [typed, target] of [["Pi 5", "cortex-a76-rpi5"], ["raspberry-pi-4", "cortex-a72-rpi4"], ["coral", "edgetpu-coral-dev-board"], ["ra8p1 renesas", "npu-board:renesas-ra8p1"], ["nRF52840", "board:arduino-nano-33-ble"], ["rtx 3090", "rtx-3090"], ["cortex-m7", "cortex-m7-stm32h747"]]) {
    await page.fill("#first-target", typed);
    const found = await page.$$eval("#first-target-list [role=option]", (all) => all.map(({ dataset }) => dataset.target));
    assert.ok(found.includes(target), `${typed}: ${found}`);
    assert.equal(new Set(found).size, found.length, `${typed}: ${found}`);
  }
  await page.fill("#first-target", "rpi5, u55-128, nonesuch");
  await page.keyboard.press("Enter");
  assert.deepEqual(await wanted(page), ["cortex-a76-rpi5", "ethos-u55-128"]);
  assert.equal(await page.inputValue("#first-target"), "nonesuch");
  assert.match(await page.textContent(".target-words"), /Nothing here is called “nonesuch”/);
  // By the keyboard alone: down to the second of the list, and one back out.
  await page.fill("#first-target", "u65");
  await page.keyboard.press("ArrowDown");
  const active = await page.getAttribute("#first-target", "aria-activedescendant");
  const second = await page.getAttribute(`#${active}`, "data-target");
  await page.keyboard.press("Enter");
  assert.deepEqual(await wanted(page), ["cortex-a76-rpi5", "ethos-u55-128", second]);
  await page.keyboard.press("Backspace");
  assert.deepEqual(await wanted(page), ["cortex-a76-rpi5", "ethos-u55-128"]);
  await page.fill("#first-budget-latency", "1000");
  await page.press("#first-budget-latency", "Enter");
  await dropBytes(page, "several.tflite", residualModel(8));
  await waitDrawn(page, "several.tflite");
  assert.equal(await page.inputValue("#target"), "cortex-a76-rpi5");
  assert.match(await page.textContent(".report-verdict"), /Meets 1\u202fs on Raspberry Pi 5/);
  assert.match(await page.textContent(".other-verdicts"), /Meets .* on Ethos-U55-128/);
  // Both change places.
  await page.click(".other-verdicts button");
  assert.equal(await page.inputValue("#target"), "ethos-u55-128");
  assert.match(await page.textContent(".other-verdicts"), /Raspberry Pi 5/);
  await page.reload();
  await waitDrawn(page, "several.tflite");
  await page.click("#home");
  await page.waitForSelector(".target-chip");
  assert.deepEqual(await wanted(page), ["ethos-u55-128", "cortex-a76-rpi5"]);
  // What was wanted before comes first where nothing is typed.
  await page.locator(".chip-remove").last().click();
  await page.press("#first-target", "ArrowDown");
  const offered = await page.$$eval("#first-target-list [role=option]", (all) => all.slice(0, 3).map(({ textContent }) => textContent));
  assert.ok(offered[0].endsWith("Recent") && offered.some((words) => /Raspberry Pi 5.*Recent/.test(words)), offered.join("; "));
  assert.deepEqual(problems, [], "errors on the console");
  await close();
});

test("targets that the browser keeps are bounded, and whatever else is stored there counts as nothing", async () => {
  const prepare = (kept) => (page) => page.addInitScript((kept) => localStorage.setItem("litecast.wanted.1", kept), kept);
  const many = JSON.stringify({ others: Array.from({ length: 500 }, (_, i) => `t${i}`), recent: ["x".repeat(1e5), 5, null, "ethos-u55-32"] });
  for (const [kept, n] of [["{", 0], ["null", 0], ["[]", 0], ['{"others":{"length":9}}', 0], [many, 7]]) {
    const { page, problems, close } = await openPage(chromium, { prepare: prepare(kept) });
    await page.waitForSelector("#first-target");
    assert.equal((await wanted(page)).length, n, kept.slice(0, 40));
    assert.deepEqual(problems, []);
    await close();
  }
});
