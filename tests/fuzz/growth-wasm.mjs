// Measures the browser's module under Node on networks of many operators, in each shape of graph that
// `litecast-fuzz --target shapes` writes: a whole report on every target, the fastest of three runs, and the most
// memory that the module had, each network in a process of its own. Ends with 1 where one is beyond the limits.
//   node tests/fuzz/growth-wasm.mjs FUZZER [OPERATORS] [NAME=FILE...]
// Files that are named are measured besides.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

/** Of 100,000 operators. */
const MAX_S = 4;
const MAX_MB = 400;
const RUNS = 3;

const script = fileURLToPath(import.meta.url);

/** Time that the main thread has run, where the system counts it; other programs stretch the clock's. */
const schedule = `/proc/self/task/${process.pid}/schedstat`;
const now_s = () =>
  existsSync(schedule) ? Number(readFileSync(schedule, "utf8").split(" ")[0]) / 1e9 : performance.now() / 1e3;

/** Seconds and megabytes of one file. */
async function measure(path) {
  const { load } = await import(join(dirname(script), "../../pkg/index.node.js"));
  const litecast = await load();
  const file = readFileSync(path);
  let fastest_s = Infinity;
  for (let run = 0; run < RUNS; run += 1) {
    const started_s = now_s();
    const result = litecast.estimateMany([file])[0];
    fastest_s = Math.min(fastest_s, now_s() - started_s);
    if (result instanceof Error) throw result;
  }
  return { seconds: fastest_s, megabytes: litecast.memory_bytes / 1e6 };
}

/** Names and files that are written one after the other, each with its length before it. */
function* parts(bytes) {
  let at = 0;
  while (at < bytes.length) {
    const end = at + 4 + bytes.readUInt32LE(at);
    yield bytes.subarray(at + 4, end);
    at = end;
  }
}

if (process.argv[2] === "--file") {
  console.log(JSON.stringify(await measure(process.argv[3])));
} else {
  const [fuzzer, operators = "100000", ...more] = process.argv.slice(2);
  const folder = mkdtempSync(join(tmpdir(), "litecast-growth-"));
  let is_beyond = false;
  try {
    const flags = ["--target", "shapes", "--executions", operators];
    const written = [...parts(execFileSync(fuzzer, flags, { maxBuffer: 2 ** 31 - 1 }))];
    const files = more.map((named) => named.split("="));
    for (let idx = 0; idx < written.length; idx += 2) {
      const name = written[idx].toString();
      const path = join(folder, `${name}.tflite`);
      writeFileSync(path, written[idx + 1]);
      files.push([name, path]);
    }
    for (const [name, path] of files) {
      const output = execFileSync(process.execPath, [script, "--file", path]);
      const { seconds, megabytes } = JSON.parse(output.toString());
      is_beyond ||= seconds > MAX_S || megabytes > MAX_MB;
      console.log(`${name.padEnd(12)} ${seconds.toFixed(2)} s ${megabytes.toFixed(0)} MB`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  process.exitCode = is_beyond ? 1 : 0;
}
