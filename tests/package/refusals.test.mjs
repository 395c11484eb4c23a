/** What the package refuses: as an error of its own, in a few words, before it is copied or walked. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { entry, example, failsAs, installed, litecast, load, LitecastError } from "./installed.mjs";
import { read } from "./packed.mjs";

test("wrong arguments are refused by name, with what was expected and found", () => {
  const wrong = (call, message) => assert.throws(call, failsAs("wrong-argument", message));
  wrong(() => litecast.estimate("model.tflite"), /expected the bytes of a model .*, found "model.tflite"/);
  wrong(() => litecast.estimate(null), /found null/);
  wrong(() => litecast.estimate({}), /found an object/);
  wrong(() => litecast.estimate([1, 2, 3]), /found an array of 3/);
  wrong(() => litecast.estimate(new Blob([])), /arrayBuffer\(\)/);
  wrong(() => litecast.estimate(Promise.resolve(example)), /found a value of type Promise/);
  const detached = new Uint8Array(example);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  for (const bytes of [detached, detached.buffer]) wrong(() => litecast.estimate(bytes), /model: expected bytes, found a buffer that was detached/);
  wrong(() => litecast.estimate(example, Promise.resolve({})), /options: expected an object, found a value of type Promise/);
  wrong(() => litecast.estimate(example, new Map()), /options: expected an object, found a value of type Map/);
  for (const batch of [2.5, -1, 0, Number.NaN, 2 ** 32, "2", null, 1n]) wrong(() => litecast.estimate(example, { batch }), /batch: expected a whole number from 1 to/);
  wrong(() => litecast.estimate(example, { threads: 0 }), /threads/);
  wrong(() => litecast.estimate(example, "name"), /options: expected an object, found "name"/);
  wrong(() => litecast.estimate(example, { bacth: 2 }), /unknown option `bacth`/);
  wrong(() => litecast.estimate(example, { detail: "all" }), /detail/);
  wrong(() => litecast.estimate(example, { name: 7 }), /name: expected a string/);
  wrong(() => litecast.estimateMany({ 0: example }), /models: expected an array, found an object/);
  wrong(() => litecast.estimateMany(example), /models: expected an array/);
  wrong(() => litecast.estimateMany([{ name: "a.tflite" }]), /models\[0\]\.bytes.*found undefined/);
  wrong(() => litecast.estimateMany(["a.tflite"]), /models\[0\]/);
  wrong(() => litecast.compare({}, {}), /before: expected a report/);
  const report = litecast.estimate(example);
  wrong(() => litecast.compare({ ...report, model: null }, report), /before\.model: expected an object, found null/);
  wrong(() => litecast.compare(report, { ...report, model: {} }), /after\.model\.file_bytes: expected a number, found undefined/);
  wrong(() => litecast.compare(report, { ...report, results: [null] }), /after\.results\[0\]: expected an object/);
  wrong(() => litecast.compare(report, { ...report, results: [{ ...report.results[0], value: Number.NaN }] }), /after\.results\[0\]\.value: expected a number, found NaN/);
  wrong(() => litecast.estimate(example, { targets: [, "ethos-u55-128"] }), /targets\[0\]: expected the id of a target or an object, found undefined/);
  wrong(() => litecast.estimate(example, { application: { ram_bytes: 1e300 } }), /application\.ram_bytes: expected a whole number from 0 to/);
  wrong(() => litecast.estimateChanged(example, { widht: 0.5 }), /changes: unknown option `widht`/);
  wrong(() => litecast.estimateChanged(example, { resolution: [1, 2] }), /changes\.resolution: expected a number, found an array of 2/);
  wrong(() => litecast.estimateChanged(example, { int8: 1 }), /changes\.int8: expected true or false, found 1/);
  wrong(() => litecast.estimateChanged(example, { channels: { from: 8 } }), /changes\.channels\.to: expected a whole number from 1 to .*, found undefined/);
  wrong(() => litecast.estimateChanged(example, { channels: { from: 8, to: 2 ** 31 } }), /changes\.channels\.to: expected a whole number below/);
  wrong(() => litecast.accelerators(7), /vela_ini: expected a string, found 7/);
  wrong(() => litecast.calibrate({}), /measurements/);
});

test("what is no model is refused by the reader's kinds", () => {
  assert.throws(() => litecast.estimate(new Uint8Array()), failsAs("truncated", /./));
  assert.throws(() => litecast.estimate(new Uint8Array(1000)), (error) => error instanceof LitecastError && error.kind !== "internal");
  assert.throws(() => litecast.analyze(example.subarray(0, 500)), (error) => error instanceof LitecastError && error.kind !== "internal");
});

test("what is thrown is readable where Node.js prints it", () => {
  const script = `import { load } from ${JSON.stringify(pathToFileURL(path.join(installed, "index.node.js")))}; (await load()).estimate(new Uint8Array(9));`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });
  console.log(stderr);
  assert.equal(status, 1);
  assert.match(stderr, /LitecastError: /);
  assert.ok(stderr.length < 2000 && stderr.split("\n").every((line) => line.length <= 300), `${stderr.length} characters`);
});

test("files of 2 GiB and more are refused one by one, in every method and in a worker", async () => {
  const large = new Uint8Array(2 ** 31); // of zeros that nobody reads: the system gives no memory for them
  const words = /model.*: expected a file of at most 2147483647 bytes, found 2147483648$/;
  for (const options of [undefined, { detail: "summary" }]) {
    const [first, error, named, last] = litecast.estimateMany([example, large, { name: "large", bytes: large.buffer }, example], options);
    for (const report of [first, last]) assert.equal(report.model.n_operators, first.model.n_operators);
    for (const refused of [error, named]) failsAs("too-large", words)(refused);
  }
  const asked = {
    estimate: [large],
    analyze: [large],
    estimateChanged: [large, {}],
    leftOut: [large, {}, { targets: ["ethos-u55-128"] }],
    sweep: [large, {}],
    sweepBatch: [large, "rtx-3090"],
  };
  for (const [method, args] of Object.entries(asked)) assert.throws(() => litecast[method](...args), failsAs("too-large", words), method);
  assert.throws(() => litecast.loadGpus(large), failsAs("too-large", /constants: expected a file of at most/));
  const { load: loadWorker } = await entry("worker.node.js");
  const worker = await loadWorker();
  const [report, error] = await worker.estimateMany([example, large]);
  assert.ok(report.model.n_operators > 0);
  failsAs("too-large", words)(error);
  await assert.rejects(worker.estimate(large), failsAs("too-large", words));
  worker.dispose();
});

test("lists without end, and arrays of empty places, are refused before they are walked", () => {
  const empty = new Array(1e8);
  const graph = JSON.parse(read("docs/guide/graph-json.md", "utf8").match(/```json\n(\{[\s\S]*?\n\})\n```/)[1]);
  assert.ok(litecast.estimate(graph).model.n_operators > 0);
  // What is asked of a list is counted: a hundred million places would be.
  let n_asked = 0;
  const watched = new Proxy(empty, {
    get(target, name) {
      n_asked += 1;
      return target[name];
    },
  });
  for (const [name, value] of Object.entries(graph)) {
    if (Array.isArray(value)) assert.throws(() => litecast.estimate({ ...graph, [name]: watched }), failsAs("too-large", /at most 16777216 characters as JSON/), name);
  }
  const deep = Array.from({ length: 40 }).reduce((inner) => [inner, inner], 1);
  assert.throws(() => litecast.estimate({ ...graph, operators: deep }), failsAs("too-large", /as JSON/), "two of the same, forty levels deep");
  const circle = { ...graph };
  circle.operators = circle;
  assert.throws(() => litecast.estimate(circle), failsAs("wrong-argument", /JSON can hold/));
  assert.throws(() => litecast.estimate({ ...graph, operators: new Float64Array(1e7) }), failsAs("too-large", /as JSON/));
  const words = /expected at most 1048576 items, found 100000000/;
  assert.throws(() => litecast.estimateMany(watched), failsAs("too-large", words));
  // Each target of a call has a report of all operators.
  const of_targets = (n) => () => litecast.estimate(example, { targets: Array(n).fill("ethos-u55-256"), detail: "summary" });
  assert.throws(of_targets(513), failsAs("too-large", /targets: expected at most 512 items, found 513/));
  assert.ok(of_targets(512)().results.length > 0);
  assert.throws(() => litecast.estimate(example, { targets: watched }), failsAs("too-large", /at most 512 items, found 100000000/));
  assert.throws(() => litecast.calibrate(watched), failsAs("too-large", words));
  assert.ok(n_asked < 1000, `${n_asked} places were asked for`);
  const endless = { *[Symbol.iterator]() { for (;;) yield example; } };
  assert.throws(() => litecast.calibrate(endless), failsAs("too-large", /at most 1048576 items/));
  assert.throws(() => litecast.estimate(example, { name: "n".repeat(2 ** 20) }), failsAs("wrong-argument", /name: expected at most 65536 characters/));
  assert.throws(() => litecast.accelerators(" ".repeat(2 ** 21)), failsAs("wrong-argument", /vela_ini: expected at most 1048576 characters/));
});

test("reports and devices that JSON cannot hold are wrong arguments", async () => {
  const devices = await (await entry("devices.node.js")).load();
  const report = litecast.estimate(example, { name: "model.tflite" });
  const profile = "model,latency\nmodel.tflite,12 ms\n";
  const device = devices.measure("Board", report, profile);
  const circle = {};
  circle.circle = circle;
  let deep = [];
  for (let i = 0; i < 100_000; i++) deep = [deep];
  const impossible = { circle, deep, big: 1n, toJSON: () => undefined };
  for (const [name, value] of Object.entries(impossible)) {
    const refused = failsAs("wrong-argument", /expected a (report|device) that JSON can hold/);
    assert.throws(() => devices.measure("Board", { ...report, [name]: value }, profile), refused, name);
    assert.throws(() => devices.measure("Board", report, profile, { device: { ...device, [name]: value } }), refused, name);
    assert.throws(() => devices.facts({ ...device, [name]: value }), refused, name);
  }
  const thrown = { get operators() { throw null; } };
  assert.throws(() => devices.measure("Board", thrown, profile), failsAs("wrong-argument", /report: expected/));
  const empty = new Array(2 ** 28);
  const start = process.cpuUsage();
  assert.throws(() => devices.measure("Board", { ...report, operators: empty }, profile), failsAs("too-large", /report: expected .* at most/));
  assert.throws(() => devices.facts({ ...device, networks: empty }), failsAs("too-large", /device: expected .* at most/));
  assert.ok(process.cpuUsage(start).user < 1e6, "places that are empty are not walked");
  const long = "x".repeat(2 ** 20);
  for (const refuse of [() => devices.measure("Board", report, profile, { [long]: 1 }), () => litecast.estimate(example, { [long]: 1 })]) {
    assert.throws(refuse, ({ kind, message }) => kind === "wrong-argument" && message.length < 1000);
  }
});
