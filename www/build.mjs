/**
 * Builds www/dist: everything the page needs, compressed ahead, ready for any static server on any path. With --quick, for a
 * server on the same machine, only what was compressed before is there compressed.
 */
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { compressed, ENDINGS } from "./compressed.mjs";
import { COMPRESSED_ENDINGS, hostFiles, POLICY } from "./headers.mjs";
import { WARM_UPS } from "./warm_up.mjs";

const www = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(www);
const dist = path.join(www, "dist");
const is_quick = process.argv.includes("--quick");

/** From the repository to www/dist, with the command that makes what is missing. */
const COPIES = [
  ["www/style.css", "style.css", ""],
  ["www/icon.svg", "icon.svg", ""],
  ["target/module/page_bg.wasm", "litecast_bg.wasm", "make wasm"],
  ["target/module/devices_bg.wasm", "devices_bg.wasm", "make wasm"],
  ["bundle/gpu.json", "assets/gpu.json", "the trainer"],
  ["bundle/accelerators.json", "assets/accelerators.json", "the trainer"],
  ["src/report/report.schema.json", "report.schema.json", "the command"],
  ["src/calibration/device.schema.json", "device.schema.json", "the command"],
  ...(await readdir(path.join(root, "src/calibration/probes"))).map((name) => [`src/calibration/probes/${name}`, `probes/${name}`, "the trainer"]),
  ["node_modules/@zip.js/zip.js/LICENSE", "licenses/zip.js.txt", "make node"],
];

/** Not for the page, or only for those who ask for it. */
const ONLINE = ["vercel.json", "assets/gpu.json", "assets/accelerators.json"];

/** The module and what was fitted: nothing else decides what a file is estimated at. */
const ESTIMATED_WITH = ["target/module/page_bg.wasm", "bundle/gpu.json", "bundle/accelerators.json"];

async function hashOf(files) {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(path.join(root, file)));
  return hash.digest("hex").slice(0, 16);
}

/** Every source of the page, in order. */
async function sources() {
  const found = await readdir(path.join(www, "src"), { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
  return [...files, "www/index.html", "www/service-worker.js", "www/headers.mjs", "www/onnx.mjs", "www/tflite.mjs", "www/warm_up.mjs", "package-lock.json"].sort();
}

async function copy([from, to, maker]) {
  const source = path.join(root, from);
  await stat(source).catch(() => {
    throw new Error(`expected ${from}${maker && `, which ${maker} writes`}, found nothing`);
  });
  await mkdir(path.dirname(path.join(dist, to)), { recursive: true });
  await cp(source, path.join(dist, to));
}

async function copyExamples() {
  const names = await readdir(path.join(www, "examples"));
  const models = names.filter((name) => name.endsWith(".tflite"));
  await Promise.all(models.map((name) => copy([`www/examples/${name}`, `examples/${name}`, ""])));
}

async function writeWarmUps() {
  await mkdir(path.join(dist, "assets"), { recursive: true });
  await Promise.all(Object.entries(WARM_UPS).map(([name, make]) => write(`assets/${name}`, make())));
}

/** The page has a module of its own, without the trained networks that the package's can run. */
const PAGE_MODULE = {
  name: "page-module",
  setup(build) {
    build.onResolve({ filter: /\/target\/module\/litecast\.js$/ }, () => ({ path: path.join(root, "target/module/page.js") }));
  },
};

/** The chunks that the page cannot run without. */
async function bundle(define) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      main: "www/src/main.ts",
      estimate: "www/src/worker/estimator.ts",
      layout: "www/src/worker/layout.ts",
      open: "www/src/worker/archive_opener.ts",
      backup: "www/src/worker/backup.ts",
    },
    outdir: "www/dist",
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    format: "esm",
    target: "es2023",
    minify: true,
    sourcemap: true,
    legalComments: "eof",
    define,
    plugins: [PAGE_MODULE],
    metafile: true,
    logLevel: "warning",
  });
  const chunks = new Set();
  const add = (output) => {
    for (const { path: chunk, kind } of metafile.outputs[output].imports) {
      if (kind !== "import-statement" || chunks.has(chunk)) continue;
      chunks.add(chunk);
      add(chunk);
    }
  };
  add("www/dist/main.js");
  return [...chunks].map((chunk) => path.relative("www/dist", chunk)).sort();
}

/** Goes into pages that people save: one script, which needs nothing beside it. */
async function bundleViewer(define) {
  await build({ absWorkingDir: root, entryPoints: { viewer: "www/src/export/viewer.ts" }, outdir: "www/dist", bundle: true, format: "iife", target: "es2023", minify: true, charset: "ascii", define, logLevel: "warning" });
}

const write = (name, text) => writeFile(path.join(dist, name), text);

/** `chunks` are asked for beside the script that imports them, and not after it. */
async function writePage(version, chunks) {
  const page = await readFile(path.join(www, "index.html"), "utf8");
  const preloads = chunks.map((chunk) => `<link rel="modulepreload" href="${chunk}">`).join("\n    ");
  await write("index.html", page.replaceAll("{{version}}", version).replace("{{policy}}", POLICY).replace("{{preloads}}", preloads));
  const manifest = {
    name: "LiteCast",
    short_name: "LiteCast",
    description: "What a TensorFlow Lite model costs on edge hardware",
    start_url: "./",
    display: "standalone",
    background_color: "#f5f6f8",
    theme_color: "#2459d8",
    // Where the page is installed, the system offers it for these files.
    file_handlers: [{ action: "./", accept: { "application/octet-stream": [".tflite", ".lite", ".onnx", ".task"], "application/zip": [".zip"] } }],
    launch_handler: { client_mode: "focus-existing" },
    icons: [{ src: "icon.svg", sizes: "any", type: "image/svg+xml" }],
  };
  await write("manifest.webmanifest", JSON.stringify(manifest));
  for (const [name, text] of Object.entries(hostFiles())) await write(name, text);
}

/** The worker knows every file of the page, so that it opens without a network. */
async function writeServiceWorker(version) {
  const found = await readdir(dist, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => path.relative(dist, path.join(entry.parentPath, entry.name)));
  const offline = files.filter((name) => /\.(js|css|wasm|json|svg|webmanifest|tflite|onnx)$/.test(name) && !ONLINE.includes(name) && !name.startsWith("probes/")).sort();
  const worker = await readFile(path.join(www, "service-worker.js"), "utf8");
  // Chunks have the hash of their contents in their names, and are asked for without a version.
  const urls = offline.map((name) => (name.startsWith("chunks/") ? name : `${name}${version}`));
  await write("service-worker.js", worker.replace("{{version}}", version).replace('["{{files}}"]', JSON.stringify(["./", ...urls])));
}

async function compressAll() {
  const found = await readdir(dist, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile() && COMPRESSED_ENDINGS.includes(path.extname(entry.name).slice(1)));
  // On all cores: the module alone takes half a minute.
  await Promise.all(files.map((entry) => compress(path.join(entry.parentPath, entry.name))));
}

async function compress(file) {
  const bytes = await readFile(file);
  for (const ending of ENDINGS) {
    const small = await compressed(bytes, ending, { is_kept: is_quick });
    if (small && small.length < bytes.length) await writeFile(`${file}.${ending}`, small);
  }
}

await rm(dist, { recursive: true, force: true });
const estimates_id = await hashOf(ESTIMATED_WITH);
const version = `?v=${await hashOf([...ESTIMATED_WITH, ...(await sources()), "www/style.css"])}`;
await Promise.all([copyExamples(), writeWarmUps(), ...COPIES.map(copy)]);
const [, litecast_version] = /^version = "([^"]+)"/m.exec(await readFile(path.join(root, "Cargo.toml"), "utf8"));
const defined = { LITECAST_VERSION: litecast_version, ESTIMATES_ID: estimates_id, VERSION: version, WARM_UP_FILES: Object.keys(WARM_UPS).map((name) => `assets/${name}`) };
const defines = Object.fromEntries(Object.entries(defined).map(([name, value]) => [name, JSON.stringify(value)]));
const [chunks] = await Promise.all([bundle(defines), bundleViewer(defines)]);
await writePage(version, chunks);
await writeServiceWorker(version);
await compressAll();
console.log(`built ${path.relative(process.cwd(), dist)}`);
