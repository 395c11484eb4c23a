/** Lines of measured files: what stands in them is read, and what could be two things is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./sources.mjs";

const { readLine } = await importSource("measured_latencies.ts");

test("numbers are read with the comma or the point of their country", () => {
  const cases = [
    ["a.tflite,5.2", "", 5.2],
    ["Board,a.tflite,5.2", "Board", 5.2],
    ["Board;a.tflite;5,2", "Board", 5.2],
    ["Board\ta.tflite\t5,2", "Board", 5.2],
    ["a.tflite;5,25", "", 5.25],
    ["a.tflite;0,250", "", 0.25],
    ["a.tflite;1.234,5", "", 1234.5],
    ["a.tflite;1,234.5", "", 1234.5],
    ["a.tflite;1 234,5", "", 1234.5],
    ["a.tflite;1,234,567", "", 1234567],
    ['Board,a.tflite,"5,2"', "Board", 5.2],
    ['"Board, green",a.tflite,5.2', "Board, green", 5.2],
    ['"a ""b"".tflite";5,2', "", 5.2],
    ["a,b.tflite;5,2", "", 5.2],
    ["a.tflite,.5", "", 0.5],
    ["a.tflite,12", "", 12],
    ["a.tflite,1e3", "", 1000],
  ];
  for (const [line, device, measured_ms] of cases) {
    const read = readLine(line);
    assert.deepEqual([read.device, read.measured_ms], [device, measured_ms], `${line}: ${JSON.stringify(read)}`);
  }
  assert.equal(readLine('"a ""b"".tflite";5,2').file, 'a "b".tflite');
  assert.equal(readLine("a,b.tflite;5,2").file, "a,b.tflite");
});

test("what could be two things is refused, with what to write", () => {
  const cases = [
    ["a.tflite,5,2", /decimal comma or two fields.*5\.2/],
    ["Board,a.tflite,5,2", /decimal comma or two fields.*5\.2/],
    ["a.tflite;1,234", /write 1234 or 1\.234/],
    ["a.tflite;-5", /expected file and milliseconds/],
    ["a.tflite;0", /expected file and milliseconds/],
    ["a.tflite;fast", /expected file and milliseconds/],
    ["a.tflite;1.2.3", /expected file and milliseconds/],
    ["a;b;c;5", /expected file and milliseconds/],
    ["5", /expected file and milliseconds/],
  ];
  for (const [line, expected] of cases) assert.match(readLine(line).problem ?? "", expected, line);
});

test("a line has a length, and the fields of no line are without end", async () => {
  const { splitLine } = await importSource("table_lines.ts");
  assert.equal(splitLine(",".repeat(100_000), ",").length, 64);
  assert.deepEqual(splitLine('"a, b",c,', ","), ["a, b", "c", ""]);
});
