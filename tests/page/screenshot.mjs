/** Takes www/screenshot.png, the picture of the README: `node tests/page/screenshot.mjs [MODEL]`; an example without MODEL. */
import { stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { dropFiles, openBrowser, openPage, waitDrawn } from "./browser.mjs";

const OUT = fileURLToPath(new URL("../../www/screenshot.png", import.meta.url));

const chromium = await openBrowser();
const { page } = await openPage(chromium, { options: { viewport: { width: 1440, height: 900 }, colorScheme: "light" } });
const model = process.argv[2];
if (model) {
  await dropFiles(page, [path.resolve(model)]);
  await waitDrawn(page, path.basename(model));
} else {
  await page.locator(".example").first().click();
  await page.waitForSelector("body[data-drawn]");
}
await page.click(".facts .link"); // the operator at the memory peak
await page.evaluate(() => scrollTo(0, 0));
await page.waitForTimeout(200);
await page.screenshot({ path: OUT });
await chromium.close();
console.log(`${path.relative(process.cwd(), OUT)}: ${(await stat(OUT)).size} bytes`);
