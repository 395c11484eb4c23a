/** The types of a report, which the module declares, and what tells its results apart. */
import type { Accelerators, Boards, Report as EngineReport, Estimate, Result } from "../package/types/index.d.ts";

export type {
  Application,
  BatchPoint,
  BatchSweep,
  Calibrated,
  Diagnostic,
  Edge,
  Estimate,
  Evidence,
  Fits,
  Host,
  InForce,
  LeftOut,
  Limits,
  Measurement,
  ModelFacts,
  OnBoard,
  Operator,
  Provenance,
  Quantization,
  Result,
  Room,
  Sweep,
  SweepPoint,
  TargetChoice,
  TargetInfo,
  Tensor,
  Unavailable,
} from "../package/types/index.d.ts";

/** What a `TargetChoice` can name. */
export type TargetChoices = Accelerators & { boards: Boards["npus"]; microcontrollers: Boards["microcontrollers"] };

/** What if: the network or the way it runs is another one. */
export interface Scenario {
  /** Inputs at a time. */
  batch: number;
  /** Of a processor. */
  threads: number;
  /** Factor on height and width of the inputs. */
  resolution: number;
  /** Factor on the channels of hidden layers. */
  width: number;
  /** Every hidden layer with `from` channels has `to`. */
  channels: { from: number; to: number } | null;
  int8: boolean;
  low_memory_order: boolean;
  /** Of dimensions that the file leaves open, by name. */
  dimensions: Sizes;
}

/** Sizes of open dimensions by name. */
export type Sizes = Readonly<Record<string, number>>;

/** Of the file as it is, or as `what_if` has it. */
export type Report = EngineReport & { what_if?: Scenario };

/** Whether a result has a number. */
export function isEstimate(result: Result): result is Estimate {
  return result.value !== undefined;
}

/** What there is of a metric on a target. */
export function estimateOf(results: readonly Result[], target: string, metric: string): Estimate | undefined {
  return results.filter(isEstimate).find((result) => result.target === target && result.metric === metric);
}

/** In the order in which the targets come first. */
export function groupByTarget(results: readonly Result[]): Map<string, Result[]> {
  const groups = new Map<string, Result[]>();
  for (const result of results) groups.set(result.target, [...(groups.get(result.target) ?? []), result]);
  return groups;
}
