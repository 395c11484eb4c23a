/** Who keeps the checks of a repository asks what a change did to a model. */
import { litecast } from "../all_plans.mjs";
import { mixedModel } from "../model.mjs";
import { importSource } from "../sources.mjs";

const { measure, text } = await importSource("format.ts");
const TARGET = "ethos-u55-256";
const [before, after] = [mixedModel({ has_shuffle: false }), mixedModel()];

function latencyOf(bytes) {
  return litecast.estimate(bytes, { name: "model", targets: [TARGET] }).results.find(({ metric }) => metric === "latency");
}

export default {
  question: "By how much did the new version become slower, and where?",
  files: [
    ["before.tflite", before],
    ["after.tflite", after],
  ],
  before: [],
  after: [{ click: "[data-baseline]" }, { click: "[data-operators]" }],
  shown: ".difference-words",
  answer: () => {
    const [old, now] = [latencyOf(before), latencyOf(after)];
    return [`+${text(measure(now.value - old.value, "ms"))}`, `${text(measure(now.operators[2], "ms"))} in 1 DEPTH_TO_SPACE that runs on the CPU and is new`];
  },
};
