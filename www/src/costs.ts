/** What single operators cost: the measures that graph, table and details can show. */
import * as format from "./format.ts";
import { type Estimate, type Report, isEstimate } from "./report.ts";
import { metricName } from "./words.ts";

export interface Measure {
  /** Of the whole, for example `Latency on Arm Ethos-U55, 256 MACs/cycle`. */
  title: string;
  /** Short enough for the head of a column. */
  name: string;
  /** By operator. */
  values: readonly number[];
  /** A value with its unit. */
  text: (value: number) => string;
  /** Over the whole graph. */
  total: number;
}

/** Operators fused into a neighbour cost nothing of their own, which a learned estimate never says exactly. */
const NEGLIGIBLE_SHARE = 5e-4;

export function isNegligible({ total }: Measure, value: number): boolean {
  return value <= NEGLIGIBLE_SHARE * total;
}

/** For people: a dash where there is nothing to speak of. */
export function costText(measure: Measure, value: number): string {
  return isNegligible(measure, value) ? "–" : measure.text(value);
}

/** Latencies of every target that tells them by operator, then MACs, which every file has. */
export function measuresOf(report: Report): Measure[] {
  return [...latenciesOf(report), macsOf(report)];
}

export function latenciesOf(report: Report): Measure[] {
  return report.results.filter(isEstimate).filter(isLatencyByOperator).map(latency);
}

function isLatencyByOperator(estimate: Estimate): estimate is Estimate & { operators: number[] } {
  return estimate.metric === "latency" && estimate.operators !== undefined;
}

function latency({ target, device, metric, unit, value, operators }: Estimate & { operators: number[] }): Measure {
  return {
    title: `${metricName(metric)} on ${device}`,
    name: target,
    values: operators,
    text: (part) => format.text(format.measure(part, unit)),
    total: value,
  };
}

function macsOf({ operators, model }: Report): Measure {
  return {
    title: "Multiply-accumulates",
    name: "MACs",
    values: operators.map(({ macs }) => macs),
    text: (value) => format.text(format.count(value)),
    total: model.macs,
  };
}
