/** What people do every day: find a target by its chip, import what they measured, go on with the keyboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropBytes, waitDrawn, waitRedrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { mixedModel, residualModel } from "./model.mjs";

const { withPage } = browserForTests();

const H743 = "board:nucleo-h743zi";
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.ariaLabel || document.activeElement.textContent || document.activeElement.tagName);

test("typing finds a board by its chip, before and beside a report, and it has its row", () =>
  withPage(async (page) => {
    await page.fill("#first-target", "STM32H7");
    const found = await page.$$eval("#first-target-list [role=option]", (all) => all.map(({ dataset }) => dataset.target));
    assert.ok(found.includes(H743) && found.length <= 10, found.join());
    assert.match(await page.textContent(".first-choices [role=status]"), /\d+ targets found/);
    await page.fill("#first-target", "h743");
    await page.keyboard.press("Enter");
    await page.waitForSelector(`.target-chip[data-target="${H743}"]`);
    await dropBytes(page, "found.tflite", residualModel(8));
    await waitDrawn(page, "found.tflite");
    assert.equal(await page.inputValue("#target"), H743);
    const row = page.locator(`tr.chosen[data-target="${H743}"]`);
    await row.waitFor();
    assert.match(await row.textContent(), /NUCLEO-H743/);
    const is_seen = () => row.evaluate((row) => {
      const [view, place] = [row.closest(".scroller").getBoundingClientRect(), row.getBoundingClientRect()];
      return place.top >= view.top - 1 && place.bottom <= view.bottom + 1;
    });
    assert.ok(await is_seen(), "the row is in view");
    await page.fill("#target-find", "nrf52840 xiao");
    await page.keyboard.press("Enter");
    await page.waitForSelector('tr.chosen[data-target="board:xiao-nrf52840-sense"]');
    // Nothing is found, and the chosen one stays.
    await page.fill("#target-find", "abacus");
    assert.equal(await page.inputValue("#target"), "board:xiao-nrf52840-sense");
  }));

test("a table with decimal commas is read as it was meant", () =>
  withPage(async (page) => {
    await dropBytes(page, "measured.tflite", residualModel(8));
    await waitDrawn(page, "measured.tflite");
    await page.evaluate(() => document.querySelectorAll(".device, .device-csv").forEach((part) => part.setAttribute("open", "")));
    await page.fill("#measurements-csv", "Gerät;Datei;ms\nBench;measured.tflite;5,2\nBench;other.tflite;1.234,5");
    await page.click('button:text-is("Import text")');
    await page.waitForSelector('[data-device="Bench"]:has-text("measured.tflite: 5.20")');
    await page.waitForSelector('[data-device="Bench"]:has-text("other.tflite: 1.23")');
    await page.fill("#measurements-csv", "measured.tflite,7,5");
    await page.click('button:text-is("Import text")');
    await page.waitForSelector('.device-outcome:has-text("0 measurements read"):has-text("put semicolons between fields, or write 7.5")');
    assert.equal(await page.locator(".device-item").count(), 1, "no other device came of it");
  }));

test("operators on the CPU are marked, and can all be listed", () =>
  withPage(async (page) => {
    await dropBytes(page, "mixed.tflite", mixedModel());
    await waitDrawn(page, "mixed.tflite");
    await page.selectOption("#target", "ethos-u55-256");
    await page.waitForSelector(".hybrid");
    const left = await page.evaluate(() => Number(/operators? on the accelerator, ([\d,]+) on the processor/.exec(document.querySelector(".hybrid").textContent)[1]));
    assert.ok(left > 0);
    await page.click(".hybrid summary");
    // The list is made by an event that comes after the click.
    await page.locator(".left-list li").first().waitFor();
    assert.equal(await page.locator(".left-list li").count(), left);
    assert.match(await page.textContent(".left-list li"), /^#\d+ [A-Z_0-9]+.*: .+/);
    await page.locator(".left-list button").first().click();
    await page.waitForSelector(".operator-details");
    assert.match(await page.textContent(".legend"), /on the CPU/);
    await page.click('button:text-is("Table")');
    await page.click(`.operator-table button:has-text("Show those on the CPU (${left})")`);
    assert.equal(await page.locator(".operators tr[data-operator]").count(), left);
    assert.equal(await page.locator(".operators tr[data-operator] .cpu-mark").count(), left);
    await page.selectOption("#target", "cortex-a76-rpi5");
    await page.waitForFunction(() => document.querySelectorAll(".operators .cpu-mark").length === 0);
    assert.ok((await page.locator(".operators tr[data-operator]").count()) > left, "a target that runs all shows all");
  }));

test("the focus stays where it was, whatever is drawn anew", () =>
  withPage(async (page) => {
    for (const name of ["one.tflite", "two.tflite", "three.tflite"]) {
      await dropBytes(page, name, residualModel(8));
      await waitDrawn(page, name);
    }
    await waitRedrawn(page, "three.tflite", async () => {
      await page.fill("#batch", "2");
      await page.keyboard.press("Enter");
    });
    await page.waitForFunction(() => document.activeElement.id === "batch");
    await page.selectOption("#target", "cortex-a76-rpi5");
    await waitRedrawn(page, "three.tflite", async () => {
      await page.focus("#threads");
      await page.selectOption("#threads", "2");
    });
    await page.waitForFunction(() => document.activeElement.id === "threads");
    await page.fill("#budget-latency", "5");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.id === "budget-latency");
    await page.click("#home");
    await page.waitForSelector(".history-list");
    const forget = page.locator('.history-list button[aria-label^="Forget"]');
    const n = await forget.count();
    await forget.nth(1).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((n) => document.querySelectorAll(".history-list li").length === n - 1, n);
    assert.match(await focused(page), /^Forget /, "the next line is forgotten by the next key");
    page.on("dialog", (dialog) => dialog.accept());
    await page.focus('button:has-text("Forget all")');
    await page.keyboard.press("Enter");
    await page.waitForSelector(".history:empty", { state: "attached" });
    await page.waitForFunction(() => document.activeElement !== document.body);
  }));

test("warnings of targets that the report does not list stay away", () =>
  withPage(async (page) => {
    // Far below what was measured on any microcontroller: each says so, and only where it is asked for.
    await dropBytes(page, "tiny.tflite", residualModel(2));
    await waitDrawn(page, "tiny.tflite");
    await page.selectOption("#target", "ethos-u55-256");
    const notes = () => page.textContent("#view");
    await page.click('[data-group="microcontrollers"] summary');
    await page.waitForSelector('[data-group="microcontrollers"] tr[data-target]');
    const codes = await page.$$eval(".diagnostic", (all) => all.map(({ dataset, textContent }) => [dataset.code, textContent]));
    for (const [, text] of codes) assert.doesNotMatch(text, /STM32|NUCLEO|Cortex-M/, text);
    await page.click('[data-group="microcontrollers"] summary');
    await page.waitForFunction(() => document.querySelectorAll('[data-group="microcontrollers"] tr[data-target]').length === 0);
    assert.doesNotMatch(await page.textContent(".diagnostics-panel"), /STM32|NUCLEO|Cortex-M/);
    assert.ok((await notes()).length > 0);
  }));
