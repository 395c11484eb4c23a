/**
 * Takes pictures of every view at three sizes in both themes, to be looked at: `node tests/page/gallery.mjs OUT
 * [MODEL...]`; the examples without MODEL.
 */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { dropBytes, dropFiles, openBrowser, openPage, waitDrawn } from "./browser.mjs";
import { mixedModel } from "./model.mjs";

const SIZES = { wide: { width: 1440, height: 900 }, small: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } };
const [out, ...models] = process.argv.slice(2);
await mkdir(out, { recursive: true });
const chromium = await openBrowser();
for (const colorScheme of ["light", "dark"]) {
  for (const [name, viewport] of Object.entries(SIZES)) {
    const { page, close, problems } = await openPage(chromium, { options: { viewport, colorScheme } });
    const take = (view, fullPage = false) => page.screenshot({ path: path.join(out, `${view}-${name}-${colorScheme}.png`), fullPage });
    await page.waitForTimeout(150);
    await take("start", true);
    if (models.length > 0) {
      await dropFiles(page, [path.resolve(models[0])]);
      await waitDrawn(page, path.basename(models[0]));
    } else {
      await page.locator(".example").nth(1).click();
      await page.waitForSelector("body[data-drawn]");
    }
    await page.waitForTimeout(150);
    await take("report");
    await page.click("#tool-boards");
    await page.click('.boards-table button:text-is("BBC micro:bit V2")');
    await page.waitForSelector('.targets [data-target="board:microbit-v2"]');
    await take("boards", name === "phone");
    await page.click("#tool-gpus");
    await page.waitForSelector(".sweep-drawing");
    await page.click('[data-group="gpus"] summary');
    await page.waitForSelector('[data-group="gpus"] [data-target]');
    await page.selectOption("#target", "rtx-3090");
    await page.waitForTimeout(100);
    await take("gpus", name === "phone");
    await page.click("#tool-gpus");
    await dropBytes(page, "mixed.tflite", mixedModel());
    await waitDrawn(page, "mixed.tflite");
    await page.selectOption("#target", "ethos-u55-256");
    await take("two-parts");
    await page.goBack();
    await page.waitForSelector("body[data-drawn]");
    await page.locator(".workbench").scrollIntoViewIfNeeded();
    await page.evaluate(() => document.querySelector(".workbench").scrollIntoView());
    await page.locator(".costliest button").first().click();
    await page.waitForTimeout(150);
    await take("workbench", name === "phone");
    if (models.length > 1) {
      await dropFiles(page, models.map((model) => path.resolve(model)));
      await page.waitForSelector("#cancel", { state: "hidden" });
      await page.waitForTimeout(300);
      await take("comparison");
    }
    if (problems.length > 0) console.log(name, colorScheme, problems);
    await close();
  }
}
await chromium.close();
