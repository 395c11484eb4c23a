/** All plans of a network, estimated one by one: what the search of the page is held against. */
import { load } from "../../pkg/index.node.js";
import { importSource } from "./sources.mjs";

const { MAX_CHANGES } = await importSource("plans.ts");
const { waysOf, hardwareOf, SMALLER_FACTORS } = await importSource("plan_space.ts");
const { changesOf, AS_IT_IS } = await importSource("scenario.ts");
const { hasThreads } = await importSource("targets.ts");

export const litecast = await load();

/** The estimates of a network with a scenario, each asked for once. */
export function explorer(bytes) {
  const known = new Map();
  return (scenario, hardware) => {
    const key = JSON.stringify([scenario, hardware.map(({ choice }) => choice.name)]);
    if (!known.has(key)) known.set(key, estimate(bytes, scenario, hardware));
    return known.get(key);
  };
}

async function estimate(bytes, scenario, hardware) {
  const { batch, threads, dimensions } = scenario;
  try {
    return litecast.estimateChanged(bytes, changesOf(scenario), { batch, threads, dimensions, targets: hardware.map(({ choice }) => choice), detail: "summary" });
  } catch {
    return null;
  }
}

/** What the page would search through for a network on a target. */
export async function spaceOf(report, target) {
  const isPossible = async (choice) => {
    try {
      litecast.inForce(choice);
      return true;
    } catch {
      return false;
    }
  };
  const is_float = report.operators.some(({ outputs }) => outputs.some((tensor) => report.tensors[tensor]?.type === "FLOAT32"));
  return {
    ways: waysOf({ scenario: AS_IT_IS, is_float, has_threads: hasThreads(target) }),
    hardware: await hardwareOf({ target, name: target }, litecast.accelerators(), isPossible),
    factors: SMALLER_FACTORS,
  };
}

/** Every plan of the space, judged by `planned`; those that cannot be built are left out. */
export async function allPlans(planned, space, explore) {
  const plans = [];
  for (const way of space.ways) {
    for (const by_resolution of space.factors) {
      for (const by_width of space.factors) {
        const n_changes = way.words.length + Number(by_resolution < 1) + Number(by_width < 1);
        const hardware = space.hardware.filter(({ words }) => n_changes + Number(words !== null) <= MAX_CHANGES);
        if (n_changes > MAX_CHANGES || hardware.length === 0) continue;
        const scenario = { ...way.scenario, resolution: by_resolution, width: by_width };
        const report = await explore(scenario, hardware);
        if (!report) continue;
        for (const one of hardware) {
          const target = one.choice.name;
          const latency = report.results.find((result) => result.target === target && result.metric === "latency" && result.value !== undefined);
          const removed_macs = planned.report.model.macs - report.model.macs;
          const changes = Array(n_changes + Number(one.words !== null)).fill("");
          if (latency) plans.push({ changes, scenario, hardware: one, report, removed_macs, load: latency.hi ?? latency.value });
        }
      }
    }
  }
  return plans;
}
