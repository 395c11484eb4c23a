/** The package as npm packs it, unpacked into a folder of its own where programs can import it by name. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export const read = (file, encoding) => readFileSync(path.join(root, file), encoding);

/** A new folder with `node_modules/litecast`, and what npm says of the archive. Removed at the end of the process. */
export function install() {
  const folder = mkdtempSync(path.join(tmpdir(), "litecast-package-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const said = execFileSync("npm", ["pack", "--json", "--pack-destination", folder, path.join(root, "pkg")], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [archive] = JSON.parse(said);
  const installed = path.join(folder, "node_modules/litecast");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", path.join(folder, archive.filename), "--strip-components=1", "-C", installed]);
  writeFileSync(path.join(folder, "package.json"), '{ "type": "module", "private": true }\n');
  cpSync(path.join(root, "www/examples/cnn-kws-s7-i43.tflite"), path.join(folder, "model.tflite"));
  return { folder, installed, archive, tarball: path.join(folder, archive.filename) };
}
