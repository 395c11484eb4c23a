/** Small networks to measure on a device of one's own, as the command hands them out. */
import { el } from "../dom.ts";

/** Stems of the files, and the kernels that take most of their time. */
export const PROBES: readonly (readonly [name: string, kernels: string])[] = [
  ["small-network", "several kinds, and the time of an inference"],
  ["convolutions-3x3", "3x3 convolutions of stride 1"],
  ["pointwise", "1x1 convolutions"],
  ["convolutions", "other convolutions"],
  ["depthwise", "depthwise convolutions"],
  ["matrix-products", "matrix products"],
  ["elementwise", "elementwise operators"],
  ["pooling", "pooling and reductions"],
  ["softmax", "softmax"],
  ["movement", "movements of data"],
];

/** As `benchmark_model` of TensorFlow Lite and LiteRT takes it; the command knows those of other tools. */
const commandFor = (name: string): string => `benchmark_model --graph=${name}-float32.tflite --num_threads=1 --num_runs=50 --enable_op_profiling=true`;

/** Links to the files, with a command to copy for each. */
export function probeList(): HTMLElement {
  const link = (name: string, precision: string): HTMLElement => el("a", { href: `probes/${name}-${precision}.tflite`, download: `${name}-${precision}.tflite` }, precision);
  const rows = PROBES.map(([name, kernels]) => el("li", {}, `${kernels}: `, link(name, "float32"), ", ", link(name, "int8"), el("br"), el("code", {}, commandFor(name))));
  return el(
    "details",
    { class: "probes" },
    el("summary", {}, "Small networks to measure"),
    el("p", { class: "subtle" }, "Each spends most of its time in one class of kernels. Open one here, measure it on the device, and drop what the tool printed on its report. litecast calibrate --probes prints the commands of other tools."),
    el("ul", { class: "plain" }, ...rows),
  );
}
