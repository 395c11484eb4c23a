/** An architecture researcher has networks with the accuracy of each, and wants those worth keeping. */
import { litecast } from "../all_plans.mjs";
import { residualModel } from "../model.mjs";

const TARGET = "ethos-u55-256";
/** Name → channels and accuracy: `clumsy` is slower than `large` and less accurate. */
const NETWORKS = { small: [8, 61.5], medium: [24, 66.0], large: [48, 71.25], clumsy: [96, 64.0] };
const files = Object.entries(NETWORKS).map(([name, [hidden]]) => [`${name}.tflite`, residualModel(24, hidden)]);

/** Whom no other network surely beats in both, by the ends of the intervals. */
function front() {
  const known = files.map(([name, bytes]) => {
    const { lo, hi } = litecast.estimate(bytes, { name, targets: [TARGET] }).results.find(({ metric }) => metric === "latency");
    return { name, lo, hi, accuracy: NETWORKS[name.replace(".tflite", "")][1] };
  });
  const beaten = (a) => known.some((b) => b.hi < a.lo && b.accuracy > a.accuracy);
  const open = (a) => known.some((b) => b !== a && b.lo < a.hi && b.accuracy > a.accuracy);
  const names = (all) => all.map(({ name }) => name).join(", ");
  return [known.filter((one) => !beaten(one) && !open(one)), known.filter((one) => !beaten(one) && open(one))].map(names);
}

export default {
  question: "Which of my networks are on the front of accuracy and latency?",
  files,
  before: [],
  after: [{ click: "#column-form summary" }, { fill: "#column-text", value: `file,accuracy\n${Object.entries(NETWORKS).map(([name, [, accuracy]]) => `${name},${accuracy}`).join("\n")}` }, { click: "#column-read" }],
  shown: ".scatter .front-words",
  answer: () => {
    const [surely, perhaps] = front();
    return [surely && `Surely on the front: ${surely}.`, perhaps && `Perhaps: ${perhaps}.`].filter(Boolean);
  },
};
