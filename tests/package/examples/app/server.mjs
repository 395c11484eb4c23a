// In Node.js, Deno and Bun: node server.mjs model.tflite
import { readFile } from "node:fs/promises";
import process from "node:process";
import { load } from "litecast";

const litecast = await load();
for (const file of process.argv.slice(2)) {
  const { results } = litecast.estimate(await readFile(file), { name: file });
  for (const { device, metric, unavailable, value, unit } of results) console.log(`${device}, ${metric}: ${unavailable ?? `${value} ${unit}`}`);
}
