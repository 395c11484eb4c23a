/** What a report opens with: the sentence for a budget, for the memory of a board, and where nothing is asked. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readFile } from "node:fs/promises";
import { dropBytes, openBrowser, openPage, waitDrawn } from "./browser.mjs";
import { mixedModel, residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";

const { VERDICT_MARKS, judgeableBudget, verdictOn } = await importSource("verdict.ts");
const { markedEvidence } = await importSource("words.ts");
const { NO_BUDGET, judgeEstimate, parseBudget } = await importSource("budget.ts");

let chromium;
before(async () => {
  chromium = await openBrowser();
});
after(() => chromium?.close());

const NPU = "ethos-u55-256";
const provenance = { kind: "modelled", tool: "litecast", version: "1", configuration: "" };
const result = (metric, unit, value, lo, hi, more = {}) => ({ target: NPU, device: "Arm Ethos-U55", metric, unit, value, ...(lo === undefined ? {} : { lo, hi }), provenance, ...more });
const LATENCY = result("latency", "ms", 109, 100, 120, { operators: [30, 44, 35] });
const report = (...results) => ({
  batch: 1,
  model: { peak_operator: 1, n_operators: 3 },
  operators: ["CONV_2D", "RESIZE_BILINEAR", "CONV_2D"].map((name, index) => ({ name, index })),
  results,
  diagnostics: [],
  fits: null,
});
const verdict = (given, budget = {}, sram_bytes = null) => {
  const { kind, sentences } = verdictOn(given, NPU, { ...NO_BUDGET, ...budget }, sram_bytes);
  return `${kind}: ${sentences.join(" ").replaceAll("\u202f", " ")}`;
};

test("without a budget the sentence states the number and what decides it", () => {
  assert.equal(verdict(report(LATENCY)), "stated: 109 ms (100 – 120) on Ethos-U55-256; 60 % of it goes to 2 CONV_2D.");
  const left = { ...report(LATENCY), left_out: [{ targets: [NPU], operators: [{ operator: 1, code: "x", reason: "y" }] }] };
  assert.equal(verdict(left), "stated: 109 ms (100 – 120) on Ethos-U55-256, of which 44.0 ms on the CPU; 60 % of it goes to 2 CONV_2D.");
  assert.equal(verdict(report(result("arena", "bytes", 65536))), "stated: 64.0 KiB of tensor arena on Ethos-U55-256; most activations are alive at RESIZE_BILINEAR (#1).");
  const flash = result("weights_flash", "bytes", 131072);
  assert.equal(verdict(report(flash, result("arena", "bytes", 65536))), "stated: 64.0 KiB of tensor arena on Ethos-U55-256; most activations are alive at RESIZE_BILINEAR (#1).");
  assert.equal(verdict(report(flash)), "stated: 128 KiB of weights in flash on Ethos-U55-256.");
  assert.equal(verdict(report({ target: NPU, device: "x", metric: "latency", unavailable: "it has several inputs", reason: "several-inputs" })), "none: No estimate on Ethos-U55-256: it has several inputs.");
});

test("a part of the network stands for no whole", () => {
  const part = result("npu_latency", "ms", 3, 2, 4);
  const none = { target: NPU, device: "x", metric: "latency", unavailable: "custom has no cost on the CPU", reason: "host-cost" };
  assert.equal(verdict(report(none, part)), "none: 3.00 ms of NPU part, by its compiler on Ethos-U55-256. No latency of all of it: custom has no cost on the CPU.");
  assert.match(verdict(report(none, part), { latency_ms: 10 }), /^open: Whether it meets the latency is not known: Ethos-U55-256 has no such estimate\. 3.00 ms of NPU part/);
});

test("how sure a limit is met depends on the interval, not on the number alone", () => {
  const at = (latency_ms, latency = LATENCY) => verdict(report(latency), { latency_ms });
  assert.equal(at(10), "fails: Does not meet 10 ms on Ethos-U55-256: 109 ms.");
  assert.equal(at(105), "fails: Probably does not meet 105 ms on Ethos-U55-256: 109 ms (100 – 120).");
  assert.equal(at(115), "doubtful: May not meet 115 ms on Ethos-U55-256: 109 ms (100 – 120).");
  assert.equal(at(120), "meets: Meets 120 ms on Ethos-U55-256: 109 ms.");
  const no_interval = result("latency", "ms", 109);
  assert.equal(at(200, no_interval), "doubtful: Meets, if its unknown error is small, 200 ms on Ethos-U55-256: 109 ms.");
  assert.equal(at(100, no_interval), "fails: Probably does not meet 100 ms on Ethos-U55-256: 109 ms.");
  const exact = result("latency", "ms", 109, undefined, undefined, { provenance: { ...provenance, kind: "exact" } });
  assert.equal(at(109, exact), "meets: Meets 109 ms on Ethos-U55-256: 109 ms.");
});

test("what stands beside a number is as sure as the verdict", () => {
  const no_interval = result("latency", "ms", 109);
  const beside = (latency_ms, latency) => judgeEstimate(latency, { ...NO_BUDGET, latency_ms });
  for (const latency of [LATENCY, no_interval]) {
    for (const limit of [10, 100, 105, 115, 120, 200]) {
      const [said] = verdict(report(latency), { latency_ms: limit }).split(" on ");
      const { kind, words } = beside(limit, latency);
      const expected = { "fails: Does": "over, for sure", "fails: Probably": "over, probably", "doubtful: May": "at-risk, for sure", "doubtful: Meets,": "at-risk, for sure", "meets: Meets": "within, for sure" };
      assert.equal(`${kind}, ${words.startsWith("probably ") ? "probably" : "for sure"}`, expected[said.split(" ").slice(0, 2).join(" ")], `${limit}: ${said}`);
    }
  }
  assert.equal(beside(105, LATENCY).words.replaceAll("\u202f", " "), "probably 4.00 ms above the budget");
  assert.equal(beside(10, LATENCY).words.replaceAll("\u202f", " "), "99.0 ms above the budget");
});

test("a number that differs from a limit looks different", () => {
  const at = (value, lo, hi, latency_ms) => verdict(report(result("latency", "ms", value, lo, hi)), { latency_ms });
  assert.equal(at(20.004, 19, 21, 20), "fails: Probably does not meet 20 ms on Ethos-U55-256: 20.004 ms (19.0 – 21.0).");
  assert.equal(at(20.004, 20.002, 21, 20), "fails: Does not meet 20 ms on Ethos-U55-256: 20.004 ms.");
  assert.equal(at(19.5, 19, 20.004, 20), "doubtful: May not meet 20 ms on Ethos-U55-256: 19.5 ms (19.0 – 20.004).");
  assert.equal(at(19.998, 19, 21, 20), "doubtful: May not meet 20 ms on Ethos-U55-256: 19.998 ms (19.0 – 21.0).");
  assert.equal(at(20.02, 20.02, 20.02, 20.04), "meets: Meets 20.04 ms on Ethos-U55-256: 20.02 ms.");
  assert.equal(at(20, 20, 20, 20), "meets: Meets 20 ms on Ethos-U55-256: 20.0 ms.");
  const sram = result("sram_peak", "bytes", 1024 ** 2 + 16, 1e6, 2e6);
  assert.match(verdict(report(LATENCY, sram), {}, 1024 ** 2), /^fails: Needs 1\.00002 of 1\.00 MiB of SRAM on Ethos-U55-256\. /);
  assert.match(verdict(report(LATENCY, sram), { memory_kib: 1024 }), /Probably does not meet 1 MiB on Ethos-U55-256: 1\.00002 MiB/);
});

test("several limits: the worst comes first, and what has no estimate is no success", () => {
  const sram = result("sram_peak", "bytes", 100 * 1024, 90 * 1024, 110 * 1024);
  assert.equal(
    verdict(report(LATENCY, sram), { latency_ms: 10, memory_kib: 256 }),
    "fails: Does not meet 10 ms on Ethos-U55-256: 109 ms. Meets 256 KiB: 100 KiB of SRAM peak.",
  );
  assert.equal(
    verdict(report(LATENCY), { latency_ms: 200, energy_mj: 1 }),
    "doubtful: Meets 200 ms on Ethos-U55-256: 109 ms. Whether it meets the energy is not known: Ethos-U55-256 has no such estimate.",
  );
  assert.match(verdict(report(LATENCY), { memory_kib: 1 }), /^open: Whether it meets the memory is not known: Ethos-U55-256 has no such estimate\. 109 ms /);
});

test("only a verdict on a budget has a mark, and an estimate without a grade has none", () => {
  assert.deepEqual(VERDICT_MARKS, { meets: "✓", doubtful: "?", fails: "✕", open: "?", stated: "", none: "" });
  assert.equal(markedEvidence({}), "Not said what it rests on");
});

test("a next step is looked for within what the target estimates", () => {
  const budget = { ...NO_BUDGET, latency_ms: 10, memory_kib: 1, energy_mj: 1, rate_hz: 2 };
  assert.deepEqual(judgeableBudget(report(LATENCY), NPU, budget), { ...budget, memory_kib: null, energy_mj: null });
  const none = { target: NPU, device: "x", metric: "latency", unavailable: "it has several inputs", reason: "several-inputs" };
  assert.deepEqual(judgeableBudget(report(none), NPU, budget), budget, "other hardware may have all of it");
});

test("a rate becomes average power and a share of the time", () => {
  const energy = result("energy", "mJ", 2, 1, 3, { provenance: { ...provenance, scope: "the rail VDD_CORE" } });
  // 2 mJ five times a second are 10 mW; 109 ms five times a second are 545 ms of each second.
  assert.equal(
    verdict(report(LATENCY, energy), { rate_hz: 5 }),
    "meets: Meets 5 inferences a second on Ethos-U55-256: up to 9.17 a second. At 5 inferences a second: 10.0 mW on average for the inferences alone (the rail VDD_CORE), busy for 55 % of the time.",
  );
  assert.equal(verdict(report(LATENCY, energy), { rate_hz: 30 }), "fails: Does not meet 30 inferences a second on Ethos-U55-256: up to 9.17 a second.");
  assert.match(verdict({ ...report(LATENCY), batch: 4 }, { rate_hz: 30 }), /^meets: Meets 30 inferences a second .*busy for 82 %/);
});

test("what needs more memory than there is fails without any budget", () => {
  const sram = result("sram_peak", "bytes", 1.21 * 1024 ** 2, 1e6, 2e6);
  assert.equal(verdict(report(LATENCY, sram), {}, 1024 ** 2), "fails: Needs 1.21 of 1.00 MiB of SRAM on Ethos-U55-256. 109 ms (100 – 120) on Ethos-U55-256; 60 % of it goes to 2 CONV_2D.");
  assert.match(verdict(report(LATENCY, sram), {}, 4 * 1024 ** 2), /^stated: .* Needs 1.21 of 4.00 MiB of SRAM\.$/);
  const doubted = { ...report(LATENCY, sram), diagnostics: [{ severity: "warning", code: "exceeds-arena-cache", message: "…", targets: [NPU] }] };
  assert.match(verdict(doubted, { latency_ms: 500 }), /^fails: Needs more SRAM than its compiler may use: 1.21 MiB on Ethos-U55-256\. Meets 500 ms /);
});

test("a board under ST Edge AI lacks what ST's runtime needs, not what TensorFlow Lite Micro does", () => {
  const target = "board:stm32h747i-disco";
  const of_st = (metric, unit, value) => ({ ...result(metric, unit, value, 0.9 * value, 1.1 * value), target, device: "STM32H747I-DISCO" });
  const needing = (ram_kib, flash_kib, micro) => {
    const board = { id: "stm32h747i-disco", fits: micro.room === "short" ? "no" : "yes", ram: micro, flash: micro, ram_bytes: 1024 ** 2, contiguous_ram_bytes: 512 * 1024, flash_bytes: 2 * 1024 ** 2 };
    const results = [of_st("latency", "ms", 10), of_st("activation_ram", "bytes", ram_kib * 1024), of_st("weights_flash", "bytes", flash_kib * 1024)];
    const { kind, sentences } = verdictOn({ ...report(...results), fits: { boards: [board] } }, target, NO_BUDGET);
    return `${kind}: ${sentences.join(" ").replaceAll("\u202f", " ")}`;
  };
  const [room, short] = [{ room: "internal", left_bytes: 1024 }, { room: "short", missing_bytes: 1024 }];
  assert.match(needing(1000, 1000, short), /^stated: 10\.0 ms/);
  assert.doesNotMatch(needing(1000, 1000, short), /lacks/i);
  assert.match(needing(1124, 1000, room), /^fails: Lacks 100 KiB of RAM on /);
  assert.match(needing(1124, 2148, room), /^fails: Lacks 100 KiB of RAM and 100 KiB of flash on /);
});

test("a budget is read as people write it, and what is none says what was expected", () => {
  assert.deepEqual(parseBudget("10 ms, 1 MiB, 2 J, 30/s"), { latency_ms: 10, memory_kib: 1024, energy_mj: 2000, rate_hz: 30 });
  assert.deepEqual(parseBudget(" 0.5s ; 30 fps "), { ...NO_BUDGET, latency_ms: 500, rate_hz: 30 });
  assert.deepEqual(parseBudget(""), NO_BUDGET);
  for (const text of ["10", "ms", "-1 ms", "0 ms", "1e999 ms", "10 parsecs", "1 constructor"]) assert.throws(() => parseBudget(text), /expected for example `10 ms, 256 KiB, 2 mJ, 30\/s`, found/, text);
});

test("the page opens with the verdict, follows the budget, and takes it along", async () => {
  const { page, problems, close } = await openPage(chromium);
  try {
    await dropBytes(page, "mixed.tflite", mixedModel());
    await waitDrawn(page, "mixed.tflite");
    await page.selectOption("#target", NPU);
    await page.waitForSelector('[data-verdict="stated"]');
    assert.match(await page.textContent(".report-verdict"), /^[\d.]+\u202f\S+ \(.*\) on Ethos-U55-256, of which .* on the CPU/);
    await page.fill("#budget-latency", "0.000001");
    await page.press("#budget-latency", "Enter");
    await page.waitForSelector('[data-verdict="fails"]');
    await page.fill("#budget-latency", "1000000");
    await page.press("#budget-latency", "Enter");
    await page.waitForSelector('[data-verdict="meets"]');
    await page.fill("#budget-rate", "2");
    await page.press("#budget-rate", "Enter");
    const words = await page.textContent(".report-verdict");
    assert.match(words, /✓Meets 1,000\u202fs and 2\u202finferences a second .* At 2\u202finferences a second: [\d.]+\u202f\S+W on average for the inferences alone \(MACs and SRAM, without flash, leakage and CPU\), busy for/);
    // First of all that is said of the target, and on paper as well.
    const tops = await page.$$eval(".report-verdict, .metrics", (all) => all.map((part) => part.getBoundingClientRect().top));
    assert.ok(tops[0] < tops[1]);
    await page.emulateMedia({ media: "print" });
    assert.ok(await page.isVisible(".report-verdict"));
    await page.emulateMedia({ media: "screen" });
    await page.click(".take summary");
    const download = page.waitForEvent("download");
    await page.click("text=Save HTML");
    const saved = await readFile(await (await download).path(), "utf8");
    assert.ok(saved.includes('data-verdict="meets"') && saved.includes("inferences a second"));
    assert.deepEqual(problems, []);
  } finally {
    await close();
  }
});

test("what a model needs of the SRAM of its board is said at once", async () => {
  const { page, close } = await openPage(chromium);
  try {
    await dropBytes(page, "board.tflite", residualModel(12));
    await waitDrawn(page, "board.tflite");
    const board = "npu-board:alif-e7-devkit";
    await page.waitForSelector(`#target option[value="${board}"]`, { state: "attached" });
    await page.selectOption("#target", board);
    await page.waitForFunction(() => /Needs [\d.]+\u202fKiB of 13.5\u202fMiB of SRAM/.test(document.querySelector(".report-verdict")?.textContent ?? ""));
  } finally {
    await close();
  }
});
