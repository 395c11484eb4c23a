/** Prints the bill of materials of the native command for a target, as CycloneDX. Usage: node tools/release/sbom.mjs TARGET */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { sbom } from "../../www/package/sbom.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [target] = process.argv.slice(2);
const cargo = (...args) => execFileSync("cargo", [...args, "--locked"], { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
const tree = (edges) => cargo("tree", "--package", "litecast", "--target", target, "--edges", edges, "--prefix", "none", "--format", "{p}");
const metadata = JSON.parse(cargo("metadata", "--format-version", "1", "--filter-platform", target));
const trees = { whole: tree("normal"), linked: tree("normal,no-proc-macro") };
console.log(JSON.stringify(sbom(metadata, trees, readFileSync(path.join(root, "Cargo.lock"), "utf8"))));
