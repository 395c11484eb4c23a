/** Ids of the report in words. */
import type { Provenance } from "./report.ts";

const METRICS: Record<string, string> = {
  latency: "Latency",
  energy: "Energy",
  sram_peak: "SRAM peak",
  offchip_traffic: "Off-chip traffic",
  sram_traffic: "SRAM traffic",
  arena: "Tensor arena",
};

const METRIC_MEANINGS: Record<string, string> = {
  latency: "Time of one inference",
  energy: "Energy of one inference",
  sram_peak: "Most on-chip memory in use at once",
  offchip_traffic: "Bytes that one inference moves to and from off-chip memory",
  sram_traffic: "Bytes that one inference moves to and from on-chip memory",
  arena: "Activation memory as the greedy planner of TensorFlow Lite Micro lays it out",
};

const TOOLS: Record<string, string> = { "ethos-u-vela": "Vela", litecast: "LiteCast" };

export function metricName(metric: string): string {
  return METRICS[metric] ?? metric;
}

export function metricMeaning(metric: string): string {
  return METRIC_MEANINGS[metric] ?? "";
}

/** Where a number comes from, as one sentence without full stop. */
export function provenanceWords({ kind, tool, version }: Provenance): string {
  const source = [TOOLS[tool] ?? tool, version].filter(Boolean).join(" ");
  if (kind === "learned from compiler estimate") return `Learned from ${source} compiler estimates`;
  if (kind === "exact") return "Exact, computed from the file";
  const sentence = source ? `${kind} (${source})` : kind;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
