/** Ids of the report in words. */
import * as format from "./format.ts";
import type { Estimate, Provenance, Result } from "./report.ts";

const METRICS: Record<string, string> = {
  latency: "Latency",
  board_latency: "Latency on the board",
  end_to_end_latency: "Latency end to end",
  energy: "Energy",
  sram_peak: "SRAM peak",
  offchip_traffic: "Off-chip traffic",
  sram_traffic: "SRAM traffic",
  arena: "Tensor arena",
  activation_ram: "Activation RAM",
  weights_flash: "Weights in flash",
  throughput: "Throughput",
  training_step: "Training step",
  memory: "Memory",
  training_memory: "Training memory",
  sm_utilization: "GPU busy",
};

const METRIC_MEANINGS: Record<string, string> = {
  latency: "Time of one inference",
  end_to_end_latency: "Time of one inference with the operators that stay on the CPU",
  board_latency: "Time of one inference with what the board takes beyond the compiler's estimate",
  energy: "Energy of one inference",
  sram_peak: "Most on-chip memory in use at once",
  offchip_traffic: "Bytes that one inference moves to and from off-chip memory",
  sram_traffic: "Bytes that one inference moves to and from on-chip memory",
  arena: "Memory that TensorFlow Lite Micro's interpreter is given, as its greedy planner lays it out",
  activation_ram: "RAM of the program that ST Edge AI makes of the network, for its activations",
  weights_flash: "Flash that the network takes: the whole file under an interpreter, otherwise its weights",
  throughput: "Inferences a second at this batch",
  training_step: "Time of one training step of a batch: forward, backward and optimiser",
  memory: "Memory of the process on the GPU for inference at this batch, counted by rules",
  training_memory: "The same for training with Adam",
  sm_utilization: "Share of the latency in which a kernel runs",
};

const TOOLS: Record<string, string> = { "ethos-u-vela": "Vela", litecast: "LiteCast" };

/** What a person decides on first; metrics that are not named here follow as the report has them. */
const METRIC_ORDER = ["end_to_end_latency", "latency", "board_latency", "throughput", "training_step", "energy", "sram_peak", "arena", "activation_ram", "weights_flash", "memory", "training_memory", "offchip_traffic", "sram_traffic"];

export const MICROCONTROLLERS = "Microcontrollers";
export const GPUS = "GPUs";
export const PROCESSORS = "Processors";
export const ETHOS_U = "Arm Ethos-U NPUs";
export const EDGE_TPU = "Edge TPU";
export const OWN_ACCELERATORS = "Your accelerators";
export const NPU_BOARDS = "Boards with an Ethos-U";
export const MICROCONTROLLER_BOARDS = "Microcontroller boards";

/** Of targets, by the beginning of their ids, in the order in which they are offered. */
const FAMILIES: readonly (readonly [prefix: string, name: string])[] = [
  ["device:", "Your devices"],
  ["own:", OWN_ACCELERATORS],
  ["ethos-u", ETHOS_U],
  ["npu-board:", NPU_BOARDS],
  ["edgetpu", EDGE_TPU],
  ["cortex-a", PROCESSORS],
  ["tflite-micro", "Any microcontroller"],
  ["board:", MICROCONTROLLERS],
  ["cortex-m", MICROCONTROLLERS],
  ["esp32", MICROCONTROLLERS],
  ["stm32", MICROCONTROLLERS],
  ["rtx-", GPUS],
  ["a100-", GPUS],
];

export function familyOf(target: string): string {
  return FAMILIES.find(([prefix]) => target.startsWith(prefix))?.[1] ?? "Other targets";
}

export function metricName(metric: string): string {
  return METRICS[metric] ?? metric;
}

export function metricMeaning(metric: string): string {
  return METRIC_MEANINGS[metric] ?? "";
}

export function inMetricOrder<Item extends { metric: string }>(items: readonly Item[]): Item[] {
  const rank = ({ metric }: Item): number => (METRIC_ORDER.includes(metric) ? METRIC_ORDER.indexOf(metric) : METRIC_ORDER.length);
  return items.toSorted((a, b) => rank(a) - rank(b));
}

export function toolName({ tool, version }: Pick<Provenance, "tool" | "version">): string {
  return [TOOLS[tool] ?? tool, version].filter(Boolean).join(" ");
}

const FROM_COMPILER = "learned from compiler estimate";

/** Where a number comes from, as one sentence without full stop. */
export function provenanceWords(provenance: Provenance): string {
  const source = toolName(provenance);
  if (provenance.kind === FROM_COMPILER) return `Learned from ${source} compiler estimates`;
  if (provenance.kind === "exact") return "Exact, computed from the file";
  const sentence = source ? `${provenance.kind} (${source})` : provenance.kind;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** What the errors of estimates were measured against. */
export function referenceWords({ kind, tool, version, reference }: Provenance): string {
  if (FROM_COMPILERS.has(kind)) return `${toolName({ tool, version })} compiler estimates, not silicon`;
  return REFERENCES[reference ?? kind] ?? "what its source says";
}

const FROM_COMPILERS = new Set([FROM_COMPILER, "compiler rules"]);

/** Of results that a person's own measurements make. */
export const CALIBRATED = "calibrated with your measurements";

/** By the code in a report, or by how a number was made. */
const REFERENCES: Record<string, string> = {
  measured: "measurements on hardware",
  "measured-kind-left-out": "networks measured on boards, each kind left out of the fit",
  [CALIBRATED]: "your other measurements",
  "learned from emulated": "instructions counted in an emulator, not time on the board",
  "learned from measured": "measurements on hardware",
};

/** How sure an estimate is, in few words, in the unit of `like`. */
export function doubtWords(estimate: Estimate, like = estimate.value): string {
  const { lo, hi, unit, expected_error_percent } = estimate;
  if (isExact(estimate)) return "exact";
  if (lo !== undefined && hi !== undefined) {
    const [low, high] = format.ends(lo, hi, unit, like);
    return `${low} \u2013 ${high}`;
  }
  if (typeof expected_error_percent === "number") return `±\u202f${format.percent(expected_error_percent)}`;
  return "no interval";
}

/** The same in a sentence, with what it was measured against. */
export function doubtSentence(estimate: Estimate): string {
  const { lo, expected_error_percent, provenance } = estimate;
  if (isExact(estimate)) return "Exact, computed from the file";
  const reference = referenceWords(provenance);
  const mean =
    typeof expected_error_percent === "number"
      ? `mean error ${format.percent(expected_error_percent)} against ${reference}`
      : `error not measured`;
  const interval = lo === undefined ? "No interval" : `${intervalPercent(estimate)}\u202f% interval against ${reference}`;
  return `${interval}; ${mean}`;
}

/** Nominal coverage of an interval in percent. */
export function intervalPercent(estimate: Estimate): number {
  const { interval } = estimate as Estimate & { interval?: { level?: number } | number | null };
  const level = typeof interval === "number" ? interval : interval?.level;
  return typeof level === "number" ? Math.round(level <= 1 ? 100 * level : level) : 90;
}

export function isExact({ provenance }: Estimate): boolean {
  return provenance.kind === "exact";
}

/** Messages name targets by id; people know the device. */
export function withDeviceNames(message: string, results: readonly Result[]): string {
  const names = new Map(results.map(({ target, device }) => [target, device || target]));
  return [...names].reduce((text, [target, device]) => text.replaceAll(target, device), message);
}
