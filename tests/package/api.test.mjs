/** The package as a program uses it, in Node.js, from the archive that npm packs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { mixedModel, residualGraph, residualModel } from "../page/model.mjs";
import { onnxWithOpenSize } from "../page/onnx.mjs";
import { archive, entry, example, failsAs, litecast, load, LitecastError } from "./installed.mjs";
import { read, root } from "./packed.mjs";

test("the archive has what a program needs", () => {
  console.log(`packed ${archive.size} bytes, unpacked ${archive.unpackedSize}`);
  const names = archive.files.map((file) => file.path);
  for (const name of ["README.md", "LICENSE", "NOTICE", "index.d.ts", "worker.d.ts", "report.d.ts", "ids.d.ts"]) assert.ok(names.includes(name), name);
});

test("npx litecast prints what the library estimates", () => {
  const bin = path.join(root, "pkg/bin/litecast.mjs");
  const file = path.join(root, "www/examples/cnn-kws-s7-i43.tflite");
  const run = (...args) => spawnSync(process.execPath, [bin, ...args], { encoding: "utf8" });
  const printed = JSON.parse(run("--json", "--target", "cortex-a76-rpi5", file).stdout);
  const [{ value, unit }] = litecast.estimate(example, { targets: ["cortex-a76-rpi5"] }).results;
  assert.equal(printed.results[0].value, value);
  assert.match(run(file, "--target", "cortex-a76-rpi5").stdout, new RegExp(`latency: ${Number(value.toPrecision(3))} ${unit} .*, measured`));
  const [{ expected_error_percent }] = litecast.estimate(example, { targets: ["cortex-a53-imx8mp"] }).results;
  const error = `±${Number(expected_error_percent.toPrecision(2))} % against hardware`;
  assert.match(run(file, "--target", "cortex-a53-imx8mp").stdout, new RegExp(`, measured, ${error}`, "u"));
  assert.match(run(file, "--target", "ethos-u55-256").stdout, /latency: .*, compiler, 90 % interval, ±0\.\d+ % against Vela 5\.2\.0/);
  assert.match(run(file, "--target", "rtx-3090").stderr, /constants are not loaded: they are not part of the package; the native command has them/);
  assert.equal(run().status, 2);
  const missing = run("not\u001b[31mhere.tflite", file);
  assert.equal(missing.status, 1);
  assert.ok(!missing.stderr.includes("\u001b") && missing.stdout.includes("latency"));
});

test("many files at once have the reports that each has alone, or its error", () => {
  const sizes = [70, 4, 23];
  const files = sizes.map((size) => ({ name: `residual_${size}.tflite`, bytes: residualModel(size) }));
  files.splice(1, 0, { name: "short.tflite", bytes: files[0].bytes.subarray(0, 100) });
  const [first, damaged, ...others] = litecast.estimateMany(files);
  assert.throws(() => litecast.estimate(files[1].bytes), failsAs(damaged.kind, /./));
  let worst = 0;
  for (const report of [first, ...others]) {
    const { name, bytes } = files.find(({ name }) => name === report.file);
    const alone = litecast.estimate(bytes, { name });
    assert.equal(report.results.length, alone.results.length);
    for (const [index, { metric, target, value }] of report.results.entries()) {
      const expected = alone.results[index].value;
      worst = Math.max(worst, Math.abs(value - expected) / expected);
      assert.ok(Math.abs(value - expected) <= 1e-4 * expected, `${name}, ${target}, ${metric}: ${value}, alone ${expected}`);
    }
  }
  console.log(`largest relative difference ${worst.toExponential(1)}`);
  assert.deepEqual(litecast.estimateMany([]), []);
});

test("files of many calls of the module come back in their order", () => {
  const sizes = Array.from({ length: 150 }, (_, idx) => 4 + (idx % 7));
  const reports = litecast.estimateMany(sizes.map((size) => residualModel(size)), { detail: "summary" });
  assert.deepEqual(reports.map((report) => report.model.n_operators), sizes);
});

test("a summary has the numbers of the report, without single operators", () => {
  const full = litecast.estimate(example, { name: "kws" });
  const summary = litecast.estimate(example, { name: "kws", detail: "summary" });
  const { operators, tensors, edges, fits, ...others } = full;
  assert.ok(operators.length > 0 && tensors.length > 0 && edges.length > 0);
  assert.ok(full.results.some((result) => result.operators?.length === operators.length));
  const results = full.results.map(({ operators, ...result }) => result);
  assert.equal(fits.boards.length > 0, true);
  assert.deepEqual(summary, { ...others, sha256: null, results });
});

test("a batch multiplies the work, alone and among others", () => {
  const bytes = residualModel(12);
  const [one, four] = litecast.estimateMany([{ name: "one", bytes }, { name: "four", bytes, batch: 4 }]);
  assert.equal(four.model.macs, 4 * one.model.macs);
  assert.deepEqual(litecast.estimate(bytes, { name: "four", batch: 4 }), four);
  const latency = ({ results }, target) => results.find((result) => result.target === target && result.metric === "latency").value;
  for (const target of ["cortex-a76-rpi5", "ethos-u55-256"]) {
    const ratio = latency(four, target) / latency(one, target);
    assert.ok(ratio > 2.5 && ratio < 4.2, `${target}: ${ratio}`);
  }
  assert.throws(() => litecast.estimate(bytes, { batch: 5000 }), failsAs("batch", /./));
});

test("bytes are taken in every form, and from the middle of a buffer", () => {
  const expected = litecast.estimate(example);
  const inside = new Uint8Array(example.length + 10);
  inside.set(example, 7);
  const array_buffer = inside.buffer.slice(7, 7 + example.length);
  const shared = new Uint8Array(new SharedArrayBuffer(example.length));
  shared.set(example);
  for (const bytes of [array_buffer, inside.subarray(7, 7 + example.length), new DataView(array_buffer), new Uint8ClampedArray(array_buffer), shared.buffer]) {
    assert.deepEqual(litecast.estimate(bytes), expected);
  }
});

test("targets are chosen with their configurations, as the command does", () => {
  const ids = (targets) => [...new Set(litecast.estimate(example, { targets }).results.map(({ target }) => target))];
  assert.deepEqual(ids(["ethos-u55-128", "cortex-m4-tflm"]), ["ethos-u55-128", "cortex-m4-tflm"]);
  assert.deepEqual(ids(["ethos-u65-256", { board: "imx93" }]), ["ethos-u65-256", "imx93/ethos-u65-256"]);
  const latency = (choice) => litecast.estimate(example, { targets: [choice], detail: "summary" }).results.find(({ metric }) => metric === "latency");
  const [shared, only] = ["Shared_Sram", "Sram_Only"].map((memory_mode) => latency({ target: "ethos-u55-128", memory_mode }));
  assert.match(shared.provenance.configuration, /Shared_Sram$/);
  assert.match(only.provenance.configuration, /Sram_Only$/);
  assert.ok(shared.value !== only.value, `${shared.value}, ${only.value}`);
  const sram = (choice) => litecast.estimate(example, { targets: [choice] }).results.find(({ metric }) => metric === "sram_peak").value;
  const [fast_sram, small_sram] = [undefined, "Size"].map((optimise) => sram({ target: "ethos-u55-128", optimise }));
  assert.ok(small_sram <= fast_sram, `${small_sram}, ${fast_sram}`);
  const slow = latency({ target: "cortex-m4-tflm", clock_mhz: 32 }).value;
  const fast = latency({ target: "cortex-m4-tflm", clock_mhz: 64 }).value;
  assert.ok(slow > 1.5 * fast, `${slow}, ${fast}`);
  const refused = (targets, kind, message) => assert.throws(() => litecast.estimate(example, { targets }), failsAs(kind, message));
  refused("ethos-u55-128", "wrong-argument", /targets: expected an array, found "ethos-u55-128"/);
  refused([], "wrong-argument", /at least one/);
  refused([7], "wrong-argument", /targets\[0\]/);
  refused(["ethos-u55"], "unknown-target", /did you mean ethos-u55-/);
  refused(["raspberry-pi-5"], "unknown-target", /did you mean cortex-a76-rpi5/);
  refused([{ board: "i.MX 93" }], "unknown-board", /did you mean the board imx93/);
  refused([{ board: "none" }], "unknown-board", /no board has this id/);
  refused([{ target: "ethos-u55-128", board: "imx93" }], "wrong-argument", /either/);
  refused([{ target: "ethos-u55-128", mode: "Sram_Only" }], "wrong-argument", /unknown option `mode`/);
  refused([{ target: "ethos-u55-128", memory_mode: "None" }], "configuration", /None/);
  refused([{ target: "ethos-u55-128", optimise: "Speed" }], "wrong-argument", /^targets\[0\]\.optimise: expected "Performance" or "Size", found "Speed"$/);
  refused([{ target: "ethos-u55-128", clock_mhz: Infinity }], "wrong-argument", /^targets\[0\]\.clock_mhz: expected a finite number, found Infinity$/);
  refused([{ target: "cortex-m7-stm32h747", release: 8 }], "wrong-argument", /^targets\[0\]\.release: expected a string, found 8$/);
  refused([{ target: "cortex-m4-tflm", optimise: "Size" }], "wrong-argument", /optimise/);
  refused([{ target: "cortex-m4-tflm", clock_mhz: Number.NaN }], "wrong-argument", /clock/);
});

test("a sweep has the estimates of reports, and the smallest by a naive search", () => {
  const { npus } = litecast.accelerators();
  const { results } = litecast.estimate(example, { targets: npus.map(({ id }) => id), detail: "summary" });
  const latency_ms = 1;
  const { limits, points, smallest } = litecast.sweep(example, { latency_ms });
  assert.deepEqual(limits, { latency_ms, sram_bytes: null, clock_mhz: 1000 });
  assert.equal(points.length, npus.length);
  for (const { target, clock_mhz, latency_ms: latency, sram_bytes, needed_mhz } of points) {
    const of = (wanted) => results.find((result) => result.target === target && result.metric === wanted);
    assert.equal(latency.value, of("latency").value, target);
    assert.equal(sram_bytes.value, of("sram_peak").value, target);
    const { clock_mhz: expected_mhz } = npus.find(({ id }) => id === target);
    assert.equal(clock_mhz, expected_mhz);
    const expected = (clock_mhz * (of("latency").hi ?? of("latency").value)) / latency_ms;
    assert.ok(Math.abs(needed_mhz - expected) < 1e-9 * expected, `${target}: ${needed_mhz}, ${expected}`);
  }
  // Each row says what it rests on, and doubts come along.
  const mixed = litecast.sweep(mixedModel(), { latency_ms });
  const report = litecast.estimate(mixedModel(), { targets: mixed.points.map(({ target }) => target) });
  for (const { target, latency_ms: latency, sram_bytes } of mixed.points) {
    const of = (metric) => report.results.find((result) => result.target === target && result.metric === metric).evidence;
    assert.deepEqual([latency.evidence, sram_bytes.evidence], [of("latency"), of("sram_peak")], target);
  }
  assert.ok(mixed.points.some((point) => point.latency_ms.evidence === "assumed") && mixed.doubts.some(({ code }) => code === "few-measurements"), JSON.stringify(mixed.doubts));
  const macs = points.map(({ macs_per_cycle }) => macs_per_cycle);
  assert.deepEqual(macs, macs.toSorted((a, b) => a - b));
  assert.equal(smallest, points.findIndex(({ needed_mhz }) => needed_mhz <= 1000));
  assert.equal(litecast.sweep(example, { latency_ms, sram_bytes: 1 }).smallest, null);
  const narrow = litecast.sweep(example, { latency_ms }, { width: 0.5 }).points;
  assert.ok(narrow.every((point, idx) => point.latency_ms.value < points[idx].latency_ms.value));
  assert.throws(() => litecast.sweep(example, { latency_ms: 0 }), failsAs("wrong-argument", /limits\.latency_ms: expected a number above 0, found 0/));
  assert.throws(() => litecast.sweep(example, { latency: 1 }), failsAs("wrong-argument", /unknown option `latency`/));
  assert.equal(litecast.sweep(example, { latency_ms }, {}, { batch: 2 }).points.length, npus.length);
});

/** What `make test` built before, or another one. */
const COMMAND = process.env.LITECAST_COMMAND ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, "target"), "debug/litecast");
const no_command = !existsSync(COMMAND) && `${COMMAND} is not there (cargo build)`;

test("reports are those of the command", { skip: no_command }, () => {
  const shared = ["../shared/models", "../shared/models-mcu"].map((folder) => path.join(root, folder)).filter((folder) => existsSync(folder));
  const folders = [path.join(root, "www/examples"), ...shared];
  const said = spawnSync(COMMAND, ["predict", "--json", ...folders], { encoding: "utf8", maxBuffer: 2 ** 30 }).stdout;
  const expected = said.trim().split("\n").map((line) => JSON.parse(line));
  const count = { reports: 0, numbers: 0, same: 0, worst: 0 };
  /** Compares everything. Exponentials are rounded otherwise. */
  const compare = (ours, theirs, place) => {
    if (typeof ours === "number" && typeof theirs === "number") {
      count.numbers += 1;
      if (Object.is(ours, theirs)) return void (count.same += 1);
      const difference = Math.abs(ours - theirs) / Math.max(Math.abs(ours), Math.abs(theirs));
      assert.ok(difference <= 1e-12, `${place}: ${ours}, the command ${theirs}`);
      count.worst = Math.max(count.worst, difference);
    } else if (typeof ours === "object" && typeof theirs === "object" && ours !== null && theirs !== null) {
      assert.deepEqual(Object.keys(ours), Object.keys(theirs), place);
      for (const name of Object.keys(ours)) compare(ours[name], theirs[name], `${place}.${name}`);
    } else assert.deepEqual(ours, theirs, place);
  };
  for (const report of expected) {
    const bytes = readFileSync(report.file);
    if (report.error) {
      assert.throws(() => litecast.estimate(bytes), { kind: report.error.kind, message: report.error.message });
      continue;
    }
    compare(litecast.estimate(bytes, { name: report.file }), report, path.basename(report.file));
    count.reports += 1;
  }
  assert.ok(count.reports >= 3);
  console.log(`${count.reports} reports: ${count.same} of ${count.numbers} numbers the same, others off by ${count.worst.toExponential(1)} at most`);
});

test("what an Ethos-U leaves out is estimated on the chosen host", () => {
  const target = "ethos-u55-256";
  const model = mixedModel();
  const value = (report, metric, of = target) => report.results.find((result) => result.target === of && result.metric === metric);
  const families = new Map(litecast.targets().map(({ id, description }) => [id, description.family.id]));
  const values = litecast.accelerators().hosts.map(({ id, device }) => {
    const report = litecast.estimate(model, { targets: [{ target, host: id }, ...(families.get(id) === "processors" ? [id] : [])] });
    const [{ host, operators }] = report.left_out;
    assert.equal(host.id, id);
    assert.ok(device.startsWith(host.device.split(" at ")[0]), `${device}, ${host.device}`);
    const whole = value(report, "latency").value;
    // What an inference takes besides its operators is shared by more of them where the processor runs the whole network.
    const alone = value(report, "latency", id);
    const on_host = operators.map(({ operator }) => alone?.operators[operator] ?? Number.NaN).reduce((sum, ms) => sum + ms, 0);
    const difference = whole - value(report, "npu_latency").value;
    if (alone) assert.ok(difference > 0.9 * on_host && difference < 1.3 * on_host, `${id}: ${difference} ms, alone ${on_host} ms`);
    assert.ok(difference > 0);
    return whole;
  });
  console.log(`the whole network with ${values.length} hosts: ${values.map((ms) => ms.toPrecision(3)).join(", ")} ms`);
  assert.equal(new Set(values).size, values.length);
  assert.throws(() => litecast.estimate(model, { targets: [{ target, host: "8051" }] }), failsAs("unknown-host", /host 8051: expected one of/));
});

test("a hash that is known is reported, and otherwise computed", () => {
  const sha256 = createHash("sha256").update(example).digest("hex");
  assert.equal(litecast.estimate(example).sha256, sha256);
  const known = "0123456789abcdef".repeat(4);
  assert.equal(litecast.estimateMany([{ bytes: example, sha256: known }])[0].sha256, known);
  assert.throws(() => litecast.estimateMany([{ bytes: example, sha256: "12" }]), failsAs("wrong-argument", /models\[0\]\.sha256: expected 64 hexadecimal digits/));
});

test("no target asks a network: analyze has the report of estimate", () => {
  const report = litecast.analyze(example, { name: "kws" });
  assert.deepEqual(report, litecast.estimate(example, { name: "kws" }));
  assert.equal(report.bundle, null);
  assert.ok(report.results.every(({ provenance }) => !provenance?.kind.startsWith("learned from compiler")));
});

test("two reports are compared metric by metric", () => {
  const [small, large] = litecast.estimateMany([{ name: "small", bytes: residualModel(12) }, { name: "large", bytes: residualModel(24) }]);
  const { before: first, after, facts, results } = litecast.compare(small, large);
  assert.deepEqual([first, after], ["small", "large"]);
  assert.deepEqual(facts.find(({ fact }) => fact === "n_operators"), { fact: "n_operators", unit: "operators", before: 12, after: 24, difference: 12, change_percent: 100 });
  assert.equal(results.length, small.results.length);
  for (const [index, { value }] of small.results.entries()) assert.equal(results[index].before, value ?? null);
  assert.ok(results.some(({ is_within_intervals }) => is_within_intervals === false));
});

test("floats are estimated as int8 where integers alone run, and numbers say what they rest on", () => {
  const floats = JSON.parse(JSON.stringify(residualGraph(8)).replaceAll(/"int(8|32)"/g, '"float32"'));
  const latencies = (precision) => {
    const { results } = litecast.estimate(floats, { targets: ["ethos-u55-256", "cortex-a76-rpi5"], ...(precision ? { precision } : {}) });
    return results.filter(({ metric }) => metric === "latency");
  };
  const [npu, processor] = latencies();
  assert.deepEqual([npu.estimated_as, npu.evidence, processor.estimated_as, processor.evidence], ["int8", "compiler", undefined, "measured"]);
  assert.match(latencies("as-is")[0].unavailable, /FLOAT32/);
  assert.equal(latencies("int8")[0].value, npu.value);
  assert.equal(litecast.estimate(floats, { precision: "int8" }).model.precision, "int8");
  // On a processor int8 is faster where multiplications take the time; in small operators other work decides.
  assert.notEqual(latencies("int8")[1].value, processor.value);
  const tensor = (name, shape, is_constant = false) => ({ name, shape, type: "float32", constant: is_constant });
  const tensors = [tensor("x", [1, 32, 32, 64]), tensor("w", [64, 3, 3, 64], true), tensor("b", [64], true), tensor("y", [1, 32, 32, 64])];
  const wide = { format: "litecast-graph", version: 1, inputs: ["x"], outputs: ["y"], tensors, operators: [{ kind: "CONV_2D", inputs: ["x", "w", "b"], outputs: ["y"], attributes: { stride: [1, 1], padding: "SAME" } }] };
  const targets = ["cortex-a76-rpi5", "cortex-a72-rpi4"];
  const [as_floats, as_int8] = ["as-is", "int8"].map((precision) => litecast.estimate(wide, { targets, precision }).results.filter(({ metric }) => metric === "latency"));
  for (const [i, { target, value }] of as_int8.entries()) assert.ok(value < as_floats[i].value, `${target}: ${value} ms as int8, ${as_floats[i].value} ms as it is`);
  assert.throws(() => latencies("int4"), failsAs("wrong-argument", /precision: expected "auto", "int8" or "as-is"/));
});

test("a release of ST Edge AI is part of a target, and every way to name it has the same estimate", () => {
  const st = "cortex-m7-stm32h747";
  const of = (choice) => litecast.estimate(example, { targets: [choice] }).results;
  const latency = (results) => results.find(({ metric }) => metric === "latency");
  const releases = ["7", "8", "10", "10-time"].map((release) => [release, latency(of(`${st}@${release}`))]);
  for (const [release, { target, device, value }] of releases) {
    assert.equal(target, `${st}@${release}`);
    assert.match(device, new RegExp(`ST Edge AI Core \\(Cube\\.AI\\) ${release.split("-")[0]}\\.`));
    assert.equal(latency(of({ target: st, release })).value, value);
    assert.equal(latency(of({ board: "stm32h747i-disco", release })).value, value);
  }
  const values = releases.map(([, { value }]) => value);
  assert.deepEqual(values, values.toSorted((a, b) => b - a), "newer ones are faster");
  assert.equal(latency(of(st)).value, values[2]);
  // One that was measured on another core alone is no measurement of this one.
  assert.deepEqual(releases.map(([, { evidence }]) => evidence), ["measured", "measured", "measured", "assumed"]);
  const [before, after] = [`${st}@7`, `${st}@10`].map((target) => litecast.estimate(example, { targets: [{ target, name: "st" }] }));
  assert.ok(litecast.compare(before, after).results.find(({ metric }) => metric === "latency").change_percent < 0);
  for (const [choice, words] of [
    [`${st}@6`, /cortex-m7-stm32h747@6, release 6: expected one of 7, 7-time, 8/],
    [{ target: "cortex-m4-tflm", release: "8" }, /cortex-m4-tflm, release 8: expected none, because this runtime was measured in one release/],
  ]) assert.throws(() => of(choice), failsAs("unknown-release", words));
  assert.throws(() => of({ target: "edgetpu", release: "8" }), failsAs("wrong-argument", /`release` is an option of ST Edge AI/));
});

test("what an Ethos-U leaves out is that of the report, of a network of floats too", () => {
  const floats = JSON.parse(JSON.stringify(residualGraph(8)).replaceAll(/"int(8|32)"/g, '"float32"'));
  for (const [name, model, n_left] of [["floats", floats, 0], ["mixed", mixedModel(), null]]) {
    const { left_out = [] } = litecast.estimate(model, { targets: ["ethos-u55-256"] });
    const [left] = litecast.leftOut(model, {}, { targets: ["ethos-u55-256"] });
    assert.deepEqual(left.map(({ operator }) => operator), (left_out[0]?.operators ?? []).map(({ operator }) => operator), name);
    if (n_left !== null) assert.equal(left.length, n_left, name);
  }
  const [as_is] = litecast.leftOut(floats, {}, { targets: ["ethos-u55-256"], precision: "as-is" });
  assert.equal(as_is.length, 8);
  assert.match(as_is[0].reason, /^FLOAT32 activations \(input 0\)$/);
});

test("clock and SRAM in force are those of the estimates", () => {
  assert.deepEqual(litecast.inForce({ board: "imx93" }), { clock_mhz: 1000, arena_cache_bytes: 384 * 1024 });
  assert.deepEqual(litecast.inForce("cortex-a76-rpi5"), { clock_mhz: null, arena_cache_bytes: null });
  const { arena_cache_bytes } = litecast.inForce({ target: "ethos-u65-256", memory_mode: "Dedicated_Sram_256KB" });
  assert.equal(arena_cache_bytes, 256 * 1024);
});

test("a report of the last version is compared as one of this version, one of the next is refused", () => {
  const stored = JSON.parse(read("tests/stored_reports/version-1.json"));
  assert.equal(stored.schema_version, 1);
  const { results } = litecast.compare(stored, stored);
  const known = stored.results.filter(({ value }) => value !== undefined);
  assert.ok(known.length > 0);
  assert.deepEqual(results.filter(({ before }) => before !== null).map(({ change_percent }) => change_percent), known.map(() => 0));
  // The latency of that version was the NPU's part where another metric was that of the whole network.
  const stored_as = (target, metric) => stored.results.find((result) => result.target === target && result.metric === metric).value;
  const read_as = (target, metric) => results.find((result) => result.target === target && result.metric === metric).before;
  assert.equal(read_as("ethos-u55-128", "latency"), stored_as("ethos-u55-128", "end_to_end_latency"));
  // The NPU of a board had the id of the NPU, which is the compiler's now.
  assert.equal(read_as("imx93/ethos-u65-256", "latency"), stored_as("ethos-u65-256", "board_latency"));
  assert.equal(read_as("imx93/ethos-u65-256", "npu_latency"), stored_as("ethos-u65-256", "latency"));
  assert.ok(results.every(({ target }) => target !== "ethos-u65-256"));
  // The arena was its part for activations.
  const arena = results.find(({ target }) => target === "tflite-micro");
  assert.deepEqual([arena.before, arena.evidence_before], [stored.fits.need.arena_bytes, "counted"]);
  assert.equal(read_as("cortex-m7-tflm", "file_flash"), stored_as("cortex-m7-tflm", "weights_flash"));
  assert.throws(() => litecast.compare(stored, { ...stored, schema_version: 3 }), failsAs("wrong-argument", /after\.schema_version: expected 1 or 2, found 3/));
});

test("a comparison is the document that the command prints", () => {
  const { before, after, comparison } = JSON.parse(read("tests/cli/comparison.json"));
  assert.deepEqual(litecast.compare(before, after), comparison);
});

test("sparse weights are estimated dense as int8", () => {
  const numbers = (name) => {
    const report = litecast.estimate(readFileSync(path.join(root, `tests/sparse_weights/${name}.tflite`)), { precision: "int8", targets: ["ethos-u55-128", "cortex-a76-rpi5", "cortex-m7-tflm"] });
    return report.results.map(({ target, metric, value, unavailable }) => [target, metric, value, unavailable]);
  };
  const dense = numbers("dense");
  assert.ok(dense.every(([, , value]) => value !== undefined), `${dense}`);
  for (const name of ["rows", "blocks", "halves"]) assert.deepEqual(numbers(name), dense, name);
});

test("lists of targets are freed, however many there were", () => {
  const at = (clock_mhz) => litecast.estimate(example, { targets: [{ target: "cortex-m4-tflm", clock_mhz }], detail: "summary" }).results[0].value;
  const [first, bytes] = [at(10), litecast.memory_bytes];
  for (let clock_mhz = 11; clock_mhz < 2000; clock_mhz++) at(clock_mhz);
  assert.equal(at(10), first);
  console.log(`${litecast.memory_bytes - bytes} bytes more after 2,000 lists`);
  assert.ok(litecast.memory_bytes - bytes <= 2 ** 20, `${litecast.memory_bytes - bytes}`);
});

test("sizes are given by name, and names of no open dimension are refused", () => {
  const open = onnxWithOpenSize("seq");
  assert.throws(() => litecast.estimate(open), (error) => failsAs("unknown-dimension", /give \{ dimensions: \{ "seq": size \} \}/)(error) && error.dimensions[0] === "seq");
  const dimensions = { seq: 3 };
  assert.equal(litecast.estimate(open, { dimensions }).model.n_operators, 1);
  // As the cache of a first inference is, which ONNX Runtime runs.
  const { model: empty, tensors } = litecast.estimate(open, { dimensions: { seq: 0 } });
  assert.deepEqual([empty.activation_bytes, tensors[empty.inputs[0]].shape], [0, [1, 0, 4]]);
  for (const model of [open, example]) {
    assert.throws(() => litecast.estimate(model, { dimensions: { ...(model === open ? dimensions : {}), typo: 3 } }), failsAs("unmatched-dimension", /found a size of `typo`/));
  }
  const [with_it, without] = litecast.estimateMany([open, example], { dimensions });
  const codes = ({ diagnostics }) => diagnostics.map(({ code }) => code);
  assert.ok(!codes(with_it).includes("unmatched-dimension") && codes(without).includes("unmatched-dimension"));
  const [own] = litecast.estimateMany([{ bytes: example, name: "own", dimensions }]);
  assert.ok(own instanceof LitecastError && own.kind === "unmatched-dimension" && own.file === "own");
});

test("a calibration survives JSON, and finds a factor", () => {
  const reports = [12, 40, 70].map((size) => litecast.estimate(residualModel(size)));
  const on = ({ results }) => results.find(({ target, metric }) => target === "cortex-a72-rpi4" && metric === "latency").value;
  const measurements = reports.map((report) => ({ report, measured_ms: 2.5 * on(report) }));
  const calibration = JSON.parse(JSON.stringify(litecast.calibrate(measurements)));
  assert.equal(calibration.n_measurements, 3);
  const network = litecast.estimate(residualModel(55));
  const { latency_ms, lo_ms, hi_ms } = litecast.calibrated(calibration, network);
  const expected = 2.5 * on(network);
  console.log(`${latency_ms} ms on a device 2.5 times as slow, expected ${expected}`);
  assert.ok(Math.abs(latency_ms - expected) < 0.02 * expected && lo_ms <= latency_ms && latency_ms <= hi_ms);
  assert.throws(() => litecast.calibrate(measurements.slice(1)), failsAs("too-few-measurements", /at least 3/));
  assert.throws(() => litecast.calibrated({ target: "x" }, network), failsAs("wrong-argument", /^calibration\.center: expected a number, found undefined$/));
  assert.throws(() => litecast.calibrated({ ...calibration, slope: "1" }, network), failsAs("wrong-argument", /^calibration\.slope: expected a number, found "1"$/));
  assert.deepEqual(litecast.calibrated({ ...calibration, name: "bench" }, network), litecast.calibrated(calibration, network));
  assert.throws(() => litecast.calibrate([{ measured_ms: "2" }, {}, {}]), failsAs("wrong-argument", /measurements\[0\]\.measured_ms/));
});

test("targets and boards are listed", () => {
  const targets = litecast.targets();
  const of = litecast.estimate(example).results.map(({ target }) => target);
  assert.deepEqual(litecast.defaultTargets(), [...new Set(of)]);
  const changed = litecast.estimateChanged(example, {}).results.map(({ target }) => target);
  assert.deepEqual(changed, of, "a changed network is estimated on the same targets");
  // What is counted exactly has no entry: there is no error to list.
  assert.deepEqual([...targets.filter(({ is_default }) => is_default).map(({ id }) => id), "tflite-micro"], [...new Set(of)]);
  for (const { id } of targets) assert.ok(litecast.estimate(example, { targets: [id], detail: "summary" }).results.every(({ target }) => target === id));
  for (const { id, description } of targets) assert.ok(description.family.label && description.short_label && description.runtime, id);
  const { microcontrollers, npus } = litecast.boards();
  assert.ok(microcontrollers.length >= 30 && npus.length >= 4);
  for (const { id } of npus) litecast.estimate(example, { targets: [{ board: id }], detail: "summary" });
});

test("what fits is the same for an application in the report and beside its need", () => {
  const application = { ram_bytes: 100 * 1024, flash_bytes: 300 * 1024 };
  const alone = litecast.estimate(example).fits;
  const beside = litecast.estimate(example, { application }).fits;
  const withoutLatency = ({ boards, ...fits }) => ({ ...fits, boards: boards.map(({ no_latency, ...board }) => ({ ...board, latency: null })) });
  assert.deepEqual(litecast.fits(alone.need, application), withoutLatency(beside));
  const n_fitting = ({ boards }) => boards.filter(({ fits }) => fits === "yes").length;
  assert.ok(n_fitting(beside) < n_fitting(alone), `${n_fitting(beside)} of ${n_fitting(alone)} boards`);
  const shorter = alone.boards.map((board, i) => [board.ram, beside.boards[i].ram]).filter(([a, b]) => a?.room === "on-chip" && b?.room === "on-chip");
  assert.ok(shorter.length > 5 && shorter.every(([a, b]) => a.left_bytes - b.left_bytes === application.ram_bytes));
  assert.throws(() => litecast.estimate(example, { application: { ram_bytes: -1 } }), failsAs("wrong-argument", /application\.ram_bytes: expected a whole number/));
  assert.throws(() => litecast.fits({}, application), failsAs("wrong-argument", /^need\.file_bytes: expected a whole number of 0 or more, found undefined$/));
  assert.throws(() => litecast.fits({ ...alone.need, kernels: [3] }, application), failsAs("wrong-argument", /^need\.kernels\[0\]: expected a string, found 3$/));
  assert.throws(() => litecast.fits({ ...alone.need, code_bytes: 3 }, application), failsAs("wrong-argument", /^need\.code_bytes: expected an object, found 3$/));
  assert.throws(() => litecast.fits({ ...alone.need, arena_bytes: -1 }, application), failsAs("wrong-argument", /^need\.arena_bytes: expected a whole number of 0 or more/));
});

test("phones and NPU boards are targets once their constants are loaded", async () => {
  const own = await load();
  assert.throws(() => own.estimate(example, { targets: ["galaxy-s24"] }), failsAs("unknown-target", /galaxy-s24: .*loadAccelerators\(\) loads them/));
  assert.throws(() => own.loadAccelerators(read("bundle/gpu.json")), failsAs("accelerator-constants", /fitted constants/));
  const ids = own.loadAccelerators(read("bundle/accelerators.json")).map(({ id }) => id);
  assert.ok(ids.length >= 8 && ids.every((id) => own.targets().some((target) => target.id === id && !target.is_default)));
  let n_estimates = 0;
  for (const target of [...ids, "galaxy-s24@qnn", "Snapdragon 8 Gen 3"]) {
    const [{ metric, lo, value, hi, evidence, reason }] = own.estimate(example, { targets: [target] }).results;
    assert.equal(metric, "latency", target);
    // On some devices networks of floats alone were measured.
    if (reason === "never-measured-precision") continue;
    assert.ok(lo < value && value < hi && evidence === "measured", target);
    n_estimates += 1;
  }
  assert.ok(n_estimates >= 12, `${n_estimates} estimates`);
  assert.throws(() => own.estimate(example, { targets: ["galaxy-s24@tensorrt"] }), failsAs("unknown-release", /one of litert, qnn/));
  const on = (targets) => own.estimate(example, { targets }).results[0];
  const [here, there] = [on(["galaxy-s25"]), on(["galaxy-s24"])];
  const beside = on([{ target: "galaxy-s25", measured_on: "galaxy-s24", measured_ms: there.value }]);
  assert.ok(Math.abs(beside.value / here.value - 1) < 1e-9, `${beside.value}, ${here.value}`);
  assert.ok(beside.hi / beside.lo < 0.95 * (here.hi / here.lo), `${beside.hi / beside.lo}, ${here.hi / here.lo}`);
  assert.throws(() => on([{ target: "galaxy-s25", measured_on: "galaxy-s24" }]), failsAs("wrong-argument", /`measured_ms`/));
  assert.throws(() => on([{ target: "galaxy-s25", measured_on: "quark", measured_ms: 1 }]), failsAs("unknown-target", /quark/));
  assert.throws(() => on([{ target: "galaxy-s25", measured_on: "galaxy-s24", measured_ms: "1" }]), failsAs("wrong-argument", /measured_ms/));
  own.dispose();
});

test("a device of one's own is based on the nearest phone or NPU board", async () => {
  const { load: loadDevices } = await entry("devices.node.js");
  const devices = await loadDevices();
  const own = await load();
  const ids = own.loadAccelerators(read("bundle/accelerators.json")).map(({ id }) => id);
  const table = "model,latency\nexample.tflite,7 ms\n";
  assert.ok(!devices.baseFamilies(table).includes("phones-and-boards"));
  assert.deepEqual(devices.baseFamilies(table, undefined, "phones-and-boards"), ["phones-and-boards"]);
  const report = own.estimate(example, { name: "example.tflite", targets: [...ids, "cortex-a76-rpi5"] });
  assert.equal(devices.measure("Board", report, table).base, "cortex-a76-rpi5");
  for (const like of ["phones-and-boards", "Snapdragon 8 Gen 3"]) {
    const device = devices.measure("Phone", report, table, { like });
    assert.ok(ids.includes(device.base) && (like === "phones-and-boards" || device.base === "galaxy-s24"), device.base);
    const [{ value, lo, hi }] = own.estimate(example, { targets: [{ measured_device: device }] }).results;
    console.log(`${device.base}: ${value} ms`);
    assert.ok(lo < value && value < hi && Math.abs(value / 7 - 1) < 0.1);
    // Elsewhere the constants of its base are not loaded.
    assert.throws(() => litecast.estimate(example, { targets: [{ measured_device: device }] }), failsAs("unknown-target", /loadAccelerators\(\) loads them/));
  }
  own.dispose();
});

test("GPUs are targets once their constants are loaded", async () => {
  const own = await load();
  assert.throws(() => own.estimate(example, { targets: ["rtx-3090"] }), failsAs("unknown-target", /rtx-3090: .*loadGpus\(\) loads them/));
  assert.throws(() => own.estimateChanged(example, {}, { targets: ["rtx-3090"] }), failsAs("unknown-target", /loadGpus/));
  assert.throws(() => own.sweepBatch(example, "rtx-3090"), failsAs("unknown-target", /loadGpus/));
  assert.throws(() => own.sweepBatch(example, "ethos-u55-256"), failsAs("unknown-target", /expected a GPU/));
  assert.throws(() => own.loadGpus(read("bundle/manifest.json")), failsAs("gpu-constants", /fitted constants/));
  const gpus = own.loadGpus(read("bundle/gpu.json")).map(({ id }) => id);
  assert.ok(gpus.includes("rtx-3090") && gpus.every((id) => own.targets().some((target) => target.id === id && !target.is_default)));
  const at = (batch) => own.estimate(example, { targets: ["rtx-3090"], batch }).results;
  const value = (results, metric) => results.find((result) => result.metric === metric).value;
  const { points, knee_batch } = own.sweepBatch(example, "rtx-3090");
  for (const { batch, latency_ms, throughput, memory_bytes, training_step_ms } of points) {
    const results = at(batch);
    assert.equal(value(results, "latency"), latency_ms);
    assert.equal(value(results, "throughput"), throughput);
    assert.equal(value(results, "training_step"), training_step_ms);
    assert.equal(value(results, "memory"), Math.round(memory_bytes));
  }
  assert.ok(points.some(({ batch }) => batch === knee_batch));
  own.dispose();
});

test("memory stays small over many large files", () => {
  const bytes = new Uint8Array(1_800_000);
  bytes.set(residualModel(70));
  const reports = litecast.estimateMany(Array.from({ length: 200 }, () => bytes), { detail: "summary" });
  assert.ok(reports.every((report) => report.results.length > 0));
  console.log(`${(litecast.memory_bytes / 1e6).toFixed(1)} MB after 200 files of 1.8 MB`);
  assert.ok(litecast.memory_bytes <= 120e6, `${litecast.memory_bytes}`);
});

test("a graph without weights is taken as an object, alone and among files", () => {
  const graph = {
    version: 1,
    inputs: ["x"],
    outputs: ["y"],
    tensors: [
      { name: "x", shape: [1, 32, 32, 3], type: "int8" },
      { name: "w", shape: [16, 3, 3, 3], type: "int8", constant: true },
      { name: "b", shape: [16], type: "int32", constant: true },
      { name: "y", shape: [1, 16, 16, 16], type: "int8" },
    ],
    operators: [{ kind: "CONV_2D", inputs: ["x", "w", "b"], outputs: ["y"], attributes: { stride: [2, 2], padding: "SAME" } }],
    format: "litecast-graph", // wherever it stands
  };
  const report = litecast.estimate(graph, { name: "graph" });
  assert.equal(report.model.macs, 16 * 16 * 16 * 27);
  const text = new TextEncoder().encode(JSON.stringify({ format: graph.format, ...graph }));
  const reports = litecast.estimateMany([example, graph, { bytes: graph, name: "graph" }, { bytes: text, name: "graph" }]);
  assert.deepEqual(reports[2].results, report.results);
  assert.deepEqual(reports[3].results, report.results);
  assert.throws(() => litecast.estimate({ ...graph, version: 2 }), failsAs("unsupported-version", /./));
  assert.throws(() => litecast.estimate({ ...graph, inputs: [1n] }), failsAs("wrong-argument", /JSON/));
});

test("a profile makes the device that the command makes, and estimates are on it", async () => {
  const { load: loadDevices, probes: probesOf } = await entry("devices.node.js");
  const devices = await loadDevices();
  assert.equal(await loadDevices(), devices);
  const model = read("tests/web/convolutions.onnx");
  const profile = read("tests/profiles/onnx-runtime-1.31.1_convolutions.json");
  const report = litecast.estimate(model, { name: "convolutions.onnx" });
  const device = devices.measure("Board", report, profile, { profile_name: "profile.json" });
  const expected = JSON.parse(read("tests/profiles/device-of-convolutions.json", "utf8"));
  let worst = 0;
  const compare = (ours, theirs, place) => {
    if (typeof theirs === "number") {
      const difference = Math.abs(ours - theirs) / Math.max(1e-9, Math.abs(theirs));
      worst = Math.max(worst, Math.min(difference, Math.abs(ours - theirs)));
      assert.ok(difference <= 1e-4 || Math.abs(ours - theirs) <= 1e-6, `${place}: ${ours}, expected ${theirs}`);
    } else if (typeof theirs === "object") {
      assert.deepEqual(Object.keys(ours), Object.keys(theirs), place);
      for (const key of Object.keys(theirs)) compare(ours[key], theirs[key], `${place}.${key}`);
    } else assert.equal(ours, theirs, place);
  };
  compare(device, expected, "device");
  console.log(`largest difference ${worst.toExponential(1)}`);
  assert.deepEqual(devices.read(JSON.stringify(device)), device);
  const facts = devices.facts(device);
  assert.equal(facts.left_out_percent, null);
  assert.equal(facts.kernels.length, 12);
  for (const measured_device of [device, JSON.stringify(device)]) {
    const { results, diagnostics } = litecast.estimate(model, { targets: [{ measured_device }, { measured_device, name: "mine", device: "Mine" }] });
    assert.deepEqual(results.map(({ target, device }) => [target, device]), [["board", "Board"], ["mine", "Mine"]]);
    const [{ value, lo, hi, operators, provenance }] = results;
    console.log(`${value} ms, measured ${device.networks[0].measured_ms} ms`);
    assert.ok(lo < value && value < hi && Math.abs(value / device.networks[0].measured_ms - 1) < 0.2);
    assert.ok(Math.abs(operators.reduce((sum, part) => sum + part, 0) / value - 1) < 1e-6);
    assert.match(provenance.configuration, /^1 network measured with ONNX Runtime and the estimates for /);
    assert.ok(diagnostics.some(({ code }) => code === "few-measurements"));
  }
  const again = devices.measure("Board", report, "model,latency\nconvolutions.onnx,12 ms\n", { device });
  assert.deepEqual([again.networks.length, again.networks[0].measured_ms], [1, 12]);
  const probes = await probesOf();
  assert.equal(probes.length, 30);
  for (const { name, bytes } of probes) assert.deepEqual(Buffer.from(bytes), read(`src/calibration/probes/${name}`), name);
  const ends = new Map(devices.tools().map(({ tool, probes }) => [tool, probes]));
  assert.equal(ends.get("ONNX Runtime"), "float32.onnx");
  assert.equal(new Set([...ends.keys()].map((tool) => devices.command("a.tflite", { tool }))).size, ends.size);
  assert.match(devices.command("my model.tflite", { threads: 4 }), /--graph='my model\.tflite' --num_threads=4 /);
  const named = [{ name: "convolutions.onnx", bytes: model }, ...probes.filter(({ name }) => name.endsWith(".onnx")), { name: "own.tflite", bytes: example }];
  const candidates = named.map(({ name, bytes }) => litecast.estimate(bytes, { name, targets: [device.base] }));
  const next = devices.next(device, candidates);
  assert.deepEqual(next.map(({ network_idx }) => network_idx).sort((a, b) => a - b), named.slice(1).map((_, i) => i + 1), "what is measured is left out");
  for (const one of next) assert.ok(one.file === named[one.network_idx].name && one.interval_factor > 1 && one.command.includes("enable_profiling"), JSON.stringify(one));
  assert.deepEqual(next.map((one) => one.factor_of_all_after), next.map((one) => one.factor_of_all_after).sort((a, b) => a - b));
  assert.throws(() => devices.next(device, report), failsAs("wrong-argument", /expected an array/));
  assert.throws(() => devices.next({ ...device, base: "none" }, candidates), failsAs("no-base", /none/));
  assert.throws(() => devices.command("a", { tools: "x" }), failsAs("wrong-argument", /unknown option `tools`/));
  assert.throws(() => devices.measure("Board", report, "hello"), failsAs("wrong-profile", /expected/));
  assert.throws(() => devices.measure("Board", report, "name,cycles\nc1,7\n"), failsAs("no-clock", /clock/));
  assert.throws(() => devices.measure("Board", report, profile, { clock: 7 }), failsAs("wrong-argument", /unknown option `clock`/));
  assert.throws(() => devices.read("{}"), failsAs("wrong-device", /expected a device/));
  assert.throws(() => litecast.estimate(model, { targets: [{ measured_device: { ...device, litecast_device: 9 } }] }), failsAs("wrong-device", /found 9: a newer litecast wrote it/));
  assert.throws(() => litecast.estimate(model, { targets: [{ measured_device: { ...device, fit: { parameters: [1], covariance: [] } } }] }), failsAs("wrong-device", /expected a device/));
  assert.throws(() => litecast.estimate(model, { targets: [{ measured_device: device, clock_mhz: 5 }] }), failsAs("wrong-argument", /clock_mhz/));
  assert.throws(() => litecast.estimate(model, { targets: [{ measured_device: device, target: "cortex-a76-rpi5" }] }), failsAs("wrong-argument", /either a target or a board/));
});

test("a summary is what the published schema says of it", () => {
  const { anyOf, $defs } = JSON.parse(read("src/report/report.schema.json"));
  assert.ok(anyOf.some(({ $ref }) => $ref === "#/$defs/Summary"));
  const { properties, required, not } = $defs.Summary;
  const summary = JSON.parse(JSON.stringify(litecast.estimate(example, { detail: "summary" })));
  assert.ok(Object.keys(summary).every((name) => Object.hasOwn(properties, name)), Object.keys(summary).join());
  assert.ok(required.every((name) => Object.hasOwn(summary, name)), required.join());
  assert.deepEqual(not.anyOf.flatMap((one) => one.required).filter((name) => name in summary), []);
});
