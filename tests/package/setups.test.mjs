/**
 * Each set-up of the package's README, from the archive that npm packs: `make package-examples`. Every program prints
 * what the package prints in Node.js. A tool that is not installed is skipped with its name.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { launchChromium } from "../chromium.mjs";
import { mixedModel } from "../page/model.mjs";
import { install, root } from "./packed.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json" };
const LIMIT_MS = 120_000;

const { folder } = install();
cpSync(path.join(root, "tests/package/examples/app"), folder, { recursive: true });
/** Where the tools are: a folder that was installed into before, or else a new one. */
const tools = process.env.LITECAST_EXAMPLE_TOOLS ?? path.join(root, "target/package-examples");

let browser;
let expected;
before(async () => {
  expected = node("server.mjs").trim();
  assert.match(expected, /Ethos-U55.*latency: [\d.]+ ms/);
  browser = await launchChromium();
});
after(() => browser?.close());

function node(script) {
  return execFileSync(process.execPath, [script, "model.tflite"], { cwd: folder, encoding: "utf8" });
}

/** esbuild is there in any case: it builds the package. */
const bin = (name) => [tools, root].map((folder) => path.join(folder, "node_modules/.bin", name)).find((file) => existsSync(file)) ?? "";
const run = (name, args, options = {}) => execFileSync(bin(name), args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: 10 * LIMIT_MS, ...options });

/** Runs `body` where the tool is installed. */
function setup(name, tool, body) {
  const skip = tool !== null && bin(tool) === "" && `${tool} is not installed (make package-examples)`;
  test(name, { skip }, body);
}

/** A static server that answers with a page where it has no file, as servers of bundlers do. */
async function serve(public_folder) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://x");
    const file = path.join(public_folder, /%(?![0-7][0-9a-f])/i.test(pathname) ? pathname : decodeURIComponent(pathname));
    const found = existsSync(file) && statSync(file).isFile() ? file : path.join(public_folder, "index.html");
    if (!existsSync(found)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[path.extname(found)] ?? "application/octet-stream" });
    response.end(readFileSync(found));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** What the page at `url` writes. */
async function resultAt(url) {
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  try {
    await page.goto(url, { timeout: LIMIT_MS });
    await page.waitForFunction(() => document.querySelector("#result")?.textContent, null, { timeout: LIMIT_MS });
    return await page.textContent("#result");
  } catch (error) {
    throw new Error(`${error.message}; errors of the page: ${problems.join("; ") || "none"}`);
  } finally {
    await page.close();
  }
}

async function check(public_folder) {
  const { url, close } = await serve(public_folder);
  try {
    assert.equal((await resultAt(url)).trim(), expected);
  } finally {
    close();
  }
}

/** A folder with a page for a script that a bundler wrote there. */
function built(name, script) {
  const out = path.join(folder, name);
  mkdirSync(out, { recursive: true });
  cpSync(path.join(folder, "model.tflite"), path.join(out, "model.tflite"));
  writeFileSync(path.join(out, "index.html"), `<!doctype html><meta charset="utf-8"><pre id="result"></pre><script type="module" src="${script}"></script>`);
  return out;
}

for (const script of ["main.js", "worker.js", "inline.js"]) {
  setup(`a plain page, ${script}`, null, async () => {
    const page = readFileSync(path.join(folder, "page.html"), "utf8");
    writeFileSync(path.join(folder, "index.html"), page.replace("{{script}}", script));
    await check(folder);
  });

  setup(`esbuild, ${script}`, "esbuild", async () => {
    const out = built(`esbuild-${script}`, script);
    run("esbuild", [script, "--bundle", "--format=esm", "--splitting", `--outdir=${out}`]);
    await check(out);
  });

  setup(`esbuild into one file, ${script}`, "esbuild", async () => {
    const out = built(`esbuild-one-${script}`, script);
    run("esbuild", [script, "--bundle", "--format=esm", `--outfile=${path.join(out, script)}`]);
    await check(out);
  });

  setup(`Rollup, ${script}`, "rollup", async () => {
    const out = built(`rollup-${script}`, script);
    // Plugins are looked up from the folder of the program.
    const plugin = path.join(tools, "node_modules/@rollup/plugin-node-resolve/dist/es/index.js");
    writeFileSync(path.join(folder, "rollup.config.mjs"), `import { nodeResolve } from ${JSON.stringify(plugin)};\nexport default { plugins: [nodeResolve({ browser: true })] };\n`);
    run("rollup", [script, "--config", "rollup.config.mjs", "--dir", out, "--format", "es"]);
    await check(out);
  });

  setup(`webpack, ${script}`, "webpack", async () => {
    const out = built(`webpack-${script}`, "main.js");
    run("webpack", ["--entry", `./${script}`, "--mode", "production", "--output-path", out, "--no-stats"]);
    await check(out);
  });

  setup(`Vite's build, ${script}`, "vite", async () => {
    writeFileSync(path.join(folder, "index.html"), readFileSync(path.join(folder, "page.html"), "utf8").replace(/<script type="importmap">.*<\/script>\n/, "").replace("{{script}}", script));
    mkdirSync(path.join(folder, "public"), { recursive: true });
    cpSync(path.join(folder, "model.tflite"), path.join(folder, "public/model.tflite"));
    run("vite", ["build", "--logLevel", "error", "--outDir", `vite-${script}`]);
    await check(path.join(folder, `vite-${script}`));
  });

  setup(`Vite's development server, ${script}`, "vite", async () => {
    writeFileSync(path.join(folder, "index.html"), readFileSync(path.join(folder, "page.html"), "utf8").replace(/<script type="importmap">.*<\/script>\n/, "").replace("{{script}}", script));
    const server = spawn(bin("vite"), ["--port", "0", "--host", "127.0.0.1"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, NO_COLOR: "1" } });
    try {
      const url = await says(server, /http:\/\/127\.0\.0\.1:\d+\//);
      assert.equal((await resultAt(url)).trim(), expected);
    } finally {
      server.kill();
    }
  });
}

/** The first match in what a process prints. */
function says(process, pattern) {
  return new Promise((resolve, reject) => {
    let said = "";
    process.stdout.on("data", (chunk) => {
      said += chunk;
      const found = said.match(pattern);
      if (found) resolve(found[0]);
    });
    process.on("exit", (code) => reject(new Error(`ended with ${code}: ${said}`)));
    setTimeout(() => reject(new Error(`no address in: ${said}`)), LIMIT_MS).unref();
  });
}

setup("attributes and reports of any kind leave an element with a report or an error that has a kind", null, async () => {
  const page_text = `<!doctype html><meta charset="utf-8"><script type="importmap">{ "imports": { "litecast/elements": "./node_modules/litecast/elements.js" } }</script>
    <script type="module">import { defineElements } from "litecast/elements"; defineElements();</script>`;
  writeFileSync(path.join(folder, "attributes.html"), page_text);
  const { url, close } = await serve(folder);
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => (problems.push("a dialog"), dialog.dismiss()));
  const attributes = [
    ...["javascript:alert(1)", "http://[", "%E0%A4%A", "data:,no model", "blob:x", "x".repeat(100_000), "", "../../../../etc/passwd", "//0.0.0.0:1/x"].map((src) => ({ src })),
    ...["<img src=x onerror=alert(1)>", "__proto__", "", "\u202eethos-u55-256", "t".repeat(100_000)].map((target) => ({ target })),
    ...["1e999", "-1", "", "0x10", "two", "4294967296", "NaN"].map((batch) => ({ batch })),
    ...["__proto__", "constructor", "<b>", ""].map((metric) => ({ metric })),
  ];
  try {
    await page.goto(`${url}attributes.html`);
    await page.waitForFunction(() => customElements.get("litecast-badge"));
    for (const name of ["litecast-report", "litecast-badge"]) {
      for (const given of attributes) {
        const outcome = await page.evaluate(
          ([name, given]) =>
            new Promise((resolve) => {
              const element = document.createElement(name);
              element.addEventListener("litecast-report", () => resolve({ state: element.dataset.state, words: element.shadowRoot.textContent }));
              element.addEventListener("litecast-error", ({ detail }) => resolve({ state: element.dataset.state, kind: detail.kind, words: element.shadowRoot.textContent }));
              for (const [attribute, value] of Object.entries({ src: "model.tflite", ...given })) element.setAttribute(attribute, value);
              document.body.replaceChildren(element);
            }),
          [name, given],
        );
        const what = `${name} ${JSON.stringify(given).slice(0, 80)}: ${JSON.stringify(outcome).slice(0, 300)}`;
        assert.ok(outcome.state === "ready" || (outcome.state === "error" && outcome.kind && outcome.kind !== "internal"), what);
        assert.ok(outcome.words.length > 0 && (outcome.state === "ready" || outcome.words.length < 2000), `${outcome.words.length} characters: ${what}`);
      }
      for (const report of [{}, [], 7, "x", { results: [] }, { results: [null], model: {} }, { results: {}, model: null }]) {
        const kind = await page.evaluate(
          ([name, report]) =>
            new Promise((resolve) => {
              const element = document.createElement(name);
              element.addEventListener("litecast-error", ({ detail }) => resolve(detail.kind));
              element.addEventListener("litecast-report", () => resolve(element.dataset.state));
              document.body.replaceChildren(element);
              element.report = report;
            }),
          [name, report],
        );
        assert.ok(kind === "wrong-argument" || (name === "litecast-badge" && kind === "ready"), `${name} of ${JSON.stringify(report)}: ${kind}`);
      }
    }
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
    close();
  }
});

setup("an element asks for its model once, whatever is set and wherever it is moved, and draws its graph", null, async () => {
  const page_text = `<!doctype html><meta charset="utf-8"><script type="importmap">{ "imports": { "litecast/elements": "./node_modules/litecast/elements.js" } }</script>
    <main></main><script type="module">import { defineElements } from "litecast/elements"; defineElements();</script>`;
  writeFileSync(path.join(folder, "once.html"), page_text);
  const { url, close } = await serve(folder);
  const page = await browser.newPage();
  const requests = [];
  page.on("request", (request) => request.url().endsWith(".tflite") && requests.push(request.url()));
  const ready = (target) => page.waitForFunction((target) => document.querySelector("litecast-report")?.dataset.state === "ready" && document.querySelector("litecast-report").report.results[0].target === target, target, { timeout: LIMIT_MS });
  try {
    await page.goto(`${url}once.html`);
    await page.waitForFunction(() => customElements.get("litecast-report"));
    // As a framework does it: each attribute by itself, on an element that is on the page, which then moves it.
    await page.evaluate(() => {
      const element = document.createElement("litecast-report");
      document.body.append(element);
      element.src = "model.tflite";
      element.batch = 1;
      element.target = "ethos-u65-512";
      document.querySelector("main").append(element);
    });
    await ready("ethos-u65-512");
    assert.equal(requests.length, 1, requests.join());
    const drawn = () => page.evaluate(() => {
      const root = document.querySelector("litecast-report").shadowRoot;
      return { nodes: root.querySelectorAll("svg g").length, operators: document.querySelector("litecast-report").report.operators.length, rows: root.querySelectorAll("tbody tr").length };
    });
    const { nodes, operators, rows } = await drawn();
    assert.ok(operators > 5 && nodes === operators && rows === operators, JSON.stringify({ nodes, operators, rows }));
    await page.evaluate(() => (document.querySelector("litecast-report").target = "ethos-u55-128"));
    await ready("ethos-u55-128");
    assert.equal(requests.length, 1, "another target needs no other request");
    await page.evaluate(() => document.body.prepend(document.querySelector("litecast-report")));
    await page.waitForTimeout(200);
    assert.equal(requests.length, 1, "nor does another place");
    assert.equal((await drawn()).nodes, operators);
    const verdicts = await page.evaluate(() => {
      const element = document.querySelector("litecast-report");
      const read = () => [element.shadowRoot.querySelector(".verdict").dataset.verdict, element.shadowRoot.querySelector(".verdict").textContent];
      return ["", "1 ns, 1 us", "1 us", "100 s, 30/s"].map((budget) => ((element.budget = budget), read()));
    });
    assert.deepEqual(verdicts.map(([kind]) => kind), ["stated", "none", "fails", "meets"], verdicts.join("\n"));
    assert.match(verdicts[1][1], /expected for example `10 ms, 256 KiB, 2 mJ, 30\/s`, found `1 ns`/);
    assert.match(verdicts[2][1], /^✕ Does not meet 1\u202fµs on Ethos-U55-128: /);
    assert.match(verdicts[3][1], /busy for [\d.]+\u202f% of the time\.$/);
    // Of a network of many operators the costliest are listed: rows of all would hold up the page for minutes.
    const many = await page.evaluate(() => {
      const element = document.querySelector("litecast-report");
      const { report } = element;
      const n = 200_000;
      const parts = Array.from({ length: n }, (_, idx) => (idx % 1000 === 7 ? 1 : 0));
      element.report = { ...report, operators: Array.from({ length: n }, (_, index) => ({ ...report.operators[0], index })), edges: [], results: report.results.map((result) => (result.metric === "latency" && result.value ? { ...result, operators: parts } : result)) };
      const shown = [element.dataset.state, [...element.shadowRoot.querySelectorAll("summary")].at(-1).textContent, [...element.shadowRoot.querySelectorAll("tbody tr")].map((row) => Number(row.firstChild.textContent))];
      element.report = report;
      return shown;
    });
    assert.deepEqual(many.slice(0, 2), ["ready", "The 1,500 costliest operators as a table"]);
    assert.equal(many[2].length, 1500);
    assert.ok(Array.from({ length: 200 }, (_, idx) => 1000 * idx + 7).every((idx) => many[2].includes(idx)), "those with a part of the latency");
    // A summary has nothing to draw, and says so beside its numbers.
    const words = await page.evaluate(() => {
      const element = document.querySelector("litecast-report");
      const { operators, tensors, edges, ...summary } = element.report;
      element.report = summary;
      return [element.dataset.state, element.shadowRoot.textContent];
    });
    assert.equal(words[0], "ready");
    assert.match(words[1], /A summary has no operators to draw/);
  } finally {
    await page.close();
    close();
  }
});

setup("a badge and a report element show the latency of the whole network, where an Ethos-U runs a part of it", null, async () => {
  writeFileSync(path.join(folder, "mixed.tflite"), mixedModel());
  const page_text = `<!doctype html><meta charset="utf-8"><script type="importmap">{ "imports": { "litecast/elements": "./node_modules/litecast/elements.js" } }</script>
    <litecast-report src="mixed.tflite" target="ethos-u55-256"></litecast-report><litecast-badge src="mixed.tflite" target="ethos-u55-256"></litecast-badge>
    <script type="module">import { defineElements } from "litecast/elements"; defineElements();</script>`;
  writeFileSync(path.join(folder, "whole.html"), page_text);
  const { url, close } = await serve(folder);
  const page = await browser.newPage();
  try {
    await page.goto(`${url}whole.html`);
    await page.waitForFunction(() => document.querySelectorAll("[data-state=ready]").length === 2, null, { timeout: LIMIT_MS });
    const { badge, cards, values } = await page.evaluate(() => {
      const [report, badge] = document.querySelectorAll("litecast-report, litecast-badge");
      const values = Object.fromEntries(report.report.results.filter(({ target }) => target === "ethos-u55-256").map(({ metric, value }) => [metric, value]));
      return { badge: badge.shadowRoot.textContent, cards: [...report.shadowRoot.querySelectorAll(".cards li")].map(({ textContent }) => textContent), values };
    });
    console.log(JSON.stringify({ badge, cards, values }));
    assert.ok(values.latency > 1.01 * values.npu_latency, "the rest takes time");
    for (const words of [badge, cards.find((card) => /^Latency/.test(card))]) {
      const [, number, unit] = /([\d.]+)\u202f(ms|µs)/u.exec(words);
      const ms = Number(number) / (unit === "ms" ? 1 : 1000);
      assert.ok(Math.abs(ms / values.latency - 1) < 0.01, `${words}: ${values.latency} ms`);
    }
  } finally {
    await page.close();
    close();
  }
});

setup("an element shows of a report that is set what belongs to its target, of an earlier version too", null, async () => {
  const page_text = `<!doctype html><meta charset="utf-8"><script type="importmap">{ "imports": { "litecast/elements": "./node_modules/litecast/elements.js", "litecast": "./node_modules/litecast/index.js" } }</script>
    <litecast-report></litecast-report><litecast-badge></litecast-badge>
    <script type="module">import { defineElements } from "litecast/elements"; import { load } from "litecast"; defineElements(); window.load = load;</script>`;
  writeFileSync(path.join(folder, "set.html"), page_text);
  const earlier = JSON.parse(readFileSync(path.join(root, "tests/stored_reports/version-1.json"), "utf8"));
  const { url, close } = await serve(folder);
  const page = await browser.newPage();
  try {
    await page.goto(`${url}set.html`);
    await page.waitForFunction(() => window.load && customElements.get("litecast-badge"));
    const shown = await page.evaluate(async (earlier) => {
      const litecast = await load();
      const report = litecast.estimate(new Uint8Array(await (await fetch("model.tflite")).arrayBuffer()));
      const [card, badge] = document.querySelectorAll("litecast-report, litecast-badge");
      const read = () => ({ badge: badge.shadowRoot.textContent, title: badge.title, verdict: card.shadowRoot.querySelector(".verdict").textContent, latencies: [...card.shadowRoot.querySelectorAll(".cards small:first-child")].filter(({ textContent }) => textContent === "Latency").length });
      card.report = badge.report = report;
      const named = {};
      for (const target of ["ethos-u65-512", "cortex-a76-rpi5", "ethos-u55-32"]) {
        card.target = badge.target = target;
        named[target] = read();
      }
      card.report = badge.report = earlier;
      card.target = badge.target = earlier.results[0].target;
      const { schema_version } = card.report;
      card.report = { ...earlier, schema_version: 99 };
      const values = Object.fromEntries(report.results.filter(({ metric }) => metric === "latency").map(({ target, value }) => [target, value]));
      return { named, values, schema_version, later: card.shadowRoot.textContent };
    }, earlier);
    console.log(JSON.stringify(shown));
    for (const target of ["ethos-u65-512", "cortex-a76-rpi5"]) {
      const { badge, latencies } = shown.named[target];
      const [, number, unit] = /([\d.]+)\u202f(ms|µs)/u.exec(badge);
      assert.ok(Math.abs(Number(number) / (unit === "ms" ? 1 : 1000) / shown.values[target] - 1) < 0.01, `${badge}: ${shown.values[target]} ms`);
      assert.equal(latencies, 1, "of this target alone");
    }
    assert.match(shown.named["ethos-u55-32"].badge, /^no estimate on Ethos-U55-32$/);
    assert.match(shown.named["ethos-u55-32"].verdict, /The report has nothing on Ethos-U55-32/);
    assert.equal(shown.schema_version, 2);
    assert.match(shown.later, /found schema_version 99/);
  } finally {
    await page.close();
    close();
  }
});

setup("custom elements show a report, a badge and a failure", null, async () => {
  const page_text = `<!doctype html><meta charset="utf-8"><script type="importmap">{ "imports": { "litecast/elements": "./node_modules/litecast/elements.js" } }</script>
    <meta http-equiv="Content-Security-Policy" content="default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self'">
    <litecast-report src="model.tflite" target="ethos-u85-256"></litecast-report><litecast-badge src="model.tflite"></litecast-badge>
    <litecast-badge id="none" src="page.html"></litecast-badge><litecast-badge id="early" src="model.tflite"></litecast-badge>
    <script>document.querySelector("#early").target = "ethos-u65-512";</script>
    <script type="module">import { defineElements } from "litecast/elements"; defineElements();</script>`;
  writeFileSync(path.join(folder, "elements.html"), page_text);
  const { url, close } = await serve(folder);
  const page = await browser.newPage();
  try {
    await page.goto(`${url}elements.html`);
    await page.waitForFunction(() => document.querySelectorAll("[data-state=ready]").length === 3 && document.querySelector("#none[data-state=error]"), null, { timeout: LIMIT_MS });
    const found = await page.evaluate(() => {
      const [report, badge, none] = document.querySelectorAll("litecast-report, litecast-badge");
      const root = report.shadowRoot;
      return {
        badge: badge.shadowRoot.textContent,
        none: [none.shadowRoot.textContent, none.title],
        cards: root.querySelectorAll(".cards li").length,
        drawn: root.querySelectorAll("svg g").length,
        rows: root.querySelectorAll("tbody tr").length,
        n_operators: report.report.operators.length,
        color: getComputedStyle(badge).backgroundColor,
      };
    });
    console.log(JSON.stringify(found));
    assert.match(found.badge, /^\p{So} [\d.]+\u202f(ms|µs) on Ethos-U55-256$/u);
    assert.match(found.none[0], /no estimate/);
    assert.ok(found.cards >= 4 && found.drawn === found.n_operators && found.rows === found.n_operators);
    assert.equal(found.color, "rgb(36, 89, 216)");
    const changed = await page.evaluate(async () => {
      const [report, badge, none, early] = document.querySelectorAll("litecast-report, litecast-badge");
      const heard = (element, name) => new Promise((resolve) => element.addEventListener(name, ({ detail }) => resolve(detail), { once: true }));
      const words = (element) => element.shadowRoot.textContent;
      const changed = { early: words(early), defaults: [badge.target, badge.batch, badge.metric] };
      let event = heard(badge, "litecast-report");
      badge.target = "cortex-a76-rpi5";
      changed.report = (await event).results[0].target;
      changed.target = [badge.getAttribute("target"), words(badge)];
      badge.setAttribute("metric", "energy");
      changed.metric = words(badge);
      event = heard(none, "litecast-report");
      none.src = "model.tflite";
      await event;
      changed.mended = [none.dataset.state, words(none)];
      event = heard(report, "litecast-error");
      report.batch = 2.5;
      changed.wrong = [(await event).kind, words(report), report.report];
      badge.src = null;
      changed.empty = [badge.dataset.state, words(badge), badge.report];
      badge.report = none.report;
      changed.shown = [badge.dataset.state, words(badge)];
      return changed;
    });
    console.log(JSON.stringify(changed));
    assert.match(changed.early, / on Ethos-U65-512$/);
    assert.deepEqual(changed.defaults, ["ethos-u55-256", "1", "latency"]);
    assert.equal(changed.report, "cortex-a76-rpi5");
    assert.deepEqual(changed.target[0], "cortex-a76-rpi5");
    assert.match(changed.target[1], /(ms|µs) on Raspberry Pi 5 \(Arm Cortex-A76\)$/);
    assert.match(changed.metric, /^\p{So} Energy \(the rail VDD_CORE without idle, not the board\) [\d.]+\u202f.?J on /u);
    assert.match(changed.mended[1], / on Ethos-U55-256$/);
    assert.equal(changed.wrong[0], "wrong-argument");
    assert.match(changed.wrong[1], /batch: expected a whole number/);
    assert.equal(changed.wrong[2], null);
    assert.deepEqual(changed.empty, ["empty", "", null]);
    assert.equal(changed.shown[0], "ready");
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
  } finally {
    await page.close();
    close();
  }
});

setup("Next.js, on the client and on the server", "next", async () => {
  const app = path.join(folder, "next");
  cpSync(path.join(root, "tests/package/examples/next"), app, { recursive: true });
  mkdirSync(path.join(app, "node_modules"), { recursive: true });
  // Next.js follows no links out of its folder.
  execFileSync("cp", ["-al", ...["next", "react", "react-dom", "@next", "@swc", "scheduler", "styled-jsx", "client-only", "postcss", "nanoid", "picocolors", "source-map-js", "caniuse-lite", "baseline-browser-mapping"].map((name) => path.join(tools, "node_modules", name)).filter((name) => existsSync(name)), path.join(app, "node_modules")]);
  cpSync(path.join(folder, "node_modules/litecast"), path.join(app, "node_modules/litecast"), { recursive: true });
  mkdirSync(path.join(app, "public"), { recursive: true });
  cpSync(path.join(folder, "model.tflite"), path.join(app, "public/model.tflite"));
  writeFileSync(path.join(app, "package.json"), '{ "private": true, "type": "module" }\n');
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
  const next = path.join(app, "node_modules/next/dist/bin/next");
  execFileSync(process.execPath, [next, "build"], { cwd: app, env, stdio: ["ignore", "pipe", "pipe"], timeout: 10 * LIMIT_MS });
  const server = spawn(process.execPath, [next, "start", "--port", "0", "--hostname", "127.0.0.1"], { cwd: app, env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await says(server, /http:\/\/127\.0\.0\.1:\d+/);
    assert.equal((await resultAt(url)).trim(), expected);
    const answer = await fetch(`${url}/api/estimate`, { method: "POST", body: readFileSync(path.join(folder, "model.tflite")) });
    assert.ok((await answer.json()).results.length > 0);
  } finally {
    server.kill();
  }
});

for (const [name, tool, args] of [["Deno", "deno", ["run", "--allow-all", "--node-modules-dir=manual"]], ["Bun", "bun", ["run"]]]) {
  setup(name, tool, () => {
    assert.equal(run(tool, [...args, "server.mjs", "model.tflite"]).trim(), expected);
  });
}

test("a search prints its Pareto front", () => {
  const said = execFileSync(process.execPath, ["search.mjs", "3"], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  const rows = said.trim().split("\n").slice(2).map((line) => line.trim().split(/ {2,}/).map(Number));
  assert.ok(rows.length >= 3, said);
  for (const [idx, [latency_ms, sram_kib, macs]] of rows.entries()) {
    assert.ok(latency_ms <= 4 && sram_kib <= 256, said);
    if (idx > 0) assert.ok(latency_ms >= rows[idx - 1][0] && macs >= rows[idx - 1][2], said);
  }
});

test("nothing happens at import", () => {
  const script = 'const before = performance.now(); await import("litecast"); await import("litecast/worker"); console.log(globalThis.WebAssembly === undefined)';
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", `delete globalThis.WebAssembly; ${script}`], { cwd: folder, encoding: "utf8" });
  assert.equal(said.trim(), "true");
});

test("a program in CommonJS loads it by import()", () => {
  const script = 'import("litecast").then(({ load }) => load()).then((litecast) => console.log(litecast.targets().length > 10))';
  assert.equal(execFileSync(process.execPath, ["--input-type=commonjs", "-e", script], { cwd: folder, encoding: "utf8" }).trim(), "true");
});
