/**
 * Finds the command: the one that the workflow names, the released binary of this action's version with the checksum
 * that the release states, or none, which makes the next steps build it.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Refusal, annotate, setOutput, step } from "./runner.mjs";

const action = process.env.GITHUB_ACTION_PATH;
const N_ATTEMPTS = 3;
const TIMEOUT_MS = 120_000;
/** A binary has some 20 MB. */
const MAX_BYTES = 200_000_000;

/** The version of the sources, which `Cargo.toml` alone states. */
function sourceVersion() {
  const [, version] = /^\[workspace\.package\]\nversion = "([^"]+)"/m.exec(readFileSync(path.join(action, "Cargo.toml"), "utf8"));
  return version;
}

function platform() {
  const platforms = JSON.parse(readFileSync(path.join(action, "tools/release/platforms.json"), "utf8"));
  return platforms.find(({ node }) => node === `${process.platform}-${process.arch}`);
}

/** The bytes at an address; `null` where nothing is there. */
async function download(url) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (response.status === 404) return null;
      if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
      if (Number(response.headers.get("content-length")) > MAX_BYTES) throw new Refusal(`${url}: more than ${MAX_BYTES} bytes`);
      const bytes = Buffer.from(await response.arrayBuffer());
      if (bytes.length > MAX_BYTES) throw new Refusal(`${url}: more than ${MAX_BYTES} bytes`);
      return bytes;
    } catch (error) {
      if (error instanceof Refusal || attempt === N_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * attempt));
    }
  }
}

/** The checksum of a file in the form that `sha256sum` prints. */
function listed(checksums, name) {
  const rows = checksums.toString("utf8").split("\n").map((line) => /^([0-9a-f]{64}) [ *](.+)$/.exec(line));
  return rows.find((row) => row?.[2] === name)?.[1];
}

/** The path of the released command, or `null` where this version has none for this machine. */
async function released(version, folder) {
  const here = platform();
  const repository = process.env.ACTION_REPOSITORY || process.env.GITHUB_REPOSITORY;
  if (!here || !repository) return null;
  const name = `litecast-v${version}-${here.target}.${here.archive}`;
  const release = `${process.env.GITHUB_SERVER_URL}/${repository}/releases/download/v${version}`;
  const checksums = await download(`${release}/SHA256SUMS`);
  if (checksums === null) return null;
  const expected = listed(checksums, name);
  if (expected === undefined) return null;
  const pinned = process.env.SHA256;
  if (pinned && pinned !== expected) throw new Refusal(`expected ${name} with the SHA-256 ${pinned} of the input "sha256", the release states ${expected}`);
  const bytes = await download(`${release}/${name}`);
  if (bytes === null) throw new Refusal(`the release v${version} states a checksum of ${name}, but has no such file`);
  const actual = createHash("sha256").update(bytes).digest("hex");
  if (actual !== expected) throw new Refusal(`expected ${name} with the SHA-256 ${expected}, found ${actual}`);
  mkdirSync(folder, { recursive: true });
  const archive = path.join(folder, name);
  writeFileSync(archive, bytes);
  // Windows' tar reads ZIP archives as well.
  execFileSync("tar", ["-xf", name], { cwd: folder });
  rmSync(archive);
  const command = path.join(folder, `litecast-v${version}-${here.target}`, here.command);
  chmodSync(command, 0o755);
  return command;
}

/** A checksum of files and folders of the action, by their names and bytes. */
function sourceHash(names) {
  const hash = createHash("sha256");
  const add = (file) => hash.update(`${file}\0`).update(readFileSync(path.join(action, file))).update("\0");
  for (const name of names) {
    if (!existsSync(path.join(action, name))) continue;
    const entries = readdirSync(path.join(action, name), { recursive: true, withFileTypes: true, encoding: "utf8" });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => path.relative(action, path.join(entry.parentPath ?? entry.path, entry.name)));
    for (const file of files.sort()) add(file);
  }
  add("Cargo.toml");
  add("Cargo.lock");
  return hash.digest("hex").slice(0, 16);
}

await step(async () => {
  const folder = path.join(process.env.RUNNER_TEMP, "litecast");
  let command = process.env.COMMAND;
  if (!command) {
    const version = (process.env.VERSION || sourceVersion()).replace(/^v/, "");
    if (!/^[0-9A-Za-z.+-]+$/.test(version)) throw new Refusal(`expected a version such as 1.2.3, found ${version}`);
    try {
      command = await released(version, path.join(folder, "released"));
    } catch (error) {
      // A wrong checksum is never answered by another way to the same command.
      if (error instanceof Refusal || process.env.VERSION) throw error instanceof Refusal ? error : new Refusal(error.message);
      annotate("warning", `the release could not be downloaded, so the command is built: ${error.message}`);
    }
    if (!command && process.env.VERSION) throw new Refusal(`no release v${version} for ${process.platform}-${process.arch}`);
  }
  if (command) {
    setOutput("command", command);
    return;
  }
  const lock = createHash("sha256").update(readFileSync(path.join(action, "Cargo.lock"))).digest("hex").slice(0, 16);
  const machine = `litecast-${process.platform}-${process.arch}-${lock}`;
  setOutput("command", path.join(folder, "bin", process.platform === "win32" ? "litecast.exe" : "litecast"));
  setOutput("build", "true");
  setOutput("folder", folder);
  // Of the same lock file, the compiled dependencies are taken where the sources differ.
  setOutput("lock-key", `${machine}-`);
  setOutput("key", `${machine}-${sourceHash(["src", "bundle", ".cargo"])}`);
});
