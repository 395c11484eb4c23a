/** The models of both states, paired: changed, new, removed, renamed or unchanged. */
import { createHash } from "node:crypto";
import { closeSync, copyFileSync, existsSync, linkSync, lstatSync, mkdirSync, openSync, readFileSync, readSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { filesHere, filesOf, linkOf, pathspec, renames, root, writeFileOf } from "./repository.mjs";
import { Refusal } from "./runner.mjs";

/** Those that the command looks for in folders. */
const EXTENSIONS = [".tflite", ".lite", ".onnx"];
/** What a clone without Git LFS has in place of a file. */
const POINTER = "version https://git-lfs.github.com/spec/v1\n";
const MAX_LINKS = 8;
const LINK = "120000";
const SUBMODULE = "160000";

const extension = (name) => path.posix.extname(name).toLowerCase();
const isModel = (name) => EXTENSIONS.includes(extension(name));
const byName = (a, b) => (a < b ? -1 : Number(a > b));

function hashOf(file) {
  const hash = createHash("sha256");
  const part = Buffer.alloc(1 << 20);
  const descriptor = openSync(file, "r");
  for (let n = readSync(descriptor, part); n > 0; n = readSync(descriptor, part)) hash.update(part.subarray(0, n));
  closeSync(descriptor);
  return hash.digest("hex");
}

/** A file of the working tree; `null` for a link that leads out of it, `undefined` where nothing is. */
function fileHere(top, name) {
  const file = path.join(top, name);
  if (!lstatSync(file, { throwIfNoEntry: false })) return undefined;
  let real;
  try {
    real = realpathSync(file);
  } catch {
    return null;
  }
  const inside = path.relative(top, real);
  const isOutside = inside.startsWith("..") || path.isAbsolute(inside) || inside.split(path.sep)[0] === ".git";
  return !isOutside && lstatSync(real).isFile() ? real : null;
}

/** The entry of a commit that a name leads to, through links inside of the commit only. */
function entryBefore(all, name) {
  for (let n_links = 0; n_links <= MAX_LINKS; n_links += 1) {
    const entry = all.get(name);
    if (!entry || entry.mode === SUBMODULE) return undefined;
    if (entry.mode !== LINK) return { name, ...entry };
    name = path.posix.join(path.posix.dirname(name), linkOf(entry));
  }
  return undefined;
}

/** Entries of both sides that the input `models` selects. Fails where a line matches nothing on both sides. */
function select(lines, top, all) {
  const isThere = (name) => all.has(name) || [...all.keys()].some((file) => file.startsWith(`${name}/`));
  const exists = (name) => existsSync(path.join(top, name)) || isThere(name);
  const specs = lines.map((line) => ({ line, spec: pathspec(line, exists), isExcluded: line.startsWith("!") }));
  const excluded = specs.filter(({ isExcluded }) => isExcluded).map(({ spec }) => spec);
  const included = specs.filter(({ isExcluded }) => !isExcluded);
  if (included.length === 0) throw new Refusal('expected a path or pattern in the input "models", found none');
  return { included, excluded };
}

/** Entries that one line selects. A file that is named itself is a model whatever it is called. */
const keep = (files, spec) => [...files].filter(([name, { mode }]) => mode !== SUBMODULE && (isModel(name) || spec === `:(top,literal)${name}`));

/**
 * Models as `{ status, name, from?, before?, after?, isEqual }`, where `before` and `after` are files that can be
 * read, and `from` is the name before a renaming. Links that lead out of the repository come apart, by name.
 */
export function models(lines, commit, scratch) {
  const top = realpathSync(root());
  const all = commit === undefined ? new Map() : filesOf(commit, [":(top)"], scratch);
  const { included, excluded } = select(lines, top, all);
  const entries = { before: new Map(), after: new Map() };
  const empty = [];
  for (const { line, spec } of included) {
    const before = commit === undefined ? [] : keep(filesOf(commit, [spec, ...excluded], scratch), spec);
    const after = keep(filesHere([spec, ...excluded]), spec);
    for (const [name, entry] of before) entries.before.set(name, entry);
    for (const [name, entry] of after) entries.after.set(name, entry);
    if (before.length + after.length === 0) empty.push(JSON.stringify(line));
  }
  if (empty.length > 0) throw new Refusal(`no model matches ${empty.join(", ")}, before or after the change`);

  const links = [];
  const after = new Map();
  for (const name of [...entries.after.keys()].sort(byName)) {
    const file = fileHere(top, name);
    if (file === null) links.push(name);
    if (file) after.set(name, file);
  }
  const folder = path.join(scratch, "base");
  mkdirSync(folder);
  const before = new Map();
  const known = new Set();
  for (const name of [...entries.before.keys()].sort(byName)) {
    const entry = entryBefore(all, name);
    if (!entry) continue;
    const here = entries.after.get(name);
    if (here?.blob === entry.blob && here.mode !== LINK && after.has(name)) {
      // Git has the same content on both sides: nothing is written or read.
      before.set(name, after.get(name));
      known.add(name);
      continue;
    }
    const file = path.join(folder, String(before.size));
    writeFileOf(commit, entry.name, entry, file);
    before.set(name, file);
  }
  const from = renamed(before, after, () => renames(commit, [...included.map(({ spec }) => spec), ...excluded]));

  const pairs = [];
  const sources = new Set(from.values());
  for (const [name, file] of after) {
    const source = from.get(name);
    const earlier = before.get(source ?? name);
    const isEqual = known.has(name) || (earlier !== undefined && statSync(earlier).size === statSync(file).size && hashOf(earlier) === hashOf(file));
    const status = earlier === undefined ? "new" : isEqual && source === undefined ? "unchanged" : "changed";
    pairs.push({ status, name, from: source, before: earlier, after: file, isEqual });
  }
  for (const [name, file] of before) if (!after.has(name) && !sources.has(name)) pairs.push({ status: "removed", name, before: file, isEqual: false });
  return { pairs: pairs.sort((a, b) => byName(a.name, b.name)), links };
}

/** The earlier names of new files: those of equal content first, then those that git finds similar. */
function renamed(before, after, similar) {
  const added = [...after.keys()].filter((name) => !before.has(name));
  const gone = new Set([...before.keys()].filter((name) => !after.has(name)));
  const from = new Map();
  const take = (name, source) => {
    if (from.has(name) || !gone.has(source) || extension(name) !== extension(source)) return;
    from.set(name, source);
    gone.delete(source);
  };
  if (added.length === 0 || gone.size === 0) return from;
  const byHash = new Map([...gone].reverse().map((name) => [hashOf(before.get(name)), name]));
  for (const name of added) take(name, byHash.get(hashOf(after.get(name))));
  if (gone.size > 0 && from.size < added.length) for (const [name, source] of similar()) if (after.has(name) && !before.has(name)) take(name, source);
  return from;
}

export function isPointer(file) {
  return file !== undefined && statSync(file).size < 1024 && readFileSync(file, "latin1").startsWith(POINTER);
}

function place(file, to) {
  try {
    linkSync(file, to);
  } catch {
    copyFileSync(file, to);
  }
}

/** Puts the files of models under numbers into the folders `before` and `after`: the command sees no name of a stranger. */
export function writeNumbered(pairs, folder) {
  for (const side of ["before", "after"]) mkdirSync(path.join(folder, side), { recursive: true });
  return new Map(pairs.map((pair, i) => {
    const known = extension(pair.name);
    const name = `${String(i).padStart(6, "0")}${EXTENSIONS.includes(known) ? known : ".tflite"}`;
    for (const side of ["before", "after"]) if (pair[side] !== undefined) place(pair[side], path.join(folder, side, name));
    return [name, pair];
  }));
}
