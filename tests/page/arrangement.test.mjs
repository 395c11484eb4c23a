/**
 * How the parts of each view are arranged at three sizes, as rows of names: what moved, went or covers another shows as a
 * difference to `arrangement.json`, whatever the fonts are. `UPDATE_GOLDENS=1` writes the file anew.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { dropBytes, dropModels, openBrowser, openPage, waitDrawn } from "./browser.mjs";
import { mixedModel, residualModel } from "./model.mjs";

const GOLDEN = new URL("arrangement.json", import.meta.url);
const SIZES = { wide: { width: 1440, height: 900 }, small: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } };
/** Name → selector. */
const PARTS = {
  brand: "#home", title: "#title", batch: ".batch", "take away": ".take", open: ".bar .pick",
  question: ".question", drop: ".drop-zone", "first target": "#first-target", examples: "#examples", history: "#history", "known targets": "#known-targets",
  answer: ".answer", others: ".others", "in two parts": ".hybrid", tools: ".workshop-bar", tool: ".workshop-body", notes: ".diagnostics-panel",
  "graph tools": ".workbench-bar", graph: ".graph", timeline: ".timeline", costliest: ".costliest", inspector: ".inspector", devices: ".device",
  comparison: ".comparison", scatter: ".scatter",
};
/** Inside of another part: neither beside nor below it. */
const INSIDE = { "in two parts": "answer", comparison: null, scatter: null };

/** Boxes of what is seen, in pixels of the page. */
function boxes(page) {
  return page.evaluate((parts) => {
    scrollTo(0, 0); // the bar stays on top
    const found = Object.entries(parts).flatMap(([name, selector]) => {
      const element = document.querySelector(selector);
      const box = element?.getBoundingClientRect();
      return box && box.width > 1 && box.height > 1 ? [{ name, left: box.left, right: box.right, top: box.top + scrollY, bottom: box.bottom + scrollY }] : [];
    });
    return found;
  }, PARTS);
}

/** Parts that share more than half of the lower one's height stand in one row, from left to right. */
function rowsOf(all) {
  const rows = [];
  for (const box of all.filter(({ name }) => !(name in INSIDE) || INSIDE[name] === null).toSorted((a, b) => a.top - b.top || a.left - b.left)) {
    const row = rows.find(({ top, bottom }) => Math.min(bottom, box.bottom) - Math.max(top, box.top) > 0.5 * Math.min(bottom - top, box.bottom - box.top));
    if (!row) rows.push({ top: box.top, bottom: box.bottom, boxes: [box] });
    else row.boxes.push(box);
  }
  return rows.map(({ boxes }) => boxes.toSorted((a, b) => a.left - b.left || a.top - b.top).map(({ name }) => name).join(" | "));
}

function overlapping(all) {
  const apart = all.filter(({ name }) => !(name in INSIDE));
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  return apart.flatMap((a, i) => apart.slice(i + 1).filter((b) => overlap(a, b)).map((b) => `${a.name} and ${b.name}`));
}

/** Words that are cut off without an ellipsis, and what is wider than the window. */
function cutOff(page) {
  return page.evaluate(() => {
    const is_cut = (element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).textOverflow !== "ellipsis";
    const cut = [...document.querySelectorAll("button, summary, h2, dt, .fit, .hybrid p, .sweep-words")].filter((element) => element.clientWidth > 0 && is_cut(element));
    const sideways = document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}`] : [];
    return [...sideways, ...cut.map((element) => `cut off: ${element.textContent.slice(0, 60)}`)];
  });
}

async function visitAll(page, look) {
  await page.waitForSelector("#first-target");
  await look("start");
  await dropBytes(page, "mixed.tflite", mixedModel());
  await waitDrawn(page, "mixed.tflite");
  await page.waitForSelector("#tool-what-if");
  await page.selectOption("#target", "ethos-u55-256");
  await look("two parts");
  await page.click("#tool-boards");
  await page.waitForSelector(".boards-table");
  await look("boards");
  await page.click("#tool-gpus");
  await page.waitForSelector(".sweep-drawing");
  await look("gpus");
  await page.click("#tool-gpus");
  await dropModels(page, [8, 40].map((n) => residualModel(n)));
  await page.waitForSelector(".scatter");
  await look("comparison");
}

test("the parts of every view are arranged as they were, and none covers another", async () => {
  const chromium = await openBrowser();
  const found = {};
  const wrong = [];
  try {
    for (const [size, viewport] of Object.entries(SIZES)) {
      const { page, problems, close } = await openPage(chromium, { options: { viewport } });
      await visitAll(page, async (view) => {
        const all = await boxes(page);
        found[`${view}, ${size}`] = rowsOf(all);
        wrong.push(...[...overlapping(all), ...(await cutOff(page))].map((words) => `${view}, ${size}: ${words}`));
      });
      assert.deepEqual(problems, []);
      await close();
    }
  } finally {
    await chromium.close();
  }
  if (process.env.UPDATE_GOLDENS) await writeFile(GOLDEN, `${JSON.stringify(found, null, 2)}\n`);
  assert.deepEqual(wrong, []);
  assert.deepEqual(found, JSON.parse(await readFile(GOLDEN, "utf8")));
});
