/**
 * Compares the models of the working tree with those of the base of the change, holds both to the limits, and writes
 * the table, the job summary, annotations and JUnit XML. Exits with 1 where a limit is exceeded, a model lost its
 * estimate or a new one has none, and with 2 where nothing could be done.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { junit } from "./junit.mjs";
import { describe, isFailure, judge, parse } from "./limits.mjs";
import { isPointer, models, writeNumbered } from "./models.mjs";
import { COMMENT_CHARACTERS, markdown } from "./report.mjs";
import { base } from "./repository.mjs";
import { Refusal, SUMMARY_BYTES, addSummary, annotate, annotateAll, event, lines, print, setOutput, step, words } from "./runner.mjs";

const litecast = process.env.LITECAST;
/** A table for every one of some thousand models. */
const MAX_OUTPUT_BYTES = 1 << 28;

function run(args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(litecast, args, { cwd, encoding: "utf8", maxBuffer: MAX_OUTPUT_BYTES });
  if (error) throw new Refusal(`${litecast} could not be run: ${error.message}`);
  // 1: a file has no report, or a limit is exceeded. 2: that holds for all, or nothing was done and nothing printed.
  if (status === 0 || status === 1 || (status === 2 && stdout !== "")) return stdout;
  throw new Refusal(`litecast ${args[0]}: ${stderr.trim() || `exit code ${status}`}`);
}

const json = (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Tables of the command by the number that stands for a model. */
function sections(text) {
  const parts = text.split(/^#### (\d{6}\.[a-z]+)\n/m).slice(1);
  return new Map(parts.filter((_, i) => i % 2 === 0).map((name, i) => [name, parts[2 * i + 1].trim()]));
}

/** What the table says of a pair before its rows: nothing, `new`, or why a side has no report. */
const remark = (table) => table.split("\n")[0].replace(/^\|.*/, "");

/** Adds to every pair what it is shown as, its comparison and its table. */
function estimate(pairs, options, scratch) {
  const differing = pairs.filter(({ isEqual }) => !isEqual);
  if (differing.length > 0) {
    const numbered = writeNumbered(differing, scratch);
    const args = ["compare", ...options, "before", "after"];
    const tables = sections(run([...args, "--markdown"], scratch));
    for (const comparison of json(run([...args, "--json"], scratch))) {
      const pair = numbered.get(comparison.name);
      const table = tables.get(comparison.name);
      const hasRows = /^\|/m.test(table);
      const { before, after } = comparison;
      pair.comparison = comparison;
      pair.reason = remark(table);
      // Of a model that is gone, nobody needs the numbers.
      pair.table = pair.status === "removed" ? "" : table.replace(/^new\n/, "");
      pair.isLost = after === null && pair.after !== undefined && (before !== null || pair.before === undefined);
      pair.kind = before === null && after === null && !pair.isLost ? "unread" : hasRows || pair.isLost || pair.status !== "changed" ? "shown" : pair.from === undefined ? "equal" : "moved";
    }
  }
  // Of what did not change only those are named that have no report: reading is enough for that.
  const equal = pairs.filter(({ isEqual }) => isEqual);
  if (equal.length === 0) return;
  const folder = path.join(scratch, "equal");
  const numbered = writeNumbered(equal, folder);
  for (const pair of equal) pair.kind = pair.from === undefined ? "unchanged" : "moved";
  const dimensions = options.filter((option) => option.startsWith("--dim="));
  for (const { file, error } of json(run(["facts", "--json", ...dimensions, "after"], folder))) {
    if (!error) continue;
    const pair = numbered.get(path.basename(file));
    pair.kind = "unread";
    pair.reason = error.message;
  }
}

/** Shown first what failed, then what changed, what is new, and what is gone. */
function sorted(pairs, failures) {
  const failed = new Set(failures.map(({ file }) => file));
  const rank = ({ name, status }) => (failed.has(name) ? 0 : 1 + ["changed", "new", "removed"].indexOf(status));
  return [...pairs].sort((a, b) => rank(a) - rank(b));
}

/** Verdicts of `litecast check` on the configuration of the repository. */
function check(config, dimensions) {
  const args = ["check", `--config=${config}`, ...dimensions];
  const stdout = run([...args, "--json"]);
  const value = (number) => (number === null ? "no estimate" : String(Number(number.toPrecision(3))));
  const cases = json(stdout).flatMap(({ file, limits, error }) => {
    if (error) return [{ file, name: "report", failure: error.message }];
    return limits.map(({ target, metric, status, value: estimate, limit, unit, unavailable }) => {
      const name = [metric, target && `on ${target}`].filter(Boolean).join(" ");
      const words = `${name}: ${value(estimate)} ${unit}, limit ${value(limit)} ${unit}${unavailable ? ` (${unavailable})` : ""}`;
      return { file, name, ...(status === "within" ? {} : { failure: words }) };
    });
  });
  return { cases, text: run([...args, "--markdown"]) };
}

await step(() => {
  const scratch = mkdtempSync(path.join(realpathSync(process.env.RUNNER_TEMP || os.tmpdir()), "litecast-"));
  const limits = parse(lines(process.env.MAX_INCREASE));
  const dimensions = words(process.env.DIM).map((dim) => `--dim=${dim}`);
  const options = [...words(process.env.TARGETS).map((target) => `--target=${target}`), ...dimensions];
  const { commit, note } = base(event());
  const { pairs, links } = models(lines(process.env.MODELS), commit, scratch);
  estimate(pairs, options, scratch);

  const notes = [note, commit === undefined && "There is nothing to compare with: all models are new."].filter(Boolean);
  const pointers = pairs.filter(({ before, after }) => isPointer(after) || isPointer(before)).length;
  if (pointers > 0) notes.push(`${pointers} of the files are pointers of Git LFS, not models: check the repository out with \`lfs: true\`.`);

  const cases = [];
  for (const pair of pairs) {
    if (pair.isLost) cases.push({ file: pair.name, name: "report", failure: pair.reason || "no report" });
    if (!pair.comparison || pair.before === undefined || pair.comparison.after === null) continue;
    for (const verdict of judge(pair.comparison, limits)) {
      const { metric, target, limit_percent, status } = verdict;
      const name = `${metric}${target ? ` on ${target}` : ""}: at most +${limit_percent} %`;
      const words = describe(verdict);
      cases.push({ file: pair.name, name, ...(isFailure(verdict) ? { failure: words } : status === "unknown" ? { skipped: words } : {}) });
    }
  }
  for (const link of links) cases.push({ file: link, name: "report", failure: "a symbolic link leads out of the repository" });
  const checked = process.env.CHECK === "true" ? check(process.env.CONFIG, dimensions) : undefined;
  cases.push(...(checked?.cases ?? []));
  const failures = cases.filter(({ failure }) => failure !== undefined).map(({ file, failure }) => ({ file, message: failure }));

  const version = run(["--version"]);
  const change = { pairs: sorted(pairs, failures), failures, notes, links, checked: checked?.text, version: version.trim() };
  const text = markdown(change, Infinity);
  const files = Object.fromEntries(["table.md", "comment.md", "junit.xml"].map((name) => [name, path.join(scratch, name)]));
  writeFileSync(files["table.md"], text);
  // The comment begins with a marker of at most 100 characters.
  writeFileSync(files["comment.md"], markdown(change, COMMENT_CHARACTERS - 100));
  writeFileSync(files["junit.xml"], junit(cases));
  if (process.env.JUNIT) writeFileSync(process.env.JUNIT, junit(cases));
  print(text);
  addSummary(Buffer.byteLength(text) < SUMMARY_BYTES ? text : markdown(change, Math.floor(SUMMARY_BYTES / 4)));
  annotateAll("error", failures);
  if (note) annotate("warning", note);
  setOutput("table", files["table.md"]);
  setOutput("comment", files["comment.md"]);
  setOutput("junit", files["junit.xml"]);
  setOutput("changed", String(pairs.some(({ kind }) => kind !== "unchanged" && kind !== "unread") || failures.length > 0));
  return failures.length > 0 ? 1 : 0;
});
