/** The npm package as a program uses it, in Node.js. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";
import { initSync, Predictor } from "../../pkg/litecast.js";
import { residualModel } from "./model.mjs";

const read = (file, encoding) => readFile(new URL(`../../${file}`, import.meta.url), encoding);

let predictor;
before(async () => {
  initSync({ module: await read("pkg/litecast_bg.wasm") });
  predictor = new Predictor(await read("bundle/predictor.onnx"), await read("bundle/manifest.json", "utf8"));
});

test("many files at once have the reports that each has alone, or its error", () => {
  const sizes = [70, 4, 23];
  const files = sizes.map((size) => ({ name: `residual_${size}.tflite`, bytes: residualModel(size) }));
  files.splice(1, 0, { name: "short.tflite", bytes: files[0].bytes.subarray(0, 100) });
  const [first, damaged, ...others] = predictor.estimateMany(files);
  assert.throws(() => predictor.estimate(files[1].bytes, files[1].name), { kind: damaged.kind, message: damaged.message });
  for (const report of [first, ...others]) {
    const { name, bytes } = files.find(({ name }) => name === report.file);
    const alone = predictor.estimate(bytes, name);
    assert.equal(report.results.length, alone.results.length);
    for (const [index, { metric, target, value }] of report.results.entries()) {
      const expected = alone.results[index].value;
      assert.ok(Math.abs(value - expected) <= 1e-4 * expected, `${name}, ${target}, ${metric}: ${value}, alone ${expected}`);
    }
  }
  assert.deepEqual(predictor.estimateMany([]), []);
});

test("a batch multiplies the work on processors, alone and among others", () => {
  const bytes = residualModel(12);
  const [one, four] = predictor.estimateMany([{ name: "one", bytes }, { name: "four", bytes, batch: 4 }]);
  assert.equal(four.model.macs, 4 * one.model.macs);
  assert.deepEqual(predictor.estimate(bytes, "four", 4), four);
  const latency = ({ results }) => results.find(({ target, metric }) => target === "cortex-a76-rpi5" && metric === "latency");
  const ratio = latency(four).value / latency(one).value;
  assert.ok(ratio > 3 && ratio < 4, `${ratio}`);
  assert.match(four.results[0].unavailable, /^takes one input at a time, found 4/);
  assert.throws(() => predictor.estimate(bytes, "none", 0), { kind: "wrong-argument" });
  assert.throws(() => predictor.estimate(bytes, "many", 5000), { kind: "batch" });
});

test("what is no file is refused", () => {
  assert.throws(() => predictor.estimateMany([{ name: "a.tflite" }]), { kind: "wrong-argument" });
  assert.throws(() => predictor.estimateMany(["a.tflite"]), { kind: "wrong-argument" });
});
