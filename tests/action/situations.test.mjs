/** What the Action does in a repository: each test runs the steps of action.yml on a change to a few models. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { COMMAND, makeRepository, root, runAction, serve } from "./runner.mjs";

const KWS = { copy: "www/examples/cnn-kws-s7-i43.tflite" };
const CIFAR = { copy: "www/examples/cnn-cifar10-s7-i9.tflite" };
/** Has a dimension `M` that only the user knows. */
const OPEN = { copy: "tests/fuzz/corpus/openb.onnx" };
const CONVOLUTIONS = { copy: "tests/web/convolutions.onnx" };
const NPU = "ethos-u55-128";
const BROKEN = "no model";

if (!existsSync(COMMAND)) throw new Error(`expected the command at ${COMMAND} (cargo build --bin litecast), found nothing`);

const pull = (base, more = {}) => ({ pull_request: { number: 7, base: { sha: base } }, repository: { default_branch: "main" }, ...more });
const inputs = (more = {}) => ({ models: "models", targets: NPU, command: COMMAND, comment: "false", ...more });
const run = ({ repository, base }, more, rest = {}) => runAction(repository, { inputs: inputs(more), event: pull(base), ...rest });
const headings = (text) => [...text.matchAll(/^#### (.*)$/gm)].map(([, heading]) => heading);
const okay = (result) => assert.equal(result.status, 0, result.stdout + result.stderr);

/** Rows of the command itself: the judge of what the tables state. */
function compared(before, after) {
  const text = execFileSync(COMMAND, ["compare", `--target=${NPU}`, "--markdown", path.join(root, before), path.join(root, after)], { encoding: "utf8" });
  return text.split("\n").filter((line) => line.startsWith("|"));
}

/** GitHub's comments: those that are there, and what the Action sends. */
function comments(context, existing, { user = { status: 403, json: { message: "Resource not accessible by integration" } }, write } = {}) {
  return serve(context, (request) => {
    const url = new URL(request.url, "http://a");
    if (url.pathname === "/user") return user;
    if (request.method !== "GET") return write ?? { status: request.method === "POST" ? 201 : 200, json: { id: 1 } };
    const page = Number(url.searchParams.get("page"));
    return { json: existing.slice(100 * (page - 1), 100 * page) };
  });
}

/** A folder like a release's, and the action's files that the steps read. */
function makeRelease(context, { bytes } = {}) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "release-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const [, version] = /^version = "(.*)"/m.exec(readFileSync(path.join(root, "Cargo.toml"), "utf8"));
  const platforms = JSON.parse(readFileSync(path.join(root, "tools/release/platforms.json"), "utf8"));
  const here = platforms.find(({ node }) => node === `${process.platform}-${process.arch}`);
  const name = `litecast-v${version}-${here.target}`;
  mkdirSync(path.join(folder, name));
  // The command of a development build has hundreds of megabytes.
  writeFileSync(path.join(folder, name, here.command), `#!/bin/sh\nexec ${JSON.stringify(COMMAND)} "$@"\n`);
  execFileSync("tar", ["-czf", `${name}.tar.gz`, name], { cwd: folder });
  const archive = readFileSync(path.join(folder, `${name}.tar.gz`));
  const sum = createHash("sha256").update(bytes ?? archive).digest("hex");
  const below = `/o/litecast/releases/download/v${version}/`;
  const files = new Map([[`${below}SHA256SUMS`, Buffer.from(`${"0".repeat(64)}  other.tar.gz\n${sum}  ${name}.tar.gz\n`)], [`${below}${name}.tar.gz`, archive]]);
  return { files, sum, version };
}

// Most of their time is the start of processes.
describe("the Action", { concurrency: 4 }, () => {
  test("(a) a changed model has the command's table", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS });
    repository.commit({ "models/kws.tflite": CIFAR });
    const result = await run(repository);
    okay(result);
    assert.deepEqual(headings(result.table), ["`models/kws.tflite`"]);
    const rows = compared(KWS.copy, CIFAR.copy);
    assert.ok(rows.length > 8);
    for (const row of rows) assert.ok(result.table.includes(row), row);
    assert.ok(result.summary.includes(rows.at(-1)));
    assert.match(result.table, /1 model: 1 changed\./);
  });

  test("(b) an added model has its numbers, without a base too", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS });
    repository.commit({ "models/new.tflite": CIFAR });
    const result = await run(repository);
    okay(result);
    assert.deepEqual(headings(result.table), ["`models/new.tflite` (new)"]);
    assert.match(result.table, /\| ethos-u55-128 \| latency \| \? \| 2\.63 ms \|/);
    // The first push of the default branch has no commit before it.
    const event = { before: "0".repeat(40), ref: "refs/heads/main", repository: { default_branch: "main" } };
    const first = await runAction(repository.repository, { inputs: inputs(), event });
    okay(first);
    assert.match(first.table, /2 models: 2 new\./);
    // One that was not committed, because the workflow made it, is new as well.
    repository.change({ "models/made.tflite": KWS });
    assert.match((await run(repository)).table, /#### `models\/made\.tflite` \(new\)/);
    // A new model that cannot be read fails.
    repository.change({ "models/made.tflite": BROKEN });
    const broken = await run(repository);
    assert.equal(broken.status, 1);
    assert.match(broken.stdout, /::error title=LiteCast,file=models\/made\.tflite::/);
  });

  test("(c) a removed model is named", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS, "models/cifar.tflite": CIFAR });
    repository.commit({ "models/cifar.tflite": null });
    const result = await run(repository);
    okay(result);
    assert.deepEqual(headings(result.table), ["`models/cifar.tflite` (removed)"]);
    // The last model may go, too.
    repository.commit({ "models/kws.tflite": null });
    const all = await run(repository);
    okay(all);
    assert.match(all.table, /2 models: 2 removed\./);
  });

  test("(d) a renamed model is one model, changed or not", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS, "models/cifar.tflite": CIFAR });
    // The same network in a larger file.
    const edited = Buffer.concat([readFileSync(path.join(root, CIFAR.copy)), Buffer.alloc(8192)]);
    repository.commit({ "models/kws.tflite": null, "models/sub/k.tflite": KWS, "models/cifar.tflite": null, "models/c2.tflite": edited });
    const result = await run(repository);
    okay(result);
    assert.match(result.table, /- `models\/kws\.tflite` → `models\/sub\/k\.tflite`/);
    assert.match(result.table, /#### `models\/c2\.tflite`, renamed from `models\/cifar\.tflite`/);
    assert.doesNotMatch(result.table, /\((new|removed)\)/);
  });

  test("(e) unchanged models are counted, not listed", async (context) => {
    const names = Array.from({ length: 5 }, (_, i) => `models/same${i}.tflite`);
    const repository = makeRepository(context, { ...Object.fromEntries(names.map((name) => [name, KWS])), "models/a.tflite": KWS, "models/pad.tflite": KWS });
    const padded = Buffer.concat([readFileSync(path.join(root, KWS.copy)), Buffer.alloc(4)]);
    repository.commit({ "models/a.tflite": CIFAR });
    const result = await run(repository);
    okay(result);
    assert.match(result.table, /7 models: 1 changed, 6 unchanged\./);
    assert.doesNotMatch(result.table, /same\d/);
    // Bytes that no estimate depends on.
    repository.commit({ "models/pad.tflite": padded });
    assert.match((await run(repository)).table, /#### Changed without an effect on any estimate\n\n- `models\/pad\.tflite`\n/);
  });

  test("(f) a line that matches nothing fails, and says which", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS, "readme.txt": "-" });
    for (const [models, expected] of [["modles", /no model matches "modles"/], ["models\n*.onnx", /no model matches "\*\.onnx"/], ["readme", /no model matches/], ["\n", /expected a path or pattern/], ["../models", /inside of the repository/], ["/etc", /inside of the repository/]]) {
      const result = await run(repository, { models });
      assert.equal(result.status, 2, `${models}: ${result.stdout}`);
      assert.match(result.stdout, expected);
      assert.equal(result.table, undefined);
    }
  });

  test("(g) several paths and patterns, some left out", async (context) => {
    const files = { "models/a.tflite": KWS, "models/deep/er/b.TFLITE": KWS, "models/deep/er/c.onnx": CONVOLUTIONS, "other/d.tflite": KWS, "other/e.onnx": CONVOLUTIONS, "third/f[1].tflite": KWS };
    const repository = makeRepository(context, files);
    repository.commit(Object.fromEntries(Object.keys(files).map((name) => [name, null])));
    const selected = async (models) => headings((await run(repository, { models })).table).map((heading) => /`(.*)`/.exec(heading)[1]);
    assert.deepEqual(await selected("models\nother/*.onnx"), ["models/a.tflite", "models/deep/er/b.TFLITE", "models/deep/er/c.onnx", "other/e.onnx"]);
    assert.deepEqual(await selected("**/*.onnx"), ["models/deep/er/c.onnx", "other/e.onnx"]);
    assert.deepEqual(await selected("models/*.tflite\n./other/\n!other/*.onnx"), ["models/a.tflite", "other/d.tflite"]);
    assert.deepEqual(await selected("third/f[1].tflite\n"), ["third/f[1].tflite"]);
    assert.equal((await selected(".")).length, 6);
  });

  test("(h) a model without an estimate before and after is reported and does not fail; dim gives the size that it lacks", async (context) => {
    const repository = makeRepository(context, { "models/open.onnx": OPEN, "models/broken.tflite": BROKEN, "models/kws.tflite": KWS, "models/still.tflite": BROKEN });
    repository.commit({ "models/broken.tflite": `${BROKEN} again` });
    const result = await run(repository);
    okay(result);
    assert.match(result.table, /3 without an estimate before and after/);
    for (const name of ["broken.tflite", "still.tflite", "open.onnx"]) assert.match(result.table, new RegExp(`- \`models/${name}\`: `));
    assert.match(result.table, /--dim M=SIZE/);
    const sized = await run(repository, { dim: "M=4" });
    okay(sized);
    assert.match(sized.table, /2 without an estimate before and after/);
    assert.doesNotMatch(sized.table, /open\.onnx/);
    // A model that had an estimate and lost it fails.
    repository.commit({ "models/kws.tflite": BROKEN });
    const lost = await run(repository);
    assert.equal(lost.status, 1);
    assert.match(lost.stdout, /::error title=LiteCast,file=models\/kws\.tflite::/);
  });

  test("(i) the Action finds its own comment by its marker", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS });
    repository.commit({ "models/kws.tflite": CIFAR });
    const commented = async (existing, options, more) => {
      const { address, requests } = await comments(context, existing, options);
      okay(await run(repository, { comment: "true", ...more }, { env: { GITHUB_API_URL: address } }));
      return requests.filter(({ method }) => method !== "GET");
    };
    const bot = { login: "github-actions[bot]", type: "Bot" };
    const [{ method, url, body, headers }] = await commented([]);
    assert.deepEqual([method, url, headers.authorization], ["POST", "/repos/o/r/issues/7/comments", "Bearer t"]);
    const [marker] = /^<!-- litecast [0-9a-f]{16} -->\n/.exec(body.body);
    // On the second page, among other comments of the same user, and beside a stranger's that copies the marker.
    const others = Array.from({ length: 120 }, (_, id) => ({ id, user: bot, body: "coverage" }));
    const stranger = { id: 500, user: { login: "eve", type: "User" }, body: `${marker}mine` };
    const own = { id: 501, user: bot, body: `${marker}old` };
    const [patched] = await commented([...others, stranger, own, { id: 502, user: bot, body: `see ${marker}` }]);
    assert.deepEqual([patched.method, patched.url], ["PATCH", "/repos/o/r/issues/comments/501"]);
    assert.ok(patched.body.body.startsWith(marker));
    // A person's token is known by its name.
    const person = { id: 9, user: { login: "ann", type: "User" }, body: `${marker}old` };
    const [as_person] = await commented([stranger, own, person], { user: { status: 200, json: { login: "ann" } } });
    assert.equal(as_person.url, "/repos/o/r/issues/comments/9");
    // Another title is another comment.
    const [titled] = await commented([own], {}, { title: "float" });
    assert.equal(titled.method, "POST");
    // A change that touches no model adds no comment, but renews an old one.
    repository.commit({ "models/kws.tflite": KWS });
    assert.deepEqual(await commented([]), []);
    assert.equal((await commented([own]))[0].method, "PATCH");
  });

  test("(j) with a fork's token that may only read, the job summary has the table", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS });
    repository.commit({ "models/kws.tflite": CIFAR });
    const { address, requests } = await comments(context, [], { write: { status: 403, json: { message: "Resource not accessible by integration" } } });
    const result = await run(repository, { comment: "true" }, { env: { GITHUB_API_URL: address } });
    okay(result);
    assert.equal(requests.at(-1).method, "POST");
    assert.match(result.summary, /#### `models\/kws\.tflite`/);
    assert.match(result.stdout, /::notice title=LiteCast::the token may not comment \(403 Resource not accessible by integration\)/);
  });

  test("(k) 300 models fit into a comment, the changed ones first", async (context) => {
    const n = 300;
    const name = (i) => `models/a-rather-long-folder-name/model-${String(i).padStart(3, "0")}.tflite`;
    const repository = makeRepository(context, Object.fromEntries(Array.from({ length: n }, (_, i) => [name(i), i % 2 ? KWS : CIFAR])));
    repository.commit(Object.fromEntries(Array.from({ length: n }, (_, i) => [name(i), i < 200 ? (i % 2 ? CIFAR : KWS) : i < 210 ? null : i % 2 ? KWS : CIFAR])));
    const { address, requests } = await comments(context, []);
    const result = await run(repository, { comment: "true" }, { env: { GITHUB_API_URL: address } });
    okay(result);
    const { body } = requests.at(-1).body;
    context.diagnostic(`${body.length} characters of 65,536, ${headings(body).length} headings`);
    assert.ok(body.length <= 65_536 && body.length > 50_000);
    assert.match(body, /300 models: 200 changed, 10 removed, 90 unchanged\./);
    for (let i = 0; i < 200; i += 1) assert.ok(body.includes(name(i)), name(i));
    assert.ok(headings(body).length > 20);
    assert.ok(body.indexOf(name(209)) > body.indexOf(name(199)));
    assert.ok(!body.includes(name(250)));
    // Every table is in the full text.
    assert.equal(headings(result.table).length, 210);
  });

  test("(l) where the base vanished, the default branch is compared with", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS });
    repository.commit({ "models/kws.tflite": CIFAR });
    const gone = "deadbeef".repeat(5);
    const result = await runAction(repository.repository, { inputs: inputs(), event: pull(gone) });
    okay(result);
    assert.match(result.table, /The base deadbeefdead is no longer in the repository: compared with the default branch\./);
    assert.deepEqual(headings(result.table), ["`models/kws.tflite`"]);
    // The first push of another branch has no commit before it either.
    const event = { before: "0".repeat(40), ref: "refs/heads/topic", repository: { default_branch: "main" } };
    assert.match((await runAction(repository.repository, { inputs: inputs(), event })).table, /1 model: 1 changed\./);
    // A clone with one commit fetches the base that it lacks: the first parent of GitHub's merge.
    repository.git("checkout", "--quiet", "-b", "merge", repository.base);
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "main");
    repository.git("push", "--quiet", "origin", "merge");
    const shallow = `${repository.repository}-shallow`;
    execFileSync("git", ["clone", "--quiet", "--depth=1", "--branch=merge", `file://${repository.origin}`, shallow], { stdio: "ignore" });
    const merged = await runAction(shallow, { inputs: inputs(), event: pull(gone), env: { GITHUB_REF: "refs/pull/7/merge" } });
    okay(merged);
    assert.doesNotMatch(merged.table, /no longer/);
    assert.match(merged.table, /1 model: 1 changed\./);
  });

  test("(m) limits relative to the base, with annotations and JUnit", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS, "models/same.tflite": CIFAR, "litecast.toml": `[[check]]\nfiles = ["models/*.tflite"]\ntargets = ["${NPU}"]\nmax = { latency = "1 ms" }\n` });
    repository.commit({ "models/kws.tflite": CIFAR, "models/new.tflite": KWS });
    const cases = (xml) => [...xml.matchAll(/<testcase classname="([^"]*)" name="([^"]*)"(\/?)>/g)].map(([, file, name, isPassed]) => [file, name, Boolean(isPassed)]);
    const within = await run(repository, { "max-increase": `latency: 1200%\n${NPU} sram: 300 %` });
    okay(within);
    assert.deepEqual(cases(within.junit), [["models/kws.tflite", `latency on ${NPU}: at most +1200 %`, true], ["models/kws.tflite", `sram on ${NPU}: at most +300 %`, true]]);
    const over = await run(repository, { "max-increase": "latency: 5%\nparameters: 1000%" });
    assert.equal(over.status, 1);
    assert.deepEqual(cases(over.junit), [["models/kws.tflite", `latency on ${NPU}: at most +5 %`, false], ["models/kws.tflite", "parameters: at most +1000 %", true]]);
    assert.match(over.stdout, /::error title=LiteCast,file=models\/kws\.tflite::latency on ethos-u55-128: \+1120 %25 \(0\.215 to 2\.63 ms\), at most \+5 %25/);
    assert.match(over.table, /:x: 1 finding/);
    assert.match(over.summary, /:x: 1 finding/);
    // An improvement is within any limit; beside it, the limits of litecast.toml.
    repository.commit({ "models/kws.tflite": KWS });
    okay(await run(repository, { "max-increase": "latency: 0%" }));
    const checked = await run(repository, { check: "true" });
    assert.equal(checked.status, 1);
    assert.deepEqual(cases(checked.junit), [["models/kws.tflite", `latency on ${NPU}`, true], ["models/new.tflite", `latency on ${NPU}`, true], ["models/same.tflite", `latency on ${NPU}`, false]]);
    assert.match(checked.stdout, /::error title=LiteCast,file=models\/same\.tflite::latency on ethos-u55-128: 2\.63 ms, limit 1 ms/);
    for (const wrong of ["latency", "speed: 5%", "latency: -5%", "latency: 5 ms"]) {
      const result = await run(repository, { "max-increase": wrong });
      assert.equal(result.status, 2, wrong);
      assert.match(result.stdout, /::error title=LiteCast::expected/);
    }
  });

  test("(n) names and files of strangers are text, and read nothing else", async (context) => {
    const names = ["models/a|b `c` @team #1 <!-- x --> <img src=x>.tflite", "models/line\n::error::owned\n| x |.tflite", "models/--json.tflite", "models/\u202eetilft.tflite", "models/$(touch owned).tflite", "models/[x](http:␣).tflite", "models/``.tflite"];
    const repository = makeRepository(context, { "models/kws.tflite": KWS, secret: "TFL3 hunter2 hunter2" });
    repository.commit({ ...Object.fromEntries(names.map((name) => [name, CIFAR])), "models/out.tflite": { link: "/etc/passwd" }, "models/git.tflite": { link: "../.git/config" }, "models/in.tflite": { link: "kws.tflite" }, "models/loop.tflite": { link: "loop.tflite" } });
    const result = await run(repository, { "max-increase": "latency: 0%" });
    assert.equal(result.status, 1);
    assert.match(result.table, /3 symbolic links lead out of the repository/);
    assert.match(result.table, /#### `models\/in\.tflite` \(new\)/);
    const shown = headings(result.table);
    assert.equal(shown.length, names.length + 1);
    assert.ok(shown.includes("``models/a\\|b `c` @team #1 <!-- x --> <img src=x>.tflite`` (new)"), shown.join("\n"));
    assert.ok(shown.includes("`models/line\\u000a::error::owned\\u000a\\| x \\|.tflite` (new)"));
    assert.ok(shown.includes("`models/\\u202eetilft.tflite` (new)"));
    assert.ok(shown.includes("```models/``.tflite``` (new)"), shown.join("\n"));
    assert.ok(!existsSync(path.join(repository.repository, "owned")));
    // No line of the log but the Action's own is a command to the runner.
    const commands = result.stdout.split("\n").filter((line) => line.startsWith("::"));
    for (const line of commands) assert.match(line, /^::(stop-commands::[0-9a-f-]{36}|[0-9a-f-]{36}::|error title=LiteCast,file=models\/\w+\.tflite::a symbolic link leads out of the repository)$/);
    assert.doesNotMatch(result.table + result.stdout + result.junit, /root:|hunter2|\[core\]/);
    // The same names in a failing state: annotations and XML stay well-formed.
    repository.commit(Object.fromEntries([...names.map((name) => [name, BROKEN]), ["models/big.tflite", "TFL3".repeat(2)]]));
    const failing = await run(repository);
    assert.equal(failing.status, 1);
    assert.ok(failing.stdout.split("\n").filter((line) => line.startsWith("::error")).length <= 10);
    assert.doesNotMatch(failing.stdout, /^::error::owned/m);
    const text = failing.junit.replace(/<\/?(testsuites?|testcase|failure|skipped)( [\w]+="[^"<>]*")*\/?>|<\?xml [^>]*>/g, "");
    assert.equal(text.trim(), "");
  });

  test("the released command is downloaded by version and checksum, and built only where there is none", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS });
    repository.commit({ "models/kws.tflite": CIFAR });
    const { files, sum } = makeRelease(context);
    const server = await serve(context, ({ url }) => (files.has(url) ? { bytes: files.get(url) } : undefined));
    const options = { github: { action_repository: "o/litecast" }, env: { GITHUB_SERVER_URL: server.address } };
    const result = await run(repository, { command: "" }, options);
    okay(result);
    assert.match(result.outputs.command, /released\/litecast-v[\d.]+-[\w-]+\/litecast$/);
    assert.deepEqual(result.steps, ["Find the command", "Compare with the base of the change"]);
    assert.match(result.table, /2\.63 ms/);
    assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), [undefined, undefined]);
    okay(await run(repository, { command: "", sha256: sum }, options));
    const pinned = await run(repository, { command: "", sha256: "0".repeat(64) }, options);
    assert.equal(pinned.status, 2);

    // Other bytes than the checksum's fail, and nothing is built instead.
    const wrong = makeRelease(context, { bytes: Buffer.from("other") });
    const bad = await serve(context, ({ url }) => (wrong.files.has(url) ? { bytes: wrong.files.get(url) } : undefined));
    const refused = await run(repository, { command: "" }, { ...options, env: { GITHUB_SERVER_URL: bad.address } });
    assert.equal(refused.status, 2);
    assert.deepEqual(refused.steps, ["Find the command"]);
    assert.match(refused.stdout, /::error title=LiteCast::expected litecast-v\S+ with the SHA-256 [0-9a-f]{64}, found [0-9a-f]{64}/);

    // A version that was asked for and does not exist fails as well.
    const asked = await run(repository, { command: "", version: "99.0.0" }, options);
    assert.equal(asked.status, 2);
    assert.match(asked.stdout, /no release v99\.0\.0/);
  });

  test("without a release the command is built once and kept by the lock file, right after the build", async (context) => {
    const repository = makeRepository(context, { "models/kws.tflite": KWS });
    repository.commit({ "models/kws.tflite": CIFAR });
    const server = await serve(context, () => undefined);
    const bin = mkdtempSync(path.join(os.tmpdir(), "bin-"));
    context.after(() => rmSync(bin, { recursive: true }));
    // In the place of minutes of compiling: an installer that copies the command to where cargo would put it.
    execFileSync("bash", ["-c", `printf '#!/bin/bash\\nwhile [ $# -gt 0 ]; do [ "$1" = --root ] && root=$2; shift; done\\nmkdir -p "$root/bin" && ln -s %q "$root/bin/litecast"\\n' ${JSON.stringify(COMMAND)} >${JSON.stringify(path.join(bin, "cargo"))} && chmod +x ${JSON.stringify(path.join(bin, "cargo"))}`]);
    const used = [];
    const options = { github: { action_repository: "o/litecast" }, env: { GITHUB_SERVER_URL: server.address, PATH: `${bin}:${process.env.PATH}` } };
    const result = await run(repository, { command: "" }, { ...options, uses: (name, values) => { used.push([name.split("@")[0], values]); return {}; } });
    okay(result);
    assert.deepEqual(result.steps, ["Find the command", "Restore the built command", "Build the command", "Save the built command", "Compare with the base of the change"]);
    const [[restore, { key, "restore-keys": prefix }], [save, saved]] = used;
    assert.deepEqual([restore, save, saved.key], ["actions/cache/restore", "actions/cache/save", key]);
    const lock = createHash("sha256").update(readFileSync(path.join(root, "Cargo.lock"))).digest("hex").slice(0, 16);
    assert.equal(prefix, `litecast-${process.platform}-${process.arch}-${lock}-`);
    assert.ok(key.startsWith(prefix) && key.length === prefix.length + 16);
    // What the cache had is not built again.
    const hit = await run(repository, { command: "" }, { ...options, uses: (name, { path: folder }) => {
      mkdirSync(path.join(folder, "bin"), { recursive: true });
      symlinkSync(COMMAND, path.join(folder, "bin/litecast"));
      return { "cache-hit": "true" };
    } });
    okay(hit);
    assert.deepEqual(hit.steps, ["Find the command", "Restore the built command", "Compare with the base of the change"]);
  });
});
