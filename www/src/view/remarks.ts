/** Sentences that help to decide: whether all of a network runs there, what stays on the chip, and what is faster or as fast. */
import { el } from "../dom.ts";
import * as format from "../format.ts";
import { type Estimate, type Report, isEstimate } from "../report.ts";
import { describedTarget, hasHost, hasThreads, isAccelerator } from "../targets.ts";
import { doubtWords } from "../words.ts";

/** Codes of notes that the Edge TPU runs a part of the network, or that parameters do not stay on its chip. */
const PART = "edge-tpu-part";
const STREAMING = "edge-tpu-streaming";

/** One paragraph for each sentence; none where the target has no latency. */
export function remarkList(report: Report, target: string): HTMLElement[] {
  const latency = latencies(report).find((result) => result.target === target);
  if (!latency) return [];
  const words = [wholeWords(report, target), cacheWords(report, target), fasterWords(report, latency)].filter((line) => line !== null);
  return words.map((line) => el("p", { class: "remark" }, line));
}

function latencies({ results }: Report): Estimate[] {
  return results.filter(isEstimate).filter(({ metric }) => metric === "latency");
}

/** Null where a part is left to a processor, which is said elsewhere. */
function wholeWords({ left_out = [], operators }: Report, target: string): string | null {
  if (!hasHost(target) || operators.length === 0 || left_out.some(({ targets }) => targets.includes(target))) return null;
  return `The accelerator runs all of it: ${operators.length === 1 ? "its one operator" : `all ${operators.length.toLocaleString("en")} operators`}.`;
}

function cacheWords({ model, diagnostics }: Report, target: string): string | null {
  const is_about = ({ code, targets }: Report["diagnostics"][number]): boolean => [PART, STREAMING].includes(code) && targets?.includes(target) === true;
  if (!describedTarget(target)?.advice.includes("resident-weights") || diagnostics.some(is_about)) return null;
  return `All weights (${format.text(format.bytes(model.weight_bytes))}) stay on the chip between inferences: none are streamed.`;
}

/** A processor on which the whole network takes less, as far as both are known; null for processors. */
function fasterWords(report: Report, latency: Estimate): string | null {
  if (!isAccelerator(latency.target)) return null;
  const processors = latencies(report).filter(({ target }) => hasThreads(target));
  const fastest = processors.reduce<Estimate | null>((least, other) => (least && least.value <= other.value ? least : other), null);
  if (!fastest || fastest.value >= latency.value) return null;
  const is_sure = (fastest.hi ?? fastest.value) < (latency.lo ?? latency.value);
  const takes = `${format.text(format.measure(fastest.value, "ms"))} (${doubtWords(fastest)})`;
  return `${is_sure ? "A processor is faster" : "A processor may be as fast"}: ${fastest.device} takes ${takes} for all of it.`;
}
