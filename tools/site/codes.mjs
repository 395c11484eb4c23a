/** The stable codes of reports: those that the sources can give, and what codes.json says of each. */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export const explained = JSON.parse(readFileSync(new URL("codes.json", import.meta.url), "utf8"));

const isTest = (file) => /(^|\/)tests?(\.rs|\/)/.test(file);

/** Every code that a diagnostic, a reason or an error of `src/` has. */
export function codes() {
  const found = new Set();
  const files = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".rs") && !isTest(name))) {
    const text = readFileSync(path.join(root, "src", file), "utf8").split("\n#[cfg(test)]\nmod ")[0];
    const bodies = [...text.matchAll(/^( *)pub(?:\(\w+\))? fn (?:code|kind)\(&?self\) -> &'static str \{\n([^]*?)\n\1\}/gm)];
    for (const [, , body] of bodies) for (const [, code] of body.matchAll(/"([a-z][a-z0-9-]+)"/g)) found.add(code);
    for (const pattern of [/\bcode: "([a-z][a-z0-9-]+)"/g, /\b(?:Warning|Info),\s*"([a-z][a-z0-9-]+)"/g, /"([a-z][a-z0-9-]+)",\s*Severity::/g]) for (const [, code] of text.matchAll(pattern)) found.add(code);
  }
  return found;
}
