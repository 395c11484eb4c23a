/**
 * The search for the best next step beside all plans of up to three changes: in how many networks, each with a budget that
 * some plan meets, it finds a plan, and one with as few multiply-accumulates removed. Prints one line for each network.
 *
 * node tests/page/plan_bench.mjs [--networks 40] [--seed 1] FOLDER…
 */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { allPlans, explorer, litecast, spaceOf } from "./all_plans.mjs";
import { SHARED_MODELS } from "./browser.mjs";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";

const { findPlan, isBetterPlan, meetsBudget } = await importSource("plans.ts");
const { AS_IT_IS } = await importSource("scenario.ts");
const { NO_BUDGET } = await importSource("budget.ts");
const { verdictOn } = await importSource("verdict.ts");

const TARGETS = ["ethos-u55-128", "cortex-a76-rpi5", "ethos-u65-256", "cortex-m7-stm32h747", "ethos-u55-32", "ethos-u85-128"];
/** A limit lies just above what a plan takes, as people write it. */
const N_DIGITS = 3;

const above = (value) => {
  const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - N_DIGITS);
  return Math.ceil(value / unit + 1e-9) * unit;
};

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { networks: { type: "string", default: "40" }, seed: { type: "string", default: "1" } } });
  const folders = positionals.length > 0 ? positionals : [SHARED_MODELS, path.join(SHARED_MODELS, "../models-mcu")];
  const random = randomNumbers(Number(values.seed));
  const files = folders.flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".tflite")).map((name) => path.join(folder, name)));
  const [wanted, counts] = [Number(values.networks), { networks: 0, found: 0, fewest: 0, estimates: 0, shrunk: 0 }];
  let place = 0;
  for (const file of files.map((file) => [random(), file]).sort(([a], [b]) => a - b).map(([, file]) => file)) {
    if (counts.networks === wanted) break;
    const bytes = readFileSync(file);
    const target = TARGETS[place % TARGETS.length];
    let report;
    try {
      report = litecast.estimate(bytes, { name: file, targets: [target] });
    } catch {
      continue;
    }
    const before = report.results.find(({ metric, value }) => metric === "latency" && value !== undefined);
    if (!before || report.model.macs === 0) continue;
    const explore = explorer(bytes);
    const space = await spaceOf(report, target);
    const planned = { report, scenario: AS_IT_IS, budget: NO_BUDGET, sram_bytes: null };
    const all = await allPlans(planned, space, explore);
    const free = Math.min(before.hi ?? before.value, ...all.filter(({ removed_macs }) => removed_macs <= 0).map(({ load }) => load));
    // Every second budget is one that only a smaller network meets.
    const limits = all.map(({ load }) => above(load)).filter((limit) => limit < (counts.networks % 2 === 0 ? free : (before.hi ?? before.value)));
    if (limits.length === 0) continue;
    place++;
    planned.budget = { ...NO_BUDGET, latency_ms: limits[Math.floor(random() * limits.length)] };
    const meeting = all.filter((plan) => meetsBudget(verdictOn(plan.report, plan.hardware.choice.name, planned.budget)));
    if (meeting.length === 0) continue; // without an interval nothing is met for sure
    const best = meeting.reduce((best, plan) => (isBetterPlan(plan, best) ? plan : best), null);
    const begun = performance.now();
    const { plan, n_estimates } = await findPlan(planned, space, explorer(bytes), new AbortController().signal);
    const ms = performance.now() - begun;
    const is_fewest = plan !== null && plan.removed_macs <= best.removed_macs;
    counts.networks++;
    counts.found += Number(plan !== null);
    counts.fewest += Number(is_fewest);
    counts.estimates += n_estimates;
    counts.shrunk += Number(best.removed_macs > 0);
    const removed = (macs) => `${((100 * macs) / report.model.macs).toFixed(2)} %`;
    console.log(`${path.basename(file)} on ${target}, ${planned.budget.latency_ms.toPrecision(3)} ms: ${plan ? `removes ${removed(plan.removed_macs)}` : "nothing found"}, of all ${all.length} plans the best ${removed(best.removed_macs)}${is_fewest ? "" : " (!)"}; ${n_estimates} networks in ${Math.round(ms)} ms`);
  }
  const share = (n) => `${n} of ${counts.networks} (${((100 * n) / counts.networks).toFixed(1)} %)`;
  console.log(`plan found: ${share(counts.found)}; with the fewest multiply-accumulates removed: ${share(counts.fewest)}; only smaller networks meet ${counts.shrunk}; ${(counts.estimates / counts.networks).toFixed(1)} networks estimated for each`);
}

await main();
