/** Builds pkg/, the npm package `litecast`, from what wasm-bindgen wrote and the sources beside this file. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { compressed } from "../compressed.mjs";
import { sbom } from "./sbom.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(path.dirname(here));
const out = path.join(root, "pkg");
/** Where tools/build-wasm.sh has wasm-bindgen write. */
const module = path.join(root, "target", "module");

/** Downloads what a build of the module alone did not need: cargo describes the whole workspace. */
async function cargo(...args) {
  const { stdout } = await promisify(execFile)("cargo", [...args, "--locked"], { cwd: root, maxBuffer: 2 ** 26 });
  return stdout;
}

/** Of the module as tools/build-wasm.sh compiles it. */
async function bill() {
  const target = "wasm32-unknown-unknown";
  const metadata = JSON.parse(await cargo("metadata", "--format-version", "1", "--filter-platform", target));
  const features = ["--no-default-features", "--features", "tract", "--package", "litecast", "--target", target];
  const tree = (edges) => cargo("tree", ...features, "--edges", edges, "--prefix", "none", "--format", "{p}");
  const trees = { whole: await tree("normal"), linked: await tree("normal,no-proc-macro") };
  return sbom(metadata, trees, await readFile(path.join(root, "Cargo.lock"), "utf8"));
}

const write = (name, text) => writeFile(path.join(out, name), text);
const source = (name) => path.join(here, "src", name);

/** Brotli in base64: as a string a file goes through every bundler. */
async function packed(bytes) {
  return (await compressed(bytes, "br")).toString("base64");
}

async function writeAssets() {
  await mkdir(path.join(out, "assets"), { recursive: true });
  const wasm = await readFile(path.join(module, "litecast_bg.wasm"));
  await write("assets/wasm.js", `export default "${await packed(wasm)}";\n`);
  await write("assets/devices.js", `export default "${await packed(await readFile(path.join(module, "devices_bg.wasm")))}";\n`);
  const probes = path.join(root, "src/calibration/probes");
  const files = (await readdir(probes)).sort().map(async (name) => [name, await readFile(path.join(probes, name), "base64")]);
  await write("assets/probes.js", `export default "${await packed(Buffer.from(JSON.stringify(Object.fromEntries(await Promise.all(files)))))}";\n`);
}

/** Lines stay short, because Node.js prints the one that an error is thrown in. */
const COMMON = { absWorkingDir: root, bundle: true, format: "esm", target: "es2022", charset: "utf8", legalComments: "none", logLevel: "warning", lineLimit: 200 };

/** What stays apart from the entries, which lie beside it. */
const EXTERNAL = ["./assets/wasm.js", "./assets/devices.js", "./assets/probes.js", "./assets/worker.js", "./assets/brotli.js", "node:*"];

async function writeScripts() {
  // A worker that a page makes of this text needs no file of its own.
  const worker = await build({ ...COMMON, entryPoints: [source("thread.web.ts")], write: false, minify: true, format: "iife", define: { "import.meta.url": "undefined" } });
  await build({ ...COMMON, entryPoints: { "assets/brotli": "brotli/decompress.js" }, outdir: out, minify: true });
  await write("assets/worker.js", `export default ${JSON.stringify(worker.outputFiles[0].text)};\n`);
  await build({
    ...COMMON,
    entryPoints: {
      index: source("index.ts"),
      "index.node": source("index.node.ts"),
      inline: source("inline.ts"),
      elements: source("elements.ts"),
      devices: source("devices.web.ts"),
      "devices.node": source("devices.node.ts"),
      worker: source("worker.ts"),
      "worker.node": source("worker.node.ts"),
      thread: source("thread.web.ts"),
      "thread.node": source("thread.node.ts"),
      "files.node": source("files.node.ts"),
      // What the command says of an estimate is what the page says.
      words: path.join(here, "../src/words.ts"),
    },
    outdir: out,
    splitting: true,
    chunkNames: "chunk-[hash]",
    external: EXTERNAL,
    minifyWhitespace: true,
    minifySyntax: true,
  });
}

/** The ids of all targets and metrics as unions, asked of the module itself. */
async function writeIds() {
  const { load } = await import(pathToFileURL(path.join(out, "index.node.js")));
  const litecast = await load();
  const targets = litecast.targets();
  // What is counted and not estimated is in reports alone.
  const { results } = litecast.estimate(await readFile(path.join(root, "www/examples/cnn-kws-s7-i43.tflite")));
  const metrics = [...results, ...targets.flatMap((target) => target.metrics)].map(({ metric }) => metric);
  const ids = [...targets.map(({ id }) => id), ...results.map(({ target }) => target)];
  const union = (name, words, ids) => `/** ${words} */\nexport type ${name} =\n${[...new Set(ids)].sort().map((id) => `  | ${JSON.stringify(id)}\n`).join("")}  | (string & {});\n`;
  const text = `/** Written by build.mjs: what the module lists. Later versions may list more. */\n\n${union("TargetId", "Of hardware, or of a way to run a network.", ids)}\n${union("Metric", "What is estimated.", metrics)}`;
  await write("ids.d.ts", text);
  await writeFile(path.join(here, "types", "ids.d.ts"), text);
}

async function writeTypes() {
  for (const name of ["index", "worker", "elements", "devices", "report"]) await cp(path.join(here, "types", `${name}.d.ts`), path.join(out, `${name}.d.ts`));
  // Where resolution by `exports` is unknown, types lie beside the script.
  await write("inline.d.ts", 'export * from "./index.js";\n');
  await write("thread.d.ts", "/** A worker's script: it exports nothing. */\nexport {};\n");
}

/** The public address, where one is known: CONTRIBUTING.md says from where. */
function address(crate) {
  const given = process.env.LITECAST_REPOSITORY || crate.repository;
  if (!given) return {};
  const url = new URL(given);
  if (url.protocol !== "https:" || url.username || url.password) throw new Error(`expected a public address, https://..., as repository, found ${url.protocol}//${url.host}`);
  const clean = url.href.replace(/\/$|\.git$/, "");
  return { repository: { type: "git", url: `git+${clean}.git` }, homepage: `${clean}#readme`, bugs: `${clean}/issues` };
}

/** The package's own description, from Cargo.toml's. */
function describe(crate) {
  const { description, version, license, keywords } = crate;
  const types = (name) => ({ types: `./${name}.d.ts` });
  return {
    name: "litecast",
    version,
    description,
    keywords,
    license,
    ...address(crate),
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    types: "./index.d.ts",
    exports: {
      ".": { ...types("index"), node: "./index.node.js", default: "./index.js" },
      "./inline": { ...types("inline"), default: "./inline.js" },
      "./worker": { ...types("worker"), node: "./worker.node.js", default: "./worker.js" },
      "./elements": { ...types("elements"), default: "./elements.js" },
      "./devices": { ...types("devices"), node: "./devices.node.js", default: "./devices.js" },
      "./thread": { types: "./thread.d.ts", node: "./thread.node.js", default: "./thread.js" },
      "./report.schema.json": "./report.schema.json",
      "./device.schema.json": "./device.schema.json",
      "./package.json": "./package.json",
    },
    files: ["*.js", "*.d.ts", "assets", "bin", "NOTICE", "report.schema.json", "device.schema.json", "sbom.cdx.json"],
    bin: { litecast: "bin/litecast.mjs", "litecast-assets": "bin/assets.mjs" },
  };
}

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await writeAssets();
await writeTypes();
await writeScripts();
await cp(path.join(here, "bin"), path.join(out, "bin"), { recursive: true });
await cp(path.join(here, "README.md"), path.join(out, "README.md"));
for (const name of ["LICENSE", "NOTICE"]) await cp(path.join(root, name), path.join(out, name));
await cp(path.join(root, "src/report/report.schema.json"), path.join(out, "report.schema.json"));
await cp(path.join(root, "src/calibration/device.schema.json"), path.join(out, "device.schema.json"));
await write("package.json", `${JSON.stringify(describe(JSON.parse(process.env.CRATE)), null, 2)}\n`);
await write("sbom.cdx.json", `${JSON.stringify(await bill())}\n`);
await writeIds();
const hash = createHash("sha256").update(await readFile(path.join(out, "assets/wasm.js"))).digest("hex").slice(0, 8);
console.log(`built pkg/ with the module ${hash}`);
