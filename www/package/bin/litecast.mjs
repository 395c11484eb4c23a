#!/usr/bin/env node
/** Prints the estimates of files: `npx litecast model.tflite`. The native command has more options, and is faster. */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { load } from "../index.node.js";
import { headlineDoubt, referenceName } from "../words.js";

const USAGE = "usage: litecast FILE... [--target ID]... [--json]";

/** Names come from files of strangers: characters that steer a terminal are shown by their code. */
const shown = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

function read() {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { target: { type: "string", multiple: true }, json: { type: "boolean" }, help: { type: "boolean", short: "h" } } });
    if (values.help || positionals.length > 0) return { ...values, files: positionals };
  } catch (error) {
    console.error(error.message);
  }
  console.error(USAGE);
  process.exit(2);
}

/** The mean error of an estimate and what it was measured against, a doubt where it is large; empty where nothing was compared. */
function errorWords(estimate) {
  const { expected_error_percent: percent, provenance } = estimate;
  if (typeof percent !== "number") return "";
  const doubt = headlineDoubt(estimate);
  return doubt ? `, warning: ${doubt}` : `, \u00b1${Number(percent.toPrecision(2))} % against ${referenceName(provenance)}`;
}

/** Each target with its estimates, what each rests on and is of, how far it was off, and then the doubts, each once. */
function print(file, { results, diagnostics }) {
  console.log(shown(file));
  let headed = null;
  for (const result of results) {
    const { target, device, metric, value, unit, lo, hi, unavailable, estimated_as, evidence, provenance } = result;
    if (target !== headed) console.log(`  ${shown(device)}${estimated_as ? `, estimated as ${estimated_as}` : ""}`);
    headed = target;
    const name = metric.replaceAll("_", " ");
    if (value === undefined) {
      console.log(`    ${name}: no estimate: ${shown(unavailable)}`);
      continue;
    }
    const number = (one) => (unit === "bytes" ? Math.round(one).toLocaleString("en") : Number(one.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }));
    const interval = typeof lo === "number" && typeof hi === "number" ? ` (${number(lo)} to ${number(hi)})` : "";
    const level = interval && provenance.interval_percent ? `, ${provenance.interval_percent} % interval` : "";
    console.log(`    ${name}${provenance.scope ? ` of ${shown(provenance.scope)}` : ""}: ${number(value)} ${unit}${interval}, ${evidence}${level}${shown(errorWords(result))}`);
  }
  for (const words of new Set(diagnostics.map(({ severity, message }) => `${severity === "warning" ? "warning" : "note"}: ${message}`))) console.log(`  ${shown(words)}`);
}

const { target: targets, json, help, files } = read();
if (help) {
  console.log(USAGE);
  process.exit(0);
}
const litecast = await load();
for (const file of files) {
  try {
    const report = litecast.estimate(await readFile(file), { name: file, ...(targets ? { targets } : {}) });
    if (json) {
      console.log(JSON.stringify(report));
      continue;
    }
    print(file, report);
  } catch (error) {
    // The constants of GPUs, phones and boards of other makers are files of their own.
    const words = error.message.includes("() loads them") ? `${error.message.split(";")[0]}: they are not part of the package; the native command has them` : error.message;
    console.error(`litecast: ${shown(file)}: ${shown(words)}`);
    process.exitCode = 1;
  }
}
