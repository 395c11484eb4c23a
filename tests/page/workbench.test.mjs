/** Where the cost goes: graph, table, search and selection, with hand and keyboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { countColours, dropBytes, dropFiles, measures, picture, REPORT_LIMIT_MS, waitDrawn, waitRepainted } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";

const { withPage, writeFile: writeModel } = browserForTests();

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
    await page.setViewportSize({ width: 1440, height: 1400 }); // the whole drawing
    await dropBytes(page, "moved.tflite", residualModel(60));
    await waitDrawn(page, "moved.tflite");
    const box = await page.locator(".drawing").boundingBox();
    const [x, y] = [box.x + box.width / 2 + 200, box.y + 140];
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
    for (let i = 0; i < 10 && !(await page.evaluate(() => document.activeElement.matches(".example"))); i++) await page.keyboard.press("Tab");
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
    assert.match(await page.textContent(".timeline-words"), /^Most activations: .+\s[KM]iB$/u, "memory over time has no limit of operators");
    await page.click('button:text-is("Table")');
    await page.waitForSelector("tr[data-operator]");
    const costs = await page.$$eval("tr[data-operator] td:nth-child(4)", (cells) => cells.map((cell) => cell.textContent));
    const shown = costs.filter((cost) => !/^(≈\s)?0$/u.test(cost)).length;
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
