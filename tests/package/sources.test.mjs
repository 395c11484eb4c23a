/** Where the module and the files of a program come from: its own, a server, a worker, one file for all. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { entry, example, failsAs, installed, litecast, load } from "./installed.mjs";
import { read } from "./packed.mjs";

test("files of one's own are taken in every form, and a page in their place is named with the fix", async (t) => {
  const expected = litecast.estimate(example);
  const manifest = read("bundle/manifest.json", "utf8");
  const network = read("bundle/predictor.onnx");
  const bundleId = (manifest) => createHash("sha256").update(network).update(manifest).digest("hex").slice(0, 16);
  for (const given of [manifest, JSON.parse(manifest), Buffer.from(manifest), new Response(manifest), pathToFileURL("bundle/manifest.json")]) {
    const own = await load({ predictor: { network: Promise.resolve(network), manifest: given } });
    // Of the text: one that is written anew has another id.
    const bundle = given.training ? bundleId(JSON.stringify(given)) : bundleId(manifest);
    assert.deepEqual(own.estimate(example), { ...expected, bundle });
    assert.deepEqual(own.analyze(example), expected);
    own.dispose();
    assert.throws(() => own.estimate(example), failsAs("disposed", /load\(\)/));
  }
  const none = await load({ predictor: null });
  assert.deepEqual(none.estimate(example), expected);

  const server = createServer((request, response) => {
    response.writeHead(request.url.startsWith("/missing") ? 404 : 200, { "content-type": "text/html" });
    response.end("<!doctype html><title>Vite</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}`;
  const rejects = (options, kind, message) => assert.rejects(load(options), failsAs(kind, message));
  await rejects({ predictor: { network: `${url}/p.onnx`, manifest } }, "asset", new RegExp(`^${url}/p.onnx: expected an ONNX file \\(08\\), found a page of HTML.*leave out \`predictor\``));
  await rejects({ predictor: { network, manifest: `${url}/m.json` } }, "asset", /expected a manifest in JSON/);
  await rejects({ predictor: { network, manifest: await fetch(`${url}/missing`) } }, "asset", /HTTP status 404/);
  await rejects({ predictor: { network: "none.onnx", manifest } }, "asset", /none.onnx: expected a file that can be read/);
  await rejects({ predictor: {} }, "wrong-argument", /expected \{ network, manifest \}/);
  await rejects({ predictor: { network, manifest: [] } }, "wrong-argument", /manifest/);
  await rejects({ predictor: { network, manifest: { big: 1n } } }, "wrong-argument", /manifest: expected a manifest that JSON can hold/);
  await rejects({ predictors: null }, "wrong-argument", /unknown option `predictors`/);
  await rejects("wasm", "wrong-argument", /load\(\): expected an object/);

  const other = JSON.stringify({ ...JSON.parse(manifest), feature_schema_id: "0" });
  const refused = await load({ predictor: { network, manifest: other } });
  assert.throws(() => refused.estimate(example), failsAs("predictor-feature-schema", /expected feature schema .*, found 0/));
});

test("the worker has the same reports and errors", async () => {
  const worker = await entry("worker.node.js");
  const thread = await worker.load();
  assert.deepEqual(await thread.estimate(example, { name: "kws" }), litecast.estimate(example, { name: "kws" }));
  const [report, error] = await thread.estimateMany([{ bytes: example }, { bytes: example.subarray(0, 99) }], { detail: "summary" });
  assert.equal(report.model.file_bytes, example.length);
  assert.ok(error instanceof worker.LitecastError && typeof error.kind === "string");
  await assert.rejects(thread.estimate("no bytes"), { kind: "wrong-argument", name: "LitecastError" });
  await assert.rejects(thread.estimate(() => 0), { kind: "wrong-argument" });
  const membersOf = (estimator) => Object.getOwnPropertyNames(Object.getPrototypeOf(estimator)).toSorted();
  assert.deepEqual(membersOf(thread), membersOf(litecast));
  assert.equal(thread.version, litecast.version);
  assert.ok((await thread.memory_bytes) > 0);
  const [report_, limits] = [litecast.estimate(example), { latency_ms: 1 }];
  const measurements = [1, 2, 3].map((batch) => ({ report: litecast.estimate(example, { batch }), measured_ms: batch }));
  const calibration = litecast.calibrate(measurements);
  const gpus = read("bundle/gpu.json");
  const own = await load();
  const calls = {
    analyze: [example],
    estimateChanged: [example, { width: 0.5 }],
    leftOut: [example, {}, { targets: ["ethos-u55-256"] }],
    accelerators: [],
    inForce: ["ethos-u65-256"],
    compare: [report_, report_],
    calibrate: [new Set(measurements)],
    calibrated: [calibration, report_],
    defaultTargets: [],
    boards: [],
    fits: [report_.fits.need, { ram_bytes: 0, flash_bytes: 0 }],
    loadGpus: [gpus],
    loadAccelerators: [read("bundle/accelerators.json")],
    targets: [],
    sweep: [example, limits],
    sweepBatch: [example, "rtx-3090"],
  };
  for (const [method, args] of Object.entries(calls)) assert.deepEqual(await thread[method](...args), own[method](...args), method);
  own.dispose();
  const pending = thread.estimate(example);
  thread.dispose();
  await assert.rejects(pending, { kind: "disposed" });
  await assert.rejects(thread.boards(), { kind: "disposed" });

  const refused = (options, kind, message) => assert.rejects(worker.load(options), failsAs(kind, message));
  await refused(null, "wrong-argument", /load\(\): expected an object, found null/);
  await refused({ wrker: 1 }, "wrong-argument", /unknown option `wrker`/);
  await refused({ worker: 7 }, "wrong-argument", /worker: expected a Worker.*found 7/);
  await refused({ worker: "none.js" }, "wrong-argument", /none\.js/);
  await refused({ worker: path.join(installed, "none.js") }, "worker", /none\.js/);
  await refused({ worker: new URL("data:text/javascript,") }, "worker", /the thread ended/);
  const given = await worker.load({ worker: new Worker(path.join(installed, "thread.node.js")), predictor: null });
  assert.deepEqual(await given.estimate(example), litecast.estimate(example));
  given.dispose();
});

test("the inline entry estimates the same, and the file for a server is the module", async () => {
  const inline = await (await entry("inline.js")).load();
  assert.deepEqual(inline.estimate(example), litecast.estimate(example));
  const { files } = await entry("files.node.js");
  const { "litecast.wasm": wasm, ...others } = await files();
  assert.ok(WebAssembly.validate(wasm));
  assert.deepEqual(others, {});
});
