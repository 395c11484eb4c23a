/** What a number is the sum of, and where each term comes from. */
import { hybridOf } from "./processor_split.ts";
import { costsByKind, KIND_NAMES } from "./kinds.ts";
import { type Estimate, type Report, isEstimate } from "./report.ts";
import { provenanceWords } from "./words.ts";

/** A term in the unit of the sum. */
export interface Term {
  words: string;
  value: number;
  /** Where it comes from. */
  source: string;
}

/** Terms smaller than this part of the sum are rounding. */
const ROUNDING = 5e-4;
/** Kinds of operators that are listed by themselves. */
const MAX_KINDS = 5;

/** Terms that add up to the estimate; empty where nothing tells them apart. */
export function termsOf(report: Report, estimate: Estimate): Term[] {
  const terms = inParts(report, estimate) ?? inMemory(report, estimate) ?? byKind(report, estimate) ?? [];
  const rest = estimate.value - terms.reduce((sum, { value }) => sum + value, 0);
  const is_rest = terms.length > 0 && Math.abs(rest) > ROUNDING * estimate.value;
  return is_rest ? [...terms, { words: restWords(estimate), value: rest, source: "what is left of the sum" }] : terms;
}

function restWords({ metric }: Estimate): string {
  if (metric === "latency") return "Starts, and changes between both";
  return metric === "arena" ? "Working buffers of kernels, and what the interpreter keeps" : "The rest";
}

/** A latency of an accelerator and of the processor beside it. */
function inParts(report: Report, { metric, target, provenance }: Estimate): Term[] | null {
  const hybrid = metric === "latency" ? hybridOf(report, target) : null;
  if (!hybrid || !("left_ms" in hybrid.whole) || hybrid.whole.left_ms === null) return null;
  const npu = report.results.filter(isEstimate).find((other) => other.target === target && other.metric === "npu_latency");
  if (!npu) return null;
  return [
    { words: `NPU: ${(hybrid.n_operators - hybrid.left.length).toLocaleString("en")} of ${hybrid.n_operators.toLocaleString("en")} operators`, value: npu.value, source: provenanceWords(npu.provenance) },
    { words: `CPU: ${hybrid.left.length.toLocaleString("en")} on ${hybrid.host?.device ?? "a processor"}`, value: hybrid.whole.left_ms, source: provenanceWords(provenance) },
  ];
}

/** Memory whose parts the file tells. */
function inMemory({ model }: Report, { metric, value }: Estimate): Term[] | null {
  if (metric === "arena" && model.activation_bytes !== null && model.activation_bytes <= value) return [{ words: "Activations", value: model.activation_bytes, source: "counted from the file" }];
  if (metric === "file_flash" && model.weight_bytes <= value) return [{ words: "Weights", value: model.weight_bytes, source: "counted from the file" }];
  return null;
}

/** A sum over operators, by their kind. */
function byKind({ operators }: Report, { operators: parts, unit, metric, provenance }: Estimate): Term[] | null {
  if (!parts || !Array.isArray(operators) || metric === "sram_peak" || unit === "%") return null;
  const sorted = costsByKind(operators, parts, true);
  const source = provenanceWords(provenance);
  const listed = sorted.slice(0, MAX_KINDS).map(([kind, { n, cost }]): Term => ({ words: `${KIND_NAMES[kind]} (${n.toLocaleString("en")})`, value: cost, source }));
  const others = sorted.slice(MAX_KINDS).reduce((sum, [, { cost }]) => sum + cost, 0);
  return others > 0 ? [...listed, { words: "Other kinds", value: others, source }] : listed;
}
