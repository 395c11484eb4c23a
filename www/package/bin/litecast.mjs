#!/usr/bin/env node
/** Prints the estimates of files: `npx litecast model.tflite`. The native command has more options, and is faster. */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { load } from "../index.node.js";

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
    const rows = report.results.map(({ device, metric, value, unit, lo, hi, unavailable }) => {
      const number = (one) => (unit === "bytes" ? Math.round(one).toLocaleString("en") : Number(one.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }));
      const interval = typeof lo === "number" && typeof hi === "number" ? ` (${number(lo)} to ${number(hi)})` : "";
      return [device, metric.replaceAll("_", " "), value === undefined ? `no estimate: ${unavailable}` : `${number(value)} ${unit}${interval}`];
    });
    const widths = [0, 1].map((column) => Math.max(0, ...rows.map((row) => row[column].length)));
    console.log(`${shown(file)}\n${rows.map(([device, metric, words]) => `  ${shown(device).padEnd(widths[0])}  ${metric.padEnd(widths[1])}  ${shown(words)}`).join("\n")}`);
  } catch (error) {
    console.error(`litecast: ${shown(file)}: ${shown(error.message)}`);
    process.exitCode = 1;
  }
}
