/** The page's TypeScript modules, loaded into Node. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Exports of `www/src/<path>`. */
export async function importSource(path) {
  const entry = fileURLToPath(new URL(`../../www/src/${path}`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false, logLevel: "silent" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
