/** Checks a built site: every link and anchor leads somewhere, and nothing comes from another host. Usage: check.mjs FOLDER */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";

const [folder] = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
const html = new Map(files.map((name) => [name, readFileSync(path.join(folder, name), "utf8")]));
const ids = new Map([...html].map(([name, text]) => [name, new Set([...text.matchAll(/\sid="?([^"\s>]+)/g)].map(([, id]) => decodeURIComponent(id)))]));
const findings = [];
let n_links = 0;
for (const [name, text] of html) {
  if (name === "404.html") continue;
  for (const [, kind, value] of text.matchAll(/<(a|img|script|link)\s[^>]*?(?:href|src)="?([^"\s>]+)/g)) {
    const target = value.replaceAll("&amp;", "&");
    if (/^(https?:)?\/\//.test(target)) {
      // What a reader follows may lead away; what a page loads may not.
      if (kind !== "a" && !(kind === "link" && text.includes(`rel="canonical"`))) findings.push(`${name}: loads ${target}`);
      continue;
    }
    if (/^(mailto|data|javascript):/.test(target)) continue;
    n_links += 1;
    const [to, anchor] = target.split("#");
    const file = to === "" ? name : path.posix.join(path.posix.dirname(name), decodeURIComponent(to.split("?")[0]));
    const found = [file, path.posix.join(file, "index.html")].find((one) => existsSync(path.join(folder, one)) && /\.[a-z0-9]+$/.test(one));
    if (!found) findings.push(`${name}: ${target} leads nowhere`);
    else if (anchor && ids.has(found) && !ids.get(found).has(decodeURIComponent(anchor)) && !anchor.startsWith("__")) findings.push(`${name}: ${target}: no such place`);
  }
}
console.log(`${html.size} pages, ${n_links} links within the site`);
if (findings.length > 0) {
  console.error([...new Set(findings)].join("\n"));
  process.exit(1);
}
