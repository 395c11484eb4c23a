/** The best next step: against all plans of a few networks, and from the budget to the report that meets it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { allPlans, explorer, litecast, spaceOf } from "./all_plans.mjs";
import { SHARED_MODELS, dropBytes, waitDrawn, waitRedrawn } from "./browser.mjs";
import { browserForTests } from "./fixture.mjs";
import { residualModel } from "./model.mjs";
import { importSource } from "./sources.mjs";

const { findPlan, isBetterPlan, meetsBudget } = await importSource("plans.ts");
const { AS_IT_IS } = await importSource("scenario.ts");
const { NO_BUDGET } = await importSource("budget.ts");
const { verdictOn } = await importSource("verdict.ts");
const shared = browserForTests();

/** Limits as parts of the latency of the network as it is. */
const CASES = [
  ["tiny__kws_ref_model.tflite", "ethos-u55-128", 0.9],
  ["tiny__kws_ref_model.tflite", "cortex-m7-stm32h747", 0.6],
  ["tiny__ad01_fp32.tflite", "cortex-a76-rpi5", 0.8],
  ["tiny__vww_96_int8.tflite", "ethos-u65-256", 0.1],
];

for (const [file, target, part] of CASES) {
  test(`of all plans for ${file} on ${target} the search finds one with as few multiply-accumulates removed`, async () => {
    const bytes = await readFile(`${SHARED_MODELS}${file}`);
    const report = litecast.estimate(bytes, { name: file, targets: [target] });
    const { hi, value } = report.results.find(({ metric }) => metric === "latency");
    const planned = { report, scenario: AS_IT_IS, budget: { ...NO_BUDGET, latency_ms: part * (hi ?? value) }, sram_bytes: null };
    const space = await spaceOf(report, target);
    space.factors = space.factors.filter((_, i) => i % 3 === 0);
    const explore = explorer(bytes);
    const all = await allPlans(planned, space, explore);
    const meeting = all.filter((plan) => meetsBudget(verdictOn(plan.report, plan.hardware.choice.name, planned.budget)));
    const best = meeting.reduce((best, plan) => (isBetterPlan(plan, best) ? plan : best), null);
    assert.ok(best, `of ${all.length} plans one meets it`);
    const { plan } = await findPlan(planned, space, explore, new AbortController().signal);
    assert.equal(plan?.removed_macs, best.removed_macs);
    assert.equal(plan.changes.length, best.changes.length);
    assert.ok(meetsBudget(verdictOn(plan.report, plan.hardware.choice.name, planned.budget)));
  });
}

test("a search that is given up ends, and one that finds nothing names the nearest plan", async () => {
  const bytes = await readFile(`${SHARED_MODELS}tiny__kws_ref_model.tflite`);
  const target = "cortex-m7-stm32h747";
  const report = litecast.estimate(bytes, { name: "kws", targets: [target] });
  const space = await spaceOf(report, target);
  const planned = { report, scenario: AS_IT_IS, budget: { ...NO_BUDGET, latency_ms: 1e-6 }, sram_bytes: null };
  const { plan, nearest, is_complete } = await findPlan(planned, space, explorer(bytes), new AbortController().signal);
  assert.equal(plan, null);
  assert.ok(nearest.removed_macs > 0.9 * report.model.macs && is_complete);
  const aborted = await findPlan(planned, space, explorer(bytes), AbortSignal.abort());
  assert.deepEqual([aborted.plan, aborted.n_estimates], [null, 0]);
});

test("a budget that is missed leads to a plan, and its button to a report that meets it", () =>
  shared.withPage(async (page) => {
    await dropBytes(page, "plan.tflite", residualModel(40));
    await waitDrawn(page, "plan.tflite");
    assert.ok(await page.isHidden(".next-step"), "nothing is asked for");
    await page.selectOption("#target", "cortex-a76-rpi5");
    const now = Number((await page.evaluate(() => document.querySelector('.metric[data-metric="latency"] .value').textContent)));
    const unit = await page.evaluate(() => document.querySelector('.metric[data-metric="latency"] .unit').textContent.trim());
    const ms = unit === "µs" ? now / 1000 : now;
    await page.fill("#budget-latency", String(0.9 * ms));
    await page.press("#budget-latency", "Enter");
    await page.waitForSelector("#show-plan");
    assert.match(await page.textContent(".next-step"), /^Best next step: .*Meets .*networks estimated/);
    await waitRedrawn(page, "plan.tflite", () => page.click("#show-plan"));
    assert.equal(await page.getAttribute(".report-verdict", "data-verdict"), "meets");
    assert.ok(await page.isHidden(".next-step"));
  }));
