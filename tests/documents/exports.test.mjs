/** What page and package export is described: a reader of a call looks no further than at the line above its declaration. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const MIN_PERCENT = 95;
const DECLARATION = /^export (?:declare |default )?(?:async )?(?:abstract )?(?:function\*?|class|interface|type|const|let|enum)\s+(\w+)/;

for (const folder of ["www/src", "www/package/src"]) {
  test(`exports of ${folder} are documented`, () => {
    const root = fileURLToPath(new URL(`../../${folder}`, import.meta.url));
    const undocumented = [];
    let n_exports = 0;
    for (const file of readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".ts"))) {
      const lines = readFileSync(`${root}/${file}`, "utf8").split("\n");
      lines.forEach((line, i) => {
        const name = DECLARATION.exec(line)?.[1];
        if (name === undefined) return;
        n_exports += 1;
        if (!lines[i - 1]?.trimEnd().endsWith("*/")) undocumented.push(`${file}: ${name}`);
      });
    }
    const percent = (100 * (n_exports - undocumented.length)) / n_exports;
    console.log(`${folder}: ${percent.toFixed(1)} % of ${n_exports} exports`);
    assert.ok(n_exports > 50 && percent >= MIN_PERCENT, undocumented.join("\n"));
  });
}
