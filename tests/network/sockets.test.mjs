/** Command and packages open no socket: strace lists what they ask the kernel for. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync, cpSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? path.join(root, "target");
const COMMAND = process.env.LITECAST_COMMAND ?? path.join(target, "debug/litecast");
const MODEL = path.join(root, "www/examples/cnn-kws-s7-i43.tflite");
const folder = mkdtempSync(path.join(os.tmpdir(), "sockets-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

/** Calls that lead to another process or machine. Pairs of sockets stay in the program, and Node.js makes some. The C library
 * asks the cache of user names (nscd) for the home folder when `HOME` is not set: its socket is a file of this machine. */
const CALL = /\b(socket|connect|bind|sendto|sendmsg)\(/;
const USER_NAMES = /\bsocket\(AF_UNIX|\bconnect\(\d+, \{sa_family=AF_UNIX, sun_path="\/var\/run\/nscd\/socket"\}/;

/** Those calls of a program and its children, a line each. */
function sockets(program, args, { n_calls = 1, ...options } = {}) {
  const log = path.join(folder, "log");
  const traced = spawnSync("strace", ["-f", "-qq", "-e", "trace=execve,socket,connect,bind,sendto,sendmsg", "-o", log, program, ...args], { cwd: folder, encoding: "utf8", ...options });
  const lines = readFileSync(log, "utf8").split("\n");
  assert.ok(lines.filter((line) => line.includes("execve(")).length >= n_calls, `strace saw no program: ${traced.stderr}`);
  return { status: traced.status, stdout: traced.stdout, stderr: traced.stderr, made: lines.filter((line) => CALL.test(line) && !USER_NAMES.test(line)) };
}

const works = spawnSync("strace", ["-f", "-qq", "-o", path.join(folder, "log"), "true"]).status === 0;
const skip = !works && "page: no strace here that may trace (make debian)";

test("strace hears a socket", { skip }, () => {
  const { made } = sockets("node", ["-e", "require('net').connect(9, '127.0.0.1').on('error', () => {})"]);
  assert.ok(made.some((line) => line.includes("AF_INET")), made.join("\n"));
});

test("strace hears a socket of this machine", { skip }, () => {
  const { made } = sockets("node", ["-e", "require('net').connect('/run/nobody.sock').on('error', () => {})"]);
  assert.ok(made.some((line) => line.includes("nobody.sock")), made.join("\n"));
});

test("the command opens none", { skip }, () => {
  writeFileSync(path.join(folder, "litecast.toml"), `[[check]]\nfiles = ["model.tflite"]\nmax = { macs = "1G" }\n`);
  cpSync(MODEL, path.join(folder, "model.tflite"));
  const calls = [
    ["predict", MODEL], ["predict", "--gpu", "--json", MODEL], ["compare", MODEL, MODEL], ["check"], ["sweep", "--max-latency", "10ms", MODEL], ["sweep-batch", "--target", "rtx-3090", MODEL],
    ["facts", MODEL], ["boards", MODEL], ["calibrate", "my-board", MODEL, path.join(root, "tests/profiles/litert-2.3.0_cnn-kws-s7-i43.txt")], ["targets"], ["schema"], ["completions", "bash"], ["man"], ["--version"], ["predict", "https://example.org/model.tflite"],
  ];
  for (const call of calls) {
    const { status, made, stderr } = sockets(COMMAND, call);
    assert.deepEqual(made, [], call.join(" "));
    assert.equal(status, call[1]?.startsWith("https") ? 1 : 0, `${call.join(" ")}: ${stderr}`);
  }
  // A subcommand that is added belongs here, too.
  const help = execFileSync(COMMAND, ["--help"], { encoding: "utf8" });
  const commands = [...help.split("Commands:")[1].split("Options:")[0].matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name).filter((name) => name !== "help");
  assert.deepEqual(commands.filter((name) => !calls.some(([called]) => called === name)), []);
});

test("the npm package opens none", { skip: skip || (!existsSync(path.join(root, "pkg/package.json")) && "page: no pkg/ here (make wasm)") }, () => {
  symlinkSync(path.join(root, "pkg"), path.join(folder, "pkg"));
  const program = `import { load } from "./pkg/index.node.js"; import { readFileSync } from "node:fs";
    const litecast = await load(); console.log(litecast.estimate(readFileSync(${JSON.stringify(MODEL)})).results.length);`;
  writeFileSync(path.join(folder, "program.mjs"), program);
  const { status, stdout, stderr, made } = sockets(process.execPath, ["program.mjs"]);
  assert.equal(status, 0, stderr);
  assert.ok(Number(stdout) > 0);
  assert.deepEqual(made, []);
});

const native = existsSync(path.join(target, "debug")) ? readdirSync(path.join(target, "debug")).find((name) => /^liblitecast_native\.(so|dylib)$/.test(name)) : undefined;
test("the Python package opens none", { skip: skip || (!native && "page: no Python extension here (cargo test --workspace)") }, () => {
  cpSync(path.join(root, "python/litecast"), path.join(folder, "litecast"), { recursive: true });
  cpSync(path.join(target, "debug", native), path.join(folder, "litecast/_native.abi3.so"));
  const program = `import litecast; print(len(litecast.load().estimate(${JSON.stringify(MODEL)})["results"]))`;
  const { status, stdout, stderr, made } = sockets("python3", ["-c", program], { env: { ...process.env, PYTHONPATH: folder } });
  assert.equal(status, 0, stderr);
  assert.ok(Number(stdout) > 0);
  assert.deepEqual(made, []);
});
