/** The package's types, as programs of every kind compile with them, and its description, as two checkers read it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { mixedModel } from "../page/model.mjs";
import { install, read, root } from "./packed.mjs";

const { folder, installed, tarball } = install();
const bin = (name) => path.join(root, "node_modules/.bin", name);

/** Output of a tool, whether it is content or not. */
function said(tool, args) {
  try {
    return { ok: true, text: execFileSync(bin(tool), args, { cwd: folder, encoding: "utf8" }) };
  } catch (error) {
    return { ok: false, text: `${error.stdout}${error.stderr}` };
  }
}

const PROGRAM = `
import { load, LitecastError, type Metric, type Report, type Summary, type TargetId } from "litecast";
import { load as loadInline } from "litecast/inline";
import { load as loadWorker, type LiteCastWorker } from "litecast/worker";

export async function main(bytes: Uint8Array): Promise<void> {
  const litecast = await load();
  const report: Report = litecast.estimate(bytes, { name: "a", batch: 2, targets: ["ethos-u55-128", { board: "imx93" }] });
  const summary: Summary = litecast.estimate(bytes, { detail: "summary" });
  // @ts-expect-error A summary has no operators.
  summary.operators;
  const many = litecast.estimateMany([bytes, { name: "b", bytes: bytes.buffer }]);
  for (const entry of many) if (!(entry instanceof LitecastError)) entry.operators.length;
  const target: TargetId = "ethos-u85-256";
  const metric: Metric = "sram_peak";
  // @ts-expect-error Arguments are bytes.
  litecast.estimate("model.tflite");
  // @ts-expect-error Options have names.
  litecast.estimate(bytes, { bacth: 2 });
  // @ts-expect-error A board has no memory mode of its own.
  litecast.estimate(bytes, { targets: [{ board: "imx93", memory_mode: "Sram_Only" }] });
  for (const result of report.results) {
    // What is absent tells results apart, also after they were taken apart.
    const { lo, hi, value, unit, unavailable, reason } = result;
    const words: string = unavailable ?? value.toPrecision(3) + " " + unit;
    const number: number = value === undefined ? unavailable.length : value;
    if (result.value !== undefined) result.provenance.kind;
    else result.unavailable.length;
    void [lo, hi, words, number, reason, result.target === target, result.metric === metric];
  }
  const graph = litecast.estimate({ format: "litecast-graph", version: 1, inputs: ["x"], outputs: ["x"], tensors: [{ name: "x", shape: [1], type: "int8" }], operators: [] });
  litecast.compare(report, graph).results.map(({ change_percent }) => change_percent);
  const calibration = litecast.calibrate([{ report, measured_ms: 1 }, { estimates_ms: { "ethos-u55-256": 2 }, measured_ms: 2 }]);
  litecast.calibrated(JSON.parse(JSON.stringify(calibration)), report).latency_ms;
  const worker: LiteCastWorker = await loadWorker();
  (await worker.estimate(bytes, { detail: "summary" })).model.macs;
  worker.dispose();
  (await loadInline({ predictor: null })).analyze(bytes);
}
`;

for (const [name, options] of [
  ["bundlers", { module: "esnext", moduleResolution: "bundler" }],
  ["Node.js", { module: "nodenext", moduleResolution: "nodenext" }],
]) {
  test(`types compile for ${name}, without types of browsers or Node.js and without skipLibCheck`, () => {
    writeFileSync(path.join(folder, "program.ts"), PROGRAM);
    const compilerOptions = { ...options, target: "es2020", lib: ["es2020"], types: [], strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
    writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
    const { ok, text } = said("tsc", ["--project", "."]);
    assert.ok(ok, text);
  });
}

/** What a README shows, of `node:fs` the function alone, because types of Node.js are no part of this package. */
test("the examples of the README compile as TypeScript", () => {
  const blocks = [...read("www/package/README.md", "utf8").matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code);
  const given = "declare const input: { files: { arrayBuffer(): Promise<ArrayBuffer> }[]; addEventListener(type: string, listener: () => void): void };\ndeclare const show: (report: unknown) => void;\ndeclare const console: { log(...words: unknown[]): void };\n";
  const programs = blocks.map((code, idx) => {
    const needs = [["load", "const { load } = await import(\"litecast\");"], ["litecast", "const litecast = await (await import(\"litecast\")).load();"], ["bytes", "const bytes = new Uint8Array();"], ["candidates", "const candidates: Uint8Array[] = [];"]];
    const missing = needs.filter(([name]) => new RegExp(`\\b${name}\\b[.,()]`).test(code) && !new RegExp(`(const|let|import \\{) ${name}\\b`).test(code));
    const text = `${given}${missing.map(([, line]) => `${line}\n`).join("")}${code.replace(/import \{ readFile \} from .*/, "declare const readFile: (path: string) => Promise<Uint8Array>;")}\nexport {};\n`.replace("catch (error)", "catch (error: any)");
    writeFileSync(path.join(folder, `example_${idx}.ts`), text);
    return `example_${idx}.ts`;
  });
  const compilerOptions = { module: "esnext", moduleResolution: "bundler", target: "es2022", lib: ["es2022"], types: [], strict: true, exactOptionalPropertyTypes: true, noEmit: true };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: programs }));
  const { ok, text } = said("tsc", ["--project", "."]);
  console.log(`${programs.length} examples compiled`);
  assert.ok(ok && programs.length >= 5, text);
});

test("real reports have the type of reports, no field more and none less", async () => {
  const { load } = await import(pathToFileURL(path.join(installed, "index.node.js")));
  const litecast = await load();
  const names = ["cnn-cifar10-s7-i9", "cnn-kws-s7-i43", "vit-cifar100-s7-i39"];
  const models = names.map((name) => read(`www/examples/${name}.tflite`));
  const values = [
    ["Report", models.map((model) => litecast.estimate(model))],
    ["Report", models.map((model) => litecast.analyze(model))],
    ["Report", models.map((model) => litecast.estimate(model, { targets: ["ethos-u55-32", "stm32n6", "edgetpu-coral-dev-board"] }))],
    ["Summary", models.map((model) => litecast.estimate(model, { detail: "summary" }))],
    ["TargetInfo", litecast.targets()],
    ["TargetInfo", litecast.loadGpus(read("bundle/gpu.json"))],
    ["Report", models.map((model) => litecast.estimate(model, { targets: ["rtx-3090", "ethos-u55-256"], application: { ram_bytes: 1 } }))],
    ["Report", [litecast.estimate(mixedModel())]],
    ["Fits", models.map((model) => litecast.fits(litecast.estimate(model).fits.need, { ram_bytes: 0, flash_bytes: 0 }))],
    ["BatchSweep", models.map((model) => litecast.sweepBatch(model, "rtx-5090"))],
    ["Boards", [litecast.boards()]],
    ["Comparison", [litecast.compare(...models.slice(1).map((model) => litecast.estimate(model)))]],
  ];
  const types = [...new Set(values.map(([type]) => type))];
  const lines = values.flatMap(([type, list], row) => list.map((value, idx) => `export const value_${row}_${idx}: ${type} = ${JSON.stringify(value)};`));
  writeFileSync(path.join(folder, "values.ts"), `import type { ${types.join(", ")} } from "litecast";\n${lines.join("\n")}\n`);
  const compilerOptions = { module: "nodenext", moduleResolution: "nodenext", target: "es2020", lib: ["es2020"], types: [], strict: true, noEmit: true };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["values.ts"] }));
  const { ok, text } = said("tsc", ["--project", "."]);
  console.log(`${lines.length} values checked`);
  assert.ok(ok, text.slice(0, 4000));
});

test("publint and attw find nothing", () => {
  const publint = said("publint", ["run", installed, "--strict"]);
  assert.ok(publint.ok && !/warning|error|suggestion/i.test(publint.text), publint.text);
  const attw = said("attw", [tarball, "--profile", "esm-only", "--no-emoji"]);
  assert.ok(attw.ok, attw.text);
});

test("the bill of materials lists what the module links, as Cargo.lock has it", () => {
  const { components, metadata } = JSON.parse(readFileSync(path.join(installed, "sbom.cdx.json"), "utf8"));
  const lock = read("Cargo.lock").toString();
  for (const { name, version, hashes, licenses } of components) {
    assert.ok(lock.includes(`name = "${name}"\nversion = "${version}"\n`), name);
    assert.ok(lock.includes(`checksum = "${hashes[0].content}"`), name);
    assert.ok(licenses[0].expression, name);
  }
  const names = components.map(({ name }) => name);
  for (const name of ["tract-core", "flatbuffers", "wasm-bindgen"]) assert.ok(names.includes(name), name);
  for (const name of ["clap", "burn", "pyo3"]) assert.ok(!names.includes(name), name);
  console.log(`${names.length} crates beside ${metadata.component.name} ${metadata.component.version}`);
});

test("the bill of materials has every crate that the linker was given as required, and no macro", () => {
  const { components } = JSON.parse(readFileSync(path.join(installed, "sbom.cdx.json"), "utf8"));
  const required = components.filter(({ scope }) => scope === "required").map(({ name }) => name.replaceAll("-", "_"));
  const linked = read("target/module/litecast.wasm.crates", "utf8").split("\n").filter(Boolean);
  // rustc passes no crate on that no code names.
  console.log(`${required.length} required, ${linked.length} linked; not named: ${required.filter((name) => !linked.includes(name)).join(", ")}`);
  assert.ok(linked.length > 50, `${linked.length}`);
  assert.deepEqual(linked.filter((name) => !required.includes(name)), []);
  const macros = components.filter(({ scope }) => scope === "excluded").map(({ name }) => name.replaceAll("-", "_"));
  assert.deepEqual(linked.filter((name) => macros.includes(name) && !required.includes(name)), []);
});
