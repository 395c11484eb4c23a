// Runs the browser's module on the mutants that `litecast-fuzz --target mutants` writes. Ends with 1 where one makes
// it trap, has an error without a kind, or takes longer or more memory than the limits.
//   node tests/fuzz/run-wasm.mjs FUZZER EXECUTIONS [STATE [ARGUMENTS OF THE FUZZER...]]
// Counts are kept in the file STATE, from which a run goes on.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

/** Of one call, of the main thread: as the page's limit for one file. */
const MAX_MS = 2500;
/** What one call of small files may take, and what the allocator has not given back. */
const MAX_MODULE_BYTES = 160 * 2 ** 20;
/** Files of one call: as many as the fuzzer writes for one. */
const BATCH = 16;
/** One in so many calls makes whole reports. */
const FULL = 8;
const STATE_MS = 10_000;

const [fuzzer, executions, state, ...more] = process.argv.slice(2);
const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { load } = await import(join(root, "pkg/index.node.js"));
const litecast = await load();

const fresh = { calls: 0, executions: 0, reports: 0, findings: 0, seconds: 0, slowestMs: 0, moduleBytes: 0, kinds: {} };
const tally = state && existsSync(state) ? JSON.parse(readFileSync(state, "utf8")) : fresh;
const [started, before_s] = [performance.now(), tally.seconds];
let written_ms = started;

function keep() {
  tally.seconds = before_s + (performance.now() - started) / 1000;
  if (!state) return;
  writeFileSync(`${state}.part`, JSON.stringify(tally, null, 2));
  renameSync(`${state}.part`, state);
}

function finding(bytes, words) {
  tally.findings += 1;
  const path = `finding-${tally.executions}.tflite`;
  writeFileSync(path, bytes);
  console.error(`${path}: ${words}`);
}

/** Counts a result; whether it is what every file has to end in. */
function is_sound(result) {
  const kind = result instanceof Error ? (result.kind ?? "none") : "report";
  if (kind === "report") tally.reports += 1;
  else tally.kinds[kind] = (tally.kinds[kind] ?? 0) + 1;
  return kind !== "none" && kind !== "internal";
}

/** What a call gave, or the error of a trap for every file. */
function attempt(files, options) {
  try {
    return litecast.estimateMany(files, options);
  } catch (error) {
    return files.map(() => error);
  }
}

/** Time that the main thread has run, where the system counts it; other programs stretch the clock's. */
const schedule = `/proc/self/task/${process.pid}/schedstat`;
const now_ms = () => (existsSync(schedule) ? Number(readFileSync(schedule, "utf8").split(" ")[0]) / 1e6 : performance.now());

function run(files) {
  const options = tally.calls % FULL === 0 ? {} : { detail: "summary" };
  const begun = now_ms();
  const results = attempt(files, options);
  const ms = now_ms() - begun;
  results.forEach((result, idx) => is_sound(result) || finding(files[idx], String(result)));
  if (ms > MAX_MS) finding(Buffer.concat(files), `a call of ${files.length} files took ${ms} ms`);
  if (litecast.memory_bytes > MAX_MODULE_BYTES && tally.moduleBytes <= MAX_MODULE_BYTES)
    finding(Buffer.concat(files), `the module has ${litecast.memory_bytes} bytes after a call`);
  tally.slowestMs = Math.max(tally.slowestMs, ms);
  tally.moduleBytes = Math.max(tally.moduleBytes, litecast.memory_bytes);
  tally.calls += 1;
  tally.executions += files.length;
  if (performance.now() - written_ms > STATE_MS) {
    written_ms = performance.now();
    keep();
  }
}

const flags = ["--target", "mutants", "--executions", executions, "--first", String(tally.calls), ...more];
const mutants = spawn(fuzzer, flags, { stdio: ["ignore", "pipe", "inherit"] });
let chunks = Buffer.alloc(0);
let at = 0;
let files = [];
for await (const chunk of mutants.stdout) {
  chunks = Buffer.concat([chunks.subarray(at), chunk]);
  at = 0;
  while (chunks.length >= at + 4 && chunks.length >= at + 4 + chunks.readUInt32LE(at)) {
    const end = at + 4 + chunks.readUInt32LE(at);
    files.push(new Uint8Array(chunks.subarray(at + 4, end)));
    at = end;
    if (files.length === BATCH) {
      run(files);
      files = [];
    }
  }
}
keep();
console.log(JSON.stringify(tally));
process.exit(tally.findings > 0 ? 1 : 0);
