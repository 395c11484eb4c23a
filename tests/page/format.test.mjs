import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./sources.mjs";

const format = await importSource("format.ts");
const plain = (quantity) => format.text(quantity).replaceAll("\u202f", " ");

test("bytes have three digits and binary units", () => {
  const cases = [
    [0, "0 bytes"],
    [1, "1 byte"],
    [1023, "1,023 bytes"],
    [1024, "1.00 KiB"],
    [72_700, "71.0 KiB"],
    [1_048_575, "1.00 MiB"],
    [1_048_576, "1.00 MiB"],
    [4_193_912, "4.00 MiB"],
    [3 * 1024 ** 4, "3.00 TiB"],
  ];
  for (const [value, expected] of cases) assert.equal(plain(format.bytes(value)), expected, String(value));
});

test("counts have decimal prefixes", () => {
  const cases = [[7, "7"], [999, "999"], [1000, "1.00 k"], [300_774_272, "301 M"], [999_999_999, "1.00 G"]];
  for (const [value, expected] of cases) assert.equal(plain(format.count(value)), expected, String(value));
});

test("estimates take the unit that reads best", () => {
  const cases = [
    [[1.2345, "ms"], "1.23 ms"],
    [[0.0532, "ms"], "53.2 µs"],
    [[14.8, "ms"], "14.8 ms"],
    [[999.9, "ms"], "1.00 s"],
    [[2500, "ms"], "2.50 s"],
    [[0, "ms"], "0 ms"],
    [[0.042, "mJ"], "42.0 µJ"],
    [[1234.5, "bytes"], "1.21 KiB"],
  ];
  for (const [[value, unit], expected] of cases) assert.equal(plain(format.measure(value, unit)), expected);
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

test("percentages keep two digits", () => {
  const cases = [[4.13, "4.1 %"], [0.0068, "0.0068 %"], [99.4, "99 %"], [100, "100 %"], [312, "312 %"]];
  for (const [value, expected] of cases) assert.equal(format.percent(value).replaceAll("\u202f", " "), expected);
});
