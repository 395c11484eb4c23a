/** The types of a report, which the module declares, and what tells its results apart. */
import type { Estimate, Result } from "../../pkg/litecast.js";

export type {
  Calibrated,
  Diagnostic,
  Edge,
  Estimate,
  Measurement,
  ModelFacts,
  Operator,
  Provenance,
  Quantization,
  Report,
  Result,
  TargetInfo,
  Tensor,
  Unavailable,
} from "../../pkg/litecast.js";

export function isEstimate(result: Result): result is Estimate {
  return "value" in result;
}
