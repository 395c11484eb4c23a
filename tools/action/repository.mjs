/** Reads two states of a repository with git: the working tree, and the commit that a change is compared with. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, openSync, rmSync } from "node:fs";
import path from "node:path";
import { Refusal } from "./runner.mjs";

const MAX_OUTPUT_BYTES = 1 << 30;

function git(args, { env = {}, stdout = "pipe" } = {}) {
  const options = { encoding: "utf8", maxBuffer: MAX_OUTPUT_BYTES, stdio: ["ignore", stdout, "pipe"], env: { ...process.env, GIT_LITERAL_PATHSPECS: "", ...env } };
  try {
    return execFileSync("git", args, options);
  } catch (error) {
    throw new Refusal(`git ${args[0]}: ${String(error.stderr ?? error.message).trim()}`);
  }
}

function succeeds(args) {
  try {
    git(args);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

const records = (text) => text.split("\0").filter(Boolean);

const hasCommit = (commit) => succeeds(["cat-file", "-e", `${commit}^{commit}`]);
const fetches = (commit) => succeeds(["fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit]);

/** The commit that GitHub's merge of a pull request puts the change onto: newer than the one in the event. */
function mergedOnto(event) {
  if (!event.pull_request || !/^refs\/pull\/\d+\/merge$/.test(process.env.GITHUB_REF ?? "")) return undefined;
  // The commit states its parents where a shallow clone lacks them.
  const parents = [...git(["cat-file", "-p", "HEAD"]).split("\n\n")[0].matchAll(/^parent ([0-9a-f]+)$/gm)];
  return parents.length === 2 ? parents[0][1] : undefined;
}

/**
 * The commit to compare with, and a sentence where it is another one than the event names. No commit where the first
 * push of the default branch has none before it.
 */
export function base(event) {
  const named = process.env.BASE || mergedOnto(event) || event.pull_request?.base?.sha || event.merge_group?.base_sha || event.before;
  const isNamed = named && !/^0+$/.test(named);
  if (isNamed && !/^[0-9A-Za-z][\w./-]*$/.test(named)) throw new Refusal(`expected a commit as base, found ${JSON.stringify(named)}`);
  if (isNamed && (hasCommit(named) || (fetches(named) && hasCommit(named)))) return { commit: git(["rev-parse", `${named}^{commit}`]).trim() };
  const branch = event.repository?.default_branch;
  if (!isNamed && (!branch || event.ref === `refs/heads/${branch}`)) return {};
  if (!branch) throw new Refusal(`the base ${named} is not in the repository, and the event names no default branch`);
  if (!fetches(`refs/heads/${branch}`)) throw new Refusal(`neither the base ${named ?? ""} nor the default branch ${branch} is in the repository`);
  const note = isNamed ? `The base ${named.slice(0, 12)} is no longer in the repository: compared with the default branch.` : undefined;
  return { commit: git(["rev-parse", "FETCH_HEAD^{commit}"]).trim(), note };
}

/** A line of the input `models` as git's pathspec: a path as it stands, anything else as a pattern. */
export function pathspec(line, exists) {
  const [sign, rest] = line.startsWith("!") ? ["exclude,", line.slice(1)] : ["", line];
  const normal = path.posix.normalize(rest.replaceAll("\\", "/")).replace(/\/$/, "");
  if (path.posix.isAbsolute(normal) || normal.split("/")[0] === "..") throw new Refusal(`expected paths inside of the repository, found ${JSON.stringify(line)}`);
  if (normal === ".") return `:(${sign}top)`;
  const isPattern = /[*?[]/.test(normal) && !exists(normal);
  return `:(${sign}top,${isPattern ? "glob" : "literal"})${normal}`;
}

/** Entries of an index: path → kind of file and the hash of its content. */
function entries(text) {
  const rows = records(text).map((record) => /^(\d{6}) ([0-9a-f]+) \d\t([^]*)$/.exec(record));
  return new Map(rows.map(([, mode, blob, name]) => [name, { mode, blob }]));
}

/** The files of a commit that pathspecs select. */
export function filesOf(commit, pathspecs, scratch) {
  // Only an index takes every pathspec.
  const index = { GIT_INDEX_FILE: path.join(scratch, `index-${randomUUID()}`) };
  git(["read-tree", commit], { env: index });
  const files = entries(git(["ls-files", "--stage", "-z", "--", ...pathspecs], { env: index }));
  rmSync(index.GIT_INDEX_FILE);
  return files;
}

/** The files of the working tree that pathspecs select; one that git does not track or that was edited has no hash. */
export function filesHere(pathspecs) {
  const tracked = entries(git(["ls-files", "--stage", "-z", "--", ...pathspecs]));
  const edited = records(git(["diff-files", "--name-only", "-z", "--", ...pathspecs]));
  const others = records(git(["ls-files", "--others", "-z", "--", ...pathspecs]));
  for (const name of [...edited, ...others]) tracked.set(name, { mode: tracked.get(name)?.mode ?? "100644" });
  return tracked;
}

/** Where a symbolic link of a commit leads, as it is written. */
export const linkOf = ({ blob }) => git(["cat-file", "blob", blob]);

/** Writes a file of a commit as a checkout would have it. */
export function writeFileOf(commit, name, { blob }, file) {
  const descriptor = openSync(file, "w");
  try {
    // A model may be larger than what a process can hold.
    git(["cat-file", "--filters", `--path=${name}`, blob], { stdout: descriptor });
  } finally {
    closeSync(descriptor);
  }
}

/** Renamed files by their name in the working tree, also where their content changed somewhat. */
export function renames(commit, pathspecs) {
  const fields = records(git(["diff", "--find-renames", "--diff-filter=R", "--name-status", "-z", commit, "--", ...pathspecs]));
  const pairs = [];
  for (let i = 0; i + 2 < fields.length; i += 3) pairs.push([fields[i + 2], fields[i + 1]]);
  return new Map(pairs);
}

export const root = () => git(["rev-parse", "--show-toplevel"]).trim();
