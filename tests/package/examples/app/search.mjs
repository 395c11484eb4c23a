// Searches a MobileNet-like space by evolution for networks that are fast and small on a target, under limits of
// latency and memory, and prints the Pareto front of latency and capacity. Candidates are graphs without weights.
//   node search.mjs [generations] [target]
import process from "node:process";
import { load } from "litecast";

const MAX_LATENCY_MS = 4;
const MAX_SRAM_BYTES = 256 * 1024;
const POPULATION = 96;
const [generations = "20", target = "ethos-u55-128"] = process.argv.slice(2);

const CHOICES = {
  resolution: [96, 128, 160, 192],
  width: [0.25, 0.35, 0.5, 0.75, 1],
  expansion: [2, 3, 4, 6],
  kernel: [3, 5],
  depth: [1, 2, 3],
};
const STAGES = [
  { channels: 16, stride: 1 },
  { channels: 24, stride: 2 },
  { channels: 40, stride: 2 },
  { channels: 80, stride: 2 },
  { channels: 160, stride: 2 },
];

// A small generator of random numbers with a seed, so that two runs print the same.
let state = 1;
const random = () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0), state / 2 ** 32);
const pick = (list) => list[Math.floor(random() * list.length)];

const stage = () => ({ expansion: pick(CHOICES.expansion), kernel: pick(CHOICES.kernel), depth: pick(CHOICES.depth) });
const candidate = () => ({ resolution: pick(CHOICES.resolution), width: pick(CHOICES.width), stages: STAGES.map(stage) });

function mutated({ resolution, width, stages }) {
  const child = { resolution, width, stages: stages.map((stage) => ({ ...stage })) };
  if (random() < 0.2) child.resolution = pick(CHOICES.resolution);
  if (random() < 0.2) child.width = pick(CHOICES.width);
  const changed = pick(child.stages);
  const name = pick(["expansion", "kernel", "depth"]);
  changed[name] = pick(CHOICES[name]);
  return child;
}

/** The graph of a candidate, in int8. */
function graphOf({ resolution, width, stages }) {
  const tensors = [];
  const operators = [];
  const add = (shape, type, constant = false) => tensors.push({ name: `t${tensors.length}`, shape, type, constant }) - 1;
  const name = (idx) => tensors[idx].name;
  const operator = (kind, inputs, shape, attributes = {}) => {
    const output = add(shape, "int8");
    operators.push({ kind, inputs: inputs.map(name), outputs: [name(output)], attributes });
    return output;
  };
  const channelsOf = (channels) => Math.max(8, 8 * Math.round((channels * width) / 8));
  const convolution = (input, channels, kernel, stride, activation) => {
    const [, height, , depth] = tensors[input].shape;
    const size = Math.ceil(height / stride);
    const weights = [add([channels, kernel, kernel, depth], "int8", true), add([channels], "int32", true)];
    return operator("CONV_2D", [input, ...weights], [1, size, size, channels], { stride: [stride, stride], padding: "SAME", activation });
  };
  const depthwise = (input, kernel, stride) => {
    const [, height, , depth] = tensors[input].shape;
    const size = Math.ceil(height / stride);
    const weights = [add([1, kernel, kernel, depth], "int8", true), add([depth], "int32", true)];
    return operator("DEPTHWISE_CONV_2D", [input, ...weights], [1, size, size, depth], { stride: [stride, stride], padding: "SAME", activation: "RELU6" });
  };

  const input = add([1, resolution, resolution, 3], "int8");
  let x = convolution(input, channelsOf(16), 3, 2, "RELU6");
  for (const [idx, { expansion, kernel, depth }] of stages.entries()) {
    for (let block = 0; block < depth; block++) {
      const before = x;
      const in_channels = tensors[x].shape[3];
      const channels = channelsOf(STAGES[idx].channels);
      const stride = block === 0 ? STAGES[idx].stride : 1;
      x = convolution(x, in_channels * expansion, 1, 1, "RELU6");
      x = depthwise(x, kernel, stride);
      x = convolution(x, channels, 1, 1, "NONE");
      if (stride === 1 && in_channels === channels) x = operator("ADD", [before, x], tensors[x].shape);
    }
  }
  const [, height, , depth] = tensors[x].shape;
  x = operator("AVERAGE_POOL_2D", [x], [1, 1, 1, depth], { filter: [height, height], stride: [1, 1], padding: "VALID" });
  x = operator("RESHAPE", [x], [1, depth], { shape: [1, depth] });
  x = operator("FULLY_CONNECTED", [x, add([100, depth], "int8", true), add([100], "int32", true)], [1, 100]);
  return { format: "litecast-graph", version: 1, inputs: [name(input)], outputs: [name(x)], tensors, operators };
}

const litecast = await load();

/** Capacity stands for accuracy here: a search of yours trains, or asks a proxy. */
function measured(candidates) {
  const reports = litecast.estimateMany(candidates.map(graphOf), { targets: [target], detail: "summary" });
  return candidates.flatMap((candidate, idx) => {
    const report = reports[idx];
    if (report instanceof Error) throw report;
    const value = (metric) => report.results.find((result) => result.metric === metric)?.value;
    const [latency_ms, sram_bytes] = [value("latency"), value("sram_peak") ?? report.model.activation_bytes];
    return latency_ms === undefined ? [] : [{ candidate, latency_ms, sram_bytes, macs: report.model.macs, parameters: report.model.parameters }];
  });
}

const isWithin = ({ latency_ms, sram_bytes }) => latency_ms <= MAX_LATENCY_MS && sram_bytes <= MAX_SRAM_BYTES;
const dominates = (a, b) => a.latency_ms <= b.latency_ms && a.macs >= b.macs && (a.latency_ms < b.latency_ms || a.macs > b.macs);
const frontOf = (list) => list.filter((one) => !list.some((other) => dominates(other, one)));

const started = performance.now();
let n_candidates = 0;
let front = [];
let population = Array.from({ length: POPULATION }, candidate);
for (let generation = 0; generation < Number(generations); generation++) {
  n_candidates += population.length;
  const unique = new Map([...front, ...measured(population).filter(isWithin)].map((one) => [`${one.latency_ms} ${one.macs}`, one]));
  front = frontOf([...unique.values()]).sort((a, b) => a.latency_ms - b.latency_ms);
  const parents = front.length > 0 ? front : [{ candidate: candidate() }];
  population = Array.from({ length: POPULATION }, () => (random() < 0.1 ? candidate() : mutated(pick(parents).candidate)));
}
const seconds = (performance.now() - started) / 1000;

console.log(`${target}, at most ${MAX_LATENCY_MS} ms and ${MAX_SRAM_BYTES / 1024} KiB of SRAM`);
console.log("latency ms  SRAM KiB  million MACs  parameters  network");
for (const { candidate: { resolution, width, stages }, latency_ms, sram_bytes, macs, parameters } of front) {
  const blocks = stages.map(({ expansion, kernel, depth }) => `${depth}×e${expansion}k${kernel}`).join(" ");
  const numbers = [latency_ms.toFixed(3).padStart(10), (sram_bytes / 1024).toFixed(1).padStart(8), (macs / 1e6).toFixed(2).padStart(12), String(parameters).padStart(10)];
  console.log(`${numbers.join("  ")}  ${resolution} px, width ${width}, ${blocks}`);
}
console.error(`${n_candidates} candidates in ${seconds.toFixed(1)} s, ${(n_candidates / seconds).toFixed(0)} a second`);
