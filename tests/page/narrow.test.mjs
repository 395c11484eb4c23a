/** Nothing over anything else and nothing cut off: the first screen and drawings in narrow windows, as on a phone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropModels, usePage } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";

const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };

const shared = browserForTests();

const withPage = (viewport, use) => usePage(shared.chromium, use, { options: { viewport } });

test("on a phone the errors of all targets are read without scrolling sideways, each with its metric", () =>
  withPage(PHONE, async (page) => {
    await page.click(".how-sure > summary");
    await page.click(".how-sure > details:not(.known-sources) > summary");
    const found = await page.evaluate(() => ({
      page: document.documentElement.scrollWidth - innerWidth,
      sideways: [...document.querySelectorAll("#known-targets .scroller")].map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
      names: [...document.querySelectorAll(".known-targets td[data-name]")].map((cell) => [getComputedStyle(cell, "::before").content, cell.dataset.name]),
    }));
    assert.equal(found.page, 0);
    assert.deepEqual(found.sideways, [0, 0]);
    assert.ok(found.names.length > 20, `${found.names.length}`);
    for (const [shown, name] of found.names) assert.ok(shown.includes(name), `${shown}: ${name}`);
  }));

/** What the drawing of a comparison says: its own box, and those of what can be read. */
function boxes(page) {
  return page.evaluate(() => {
    const box = (element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return { left, right, top, bottom, text: element.textContent };
    };
    const svg = document.querySelector(".scatter-drawing");
    const texts = [...svg.querySelectorAll("text")].filter((text) => getComputedStyle(text).visibility === "visible");
    return { svg: box(svg), texts: texts.map(box), points: [...svg.querySelectorAll("circle")].map(box), n_hidden: svg.querySelectorAll(".without-room").length };
  });
}

/** Boxes of lines touch where letters do not. */
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;

for (const [name, viewport] of [["on a phone", PHONE], ["in a wide window", WIDE]]) {
  test(`${name} no words of a comparison's drawing overlap or are cut off`, () =>
    withPage(viewport, async (page) => {
      // Three that differ little, and from the others by more than thirty times.
      await dropModels(page, [4, 5, 6, 40, 300, 320].map((n) => residualModel(n)));
      const { svg, texts, points, n_hidden } = await boxes(page);
      assert.equal(points.length, 6);
      assert.ok(n_hidden > 0, "some names have no room");
      assert.ok(texts.length >= 10 - n_hidden, `${texts.length} words, ${n_hidden} names without room`);
      for (const [i, text] of texts.entries()) {
        assert.ok(text.left >= svg.left - 1 && text.right <= svg.right + 1 && text.top >= svg.top - 1 && text.bottom <= svg.bottom + 1, `${text.text} is cut off`);
        for (const other of texts.slice(i + 1)) assert.ok(!overlap(text, other), `${text.text} over ${other.text}`);
        for (const point of points) assert.ok(!overlap(text, point), `${text.text} over a point`);
      }
      assert.ok(svg.right <= viewport.width, `${svg.right}`);
      assert.match(await page.textContent(".scatter-drawing"), /logarithmic/);
      // A name without room is read when its point has the focus.
      for (const point of await page.locator(".scatter .point").all()) {
        await point.focus();
        await page.keyboard.press("Shift+Tab");
        await page.keyboard.press("Tab");
        assert.equal(await point.locator(".name").evaluate((text) => getComputedStyle(text).visibility), "visible");
      }
    }));
}

test("on a phone a comparison begins with what was estimated, and says the rest beside each name", () =>
  withPage(PHONE, async (page) => {
    await dropModels(page, [8, 40].map((n) => residualModel(n)));
    const { right, facts } = await page.evaluate(() => ({
      right: document.querySelector('.comparison td[data-metric="latency"]').getBoundingClientRect().right,
      facts: [...document.querySelectorAll(".comparison .narrow-only")].map((words) => words.innerText),
    }));
    assert.ok(right <= PHONE.width, `latency ends at ${right}`);
    assert.deepEqual(facts.map((words) => words.replace(/^[\d.]+\s/u, "n ")), ["n KiB, int8, 8 operators", "n KiB, int8, 40 operators"]);
    assert.equal(await page.locator(".comparison thead button:visible").evaluateAll((heads) => heads.some(({ textContent }) => /Precision|MACs/.test(textContent))), false);
    await page.setViewportSize(WIDE);
    assert.equal(await page.locator(".comparison thead button:visible").evaluateAll((heads) => heads.filter(({ textContent }) => /Precision|MACs/.test(textContent)).length), 2);
    assert.equal(await page.locator(".comparison .narrow-only:visible").count(), 0);
  }));

test("the drawing of a comparison is drawn anew when a phone is turned", () =>
  withPage(PHONE, async (page) => {
    await dropModels(page, [8, 40].map((n) => residualModel(n)));
    const narrow = await page.locator(".scatter-drawing").evaluate((svg) => svg.getBoundingClientRect().width);
    await page.setViewportSize({ width: 844, height: 390 });
    await page.waitForFunction((narrow) => document.querySelector(".scatter-drawing").getBoundingClientRect().width > 1.5 * narrow, narrow);
  }));
