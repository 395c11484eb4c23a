/** What single operators cost: the measures that graph, table and details can show. */
import * as format from "./format.ts";
import { type Estimate, type Evidence, type Operator, type Report, type Result, isEstimate } from "./report.ts";
import { type Overlay, overlaysOf } from "./measured_devices.ts";
import { metricName } from "./words.ts";

/** A cost with the part of each operator, as the graph and the tables show it. */
export interface Measure {
  /** Null for facts of the file, which no target changes. */
  target: string | null;
  metric: string;
  /** Of the whole, for example `Latency on Arm Ethos-U55, 256 MACs/cycle`. */
  title: string;
  /** Short enough for the head of a column. */
  name: string;
  /** By operator. */
  values: readonly number[];
  unit: string;
  /** Of all operators; of a peak it is the largest. */
  total: number;
  is_sum: boolean;
  /** What its numbers rest on; facts of the file are counted, and what was measured of this very network rests on nothing else. */
  evidence?: Evidence | undefined;
  /** A value in whose unit the whole column is shown; computed when it is asked for. */
  readonly scale: number;
}

/**
 * Operators fused into a neighbour cost nothing of their own, which a learned estimate never says exactly: below this
 * part of the mean operator's cost nothing is shown.
 */
const NEGLIGIBLE_PART_OF_MEAN = 0.003;
const PEAKS = new Set(["sram_peak", "live"]);

/** Whether the part of an operator is too small to be shown as a number. */
export function isNegligible({ total, is_sum, values }: Measure, value: number): boolean {
  return value <= (is_sum ? (NEGLIGIBLE_PART_OF_MEAN * total) / values.length : 0);
}

/** What is too small to speak of, but not nothing. */
const NEARLY_ZERO = "\u2248\u202f0";

function smallText(value: number): string {
  return value === 0 ? "0" : NEARLY_ZERO;
}

/** In the unit of the column. */
export function columnText(measure: Measure, value: number): string {
  return isNegligible(measure, value) ? smallText(value) : quantityOf(measure, value, measure.scale)[0];
}

/** With a unit of its own. */
export function costText(measure: Measure, value: number): string {
  return isNegligible(measure, value) ? smallText(value) : format.text(quantityOf(measure, value, value));
}

/** Of the whole, where parts add up to it. */
export function shareText(measure: Measure, value: number): string {
  return !measure.is_sum || measure.total <= 0 || isNegligible(measure, value) ? "" : format.percent((100 * value) / measure.total);
}

/** Unit of a measure's column, scaled to its values. */
export function columnUnit(measure: Measure): string {
  return quantityOf(measure, measure.scale, measure.scale)[1];
}

function quantityOf({ unit }: Measure, value: number, like: number): format.Quantity {
  return unit === "" ? format.count(value, "", like) : format.measure(value, unit, like);
}

/** What the estimates of one target say of each operator, then what the file itself says. */
export function measuresOf(report: Report, target: string | null): Measure[] {
  return [...estimatesAndProfiles(report).filter((measure) => measure.target === target), ...known(of_operators, report.operators, () => factMeasures(report))];
}

/** The estimates that have a part for each operator, in the order of the results. */
export function estimatedMeasures(report: { results: readonly Result[] }): Measure[] {
  return report.results.filter(isEstimate).filter(hasParts).map((estimate) => known(of_estimate, estimate, () => estimated(estimate)));
}

/** The same, and behind each device what its own profile says of these operators. */
export function estimatesAndProfiles(report: Report): Measure[] {
  const estimates = estimatedMeasures(report);
  return [...estimates, ...overlaysOf(report).flatMap((overlay) => profiled(overlay, report, estimates))];
}

/** What was measured, and how far the estimate is from it; what ran as one with others counts at the first of them. */
function profiled(overlay: Overlay, { operators }: Report, estimates: readonly Measure[]): Measure[] {
  const estimate = estimates.find(({ target, metric }) => target === overlay.target && metric === "latency");
  const key = estimate?.values ?? overlay;
  return known(of_profile, key, () => {
    const of_group = (value: (measured_ms: number, members: readonly number[]) => number): number[] =>
      operators.map(({ index }) => {
        const group = overlay.groups.get(index);
        return group && group.operators[0] === index ? value(group.measured_ms, group.operators) : 0;
      });
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    const part = (metric: string, name: string, title: string, values: number[], total: number): Measure =>
      withScale({ target: overlay.target, metric, title: `${title} on ${overlay.device}`, name, values, unit: "ms", total, is_sum: true });
    const measured = part("measured", "Measured", "Measured latency", of_group((ms) => ms), overlay.measured_ms);
    if (!estimate) return [measured];
    const off = of_group((ms, members) => Math.abs(sum(members.map((member) => estimate.values[member])) - ms));
    return [measured, part("measured_difference", "Off by", "Estimate and measurement differ", off, sum(off))];
  });
}

const of_profile = new WeakMap<object, Measure[]>();

/** The estimates that are latencies. */
export function latenciesOf(report: Report): Measure[] {
  return estimatedMeasures(report).filter(({ metric }) => metric === "latency");
}

type EstimateByOperator = Estimate & { operators: number[] };

function hasParts(estimate: Estimate): estimate is EstimateByOperator {
  return estimate.operators !== undefined && estimate.operators.length > 0;
}

/** Every view of a report asks for the same ones. */
const of_estimate = new WeakMap<Estimate, Measure>();
const of_operators = new WeakMap<readonly Operator[], Measure[]>();

function known<Key extends object, Value>(kept: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const value = kept.get(key) ?? make();
  kept.set(key, value);
  return value;
}

function withScale(measure: Omit<Measure, "scale">): Measure {
  let scale: number | null = null;
  return {
    ...measure,
    get scale() {
      return (scale ??= format.columnScale(measure.values));
    },
  };
}

function estimated({ target, device, metric, unit, value, operators, evidence }: EstimateByOperator): Measure {
  return withScale({
    target,
    metric,
    title: `${metricName(metric)} on ${device || target}`,
    name: metricName(metric),
    values: operators,
    unit,
    total: value,
    is_sum: !PEAKS.has(metric),
    evidence,
  });
}

function factMeasures({ operators }: Report): Measure[] {
  const fact = (metric: string, title: string, name: string, unit: string, values: number[]): Measure => withScale({
    target: null,
    metric,
    title,
    name,
    values,
    unit,
    total: values.reduce((sum, value) => sum + value, 0),
    is_sum: !PEAKS.has(metric),
    evidence: "counted",
  });
  return [
    fact("macs", "Multiply-accumulates", "MACs", "", operators.map(({ macs }) => macs)),
    fact("weights", "Weights", "Weights", "bytes", operators.map(({ weight_bytes }) => weight_bytes)),
    fact("activations", "Activations read and written", "Activations", "bytes", operators.map(({ input_bytes, output_bytes }) => input_bytes + output_bytes)),
    fact("live", "Live memory", "Live", "bytes", operators.map(({ live_bytes }) => live_bytes ?? 0)),
  ].filter(({ total }) => total > 0);
}
