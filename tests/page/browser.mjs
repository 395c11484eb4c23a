/** A served page in headless Chromium, with a log of what it asks for and what goes wrong in it. */
import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { serve } from "../../www/serve.mjs";
import { launchChromium } from "../chromium.mjs";
import { residualModel } from "./model.mjs";

const DIST = fileURLToPath(new URL("../../www/dist/", import.meta.url));
export const SHARED_MODELS = fileURLToPath(new URL("../../../shared/models/", import.meta.url));
/** A cold start compiles the module on a shared machine. */
const START_LIMIT_MS = 120_000;
export const REPORT_LIMIT_MS = 60_000;

/** A server and a browser (see `launchChromium`); `close` ends both. */
export async function openBrowser(options) {
  await access(`${DIST}index.html`).catch(() => {
    throw new Error("www/dist is missing; build it with: npm run build:page");
  });
  const { server, url } = await serve();
  const browser = await launchChromium(options);
  const close = async () => {
    await browser.close();
    server.close();
  };
  return { browser, url, close };
}

/**
 * A loaded page. `requests` holds every address it asked for, `problems` every error on its console. `prepare` runs
 * before it loads.
 */
export async function openPage({ browser, url }, { options = {}, prepare = async () => {} } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: "block", ...options });
  const page = await context.newPage();
  // Machines that build beside the tests answer late; what never comes is found all the same.
  page.setDefaultTimeout(REPORT_LIMIT_MS);
  const requests = [];
  const problems = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  await prepare(page);
  await page.goto(url);
  await page.waitForSelector("body[data-ready]", { timeout: START_LIMIT_MS });
  const close = async () => {
    // A worker that the page keeps in reserve may be loading through a route of the test: not an error any more.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  };
  return { page, requests, problems, close };
}

/** Runs `use` on a fresh page; afterwards nothing may have gone wrong, and nothing may have left the origin. */
export async function usePage(chromium, use, settings) {
  const opened = await openPage(chromium, settings);
  try {
    await use(opened.page, opened);
    const foreign = opened.requests.filter((url) => !url.startsWith(chromium.url) && !/^(data|blob):/.test(url));
    assert.deepEqual(foreign, [], "requests to elsewhere");
    assert.deepEqual(opened.problems, [], "errors on the console");
  } finally {
    await opened.close();
  }
}

/** Drops files from disk on the window the way the operating system does. */
export async function dropFiles(page, files) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
  }
  await session.detach();
}

/** Drops bytes under a name, by the page's own events, with so many zeros behind them. */
export async function dropBytes(page, name, bytes, { n_padding = 0 } = {}) {
  await page.evaluate(
    ([name, base64, n_padding]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)), new Uint8Array(n_padding)], name));
      for (const type of ["dragenter", "dragover", "drop"]) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
      }
    },
    [name, Buffer.from(bytes).toString("base64"), n_padding],
  );
}

/** Waits until the graph of `file` is drawn. */
export async function waitDrawn(page, file) {
  await page.waitForSelector(`body[data-drawn="${file}"]`, { timeout: REPORT_LIMIT_MS });
}

/**
 * Does something that shows a file anew, and waits for that: the mark of what stood there before, of a file of the
 * same name, goes first.
 */
export async function waitRedrawn(page, file, act) {
  await page.evaluate(() => delete document.body.dataset.drawn);
  await act();
  await waitDrawn(page, file);
}

/** Waits until all files of a comparison are estimated and stand in its table. */
export async function waitCompared(page, n_files) {
  const is_done = (n_files) => {
    const rows = [...document.querySelectorAll(".comparison tbody tr")];
    return rows.length === n_files && rows.every((row) => !row.classList.contains("waiting")) && document.getElementById("cancel").hidden;
  };
  await page.waitForFunction(is_done, n_files, { timeout: REPORT_LIMIT_MS });
}

/** Waits until both graphs of two models side by side are drawn. */
export async function waitBothDrawn(page) {
  await page.waitForFunction(() => document.querySelectorAll(".one-graph .graph-note:empty").length === 2);
}

/** Waits until the answer of What if is that of all sliders. */
export async function waitAnswered(page) {
  await page.waitForSelector(".what-if-answer:not([aria-busy])", { state: "attached" });
}

/** The graph's canvas as text that two equal pictures share. */
export function picture(page) {
  return page.evaluate(() => document.querySelector(".drawing").toDataURL());
}

/** Waits until the graph looks otherwise than in `before`. */
export async function waitRepainted(page, before) {
  await page.waitForFunction((before) => document.querySelector(".drawing").toDataURL() !== before, before);
}

/** Waits for what happens outside of the page. */
export async function until(is_true, words) {
  for (const end = Date.now() + REPORT_LIMIT_MS; Date.now() < end; ) {
    if (await is_true()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`never came true: ${words}`);
}

/** Drops several files at once, by the page's own events. */
export async function dropModels(page, models, names = models.map((_, i) => `file${i}.tflite`)) {
  await page.evaluate(
    ([models, names]) => {
      const transfer = new DataTransfer();
      for (const [i, base64] of models.entries()) transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], names[i]));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    },
    [models.map((bytes) => bytes.toString("base64")), names],
  );
  await waitCompared(page, models.length);
}

/** Milliseconds of the page's own measures, by name. */
export function measures(page) {
  return page.evaluate(() =>
    Object.fromEntries(performance.getEntriesByType("measure").map(({ name, duration }) => [name.replace("litecast:", ""), duration])),
  );
}

/** Different colours on the graph's canvas; a blank one has one. */
export function countColours(page) {
  return page.evaluate(() => {
    const canvas = document.querySelector(".drawing");
    const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return new Set(pixels).size;
  });
}

/** The estimates in the table of all targets: values with the unit of their column, by target and metric. */
export function readEstimates(page) {
  return page.evaluate(() => {
    const table = document.querySelector("table.targets");
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.querySelector(".unit")?.textContent.trim() ?? "");
    const text = (element) => element?.textContent ?? null;
    const read = (row) => ({
      reason: text(row.querySelector(".reason")),
      // Of single metrics, beside others that have a number.
      reasons: Object.fromEntries([...row.querySelectorAll("td[data-metric][title] > .sr-only")].map((words) => [words.parentElement.dataset.metric, words.textContent])),
      metrics: Object.fromEntries(
        [...row.querySelectorAll("td[data-metric] .value")].map((value) => {
          const cell = value.closest("td");
          return [cell.dataset.metric, { value: `${value.textContent} ${heads[cell.cellIndex]}`, error: text(cell.querySelector(".doubt-words")) }];
        }),
      ),
    });
    return Object.fromEntries([...table.querySelectorAll("tbody tr")].map((row) => [row.dataset.target, read(row)]));
  });
}

/** Chooses a target; what is then said of where its numbers come from. */
export async function sourceOf(page, target) {
  await page.selectOption("#target", target);
  return page.textContent(".sources");
}

const AXE = fileURLToPath(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url));

/** What axe-core finds on the page as it is, one line each. The page must have been opened with `bypassCSP`. */
export async function axeFindings(page) {
  await page.addScriptTag({ path: AXE });
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) => `${impact} ${id}: ${target.join(" ")} ${failureSummary.split("\n")[1] ?? ""}`));
  });
}

/**
 * What a walk with Tab finds on the page as it is, one line each: controls that it does not reach, and those whose focus is
 * not seen or that something else covers.
 */
export async function keyboardFindings(page) {
  const n_controls = await page.evaluate(() => {
    const dialog = [...document.querySelectorAll("dialog")].find((dialog) => dialog.matches(":modal"));
    const scope = dialog ?? document.body;
    const is_other_radio = (element) => element.type === "radio" && !element.checked && element.name !== "" && scope.querySelector(`input[name="${element.name}"]:checked`);
    const controls = [...scope.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
    const awaited = controls.filter((element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && !element.closest("[inert]") && !is_other_radio(element));
    window.walk = { awaited: new Set(awaited), findings: [] };
    // A dialog has put the focus on a control of its own.
    if (dialog) window.walk.awaited.delete(document.activeElement);
    else {
      document.body.tabIndex = -1;
      document.body.focus();
      document.body.removeAttribute("tabindex");
    }
    return awaited.length;
  });
  for (let i = 0; i < 2 * n_controls + 10; i++) {
    await page.keyboard.press("Tab");
    const is_left = await page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const { awaited, findings } = window.walk;
      const element = document.activeElement;
      if (element === document.body) return true;
      if (!awaited.delete(element)) return awaited.size === 0;
      const name = `${element.localName}${element.id ? `#${element.id}` : ""}.${element.className} "${(element.getAttribute("aria-label") ?? element.textContent).slice(0, 40)}"`;
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
      if ((outlineStyle === "none" || outlineWidth === "0px") && boxShadow === "none") findings.push(`focus not seen: ${name}`);
      const { left, top, right, bottom } = element.getBoundingClientRect();
      const places = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) => document.elementFromPoint(left + x * (right - left), top + y * (bottom - top))));
      if (!places.some((place) => place && (element.contains(place) || place.contains(element) || [...(element.labels ?? [])].some((label) => label.contains(place))))) findings.push(`covered or out of view: ${name} at ${Math.round(left)}, ${Math.round(top)}, below ${places[4]?.className ?? "nothing"}`);
      return false;
    });
    if (is_left) break;
  }
  // A menu closes when the keyboard goes on.
  return page.evaluate(() => [...window.walk.findings, ...[...window.walk.awaited].filter((element) => element.checkVisibility()).map((element) => `not reached: ${element.outerHTML.slice(0, 120)}`)]);
}

/** Every view of the page, one after another. */
export async function visitViews(page, visit) {
  await page.waitForSelector("#first-target");
  await visit("start");
  await dropBytes(page, "seen.tflite", residualModel(40));
  await waitDrawn(page, "seen.tflite");
  await visit("report");
  await page.focus(".timeline canvas");
  await page.keyboard.press("?");
  await page.waitForSelector(".keys-dialog[open]");
  await visit("keys of the timeline");
  await page.keyboard.press("Escape");
  await page.locator(".costliest button").first().click();
  await page.click(".take summary");
  await page.evaluate(() => document.querySelectorAll(".device, .device-csv, .sources").forEach((details) => (details.open = true)));
  await visit("operator and menus");
  await page.fill("#budget-latency", "30");
  await page.press("#budget-latency", "Enter");
  await page.click("#tool-what-if");
  await page.focus("#what-if-resolution");
  await page.keyboard.press("ArrowLeft");
  await page.waitForSelector(".what-if-answer .metric");
  await waitAnswered(page);
  await visit("what if");
  await page.click("#tool-accelerators");
  await page.waitForSelector("#own-hardware");
  await page.press("#sweep-limit", "Enter");
  await page.waitForSelector(".sweep-words");
  await visit("accelerators");
  await page.click("#tool-advice");
  await page.waitForSelector(".advice", { timeout: REPORT_LIMIT_MS });
  await visit("advice");
  await page.click("#tool-boards");
  await page.click('.boards-table button:text-is("BBC micro:bit V2")');
  await page.waitForSelector('.targets [data-target="board:microbit-v2"]');
  await visit("boards");
  await page.click("#tool-gpus");
  await page.waitForSelector(".sweep-drawing");
  await page.click('[data-group="gpus"] summary');
  await page.waitForSelector('[data-group="gpus"] [data-target]');
  await visit("GPUs");
  await page.selectOption("#target", "ethos-u55-256");
  await page.click('button:text-is("Table")');
  await visit("table");
  await dropBytes(page, "broken.tflite", Buffer.from("no model"));
  await page.waitForSelector(".failure-panel");
  await visit("failure");
  await dropModels(page, [8, 40].map((n) => residualModel(n)));
  await page.locator(".baseline").first().click();
  await visit("comparison");
  await page.locator("[data-operators]").first().click();
  await page.locator(".side-by-side details > summary").click();
  await waitBothDrawn(page);
  await visit("side by side");
  await page.click("#home");
  await page.waitForSelector(".history-list");
  await visit("start with history");
}

/** Until there is so much in a store of the page's database. `waitForFunction` does not wait for promises. */
export function waitKept(page, store, n) {
  return until(() => page.evaluate(isKept, [store, n]), `${n} in the store ${store}`);
}

/** Whether there is so much in a store of the page's database. */
export function isKept([store, n]) {
  return new Promise((resolve) => {
    const opening = indexedDB.open("litecast");
    opening.onerror = () => resolve(false);
    opening.onupgradeneeded = () => opening.transaction.abort(); // the page has not made it yet
    opening.onsuccess = () => {
      const { result: database } = opening;
      const count = database.transaction(store).objectStore(store).count();
      count.onsuccess = () => (database.close(), resolve(count.result >= n));
    };
  });
}
