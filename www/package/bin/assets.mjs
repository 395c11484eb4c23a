#!/usr/bin/env node
/** Writes the package's module for who serves it by URL: `npx litecast-assets public/litecast`. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { files } from "../files.node.js";

const [folder] = process.argv.slice(2);
if (!folder || folder.startsWith("-")) {
  console.error("usage: litecast-assets FOLDER\nwrites litecast.wasm into it");
  process.exit(2);
}
await mkdir(folder, { recursive: true });
for (const [name, contents] of Object.entries(await files())) {
  await writeFile(path.join(folder, name), contents);
  console.log(path.join(folder, name));
}
