/**
 * Prints what docs/guide/package.md states: sizes, times and memory of the packed package in Node.js, medians of RUNS runs.
 *   node tests/package/bench.mjs [RUNS]
 * Processor time stands beside the clock's, because a busy machine stretches both, and the former less. Compilers of
 * JavaScript engines work on other threads: of the first estimate the main thread's time is printed as well, on Linux.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { ownWeightsModel, residualGraph, residualModel } from "../page/model.mjs";
import { install } from "./packed.mjs";

const RUNS = Number(process.argv[2] ?? 5);
const OPERATORS = 70;
const { folder, installed, archive } = install();

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const row = (what, value) => console.log(`${what.padEnd(72)} ${value}`);

row("packed package", `${(archive.size / 1e6).toFixed(2)} MB (unpacked ${(archive.unpackedSize / 1e6).toFixed(2)} MB)`);

const first = path.join(folder, "first.mjs");
writeFileSync(first, `
import { existsSync, readFileSync } from "node:fs";
const schedule = "/proc/self/task/" + process.pid + "/schedstat";
const mainThreadMs = () => (existsSync(schedule) ? Number(readFileSync(schedule, "utf8").split(" ")[0]) / 1e6 : NaN);
const before = mainThreadMs();
const used = process.cpuUsage();
const started = performance.now();
const bytes = readFileSync("model.tflite");
const { load } = await import("litecast");
const litecast = await load();
litecast.estimate(bytes);
const { user, system } = process.cpuUsage(used);
console.log(JSON.stringify({ ms: performance.now() - started, cpu_ms: (user + system) / 1000, main_ms: mainThreadMs() - before }));
`);
const firsts = Array.from({ length: RUNS }, () => JSON.parse(execFileSync(process.execPath, [first], { cwd: folder, encoding: "utf8" })));
row("import to the first estimate", `${median(firsts.map(({ ms }) => ms)).toFixed(0)} ms, processor ${median(firsts.map(({ cpu_ms }) => cpu_ms)).toFixed(0)} ms, of the main thread ${median(firsts.map(({ main_ms }) => main_ms)).toFixed(0)} ms`);

const { load } = await import(pathToFileURL(path.join(installed, "index.node.js")));
const litecast = await load();
const file = residualModel(OPERATORS);

/** Estimates a second of the clock, and of processor time. */
function rate(models, options) {
  const run = () => {
    const used = process.cpuUsage();
    const started = performance.now();
    const reports = litecast.estimateMany(models, options);
    const { user, system } = process.cpuUsage(used);
    if (reports.some((report) => report instanceof Error)) throw reports.find((report) => report instanceof Error);
    return { clock: (1000 * models.length) / (performance.now() - started), processor: (1e6 * models.length) / (user + system) };
  };
  run();
  run();
  const runs = Array.from({ length: RUNS }, run);
  return `${median(runs.map(({ clock }) => clock)).toFixed(0)} a second, of processor time ${median(runs.map(({ processor }) => processor)).toFixed(0)}`;
}

// No two of a list have the same structure, as in a search, but where a row says so.
const widths = Array.from({ length: 128 }, (_, idx) => 8 + idx);
const files = widths.map((hidden) => residualModel(OPERATORS, hidden));
row(`estimateMany, ${OPERATORS} operators, all targets`, rate(files, {}));
row("  detail: summary", rate(files, { detail: "summary" }));
const own_weights = widths.map((hidden) => ownWeightsModel(OPERATORS, hidden));
row("  detail: summary, each layer with weights of its own", rate(own_weights, { detail: "summary" }));
row("  detail: summary, of one structure", rate(widths.map(() => file), { detail: "summary" }));
const graphs = widths.map((hidden) => residualGraph(OPERATORS, hidden));
row("  graphs without weights, detail: summary", rate(graphs, { detail: "summary" }));
row("  graphs without weights, detail: summary, targets: ethos-u55-256", rate(graphs, { detail: "summary", targets: ["ethos-u55-256"] }));
row("  detail: summary, targets: ethos-u55-256", rate(files, { detail: "summary", targets: ["ethos-u55-256"] }));
row("  detail: summary, targets: ethos-u55-128", rate(files, { detail: "summary", targets: ["ethos-u55-128"] }));
row("  detail: summary, targets: cortex-m4-tflm", rate(files, { detail: "summary", targets: ["cortex-m4-tflm"] }));

const large = new Uint8Array(1_800_000);
large.set(file);
const before = litecast.memory_bytes;
litecast.estimateMany(Array.from({ length: 200 }, () => large), { detail: "summary" });
row("memory of the module, before and after 200 files of 1.8 MB", `${(before / 1e6).toFixed(1)} and ${(litecast.memory_bytes / 1e6).toFixed(1)} MB`);

// From what a tool printed to the estimate of another network, with every target that the device may resemble.
const { load: loadDevices } = await import(pathToFileURL(path.join(installed, "devices.node.js")));
const devices = await loadDevices();
const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url));
const [measured, profile] = ["web/convolutions.onnx", "profiles/onnx-runtime-1.31.1_convolutions.json"].map(read);
const families = devices.baseFamilies(profile);
const bases = litecast.targets().flatMap(({ id, description }) => (families.includes(description.family.id) ? [id] : []));
const answers = Array.from({ length: RUNS }, () => {
  const used = process.cpuUsage();
  const started = performance.now();
  const device = devices.measure("Board", litecast.estimate(measured, { targets: bases }), profile);
  litecast.estimate(file, { targets: [{ measured_device: device }] });
  const { user, system } = process.cpuUsage(used);
  return { ms: performance.now() - started, cpu_ms: (user + system) / 1000 };
});
const words = ({ ms, cpu_ms }) => `${ms.toFixed(0)} ms, processor ${cpu_ms.toFixed(0)} ms`;
row("a profile to the estimate of another network, the first time", words(answers[0]));
row("  again", words({ ms: median(answers.map(({ ms }) => ms)), cpu_ms: median(answers.map(({ cpu_ms }) => cpu_ms)) }));
