// Runs the browser's module on the mutants that `litecast-fuzz --target mutants` writes to standard input.
// Ends with 1 where one makes it trap, has an error without a kind, or takes longer than the limit.
//   node tests/fuzz/run-wasm.mjs < mutants

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

const MAX_MS = 2500;
const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { load } = await import(join(root, "pkg/index.node.js"));
const litecast = await load();

const tally = { executions: 0, reports: 0, findings: 0, slowestMs: 0, kinds: {} };

function run(bytes) {
  const start = performance.now();
  try {
    litecast.estimate(bytes);
    tally.reports += 1;
  } catch (error) {
    // A trap is a defect of the module.
    const kind = error.kind && error.kind !== "internal" ? error.kind : "none";
    tally.kinds[kind] = (tally.kinds[kind] ?? 0) + 1;
    if (kind === "none") finding(bytes, String(error));
  }
  const ms = performance.now() - start;
  tally.slowestMs = Math.max(tally.slowestMs, ms);
  if (ms > MAX_MS) finding(bytes, `took ${ms} ms`);
  tally.executions += 1;
}

function finding(bytes, words) {
  tally.findings += 1;
  const path = `finding-${tally.executions}.tflite`;
  writeFileSync(path, bytes);
  console.error(`${path}: ${words}`);
}

let rest = Buffer.alloc(0);
for await (const chunk of process.stdin) {
  rest = Buffer.concat([rest, chunk]);
  while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32LE(0)) {
    const end = 4 + rest.readUInt32LE(0);
    run(new Uint8Array(rest.subarray(4, end)));
    rest = rest.subarray(end);
  }
}
console.log(JSON.stringify(tally));
process.exit(tally.findings > 0 ? 1 : 0);
