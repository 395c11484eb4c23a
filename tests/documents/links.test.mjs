/** Links of every document of the repository, the commands that README and guide show, and the site's pages from data. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { codes, explained } from "../../tools/site/codes.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file) => readFileSync(path.join(root, file), "utf8");
const COMMAND = process.env.LITECAST_COMMAND ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, "target"), "debug/litecast");
const documents = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).split("\n").filter(Boolean);

/** Text without code, in which brackets are no links. */
const prose = (file) => read(file).replace(/^```[^]*?^```$/gm, "").replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]]/g, " "));

/** Anchors as GitHub makes them of headings. */
function anchors(file) {
  const seen = new Map();
  return new Set([...read(file).replace(/^```[^]*?^```$/gm, "").matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading]) => {
    const slug = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const n = seen.get(slug) ?? 0;
    seen.set(slug, n + 1);
    return n ? `${slug}-${n}` : slug;
  }));
}

test("every link of a document leads to a file, and every anchor to a heading", () => {
  const findings = [];
  let n_links = 0;
  for (const file of documents) {
    for (const [, target] of prose(file).matchAll(/\]\(\s*([^)\s]+)\s*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      n_links += 1;
      const [to, anchor] = target.split("#");
      const linked = to === "" ? file : path.posix.join(path.posix.dirname(file), to);
      if (!existsSync(path.join(root, linked))) findings.push(`${file}: ${target}: no such file`);
      else if (anchor && linked.endsWith(".md") && !anchors(linked).has(anchor)) findings.push(`${file}: ${target}: no such heading`);
    }
  }
  assert.deepEqual(findings, []);
  assert.ok(n_links > 100, String(n_links));
});

test("every path of the repository that a document names exists", () => {
  const findings = [];
  for (const file of documents.filter((name) => name !== "CHANGELOG.md")) {
    for (const [, named] of read(file).matchAll(/`((?:docs|tools|tests|src|examples|www\/src|www\/package|python|trainer)\/[\w./-]+)`/g)) {
      if (/\.{3}|\/target\/|^trainer\/runs|^trainer\/results\/left-out/.test(named)) continue;
      const places = [named, path.posix.join(path.posix.dirname(file), named)];
      if (!places.some((place) => existsSync(path.join(root, place)))) findings.push(`${file}: ${named}`);
    }
  }
  assert.deepEqual(findings, []);
});

/** By the end of their paths: documents name a source file as its neighbours do. */
test("every source file that a document names exists, and in ARCHITECTURE.md every folder too", () => {
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n").map((file) => `/${file}`);
  const findings = [];
  let n_named = 0;
  for (const file of documents.filter((name) => name !== "CHANGELOG.md")) {
    const text = read(file).replace(/^```[^]*?^```$/gm, "");
    const sources = [...text.matchAll(/`([\w./-]+\.(?:rs|ts|mjs))`/g)].map(([, named]) => named.replace(/^(\.\.\/)+/, ""));
    const folders = file === "ARCHITECTURE.md" ? [...text.matchAll(/`(\w+\/[\w/]*)`/g)].map(([, named]) => `${named.replace(/\/$/, "")}/`) : [];
    n_named += sources.length + folders.length;
    findings.push(...sources.filter((named) => !files.some((known) => known.endsWith(`/${named}`))).map((named) => `${file}: ${named}`));
    findings.push(...folders.filter((named) => !files.some((known) => known.includes(`/${named}`))).map((named) => `${file}: ${named}`));
  }
  assert.deepEqual(findings, []);
  assert.ok(n_named > 100, String(n_named));
  const rooms = readdirSync(path.join(root, "src"), { withFileTypes: true }).map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  const architecture = read("ARCHITECTURE.md");
  assert.deepEqual(rooms.filter((room) => room !== "lib.rs" && !architecture.includes(`\`${room}`)), [], "rooms without a sentence in ARCHITECTURE.md");
});

test("each threat of SECURITY.md has a test, and every test that it names exists", () => {
  const tests = readdirSync(path.join(root, "tests"), { recursive: true }).filter((name) => /\.(rs|mjs)$/.test(name));
  const sources = tests.map((name) => read(path.join("tests", name))).join("\n");
  const isTest = (name) => existsSync(path.join(root, name)) || /^make [a-z-]+$/.test(name) || sources.includes(`fn ${name}()`) || sources.includes(`test("${name}"`);
  const threats = read("SECURITY.md").split("\n").filter((line) => line.startsWith("| ")).slice(1);
  for (const threat of threats) {
    const named = [...threat.split("|")[3].matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    assert.ok(named.length > 0, threat);
    assert.deepEqual(named.filter((name) => !isTest(name)), [], threat);
  }
  assert.ok(threats.length >= 10);
});

const skip = !existsSync(COMMAND) && `page: no command at ${COMMAND}`;

test("every command that README and guide show runs", { skip }, (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "snippets-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const example = path.join(root, "www/examples/cnn-kws-s7-i43.tflite");
  mkdirSync(path.join(folder, "models"));
  for (const name of ["model.tflite", "before.tflite", "models/a.tflite"]) cpSync(example, path.join(folder, name));
  cpSync(path.join(root, "www/examples/cnn-cifar10-s7-i9.tflite"), path.join(folder, "after.tflite"));
  writeFileSync(path.join(folder, "latencies.csv"), "model,ms\na.tflite,2.5\n");
  writeFileSync(path.join(folder, "profile.csv"), "model,ms\nmodel.tflite,2.5\nsmall-network-float32.tflite,1.5\n");
  let n_run = 0;
  for (const file of documents.filter((name) => name === "README.md" || name.startsWith("docs/guide/"))) {
    for (const [, block] of read(file).matchAll(/^```sh\n([^]*?)^```$/gm)) {
      for (const line of block.split("\n").filter((one) => one.startsWith("litecast "))) {
        const { status, stderr } = spawnSync("bash", ["-c", line.replace(/^litecast/, '"$0"'), COMMAND], { cwd: folder, encoding: "utf8" });
        assert.ok(status === 0 || status === 1, `${file}: ${line}\n${stderr}`);
        n_run += 1;
      }
    }
  }
  assert.ok(n_run >= 6, String(n_run));
});

test("every code that a report can have is explained, and no other", () => {
  const all = Object.values(explained).flatMap(Object.keys);
  assert.deepEqual([...codes()].filter((code) => !all.includes(code)), []);
  const sources = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".rs")).map((name) => read(`src/${name}`)).join("\n");
  assert.deepEqual(all.filter((code) => !sources.includes(`"${code}"`)), []);
  for (const group of Object.values(explained)) for (const [code, { meaning, do: what }] of Object.entries(group)) assert.ok(meaning.length > 5 && what.length > 3 && !/[.\n]$/.test(meaning + what), code);
});

test("the site's pages from data have what the command prints", { skip }, (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "site-"));
  context.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, "operators"));
  // The files of `make site` need LiteRT; two stand for them.
  cpSync(path.join(root, "tests/fuzz/corpus/conv_batch.tflite"), path.join(folder, "operators/CONV_2D.tflite"));
  cpSync(path.join(root, "tests/fuzz/corpus/lay_slice.tflite"), path.join(folder, "operators/SLICE.tflite"));
  const out = execFileSync("node", ["tools/site/generate.mjs", COMMAND, path.join(folder, "operators"), path.join(folder, "docs")], { cwd: root, encoding: "utf8" });
  assert.match(out, /^\d+ pages, 5 of them from data/);
  const page = (name) => readFileSync(path.join(folder, "docs/reference", `${name}.md`), "utf8");
  const targets = execFileSync(COMMAND, ["targets", "--json"], { encoding: "utf8" }).split("\n").filter(Boolean).map((line) => JSON.parse(line));
  for (const { id } of targets) assert.ok(page("targets").includes(`| \`${id}\` |`), id);
  assert.match(page("operators"), /\| `CONV_2D` \|( (yes|no|\?)? ?\|)+/);
  for (const name of Object.keys(JSON.parse(read("src/report/report.schema.json")).$defs)) assert.ok(page("report").includes(`\n## ${name}\n`), name);
  assert.match(page("manual"), /## litecast predict\n\n```text\n[^]*--target <ID>/);
  assert.ok(statSync(path.join(folder, "zensical.toml")).size > 1000);
});
