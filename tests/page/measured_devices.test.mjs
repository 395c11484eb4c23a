/** Devices from profiles: what ONNX Runtime printed of a file makes a device, which every other report has among its targets. */
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { dropBytes, openBrowser, openPage, readEstimates, waitDrawn } from "./browser.mjs";
import { residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";

const read = (file) => readFile(new URL(`../../${file}`, import.meta.url));
const MODEL = "convolutions.onnx";
const DEVICE = "measured:Board";

const { measuredDevices } = await importSource("measured_devices.ts");

/** The places of a value in a device that the page shows. */
function* placesOf(value, place = []) {
  for (const [name, one] of Object.entries(value)) {
    const at = [...place, name];
    if (/^(litecast_.*|profile|threads|base_ms|n_calls|parameters|covariance)$/.test(name)) continue;
    yield at;
    if (typeof one === "object" && one !== null) yield* placesOf(one, at);
  }
}

test("a kept device of which one value is of another type is none", () => {
  const network = { model: "m", sha256: "", tool: "t", profile: "p", measured_ms: 1, base_ms: [["dense", 1]], n_calls: 1, observations: [{ operators: [0], base_ms: [], measured_ms: 1 }], unmatched: ["u"], unmatched_ms: 0 };
  const document = { litecast_device: 3, litecast_version: "0", name: "n", base: "cortex-a76-rpi5", threads: 1, networks: [network, network], fit: { parameters: [], covariance: [] }, left_out: [0.1, 0.2] };
  const facts = { kernels: [{ kernels: "k", factor: 1, is_measured: true }], call_ms: 1, inference_ms: 1, left_out_percent: 7 };
  let kept = [{ document, facts }];
  globalThis.localStorage = { getItem: () => JSON.stringify(kept) };
  assert.equal(measuredDevices().length, 1);
  let n = 0;
  for (const place of placesOf(kept[0])) {
    for (const value of [true, [null], undefined, new Map([[1, 2]])]) {
      kept = [structuredClone({ document, facts })];
      const last = place.at(-1);
      const parent = place.slice(0, -1).reduce((one, name) => one[name], kept[0]);
      if (value === true && typeof parent[last] === "boolean") continue;
      // Of the fit the engine is the judge.
      if (last === "fit" && typeof value === "object") continue;
      parent[last] = value;
      assert.deepEqual(measuredDevices(), [], `${place.join(".")}: ${JSON.stringify(value)}`);
      n += 1;
    }
  }
  console.log(`${n} changes`);
  assert.ok(n > 80);
});

let chromium;
before(async () => {
  chromium = await openBrowser();
});
after(() => chromium?.close());

async function withDevice(use) {
  const { page, problems, close } = await openPage(chromium);
  try {
    await dropBytes(page, MODEL, await read("tests/web/convolutions.onnx"));
    await waitDrawn(page, MODEL);
    await page.evaluate(() => (document.querySelector(".device").open = true));
    await page.fill("#device-name", "Board");
    await dropBytes(page, "profile.json", await read("tests/profiles/onnx-runtime-1.31.1_convolutions.json"));
    await page.waitForSelector('[data-measured="Board"]');
    await page.waitForSelector(`table.targets tr[data-target="${DEVICE}"]`);
    await use(page);
    assert.deepEqual(problems, [], "errors on the console");
  } finally {
    await close();
  }
}

const latencyOf = async (page) => (await readEstimates(page))[DEVICE]?.metrics.latency?.value;

test("a dropped profile makes a device that every report has", () =>
  withDevice(async (page) => {
    assert.match(await page.textContent('[data-measured="Board"]'), /1 measured network on the operators of .*convolutions\.onnx: [\d.]+\s/su);
    assert.match(await page.textContent(".device-outcome"), /Board: 1 measured network\./);
    await page.evaluate(() => performance.clearMeasures());
    await dropBytes(page, "other.tflite", residualModel(16));
    await waitDrawn(page, "other.tflite");
    assert.match(await latencyOf(page), /\d/);
    await page.selectOption("#target", DEVICE);
    await page.waitForFunction(() => document.querySelector("#view").textContent.includes("promises no level"));
    // After a reload it is still there.
    await page.reload();
    await waitDrawn(page, "other.tflite");
    assert.match(await latencyOf(page), /\d/);
  }));

test("from a dropped profile to the estimate of another file there is nothing to fill in", () =>
  withDevice(async (page) => {
    await page.click('[aria-label="Forget Board"]');
    await page.waitForSelector('[data-measured="Board"]', { state: "detached" });
    const profile = await read("tests/profiles/onnx-runtime-1.31.1_convolutions.json");
    const begun = await page.evaluate(() => performance.now());
    await dropBytes(page, "profile.json", profile);
    await page.waitForSelector(`table.targets tr[data-target="${DEVICE}"]`);
    const measured = await page.evaluate(() => performance.now());
    await dropBytes(page, "other.tflite", residualModel(16));
    await page.waitForFunction((target) => document.querySelector("#title")?.textContent.startsWith("other.tflite") && document.querySelector(`table.targets tr[data-target="${target}"]`), DEVICE);
    const ended = await page.evaluate(() => performance.now());
    console.log(`profile to device ${(measured - begun).toFixed(0)} ms, further to the estimate of another file ${(ended - measured).toFixed(0)} ms`);
    assert.match(await latencyOf(page), /\d/);
  }));

test("what was measured lies beside the estimate, operator by operator", () =>
  withDevice(async (page) => {
    await page.selectOption("#target", DEVICE);
    await page.click(".segments button:has-text('Table')");
    const heads = await page.$$eval("table.operators thead th", (all) => all.map(({ textContent }) => textContent));
    assert.ok(heads.some((head) => head.startsWith("Measured")) && heads.some((head) => head.startsWith("Off by")), heads.join());
    const column = heads.findIndex((head) => head.startsWith("Measured"));
    const cells = await page.$$eval("table.operators tbody tr[data-operator]", (rows, column) => rows.map((row) => row.children[column].textContent), column);
    console.log(cells.join(", "));
    assert.ok(cells.filter((cell) => /^[\d.,]+$/.test(cell)).length >= 3, cells.join());
    await page.selectOption("#measure", "measured");
    await page.click(".take summary");
    const download = page.waitForEvent("download");
    await page.click("text=Save node data");
    const data = JSON.parse(await readFile(await (await download).path(), "utf8"));
    const [{ results }] = Object.values(data);
    const sum_ms = Object.values(results).reduce((sum, { value }) => sum + value, 0);
    // Against the median of the runs of each node, without changes of layout.
    const events = JSON.parse(await read("tests/profiles/onnx-runtime-1.31.1_convolutions.json")).filter(({ cat, name, args }) => cat === "Node" && name.endsWith("_kernel_time") && !/Reorder|Flatten/.test(args.op_name));
    const by_name = new Map();
    for (const event of events) by_name.set(event.name, [...(by_name.get(event.name) ?? []), event]);
    const medians = [...by_name.values()].map((runs) => runs.map(({ dur }) => dur).sort((a, b) => a - b)).map((runs) => (runs[Math.floor((runs.length - 1) / 2)] + runs[Math.floor(runs.length / 2)]) / 2e3);
    const expected_ms = medians.reduce((sum, ms) => sum + ms, 0);
    console.log(`${sum_ms} ms, expected ${expected_ms} ms`);
    assert.ok(Math.abs(sum_ms / expected_ms - 1) < 1e-6);
  }));

test("the graph says what was measured of an operator, and the CSV has it", () =>
  withDevice(async (page) => {
    await page.selectOption("#target", DEVICE);
    await page.click(".segments button:has-text('Graph')");
    await page.selectOption("#measure", "measured");
    await page.waitForFunction(() => document.querySelector(".drawing").clientWidth > 0 && /\d/.test(document.querySelector(".legend").textContent));
    assert.match(await page.getAttribute(".legend", "title"), /Measured latency on Board/);
    await page.focus(".drawing");
    const spoken = [];
    for (let i = 0; i < 12; i++) {
      await page.keyboard.press("ArrowDown");
      spoken.push(await page.textContent(".graph .sr-only"));
    }
    const said = new Map(spoken.map((words) => /operator (\d+) of .*Measured latency on Board: ([\d.,]+|\S+)/.exec(words)).filter(Boolean).map(([, number, value]) => [Number(number) - 1, value]));
    console.log(JSON.stringify([...said]));
    assert.ok(said.size >= 3, spoken.join("; "));
    await page.selectOption("#measure", "measured_difference");
    await page.waitForFunction(() => /Estimate and measurement differ/.test(document.querySelector(".legend").title));
    await page.click(".take summary");
    const download = page.waitForEvent("download");
    await page.click("text=Save CSV");
    const csv = (await readFile(await (await download).path(), "utf8")).trim().split("\r\n");
    // From the right, where no cell has a comma.
    const at = csv[0].split(",").reverse().indexOf(`${DEVICE} measured ms`);
    assert.ok(at >= 0, csv[0]);
    const document = await page.evaluate(() => JSON.parse(localStorage.getItem("litecast.measured.1"))[0].document);
    for (const { operators, measured_ms } of document.networks[0].observations) {
      const value = Number(csv[1 + operators[0]].split(",").at(-1 - at));
      assert.ok(Math.abs(value / measured_ms - 1) < 1e-6, `${value}, expected ${measured_ms}`);
    }
  }));

test("the page says what to measure next, with the command of the tool that measured last", () =>
  withDevice(async (page) => {
    await page.click(".probes summary");
    await page.waitForFunction(() => document.querySelectorAll("#measuring-tool option").length > 5);
    const commands = () => page.$$eval(".probes code", (all) => all.map(({ textContent }) => textContent));
    assert.equal(await page.inputValue("#measuring-tool"), "ONNX Runtime");
    for (const command of await commands()) assert.match(command, /enable_profiling.* [\w-]+-float32\.onnx$/);
    await page.selectOption("#measuring-tool", "Vela");
    for (const command of await commands()) assert.match(command, /^vela [\w-]+-int8\.tflite --accelerator-config/);
    await page.click(".next-measurement summary");
    await page.waitForSelector(".next-measurement tbody tr");
    const rows = await page.$$eval(".next-measurement tbody tr", (all) => all.map((row) => [...row.children].map(({ textContent }) => textContent)));
    console.log(rows.map((row) => row.join(" ")).join("\n"));
    assert.ok(rows.length >= 5 && rows.every(([file]) => file !== MODEL), "what is measured is not in the list");
    const [file] = rows[0];
    const factors = rows.map((row) => Number(row[3].replace("×", "")));
    assert.deepEqual(factors, [...factors].sort((a, b) => a - b));
    assert.match(await page.textContent(".next-measurement code"), new RegExp(`enable_profiling.* ${file}$`));
    // A network of one's own counts as soon as it was opened.
    await dropBytes(page, "other.tflite", residualModel(16));
    await waitDrawn(page, "other.tflite");
    await page.waitForTimeout(1000);
    await page.evaluate(() => (document.querySelector(".device").open = true));
    await page.click(".next-measurement summary");
    await page.waitForSelector(".next-measurement tbody tr");
    assert.match(await page.textContent(".next-measurement"), /the 2 networks that were opened here/);
  }));

test("networks to measure are handed out, and are those of the command", () =>
  withDevice(async (page) => {
    await page.click(".probes summary");
    const links = await page.$$eval(".probes a", (all) => all.map(({ href, download }) => [href, download]));
    const files = (await readdir(new URL("../../src/calibration/probes/", import.meta.url))).sort();
    assert.deepEqual(links.map(([, name]) => name).sort(), files);
    const [href, name] = links[0];
    const bytes = await page.evaluate(async (href) => [...new Uint8Array(await (await fetch(href)).arrayBuffer())], href);
    assert.deepEqual(Buffer.from(bytes), await read(`src/calibration/probes/${name}`));
  }));

test("a device is exported, forgotten and imported, and what is none is refused in words", () =>
  withDevice(async (page) => {
    const expected = await latencyOf(page);
    const download = page.waitForEvent("download");
    await page.click("text=Export device");
    const saved = await download;
    assert.equal(saved.suggestedFilename(), "board.json");
    const document = await readFile(await saved.path());
    assert.equal(JSON.parse(document).litecast_device, 4);
    await page.click('[aria-label="Forget Board"]');
    await page.waitForSelector(`table.targets tr[data-target="${DEVICE}"]`, { state: "detached" });
    await dropBytes(page, "board.json", document);
    await page.waitForSelector(`table.targets tr[data-target="${DEVICE}"]`);
    assert.equal(await latencyOf(page), expected);
    const refused = {
      "newer.json": [Buffer.from(`{"litecast_device":99,${document.toString().slice(document.indexOf(",") + 1)}`), /newer\.json: expected version 4 of the document, found 99/],
      "broken.json": [Buffer.from('{"litecast_device":1}'), /broken\.json: expected a device/],
      "other.csv": [Buffer.from("name,type,ms\nnothing,LSTM,5\nnowhere,LSTM,6\n"), /other\.csv: expected operators of convolutions\.onnx, found none of 2/],
      "words.txt": [Buffer.from("hello"), /words\.txt: /],
      "cycles.csv": [await read("tests/profiles/vela-5.2.0_cnn-kws-s7-i43_per-layer.csv"), /cycles\.csv: line 1: Vela counts cycles: expected their clock in MHz/],
    };
    for (const [name, [bytes, words]] of Object.entries(refused)) {
      await dropBytes(page, name, bytes);
      await page.waitForFunction(([source]) => new RegExp(source).test(document.querySelector(".device-outcome").textContent), [words.source]);
    }
    assert.ok(await page.isVisible("#profile-clock"));
    assert.equal(await page.locator('[data-measured="Board"] li').count(), 1, "nothing was added");
  }));
