/**
 * Chromium without a window. Tests run in its headless shell, where that is installed: the same engine without the
 * browser's own interface, which takes a quarter of the processor's time. `CHROMIUM` names another program.
 */
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const WHOLE = "/usr/bin/chromium";
const SHELL = "/usr/bin/chromium-headless-shell";

/** `is_whole` asks for the program that people have, where what the browser does besides showing a page matters. */
export function launchChromium({ is_whole = false, args = [] } = {}) {
  const executablePath = process.env.CHROMIUM ?? (!is_whole && existsSync(SHELL) ? SHELL : WHOLE);
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...args] });
}
