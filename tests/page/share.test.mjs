/** Links that hold a report: the same numbers, short, without names, and whatever else stands in a link is refused. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { SHARED_MODELS, dropBytes, openPage, readEstimates, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { mixedModel, residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";

const { reportOfLink } = await importSource("share.ts");
const shared = browserForTests();
const MAX_LINK_CHARACTERS = 12_000;

const options = { permissions: ["clipboard-read", "clipboard-write"] };

/** What a person reads of a report on a target. */
async function readNumbers(page, target) {
  await page.selectOption("#target", target);
  await page.waitForSelector(`tr.chosen[data-target="${target}"]`);
  const verdict = await page.textContent(".report-verdict");
  // Terms are sums of rounded parts.
  const metrics = await page.$$eval(".metrics .metric", (all) => all.map((metric) => [...metric.querySelectorAll("dt, .quantity, .doubt-words, .evidence")].filter((part) => !part.closest(".terms")).map(({ textContent }) => textContent)));
  await page.click('button:text-is("Table")');
  await page.waitForSelector(".operators tr[data-operator]");
  const operators = await page.$$eval(".operators tr[data-operator]", (rows) => rows.map((row) => [...row.cells].filter((cell) => !cell.classList.contains("tail")).map(({ textContent }) => textContent)));
  return { verdict, metrics, operators, estimates: await readEstimates(page) };
}

async function copiedLink(page, { with_names = false } = {}) {
  await page.click(".take summary");
  await page.setChecked("#link-names", with_names);
  await page.click('button:text-is("Copy link")');
  await page.waitForSelector('button:text-is("Copied")');
  await page.keyboard.press("Escape");
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Drops a file, copies its link, and opens it where nothing is known of the file. */
async function viaLink(name, bytes, target, { with_names = false } = {}) {
  const first = await openPage(shared.chromium, { options });
  await dropBytes(first.page, name, bytes);
  await waitDrawn(first.page, name);
  await first.page.waitForSelector("#tool-what-if");
  const before = await readNumbers(first.page, target);
  const link = await copiedLink(first.page, { with_names });
  assert.deepEqual(first.problems, []);
  await first.close();
  const second = await openPage({ ...shared.chromium, url: link });
  const shown = with_names ? name : "shared report";
  await waitDrawn(second.page, shown);
  const after = await readNumbers(second.page, target);
  const title = await second.page.textContent("#title");
  await second.page.reload();
  await waitDrawn(second.page, shown);
  assert.deepEqual(second.problems, []);
  await second.close();
  return { before, after, link, title };
}

test("a link opens to the same numbers, and has no names unless they are wanted", async () => {
  for (const [name, bytes, target] of [["mixed.tflite", mixedModel(), "ethos-u55-256"], ["res.tflite", residualModel(300), "cortex-a76-rpi5"]]) {
    const { before, after, link, title } = await viaLink(name, bytes, target);
    assert.deepEqual(after, before, name);
    assert.ok(after.operators.length > 3);
    console.log(`${name}: a link of ${link.length} characters`);
    assert.ok(link.length <= MAX_LINK_CHARACTERS, `${link.length}`);
    assert.match(title, /^shared report.*shared, without its file/);
    const json = inflateRawSync(Buffer.from(/report=1\.([\w-]*)/.exec(link)[1], "base64url")).toString();
    assert.ok(!json.includes(name));
    assert.deepEqual(JSON.parse(json).tensors.name.distinct, [""]);
  }
  const { before, after, title } = await viaLink("named.tflite", residualModel(8), "ethos-u55-256", { with_names: true });
  assert.deepEqual(after, before);
  assert.match(title, /^named\.tflite/);
});

test("links of real networks are short", { skip: !existsSync(SHARED_MODELS) && "the shared models are not here" }, async () => {
  for (const name of ["mediapipe-0.10.14__hand_landmark_lite", "LiteRT__torchaudio_conformer"]) {
    const { before, after, link } = await viaLink(`${name}.tflite`, readFileSync(`${SHARED_MODELS}${name}.tflite`), "ethos-u55-256");
    console.log(`${name}: ${after.operators.length} rows shown, a link of ${link.length} characters`);
    assert.deepEqual(after, before, name);
    assert.ok(link.length <= MAX_LINK_CHARACTERS, `${name}: ${link.length}`);
  }
});

const linkOfJson = (value) => `1.${deflateRawSync(Buffer.from(typeof value === "string" ? value : JSON.stringify(value))).toString("base64url")}`;

test("whatever else stands in a link is refused, soon and with a reason", async () => {
  const { page, close } = await openPage(shared.chromium, { options });
  await dropBytes(page, "good.tflite", residualModel(8));
  await waitDrawn(page, "good.tflite");
  const good = /report=(1\.[\w-]*)/.exec(await copiedLink(page))[1];
  const json = () => JSON.parse(inflateRawSync(Buffer.from(good.slice(2), "base64url")).toString());
  const changed = (change) => {
    const value = json();
    change(value);
    return linkOfJson(value);
  };
  assert.equal((await reportOfLink(good)).operators.length, 8);
  // As many operators, each of which reads the outputs of the 300 before it.
  const ladder = (value, n) => {
    const column = (rows, distinct) => ({ distinct, rows });
    const firsts = ({ operators, tensors }) => [operators, tensors].map((columns) => Object.fromEntries(Object.entries(columns).map(([name, all]) => [name, column(Array(n).fill(0), [Array.isArray(all) ? all[0] : all.distinct[all.rows[0]]])])));
    [value.operators, value.tensors] = firsts(value);
    value.operators.outputs = column(Array.from({ length: n }, (_, i) => Math.min(i, 1)), [[0], [2]]);
    value.operators.inputs = column(Array.from({ length: n }, (_, i) => (i < 300 ? 0 : 1)), [[], Array.from({ length: 300 }, (_, i) => -1 - i)]);
    Object.assign(value.head.model, { inputs: [0], outputs: [1], peak_operator: 0 });
    Object.assign(value.head, { left_out: [] });
    value.parts = [];
  };
  assert.equal((await reportOfLink(changed((value) => ladder(value, 800)))).edges.length, 150_000);
  const hostile = {
    empty: "", "no version": good.slice(2), "another version": `2.${good.slice(2)}`, "no contents": "1.", "no base64": "1.a", "cut off": good.slice(0, -40),
    changed: `${good.slice(0, 60)}AAAA${good.slice(64)}`, markup: "1.<script>alert(1)</script>", long: `1.${"A".repeat(70_000)}`, "much longer": `1.${"A".repeat(5_000_000)}`,
    "zeros that unfold a thousand times": linkOfJson("0".repeat(30_000_000)), "an array that unfolds": linkOfJson(`[${"[],".repeat(1_300_000)}[]]`),
    null: linkOfJson("null"), number: linkOfJson("5"), array: linkOfJson("[]"), object: linkOfJson("{}"), "no JSON": linkOfJson("{"), deep: linkOfJson("[".repeat(200_000)),
    "no results": changed((value) => delete value.results), "results that are none": changed((value) => (value.results = [null])),
    "an index behind the end": changed((value) => (value.operators.name.rows[0] = 99)), "a negative index": changed((value) => (value.operators.name.rows[0] = -1)),
    "a reader of nothing": changed((value) => (value.operators.inputs = Array(8).fill([-5]))), "a tensor that is not there": changed((value) => (value.operators.outputs = Array(8).fill([1e6]))),
    "columns of other lengths": changed((value) => value.operators.macs.rows?.pop() ?? value.operators.macs.pop()),
    "a part that is text": changed((value) => (value.parts[0][1][0] = "<b>")), "a part of another result": changed((value) => (value.parts[0][0] = 999)),
    "parts that are missing": changed((value) => value.parts[0][1].pop()), "a prototype": changed((value) => (value.parts[0][0] = "__proto__")),
    "a value that is repeated": changed((value) => (value.operators.attributes = { distinct: [{ x: "y".repeat(3_000_000) }], rows: Array(8).fill(0) })),
    "millions of edges": changed((value) => ladder(value, 10_000)),
    "endless rows": changed((value) => { for (const name of Object.keys(value.operators)) value.operators[name] = { distinct: [0], rows: Array(400_000).fill(0) }; }),
  };
  for (const [name, value] of Object.entries(hostile)) {
    const start = performance.now();
    await assert.rejects(reportOfLink(value), (error) => error.kind === "link" && /^expected a link that Copy link made, found /.test(error.message), name);
    assert.ok(performance.now() - start < 3000, name);
  }
  // Shown as what they are, in the same tab too.
  for (const name of ["cut off", "object", "zeros that unfold a thousand times"]) {
    await page.evaluate((value) => (location.hash = `report=${value}`), hostile[name]);
    await page.waitForSelector('.failure-panel[data-kind="link"]');
    await page.goBack();
    await page.waitForSelector(".report-verdict");
  }
  await page.evaluate((value) => (location.hash = `report=${value}`), good);
  await waitDrawn(page, "shared report");
  await close();
});
