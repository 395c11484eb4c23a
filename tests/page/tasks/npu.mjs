/** An NPU engineer wants one number for the whole network, and the part of the CPU. */
import { litecast } from "../all_plans.mjs";
import { mixedModel } from "../model.mjs";
import { importSource } from "../sources.mjs";

const { measure, text } = await importSource("format.ts");
const bytes = mixedModel();

/** From the package: the latency of both parts, and what the operators take that the NPU leaves out. */
function parts() {
  const { results, left_out } = litecast.estimate(bytes, { name: "mixed", targets: [{ board: "alif-e7-devkit" }] });
  const latency = results.find(({ metric }) => metric === "latency");
  const left_ms = left_out[0].operators.reduce((sum, { operator }) => sum + latency.operators[operator], 0);
  return `, of which ${measure(left_ms, "ms", latency.value).join("\u202f")} on the CPU`;
}

export default {
  question: "How long does one inference take on the Alif Ensemble E7, and how much of it runs on the CPU?",
  files: [["mixed.tflite", bytes]],
  before: [{ fill: "#first-target", value: "Ensemble E7" }],
  after: [],
  shown: ".report-verdict",
  answer: () => {
    const latency = litecast.estimate(bytes, { name: "mixed", targets: [{ board: "alif-e7-devkit" }] }).results.find(({ metric }) => metric === "latency");
    return [text(measure(latency.value, "ms")), parts()];
  },
};
