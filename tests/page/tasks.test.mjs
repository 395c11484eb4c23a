/** Five questions, each answered on the page in at most three clicks and fields: tests/page/tasks/README.md. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";
import { dropBytes, dropModels, waitCompared, waitDrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";

const MAX_ACTS = 3;
const FOLDER = new URL("tasks/", import.meta.url);
const shared = browserForTests();

async function act(page, { fill, click, choose, value }) {
  if (click) return page.locator(click).first().click();
  if (choose) return page.selectOption(choose, value);
  await page.fill(fill, value);
  await page.press(fill, "Enter");
}

for (const name of (await readdir(FOLDER)).filter((name) => name.endsWith(".mjs"))) {
  const { question, files, before, after, shown, answer, read = (page) => page.locator(shown).first().textContent() } = (await import(new URL(name, FOLDER))).default;
  test(`${name.replace(".mjs", "")}: ${question}`, (context) =>
    shared.withPage(
      async (page) => {
        await page.waitForSelector("#first-target");
        for (const step of before) await act(page, step);
        if (files.length === 1) {
          await dropBytes(page, ...files[0]);
          await waitDrawn(page, files[0][0]);
        } else {
          await dropModels(page, files.map(([, bytes]) => bytes), files.map(([name]) => name));
          await waitCompared(page, files.length);
        }
        for (const step of after) await act(page, step);
        await page.waitForSelector(shown);
        const words = await read(page);
        for (const part of [await answer()].flat()) assert.ok(words.includes(part), `expected ${part}, found ${words}`);
        const n_acts = before.length + after.length;
        context.diagnostic(`${n_acts} clicks and fields: ${words.replaceAll("\u202f", " ")}`);
        assert.ok(n_acts <= MAX_ACTS, `${n_acts} clicks and fields`);
      },
      { options: { permissions: ["clipboard-read", "clipboard-write"] } },
    ));
}
