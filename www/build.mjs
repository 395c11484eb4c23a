/** Builds www/dist: everything the page needs, ready for any static server. */
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const www = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(www);
const dist = path.join(www, "dist");

/** From the repository to www/dist, with the command that makes what is missing. */
const COPIES = [
  ["www/index.html", "index.html", ""],
  ["www/style.css", "style.css", ""],
  ["pkg/litecast_bg.wasm", "litecast_bg.wasm", "make wasm"],
  ["trainer/artifact/predictor.onnx", "assets/predictor.onnx", "the trainer"],
  ["trainer/artifact/manifest.json", "assets/manifest.json", "the trainer"],
];

/** The module and the predictor: nothing else decides what a file is estimated at. */
const ESTIMATED_WITH = ["pkg/litecast_bg.wasm", "trainer/artifact/predictor.onnx"];

async function estimatesId() {
  const hash = createHash("sha256");
  for (const file of ESTIMATED_WITH) hash.update(await readFile(path.join(root, file)));
  return hash.digest("hex").slice(0, 16);
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

async function bundle() {
  await build({
    absWorkingDir: root,
    entryPoints: {
      main: "www/src/main.ts",
      estimate: "www/src/worker/estimate.ts",
      layout: "www/src/worker/layout.ts",
    },
    outdir: "www/dist",
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    sourcemap: true,
    define: { ESTIMATES_ID: JSON.stringify(await estimatesId()) },
    logLevel: "warning",
  });
}

await rm(dist, { recursive: true, force: true });
await Promise.all([...COPIES.map(copy), copyExamples()]);
await bundle();
console.log(`built ${path.relative(process.cwd(), dist)}`);
