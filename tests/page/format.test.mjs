import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { importSource } from "./sources.mjs";

const format = await importSource("format.ts");
const { roundTicks } = await importSource("ticks.ts");
const plain = (quantity) => format.text(quantity).replaceAll("\u202f", " ");

test("quantities have three digits and the unit that reads best, as in the command", async () => {
  const cases = JSON.parse(await readFile(new URL("../../src/command/quantities.json", import.meta.url), "utf8"));
  for (const [kind, value, expected] of cases) {
    const found = kind === "count" ? format.count(value) : format.measure(value, kind);
    assert.equal(plain(found), expected, `${kind} ${value}`);
  }
});

test("ends of an interval take the unit of the value", () => {
  const cases = [
    [[0.0993, "ms", 0.133], "0.0993 ms"],
    [[0.178, "ms", 0.0532], "178 µs"],
    [[1300, "ms", 900], "1,300 ms"],
    [[0.2, "mJ", 0.05], "200 µJ"],
    [[900, "bytes", 1100], "0.879 KiB"],
  ];
  for (const [[value, unit, like], expected] of cases) assert.equal(plain(format.measure(value, unit, like)), expected);
});

test("shapes name what is not known", () => {
  assert.equal(format.shape([1, 224, 224, 3]), "1×224×224×3");
  assert.equal(format.shape([-1, 10]), "?×10");
  assert.equal(format.shape([]), "scalar");
});

test("percentages keep two digits, as in the command", async () => {
  const cases = JSON.parse(await readFile(new URL("../../src/command/percentages.json", import.meta.url), "utf8"));
  for (const [value, expected] of cases) assert.equal(format.percent(value).replaceAll("\u202f", " "), expected, `${value}`);
});

test("ticks are round, inside the axis and at most one more than steps", () => {
  const cases = [
    [[0, 75437, 4], [0, 20000, 40000, 60000]],
    [[0, 4.1, 4], [0, 2, 4]],
    [[3.2, 4.9, 4], [3.5, 4, 4.5]],
    [[-7, 12, 4], [-5, 0, 5, 10]],
    [[0, 300 * 1024, 4, 1024], [0, 100 * 1024, 200 * 1024, 300 * 1024]],
    [[5, 5, 4], [5]],
    [[0, 0, 4], [0]],
  ];
  for (const [axis, expected] of cases) assert.deepEqual(roundTicks(...axis).map((tick) => Math.round(1e6 * tick) / 1e6), expected, `${axis}`);
});
