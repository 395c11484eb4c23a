/** A firmware engineer has a network that is too slow on an STM32H7. */
import { readFile } from "node:fs/promises";
import { allPlans, explorer, litecast, spaceOf } from "../all_plans.mjs";
import { SHARED_MODELS } from "../browser.mjs";
import { importSource } from "../sources.mjs";

const { isBetterPlan, meetsBudget } = await importSource("plans.ts");
const { AS_IT_IS } = await importSource("scenario.ts");
const { NO_BUDGET } = await importSource("budget.ts");
const { verdictOn } = await importSource("verdict.ts");
const { percent } = await importSource("format.ts");

const TARGET = "cortex-m7-stm32h747";
const file = "tiny__vww_96_int8.tflite";
const bytes = await readFile(`${SHARED_MODELS}${file}`);
const report = litecast.estimate(bytes, { name: file, targets: [TARGET] });
const limit_ms = Math.floor(0.6 * report.results.find(({ metric }) => metric === "latency").value);

/** Of all plans the share of multiply-accumulates that the best one removes. */
async function bestPlan() {
  const planned = { report, scenario: AS_IT_IS, budget: { ...NO_BUDGET, latency_ms: limit_ms }, sram_bytes: null };
  const plans = await allPlans(planned, await spaceOf(report, TARGET), explorer(bytes));
  const meeting = plans.filter((plan) => meetsBudget(verdictOn(plan.report, plan.hardware.choice.name, planned.budget)));
  const { removed_macs } = meeting.reduce((best, plan) => (isBetterPlan(plan, best) ? plan : best), null);
  return `Removes ${percent((100 * removed_macs) / report.model.macs)} of the multiply-accumulates`;
}

export default {
  question: `What should I change so that one inference takes less than ${limit_ms} ms on an STM32H747?`,
  files: [[file, bytes]],
  before: [
    { fill: "#first-target", value: "STM32H747" },
    { fill: "#first-budget-latency", value: String(limit_ms) },
  ],
  after: [],
  shown: ".next-step:has(#show-plan)",
  answer: bestPlan,
};
