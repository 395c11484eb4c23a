/** Choosing among many files: a column of one's own, fronts by intervals, the budget, filter and pins. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropModels } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { litecast } from "./all_plans.mjs";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";

const { standingsOf } = await importSource("pareto.ts");
const { parseColumn } = await importSource("custom_column.ts");
const { splitLine } = await importSource("table_lines.ts");
const { NO_BUDGET } = await importSource("budget.ts");
const { surelyMeets } = await importSource("verdict.ts");
const { comparisonCsv } = await importSource("export/csv.ts");
const shared = browserForTests();

test("a point is surely, perhaps or not on a front, as points drawn from the intervals are always, sometimes or never", () => {
  const random = randomNumbers(7);
  for (let round = 0; round < 60; round++) {
    const n_measures = 2 + (round % 2);
    const points = Array.from({ length: 6 }, () =>
      Array.from({ length: n_measures }, () => {
        const lo = Math.floor(6 * random());
        return { lo, hi: lo + Math.floor(3 * random()) };
      }),
    );
    const found = standingsOf(points);
    const counts = points.map(() => ({ on: 0, off: 0 }));
    // The ends decide: of each pair one point at its best and the other at its worst, and a few between.
    const draws = [...Array.from({ length: 300 }, () => points.map((point) => point.map(({ lo, hi }) => lo + (hi - lo) * random()))), ...points.flatMap((_, i) => [points.map((point, j) => point.map(({ lo, hi }) => (i === j ? lo : hi))), points.map((point, j) => point.map(({ lo, hi }) => (i === j ? hi : lo)))])];
    for (const drawn of draws) {
      drawn.forEach((a, i) => {
        const is_beaten = drawn.some((b, j) => j !== i && b.every((value, k) => value <= a[k]) && b.some((value, k) => value < a[k]));
        counts[i][is_beaten ? "off" : "on"]++;
      });
    }
    counts.forEach(({ on, off }, i) => {
      if (found[i] === "surely") assert.equal(off, 0, JSON.stringify([points, i]));
      if (found[i] === "not") assert.equal(on, 0, JSON.stringify([points, i]));
      if (found[i] === "perhaps") assert.ok(off > 0, JSON.stringify([points, i]));
    });
  }
});

test("an error that nobody knows leaves open who is better", () => {
  const [known, unknown] = [{ lo: 1, hi: 2 }, { lo: -Infinity, hi: Infinity }];
  assert.deepEqual(standingsOf([[known, known], [unknown, { lo: 9, hi: 9 }]]), ["surely", "perhaps"]);
});

test("a column is read as spreadsheets and people write it", () => {
  const files = ["a.tflite", "b.tflite"];
  const values = (text) => parseColumn(text, files).values;
  assert.deepEqual(values("a.tflite,1.5\nb.tflite,2"), { "a.tflite": 1.5, "b.tflite": 2 });
  assert.deepEqual(parseColumn("file;Top-1\r\n\"runs/A.tflite\";71.5 %\r\nb;70\r\nother;1\r\n", files), { name: "Top-1", is_more_better: true, values: { "a.tflite": 71.5, "b.tflite": 70 } });
  assert.deepEqual(values("1\n2\n3"), { "a.tflite": 1, "b.tflite": 2 });
  assert.deepEqual(values("a.tflite;71,5\nb.tflite;\u22121.200,25 %"), { "a.tflite": 71.5, "b.tflite": -1200.25 });
  assert.deepEqual(values('file,Top-1,note\n"a.tflite",71.5,"wide, slow"'), { "a.tflite": 71.5 });
  assert.throws(() => values("a.tflite,71,5"), /^Error: line 1: found `a\.tflite,71,5`, expected 2 fields: put semicolons/, "a decimal comma is not a second field");
  assert.throws(() => values("a.tflite;1,200"), /^Error: line 1: found .*expected for example/, "a comma of thousands or of decimals");
  assert.throws(() => values("a.tflite,1\nb.tflite,good"), /^Error: line 2: found `b\.tflite,good`, expected for example/);
  assert.throws(() => values("c.tflite,1"), /found none of them/);
  assert.throws(() => parseColumn("x".repeat(200_001), files), /expected at most 200,000 characters/);
});

test("a line has no more in its fields than it has characters", () => {
  assert.deepEqual(splitLine('"a,b",c', ","), ["a,b", "c"]);
  const refers = `"${"a".repeat(1000)}"${"\ue0000\ue001".repeat(1000)},"\ue0001\ue001"`;
  const fields = splitLine(refers, ",");
  assert.ok(fields.join("").length <= refers.length, `${fields.join("").length} characters of ${refers.length}`);
  const files = ["x/a.tflite", "y/A.onnx", "b.tflite"];
  assert.deepEqual(parseColumn("a,1\nb,2\nz/a.tflite,3", files).values, { "x/a.tflite": 3, "y/A.onnx": 3, "b.tflite": 2 }, "the last line of a name counts");
});

test("a saved table has one's own column beside each file's estimates", () => {
  const summaries = ["a.tflite", "b.tflite"].map((file) => ({ ...litecast.estimate(residualModel(8), { name: file, targets: ["cortex-a76-rpi5"] }), file }));
  const column = { name: "=Top-1", is_more_better: true, values: { "a.tflite": 71.5 } };
  const lines = (own) => comparisonCsv(summaries, [{ file: "c.tflite", failure: "no model" }], own).trimEnd().split("\r\n");
  const [head, ...rows] = lines(column);
  assert.ok(head.endsWith(",error,'=Top-1"), head);
  assert.deepEqual([...new Set(rows.map((row) => `${row.split(",")[0]} ${row.slice(row.lastIndexOf(",") + 1)}`))], ["a.tflite 71.5", "b.tflite ", "c.tflite "]);
  assert.deepEqual(lines(null), lines(column).map((line) => line.slice(0, line.lastIndexOf(","))));
});

test("cells are typed over, kept, and become an axis; budget, filter and pins choose rows", () =>
  shared.withPage(async (page) => {
    await dropModels(page, [8, 24, 40].map((n) => residualModel(n)));
    const names = () => page.$$eval(".comparison tbody [data-open]", (all) => all.map(({ textContent }) => textContent));
    await page.click("#column-form summary");
    await page.click('#column-form button:text-is("Type into cells")');
    for (const [file, value] of [["file0.tflite", "60"], ["file1.tflite", "70"], ["file2.tflite", "65"]]) {
      await page.fill(`[data-own="${file}"]`, value);
      await page.press(`[data-own="${file}"]`, "Enter");
    }
    await page.waitForFunction(() => /Surely on the front: file0\.tflite, file1\.tflite\./.test(document.querySelector(".front-words")?.textContent ?? ""));
    assert.ok(!(await page.textContent(".front-words")).includes("file2"), "slower and less accurate than file1");
    await page.selectOption("#scatter-third", "macs");
    await page.waitForSelector(".scatter .front-words");
    await page.click('.comparison thead button:text-is("Accuracy")');
    assert.deepEqual(await names(), ["file0.tflite", "file2.tflite", "file1.tflite"]);
    await page.locator("[data-pin]").last().click();
    assert.deepEqual(await names(), ["file1.tflite", "file0.tflite", "file2.tflite"]);
    await page.click("#comparison-filter");
    await page.keyboard.type("file0");
    assert.equal(await page.inputValue("#comparison-filter"), "file0", "letters stand as they were typed");
    assert.deepEqual(await names(), ["file1.tflite", "file0.tflite"]);
    assert.equal(await page.evaluate(() => document.activeElement.id), "comparison-filter", "the focus stays");
    await page.fill("#comparison-filter", "");
    await page.fill("#comparison-budget-latency", "0.00001");
    await page.press("#comparison-budget-latency", "Enter");
    await page.waitForSelector('.comparison td.over[data-metric="latency"]');
    await page.check("#comparison-meeting");
    assert.deepEqual(await names(), ["file1.tflite"], "only what is pinned");
    await page.reload();
    await page.waitForSelector(".comparison");
    assert.equal(await page.inputValue('[data-own="file1.tflite"]'), "70");
  }));

test("within the budget is what surely meets every limit, and no file of which a limit has no estimate", () => {
  const estimate = (metric, value, lo, hi) => ({ target: "t", device: "T", metric, value, lo, hi, unit: metric === "latency" ? "ms" : "bytes", provenance: { kind: "measured" } });
  const summary = { batch: 1, results: [estimate("latency", 10, 8, 12), estimate("arena", 2048, 2048, 2048)] };
  const meets = (budget) => surelyMeets(summary, "t", { ...NO_BUDGET, ...budget });
  assert.equal(meets({}), true);
  assert.equal(meets({ latency_ms: 12 }), true);
  assert.equal(meets({ latency_ms: 11 }), false, "the interval crosses it");
  assert.equal(meets({ latency_ms: 12, memory_kib: 2 }), true);
  assert.equal(meets({ latency_ms: 12, memory_kib: 1 }), false);
  assert.equal(meets({ latency_ms: 12, energy_mj: 1e6 }), false, "nobody knows its energy");
  assert.equal(meets({ rate_hz: 83 }), true);
  assert.equal(meets({ rate_hz: 90 }), false, "the interval ends at 83.3 a second");
});

test("numbers are typed down a column and across it, and nothing that is being typed goes", () =>
  shared.withPage(async (page) => {
    await dropModels(page, [8, 24, 40].map((n) => residualModel(n)));
    await page.click("#column-form summary");
    await page.click('#column-form button:text-is("Type into cells")');
    await page.click('[data-own="file0.tflite"]');
    await page.keyboard.type("60");
    await page.keyboard.press("Enter");
    await page.keyboard.type("70");
    await page.keyboard.press("Shift+Tab");
    assert.ok(await page.evaluate(() => document.querySelector(".comparison").contains(document.activeElement)), "the keyboard goes on from the cell");
    assert.deepEqual(await page.$$eval("[data-own]", (all) => all.map(({ value }) => value)), ["60", "70", ""]);
    await page.click("#column-form summary");
    await page.fill("#column-text", "file2.tflite,65");
    await page.selectOption("#comparison-target", "");
    await page.waitForFunction(() => document.querySelectorAll(".comparison .devices th").length > 1);
    assert.equal(await page.inputValue("#column-text"), "file2.tflite,65");
    assert.ok(await page.isVisible("#column-text"), "the form stays open");
  }));

test("two hundred files are filtered and sorted", () =>
  shared.withPage(async (page) => {
    await dropModels(page, Array.from({ length: 200 }, (_, i) => residualModel(4 + (i % 40))));
    await page.fill("#comparison-filter", "file19");
    assert.equal(await page.locator(".comparison tbody tr").count(), 11);
    await page.fill("#comparison-filter", "");
    await page.locator('.comparison thead th.first button').first().click();
    const values = await page.$$eval('.comparison tbody td[data-metric="latency"] .value', (all) => all.map(({ textContent }) => Number(textContent.replaceAll(",", ""))));
    assert.equal(values.length, 200);
    assert.deepEqual(values, values.toSorted((a, b) => a - b));
  }));
