/** What GitHub's runner gives a step and takes from it: the event, outputs, the summary, annotations. */
import { randomUUID } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { commandProperty, commandValue } from "./text.mjs";

/** The runner refuses a summary above 1 MiB; this many bytes leave room for other steps' rounding. */
export const SUMMARY_BYTES = 1_000_000;
/** The runner shows ten annotations of each kind and step. */
const N_ANNOTATIONS = 10;

/** An input that is wrong, or a service without which nothing can be done. */
export class Refusal extends Error {}

export function event() {
  const file = process.env.GITHUB_EVENT_PATH;
  return file ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** Lines of an input, without those that are blank. */
export function lines(input) {
  return (input ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
}

export function words(input) {
  return (input ?? "").split(/\s+/).filter(Boolean);
}

export function setOutput(name, value) {
  if (!process.env.GITHUB_OUTPUT) return;
  // A delimiter that no value can foresee.
  const end = randomUUID();
  appendFileSync(process.env.GITHUB_OUTPUT, `${name}<<${end}\n${value}\n${end}\n`);
}

export function addSummary(markdown) {
  if (process.env.GITHUB_STEP_SUMMARY) appendFileSync(process.env.GITHUB_STEP_SUMMARY, `${markdown}\n`);
}

/** Prints text of which no line is a command to the runner. */
export function print(text) {
  const end = randomUUID();
  process.stdout.write(`::stop-commands::${end}\n${text}\n::${end}::\n`);
}

export function annotate(kind, message, { file, title = "LiteCast" } = {}) {
  const properties = [["title", title], ...(file === undefined ? [] : [["file", file]])];
  const text = properties.map(([name, value]) => `${name}=${commandProperty(value)}`).join(",");
  process.stdout.write(`::${kind} ${text}::${commandValue(message)}\n`);
}

/** As many annotations as are shown; the last one counts the others. */
export function annotateAll(kind, findings) {
  const shown = findings.length > N_ANNOTATIONS ? N_ANNOTATIONS - 1 : findings.length;
  for (const { message, file } of findings.slice(0, shown)) annotate(kind, message, { file });
  if (shown < findings.length) annotate(kind, `${findings.length - shown} more; the job summary has all`);
}

/** Runs a step: a refusal is an annotation and exit code 2, another error is ours. */
export async function step(run) {
  try {
    process.exitCode = (await run()) ?? 0;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    annotate("error", error.message);
    process.exitCode = 2;
  }
}
