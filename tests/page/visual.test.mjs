/**
 * What the main views look like, at three sizes in both themes, against small pictures in `views/`: `UPDATE_GOLDENS=1`
 * takes them anew. An eighth of the size makes a word a grey bar, whatever its digits are. With other fonts than those
 * that the pictures were taken with lines break elsewhere: then `arrangement.test.mjs` is what is left.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import { openBrowser, openPage, visitViews } from "./browser.mjs";

const VIEWS = fileURLToPath(new URL("views/", import.meta.url));
/** What differs is drawn there. */
const DIFFERENCES = fileURLToPath(new URL("../../target/page-views/", import.meta.url));
const SIZES = { wide: { width: 1440, height: 900 }, small: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } };
const LOOKED_AT = new Set(["start", "report", "what if", "failure", "comparison"]);
const SCALE = 0.125;
/** Of colours that count as one, from 0 to 1. */
const SAME_COLOUR = 0.03;
/** Of widths of one text that count as one font's: browsers round them differently. */
const SAME_WIDTH = 0.01;
/** Estimates move with the engine: bars, colours of the graph and the words of notes. */
const MAX_DIFFERENT_PERCENT = 1.5;

let chromium;
before(async () => {
  chromium = await openBrowser();
});
after(() => chromium?.close());

/** Differs with the fonts of a machine, and with how they are drawn. */
function fontWidths(page) {
  return page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d");
    const widthOf = (family) => {
      context.font = `16px ${getComputedStyle(document.documentElement).getPropertyValue(family)}`;
      return Math.round(10 * context.measureText("What will this model cost? 0.123 ms µs KiB").width) / 10;
    };
    return { text: widthOf("--font"), code: widthOf("--mono") };
  });
}

const goldenFonts = async () => JSON.parse(await readFile(`${VIEWS}fonts.json`, "utf8"));

async function sameFonts(page) {
  const found = await fontWidths(page);
  if (process.env.UPDATE_GOLDENS) {
    await mkdir(VIEWS, { recursive: true });
    await writeFile(`${VIEWS}fonts.json`, `${JSON.stringify(found)}\n`);
    return true;
  }
  return Object.entries(await goldenFonts()).every(([family, width]) => Math.abs(found[family] - width) <= SAME_WIDTH * width);
}

/** Both on sheets of one size: what only one of them covers differs. */
function onSheet(image, width, height) {
  const sheet = new PNG({ width, height, fill: true });
  PNG.bitblt(image, sheet, 0, 0, image.width, image.height, 0, 0);
  return sheet;
}

/** In percent of the larger picture, and the picture of it. */
function difference(found, expected) {
  const [width, height] = [Math.max(found.width, expected.width), Math.max(found.height, expected.height)];
  const drawn = new PNG({ width, height });
  const n = pixelmatch(onSheet(found, width, height).data, onSheet(expected, width, height).data, drawn.data, width, height, { threshold: SAME_COLOUR, includeAA: true });
  return { percent: (100 * n) / (width * height), drawn };
}

const picture = async (page) => {
  await page.evaluate(() => scrollTo(0, 0));
  return PNG.sync.read(await page.screenshot({ fullPage: true, animations: "disabled" }));
};

const options = (size, colorScheme) => ({ viewport: SIZES[size], colorScheme, deviceScaleFactor: SCALE });

for (const colorScheme of ["light", "dark"]) {
  for (const size of Object.keys(SIZES)) {
    test(`the main views look as they did, ${size}, ${colorScheme}`, async (context) => {
      const { page, close } = await openPage(chromium, { options: options(size, colorScheme) });
      try {
        if (!(await sameFonts(page))) return context.skip("other fonts than those of the pictures");
        const wrong = [];
        const found = [];
        await visitViews(page, async (view) => {
          if (!LOOKED_AT.has(view)) return;
          const name = `${view.replaceAll(" ", "-")}-${size}-${colorScheme}.png`;
          const image = await picture(page);
          if (process.env.UPDATE_GOLDENS) return writeFile(`${VIEWS}${name}`, PNG.sync.write(image));
          const { percent, drawn } = difference(image, PNG.sync.read(await readFile(`${VIEWS}${name}`)));
          found.push(`${view} ${percent.toFixed(2)} %`);
          if (percent <= MAX_DIFFERENT_PERCENT) return;
          await mkdir(DIFFERENCES, { recursive: true });
          await writeFile(`${DIFFERENCES}${name}`, PNG.sync.write(drawn));
          wrong.push(`${name}: ${percent.toFixed(2)} % differ, see target/page-views/${name}`);
        });
        console.log(`different pixels, ${size}, ${colorScheme}: ${found.join(", ")}`);
        assert.deepEqual(wrong, []);
      } finally {
        await close();
      }
    });
  }
}

test("what goes, moves or turns another colour is seen", async (context) => {
  const { page, close } = await openPage(chromium, { options: { ...options("wide", "light"), bypassCSP: true } });
  try {
    if (!(await sameFonts(page))) return context.skip("other fonts than those of the pictures");
    const before = await picture(page);
    for (const rule of [".drop-zone { visibility: hidden }", ".start { margin-top: 0 }", ":root { --page: #e8eefc }", ".examples { grid-template-columns: 1fr }"]) {
      const style = await page.addStyleTag({ content: rule });
      const { percent } = difference(await picture(page), before);
      console.log(`${rule}: ${percent.toFixed(1)} % differ`);
      assert.ok(percent > MAX_DIFFERENT_PERCENT, `${rule}: ${percent} %`);
      await style.evaluate((element) => element.remove());
    }
  } finally {
    await close();
  }
});
