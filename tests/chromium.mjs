/**
 * Chromium without a window. Tests run in its headless shell, where that is installed: the same engine without the
 * browser's own interface, which takes a quarter of the processor's time, and with the first machine code of modules: each
 * page compiles them anew, and optimising them takes a fifth of the tests' time. `CHROMIUM` names another program.
 */
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const WHOLE = "/usr/bin/chromium";
const SHELL = "/usr/bin/chromium-headless-shell";

/**
 * `is_whole` asks for the program that people have and its optimised code, where speed or what the browser does besides
 * showing a page matters.
 */
export function launchChromium({ is_whole = false, args = [] } = {}) {
  const executablePath = process.env.CHROMIUM ?? (!is_whole && existsSync(SHELL) ? SHELL : WHOLE);
  const unoptimised = is_whole ? [] : ["--js-flags=--liftoff-only"];
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...unoptimised, ...args] });
}
