/**
 * Files below 2 MB on one page: `node tests/page/small.mjs [--cases FILE] [FILE OR FOLDER...]`. Each is dropped, the corpus
 * of hostile files where none is named, and the page has to end in a report or a refusal in words. Prints the slowest, from the
 * drop to the screen, and what the page's process held at most beyond what it held before the file; ends with 1 beyond the
 * limits. FILE is what `litecast-fuzz --target cases` wrote: names with files.
 */
import { readFile, readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { dropBytes, openBrowser, openPage, waitDrawn } from "./browser.mjs";
import { collect, prefixed, renderers, shown, statusBytes } from "./judged.mjs";
import { residualModel } from "./model.mjs";

const CORPUS = fileURLToPath(new URL("../fuzz/corpus/", import.meta.url));
const MAX_FILE_BYTES = 2e6;
const MAX_S = 2.5;
const MAX_MB = 256;
/** Between two files, until a spare worker has started. */
const BETWEEN_MS = 200;
/** Listed: so many of the slowest, and of the largest. */
const N_LISTED = 5;

const { values, positionals } = parseArgs({ options: { cases: { type: "string" } }, allowPositionals: true });

async function* files() {
  for (const given of positionals.length > 0 ? positionals : [CORPUS]) {
    const is_folder = (await stat(given)).isDirectory();
    const names = is_folder ? (await readdir(given)).sort().map((name) => path.join(given, name)) : [given];
    for (const name of names) yield [path.basename(name), await readFile(name)];
  }
  if (!values.cases) return;
  const parts = [...prefixed(await readFile(values.cases))];
  for (let idx = 0; idx < parts.length; idx += 2) yield [parts[idx].toString(), parts[idx + 1]];
}

/** Begins the highest resident memory of a process anew: what it holds. */
const forget = (id) => writeFile(`/proc/${id}/clear_refs`, "5");

const chromium = await openBrowser({ is_whole: true, args: ["--js-flags=--expose-gc"] });
const { page, close } = await openPage(chromium);
await dropBytes(page, "first.tflite", residualModel(24));
await waitDrawn(page, "first.tflite");
const rows = [];
let n_larger = 0;
for await (const [name, bytes] of files()) {
  if (bytes.length >= MAX_FILE_BYTES) {
    n_larger += 1;
    continue;
  }
  const extension = path.extname(name) === ".onnx" ? ".onnx" : ".tflite";
  const dropped = `small${rows.length}${extension}`;
  await collect(page, BETWEEN_MS);
  const ids = await renderers(chromium.browser);
  const before = await Promise.all(ids.map(async (id) => (await forget(id), statusBytes(id, "VmRSS"))));
  const begun = performance.now();
  await dropBytes(page, dropped, bytes);
  const kind = await shown(page, dropped);
  const seconds = (performance.now() - begun) / 1e3;
  const peaks = await Promise.all(ids.map((id) => statusBytes(id, "VmHWM").catch(() => 0)));
  const megabytes = Math.max(...peaks.map((peak, at) => peak - before[at])) / 1e6;
  rows.push({ name, kind, seconds, megabytes, kilobytes: bytes.length / 1e3 });
}
await close();
await chromium.close();
const n_reports = rows.filter(({ kind }) => kind === "report").length;
console.log(`${rows.length} files below 2 MB, ${n_reports} of them with a report; ${n_larger} larger ones left out`);
for (const [what, of, limit] of [["s", "seconds", MAX_S], ["MB", "megabytes", MAX_MB]]) {
  const sorted = [...rows].sort((a, b) => b[of] - a[of]);
  for (const row of sorted.slice(0, N_LISTED)) {
    console.log(`${row[of].toFixed(2).padStart(8)} ${what.padEnd(2)} ${row.kind.padEnd(16)} ${row.kilobytes.toFixed(0).padStart(5)} kB  ${row.name}`);
  }
  if (!rows.length || sorted[0][of] > limit) {
    console.log(`expected at most ${limit} ${what}`);
    process.exitCode = 1;
  }
}
const wrong = rows.filter(({ kind }) => kind === "internal" || kind === "none");
for (const { name, kind } of wrong) console.log(`${name}: ${kind}`);
if (wrong.length) process.exitCode = 1;
