/** Several files: their table, two models side by side, and latency against memory or MACs. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { dropFiles, dropModels, waitBothDrawn, waitCompared, waitKept } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { mixedModel, residualModel } from "./model.mjs";

const { withPage, writeFile: writeModel } = browserForTests();

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
    // The columns that the command writes.
    const source = await readFile(new URL("../../src/command/csv.rs", import.meta.url), "utf8");
    const named = [.../const RESULTS[^=]*= \[([^\]]*)\]/.exec(source)[1].matchAll(/"(\w+)"/g)].map(([, name]) => name);
    assert.equal(lines[0], named.join(","));
    assert.ok(lines.some((line) => line.includes(",Vela 5.2.0,")) && lines.every((line) => !line.includes("not silicon")));
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

/** Cells of a line of CSV, some of them in quotes. */
const cellsOf = (line) => [...line.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g)].map(([, quoted, plain]) => quoted ?? plain);

test("where an Ethos-U runs a part, table, side by side and drawing are of the whole network", () =>
  withPage(async (page) => {
    await dropModels(page, [residualModel(12), mixedModel()]);
    await waitCompared(page, 2);
    await page.selectOption("#comparison-target", "ethos-u55-256");
    const download = page.waitForEvent("download");
    await page.click('.comparison-controls button:text-is("CSV")');
    const [head, ...lines] = (await readFile(await (await download).path(), "utf8")).trim().split("\r\n").map(cellsOf);
    const [target, metric, value] = ["target", "metric", "value"].map((name) => head.indexOf(name));
    const of = (file, name) => Number(lines.find((line) => line[0] === file && line[target] === "ethos-u55-256" && line[metric] === name)?.[value]);
    const files = [...new Set(lines.map(([file]) => file))];
    const whole = files.map((file) => of(file, "latency"));
    const part = of(files[1], "npu_latency");
    assert.ok(whole[1] > 1.01 * part, `${whole[1]} ms, ${part} ms of them on the accelerator`);
    const shown = (text) => {
      const [, number, unit] = /([\d.]+)\s(ms|µs)/u.exec(text);
      return Number(number) / (unit === "ms" ? 1 : 1000);
    };
    const are_near = (a, b, words) => assert.ok(Math.abs(a / b - 1) < 0.01, `${words}: ${a} for ${b}`);
    await page.locator(".comparison .baseline").first().click();
    await page.locator("[data-operators]").first().focus();
    await page.keyboard.press("Enter");
    const totals = await page.$$eval(".totals tbody tr", (rows) => Object.fromEntries(rows.map((row) => [row.children[0].textContent, [...row.children].slice(1).map(({ textContent }) => textContent)])));
    for (const i of [0, 1]) are_near(shown(totals["Latency"][i]), whole[i], "side by side");
    are_near(1 + Number(/([+−-]?[\d.,]+)/.exec(totals["Latency"][2])[1].replace("−", "-").replaceAll(",", "")) / 100, whole[1] / whole[0], "the change");
    // What a height says follows from two ticks of its axis, which is even or one of factors.
    const { ticks, points, words } = await page.$eval(".scatter-drawing", (svg) => {
      const lines = [...svg.querySelectorAll("line.axis")].filter((line) => line.getAttribute("y1") === line.getAttribute("y2"));
      return {
        ticks: lines.map((line) => ({ y: Number(line.getAttribute("y1")), text: line.nextElementSibling.textContent })),
        points: [...svg.querySelectorAll(".point circle")].map((circle) => Number(circle.getAttribute("cy"))),
        words: svg.textContent,
      };
    });
    const of_factors = /latency logarithmic|both axes logarithmic/.test(words);
    const [to, from] = of_factors ? [Math.log, Math.exp] : [(x) => x, (x) => x];
    const [low, high] = [ticks.at(of_factors ? 0 : 1), ticks.at(-1)].map(({ y, text }) => ({ y, value: to(shown(text)) }));
    const drawn = points.map((y) => from(low.value + ((high.value - low.value) * (low.y - y)) / (low.y - high.y))).toSorted((a, b) => a - b);
    const values = whole.toSorted((a, b) => a - b);
    for (const i of [0, 1]) assert.ok(Math.abs(drawn[i] / values[i] - 1) < 0.03, `the drawing: ${drawn[i]} for ${values[i]} ms`);
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
    await waitKept(page, "opened", 3);
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

test("files of one point share a name, and each stays a point", () =>
  withPage(async (page) => {
    const files = { first: 8, large: 40, second: 8, a: 24, b: 24, c: 24 };
    await dropModels(page, Object.values(files).map((n) => residualModel(n)), Object.keys(files).map((name) => `${name}.tflite`));
    const shown = await page.$$eval(".scatter .point text:not(.without-room)", (all) => all.map(({ textContent }) => textContent).sort());
    assert.deepEqual(shown, ["a and 2 more", "first and second", "large"]);
    assert.equal(await page.locator(".scatter .point").count(), 6);
  }));
