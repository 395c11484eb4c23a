/** Dataset and predictor as they are uploaded, and as they are fetched again. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const sha256 = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");
const sums = (file) => readFileSync(file, "utf8").trim().split("\n").map((line) => /^([0-9a-f]{64}) {2}(.+)$/.exec(line).slice(1));

test("the tables are those whose checksums are stated", () => {
  const stated = sums(path.join(root, "trainer/data/SHA256SUMS"));
  assert.deepEqual(stated.map(([, name]) => name), ["graphs.parquet", "labels.parquet", "operators.parquet"]);
  for (const [sum, name] of stated) assert.equal(sha256(path.join(root, "trainer/data", name)), sum, name);
});

test("both cards have metadata, and nothing that leads out of their folder", (context) => {
  const out = mkdtempSync(path.join(os.tmpdir(), "hub-"));
  context.after(() => rmSync(out, { recursive: true }));
  execFileSync("node", ["tools/hub/pack.mjs", out, "somebody"], { cwd: root });
  const cards = Object.fromEntries(["dataset", "model"].map((part) => {
    const [, front, text] = /^---\n([^]*?)\n---\n([^]*)$/.exec(readFileSync(path.join(out, part, "README.md"), "utf8"));
    for (const [, target] of text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)) assert.ok(/^https:/.test(target) || existsSync(path.join(out, part, target)), `${part}: ${target}`);
    for (const [sum, name] of sums(path.join(out, part, "SHA256SUMS"))) assert.equal(sha256(path.join(out, part, name)), sum, name);
    return [part, { front: parse(front), text }];
  }));
  for (const { front } of Object.values(cards)) assert.equal(front.license, "apache-2.0");
  for (const { data_files } of cards.dataset.front.configs) assert.ok(existsSync(path.join(out, "dataset", data_files)), data_files);
  assert.equal(cards.dataset.front.configs.length, 3);
  // Errors are those that the trainer measured, which another file of it states, too.
  const { errors, outputs } = JSON.parse(readFileSync(path.join(root, "bundle/manifest.json"), "utf8"));
  const [{ results }] = cards.model.front["model-index"];
  assert.equal(results.length, outputs.length);
  const csv = readFileSync(path.join(root, "trainer/results/per-operator.csv"), "utf8").split("\n").map((line) => line.split(","));
  for (const { task, metrics } of results) {
    const [metric, target] = task.name.split(" on ");
    const row = csv.find(([, on, what, space]) => on === target && what === metric && space === "all");
    const [error] = errors.filter((one) => one.target === target && one.metric === metric && one.space === "all");
    const measured = row ? Number(row[4]) : error.mape;
    assert.ok(Math.abs(metrics[0].value / measured - 1) < 6e-3, `${task.name}: ${metrics[0].value} beside ${measured}`);
  }
  assert.ok(!cards.model.text.includes("OWNER") && cards.model.front.datasets[0] === "somebody/litecast");
});

test("tables are fetched only as they are stated", async (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "fetch-"));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const name of ["tools/common.sh", "tools/hub/fetch.sh"]) cpSync(path.join(root, name), path.join(folder, name));
  mkdirSync(path.join(folder, "trainer/data"), { recursive: true });
  const content = "a table";
  writeFileSync(path.join(folder, "trainer/data/SHA256SUMS"), `${createHash("sha256").update(content).digest("hex")}  graphs.parquet\n`);
  let sent = "another table";
  const server = createServer((request, response) => response.writeHead(request.url === "/main/graphs.parquet" ? 200 : 404).end(sent));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const fetched = () => new Promise((resolve) => spawn("tools/hub/fetch.sh", [`http://127.0.0.1:${server.address().port}/main`], { cwd: folder, stdio: "ignore" }).on("close", resolve));
  const table = path.join(folder, "trainer/data/graphs.parquet");
  assert.notEqual(await fetched(), 0);
  assert.ok(!existsSync(table));
  sent = content;
  assert.equal(await fetched(), 0);
  assert.equal(readFileSync(table, "utf8"), content);
});
