/** The Markdown of a change: failures and changed models first, what did not change as counts, cut to what fits. */
import { code } from "./text.mjs";

/** GitHub refuses comments above 65,536 characters; JavaScript counts those outside of the basic plane twice. */
export const COMMENT_CHARACTERS = 65_536;

const counted = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const list = (names) => names.map((name) => `- ${code(name)}`).join("\n");

function heading({ status, name, from }) {
  if (from !== undefined) return `#### ${code(name)}, renamed from ${code(from)}`;
  return `#### ${code(name)}${status === "changed" ? "" : ` (${status})`}`;
}

/** A model on one line, for where its table does not fit: the largest change of an estimate. */
function row(pair) {
  const changes = pair.comparison.results.filter(({ change_percent }) => change_percent !== null);
  const [largest] = changes.sort((a, b) => Math.abs(b.change_percent) - Math.abs(a.change_percent));
  const percent = largest && `${largest.change_percent < 0 ? "−" : "+"}${Number(Math.abs(largest.change_percent).toPrecision(2)).toLocaleString("en")} %`;
  const words = largest && largest.change_percent !== 0 ? `${largest.metric.replaceAll("_", " ")} ${percent} on ${largest.target}` : "";
  return `| ${code(pair.name)} | ${pair.status} | ${words} |`;
}

/** How many characters of a text and of its last line are allowed; the rest is counted. */
function cut(text, limit, words) {
  if (text.length <= limit) return text;
  const room = limit - words.length - 4;
  const end = text.lastIndexOf("\n", room);
  return `${text.slice(0, end)}\n\n${words}\n`;
}

/**
 * `change` as `compare.mjs` collects it, in at most `limit` characters. Models beyond that have one line instead of
 * their table, and those beyond that are counted.
 */
export function markdown(change, limit) {
  const { pairs, failures, notes, links, checked, version } = change;
  const shown = pairs.filter(({ kind }) => kind === "shown");
  const equal = pairs.filter(({ kind }) => kind === "equal");
  const moved = pairs.filter(({ kind }) => kind === "moved");
  const unread = pairs.filter(({ kind }) => kind === "unread");
  const n_unchanged = pairs.filter(({ kind }) => kind === "unchanged").length;
  const count = (status) => shown.filter((pair) => pair.status === status).length;
  const summary = [
    [count("changed"), "changed"], [count("new"), "new"], [count("removed"), "removed"],
    [moved.length, "renamed"], [equal.length, "changed without an effect on any estimate"],
    [unread.length, "without an estimate before and after"], [n_unchanged, "unchanged"],
  ].filter(([n]) => n > 0).map(([n, words]) => `${n.toLocaleString("en")} ${words}`);
  const head = ["### What this change does to the models", "", `${counted(pairs.length, "model")}: ${summary.join(", ")}.`];
  for (const note of notes) head.push("", note);
  if (failures.length > 0) head.push("", `:x: ${counted(failures.length, "finding")} that the change should not have:`, "", ...failures.map(({ file, message }) => `- ${file === undefined ? "" : `${code(file)}: `}${code(message)}`));
  if (links.length > 0) head.push("", `${counted(links.length, "symbolic link")} ${links.length === 1 ? "leads" : "lead"} out of the repository and ${links.length === 1 ? "was" : "were"} not read:`, "", list(links));
  const tail = [];
  if (moved.length > 0) tail.push("#### Renamed without an effect on any estimate", "", ...moved.map(({ name, from }) => `- ${code(from)} → ${code(name)}`), "");
  if (equal.length > 0) tail.push("#### Changed without an effect on any estimate", "", list(equal.map(({ name }) => name)), "");
  if (unread.length > 0) tail.push("#### Without an estimate before and after", "", ...unread.map(({ name, reason }) => `- ${code(name)}: ${code(reason)}`), "");
  if (checked) tail.push("#### Limits of the configuration", checked, "");
  const last = `Estimated by ${version} before any deployment; no number is a measurement of your board.`;

  // A long list of failures or of unread models leaves room for the tables of a few changed ones.
  const more = "… (the job summary and the output `table` have the rest)";
  const text = { head: cut(head.join("\n"), Math.floor(limit / 4), more), tail: cut(tail.join("\n"), Math.floor(limit / 4), more) };
  let room = limit - text.head.length - text.tail.length - last.length - more.length - 200;
  const sections = shown.map((pair) => `${heading(pair)}\n\n${pair.table.trim()}\n`);
  const rows = shown.map(row);
  const size = (texts) => texts.reduce((sum, { length }) => sum + length + 1, 0);
  let n_tables = shown.length;
  let n_rows = 0;
  if (size(sections) > room) {
    const table = ["#### Further models", "", "| Model | | Largest change |", "|---|---|---|"];
    room -= size(table);
    let rest = size(rows);
    n_tables = 0;
    let used = 0;
    while (used + sections[n_tables].length + 1 + (rest - rows[n_tables].length - 1) <= room) {
      used += sections[n_tables].length + 1;
      rest -= rows[n_tables].length + 1;
      n_tables += 1;
    }
    for (const line of rows.slice(n_tables)) {
      if (used + line.length + 1 > room) break;
      used += line.length + 1;
      n_rows += 1;
    }
    sections.splice(n_tables, Infinity, [...table, ...rows.slice(n_tables, n_tables + n_rows)].join("\n"));
    const n_left = shown.length - n_tables - n_rows;
    if (n_left > 0) sections.push("", `${counted(n_left, "further model")}: ${more}`);
  }
  return [text.head, "", ...sections, "", text.tail, last].join("\n").replace(/\n{3,}/g, "\n\n");
}
