/** Advice: what a change of the network or of the hardware saves, each by an estimate of the changed one. */
import { choiceOf } from "./requested_targets.ts";
import type { Estimator, FileBytes } from "./estimator.ts";
import * as format from "./format.ts";
import { WITH_UNITS } from "./operator_kinds.ts";
import { hybridOf, leftWords } from "./processor_split.ts";
import { type Estimate, type Operator, type Report, type Result, type TargetChoice, estimateOf } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { describedTarget } from "./targets.ts";

/** One change of the network or of the hardware, and what it saves. */
export interface Advice {
  kind: "channels" | "cpu" | "memory" | "int8" | "order" | "smaller" | "size";
  /** What to change. */
  words: string;
  /** What that saves, as the rest of a sentence. */
  saving: string;
  show: { label: string } & ({ scenario: Scenario } | { operator: number } | { accelerator: TargetChoice & { device: string } });
}

/** What advice is computed from. */
export interface Advised {
  report: Report;
  file: FileBytes;
  scenario: Scenario;
  target: string;
  latency_budget_ms: number | null;
}

/** Less than this part of the estimate is not worth a change. */
const MIN_SAVED_PART = 0.005;
/** A count is just above a multiple where it is above by at most this part of it. */
const JUST_ABOVE = 0.25;
const MAX_CHANNEL_COUNTS = 3;
const NARROWER = [0.9, 0.8, 0.7, 0.6, 0.5];
/** Of the resolution or the width. */
const SMALLER = 0.75;
/** Of operators that fall to the processor. */
const MAX_KINDS = 3;

/** One after the other, as they are computed; nothing where the target has no estimate that could get better. */
export async function* adviceOn(advised: Advised, estimator: Estimator, signal: AbortSignal): AsyncGenerator<Advice> {
  const rules = [float, cpu, channels, memory, order, size, smaller];
  for (const rule of rules) {
    for await (const advice of rule(advised, estimator, signal)) {
      if (signal.aborted) return;
      yield advice;
    }
  }
}

type Rule = (advised: Advised, estimator: Estimator, signal: AbortSignal) => AsyncGenerator<Advice>;

/** On the chosen target; null where there is no such network. */
async function explored({ file, target }: Advised, estimator: Estimator, scenario: Scenario, signal: AbortSignal, choice: TargetChoice = choiceOf(target), targets: readonly string[] = []): Promise<Report | null> {
  return estimator.explore(file, scenario, { targets, more_targets: [choice], is_summary: true }, signal).catch(() => null);
}

function latencyOf({ results }: { results: readonly Result[] }, target: string): Estimate | undefined {
  return estimateOf(results, target, "latency");
}

/** In words; null where it is too little. */
function saved(before: Estimate | undefined, after: Estimate | undefined, noun: string): string | null {
  if (!before || !after || !(before.value - after.value > MIN_SAVED_PART * before.value)) return null;
  const amount = format.text(format.measure(before.value - after.value, before.unit));
  const is_open = (after.hi ?? after.value) >= (before.lo ?? before.value);
  return `Saves ${amount} of ${noun} (${format.relativeChange(after.value / before.value)})${is_open ? "; within the error of the estimates" : ""}`;
}

const float: Rule = async function* (advised, estimator, signal) {
  const { report, scenario, target } = advised;
  if (!report.operators.some(({ outputs }) => outputs.some((tensor) => report.tensors[tensor]?.type === "FLOAT32"))) return;
  const next = { ...scenario, int8: true };
  const explored_report = await explored(advised, estimator, next, signal);
  const estimateIn = ({ results }: Report): Estimate | undefined => latencyOf({ results }, target);
  const after = explored_report && estimateIn(explored_report);
  if (!after) return;
  const now = estimateIn(report);
  // What is estimated as int8 already saves nothing by it, but has to be made so.
  const before = now?.estimated_as ? undefined : now;
  const device = after.device;
  const saving = before ? saved(before, after, "latency") : `Takes ${format.text(format.measure(after.value, after.unit))} on ${device}, which does not run the float network`;
  if (saving) yield { kind: "int8", words: "Quantise the network to int8.", saving, show: { label: "Show the int8 network", scenario: next } };
};

const cpu: Rule = async function* ({ report, target }) {
  const hybrid = hybridOf(report, target);
  if (!hybrid) return;
  const { left, host, whole } = hybrid;
  const is_one = left.length === 1;
  yield {
    kind: "cpu",
    words: `${format.plural(left.length, "operator")} ${is_one ? "falls" : "fall"} to the CPU: ${leftWords(report, left, MAX_KINDS)}. Replace ${is_one ? "it" : "them"} by operators that the accelerator runs.`,
    saving: "left_ms" in whole && whole.left_ms !== null ? `${is_one ? "It takes" : "They take"} ${format.text(format.measure(whole.left_ms, "ms"))} on ${host?.device}, of which what replaces ${is_one ? "it" : "them"} takes a part` : "How long that takes is not known here",
    show: { label: "Show the first one", operator: left[0].operator },
  };
};

const channels: Rule = async function* (advised, estimator, signal) {
  const { report, scenario, target } = advised;
  const step = describedTarget(choiceOf(target).target ?? target)?.channel_step;
  const before = latencyOf(report, target);
  if (!step || !before || scenario.channels) return;
  for (const from of countsJustAbove(report, before, step)) {
    const to = from - (from % step);
    const next = { ...scenario, channels: { from, to } };
    const explored_report = await explored(advised, estimator, next, signal);
    const saving = explored_report && saved(before, latencyOf(explored_report, target), "latency");
    if (saving) yield { kind: "channels", words: `Give layers of ${from} channels ${to}: ${from} is just above a multiple of ${step}, which this accelerator computes together.`, saving, show: { label: `Show it with ${to} channels`, scenario: next } };
  }
};

/** The costliest first. */
function countsJustAbove({ operators, tensors }: Report, latency: Estimate, step: number): number[] {
  const costs = new Map<number, number>();
  operators.filter(({ name }) => WITH_UNITS.has(name)).forEach((operator: Operator) => {
    const count = tensors[operator.outputs[0]]?.shape.at(-1) ?? 0;
    const above = count % step;
    if (count > step && above > 0 && above <= JUST_ABOVE * step) costs.set(count, (costs.get(count) ?? 0) + (latency.operators?.[operator.index] ?? operator.macs));
  });
  return [...costs].sort(([, a], [, b]) => b - a).slice(0, MAX_CHANNEL_COUNTS).map(([count]) => count);
}

const memory: Rule = async function* (advised, estimator, signal) {
  const { report, scenario, target } = advised;
  const before = latencyOf(report, target);
  if (!before) return;
  if (describedTarget(target)?.advice.includes("resident-weights")) {
    if (!streams(report, target)) return;
    for (const factor of NARROWER) {
      const next = { ...scenario, width: scenario.width * factor };
      const explored_report = await explored(advised, estimator, next, signal);
      if (!explored_report || streams(explored_report, target)) continue;
      const saving = saved(before, latencyOf(explored_report, target), "latency");
      const words = `The weights (${format.text(format.bytes(report.model.weight_bytes))}) do not fit the Edge TPU's 8 MiB beside the activations: some are streamed for each inference. At ${factor}× the width they fit.`;
      if (saving) yield { kind: "memory", words, saving, show: { label: "Show the narrower network", scenario: next } };
      return;
    }
    return;
  }
  const choice = choiceOf(target);
  const { npus } = await estimator.choices(null);
  const npu = npus.find(({ id }) => id === choice.target);
  const sram_bytes = choice.arena_cache_bytes ?? npu?.arena_cache_bytes;
  if (!npu || !sram_bytes) return;
  const [small, large] = [sram_bytes, 2 * sram_bytes].map((bytes): TargetChoice => ({ ...choice, arena_cache_bytes: bytes }));
  const explored_reports = [await explored(advised, estimator, scenario, signal, small), await explored(advised, estimator, scenario, signal, large)];
  const [now, then] = explored_reports.map((report) => report && latencyOf(report, target));
  const saving = saved(now ?? undefined, then ?? undefined, "latency");
  const sizes = [sram_bytes, 2 * sram_bytes].map((bytes) => format.text(format.bytes(bytes)));
  if (saving) {
    const device = `${npu.device}, ${sizes[1]} SRAM`;
    yield { kind: "memory", words: `${sizes[1]} of SRAM instead of ${sizes[0]} keep more feature maps and weights on the chip.`, saving, show: { label: "Add this accelerator", accelerator: { ...choice, device, arena_cache_bytes: 2 * sram_bytes } } };
  }
};

/** Whether parameters are sent to the Edge TPU for each inference. */
function streams({ diagnostics }: Pick<Report, "diagnostics">, target: string): boolean {
  return diagnostics.some(({ code, targets }) => code === "edge-tpu-streaming" && targets?.includes(target));
}

const order: Rule = async function* (advised, estimator, signal) {
  const { report, scenario } = advised;
  if (scenario.low_memory_order || report.model.activation_bytes === null) return;
  const next = { ...scenario, low_memory_order: true };
  const explored_report = await explored(advised, estimator, next, signal);
  if (!explored_report || explored_report.model.activation_bytes === null) return;
  const less = report.model.activation_bytes - explored_report.model.activation_bytes;
  if (less <= MIN_SAVED_PART * report.model.activation_bytes) return;
  const saving = `Saves ${format.text(format.bytes(less))} of activations (${format.relativeChange(explored_report.model.activation_bytes / report.model.activation_bytes)}), exact`;
  yield { kind: "order", words: "Write the operators in another order: fewer feature maps are then alive at once.", saving, show: { label: "Show that order", scenario: next } };
};

/** What a smaller network saves, which costs accuracy: one step of each kind. */
const size: Rule = async function* (advised, estimator, signal) {
  const { report, scenario, target } = advised;
  const before = latencyOf(report, target);
  for (const [axis, words] of [["resolution", "a lower input resolution"], ["width", "narrower layers"]] as const) {
    const next = { ...scenario, [axis]: scenario[axis] * SMALLER };
    const explored_report = await explored(advised, estimator, next, signal);
    const saving = explored_report && saved(before, latencyOf(explored_report, target), "latency");
    if (!saving || explored_report.model.macs >= report.model.macs) continue;
    const removed = format.percent(100 * (1 - explored_report.model.macs / report.model.macs));
    yield { kind: "size", words: `Train it with ${words}: ${SMALLER}× removes ${removed} of the multiply-accumulates, which costs accuracy.`, saving, show: { label: `Show it at ${SMALLER}×`, scenario: next } };
  }
};

const smaller: Rule = async function* ({ file, scenario, target, latency_budget_ms }, estimator) {
  const id = choiceOf(target).target ?? target;
  if (latency_budget_ms === null || !describedTarget(id)?.advice.includes("smaller-accelerator")) return;
  const sweep = await estimator.sweep(file, scenario, { latency_ms: latency_budget_ms }).catch(() => null);
  const points = sweep?.points ?? [];
  const now = points.find((point) => point.target === id);
  const best = now && points.find(({ macs_per_cycle, needed_mhz, clock_mhz }) => macs_per_cycle < now.macs_per_cycle && needed_mhz !== null && needed_mhz <= clock_mhz);
  if (!now || !best) return;
  const { value, hi } = best.latency_ms;
  yield {
    kind: "smaller",
    words: `A smaller accelerator meets ${latency_budget_ms} ms: ${best.device} at ${best.clock_mhz} MHz.`,
    saving: `Saves ${now.macs_per_cycle - best.macs_per_cycle} multipliers; takes ${format.text(format.measure(value, "ms"))}, at most ${format.text(format.measure(hi ?? value, "ms", value))}`,
    show: { label: "Add this accelerator", accelerator: { target: best.target, device: `${best.device}, ${best.clock_mhz} MHz` } },
  };
};
