/**
 * Writes the repository's public address to where tools read it, or checks that it is there: Cargo.toml has it, from
 * which crate, wheel, npm package and bills of materials take theirs, and texts have `OWNER` until it is known.
 * Usage: node tools/release/address.mjs https://github.com/OWNER/litecast | --check
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Texts that name the repository where no tool can fill it in. */
const TEXTS = ["examples/ci/workflow.yml", "CITATION.cff", ".github/ISSUE_TEMPLATE/config.yml"];
const PLACEHOLDER = "OWNER/litecast";

const read = (file) => readFileSync(path.join(root, file), "utf8");
const write = (file, text) => writeFileSync(path.join(root, file), text);

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

function check() {
  const [, address] = /^\[workspace\.package\][^[]*^repository = "(.*)"$/m.exec(read("Cargo.toml")) ?? [];
  if (address === undefined) fail("Cargo.toml has no repository: run node tools/release/address.mjs https://…");
  for (const file of ["Cargo.toml", "python/Cargo.toml"]) if (!/^repository\.workspace = true$/m.test(read(file))) fail(`expected "repository.workspace = true" in ${file}`);
  for (const file of TEXTS) if (read(file).includes(PLACEHOLDER)) fail(`${file} still has ${PLACEHOLDER}`);
}

function set(given) {
  const { protocol, hostname, pathname } = new URL(given);
  const name = pathname.replace(/^\/|\/$|\.git$/g, "");
  if (protocol !== "https:" || !/^[\w.-]+\/[\w.-]+$/.test(name)) fail(`expected an address such as https://github.com/NAME/litecast, found ${given}`);
  const address = `https://${hostname}/${name}`;
  const crate = read("Cargo.toml").replace(/^repository.*\n/gm, "").replace(/^# `repository` belongs here.*\n/m, "");
  write("Cargo.toml", crate.replace(/^license = "Apache-2\.0"$/m, `$&\nrepository = "${address}"`).replace(/^license\.workspace = true$/m, "$&\nrepository.workspace = true"));
  write("python/Cargo.toml", read("python/Cargo.toml").replace(/^repository.*\n/gm, "").replace(/^license\.workspace = true$/m, "$&\nrepository.workspace = true"));
  for (const file of TEXTS) write(file, read(file).replaceAll(PLACEHOLDER, name));
}

const [argument] = process.argv.slice(2);
if (argument === undefined) fail("expected an address or --check");
else if (argument === "--check") check();
else set(argument);
