/** What a report says in one sentence: whether the model stays within a budget and the memory of its board, or what it costs. */
import { type Budget, type Standing, judgeEstimate, limitOf, standingOf } from "./budget.ts";
import * as format from "./format.ts";
import { hybridOf } from "./processor_split.ts";
import { type Estimate, type Report, type Unavailable, isEstimate } from "./report.ts";
import { boardOf, describedTarget } from "./targets.ts";
import { isExact, metricName } from "./words.ts";

/**
 * A `stated` verdict judges nothing, because no budget is set. An `open` one cannot judge what a budget asks for, because it
 * is not estimated. With `none`, there is no latency of the whole network, or nothing at all.
 */
export interface Verdict {
  kind: "meets" | "doubtful" | "fails" | "stated" | "open" | "none";
  /** Each with its full stop, the decisive one first. */
  sentences: string[];
}

/** Before the sentences, for eyes alone: they say the same. Only a verdict on a budget has one. */
export const VERDICT_MARKS: Readonly<Record<Verdict["kind"], string>> = { meets: "✓", doubtful: "?", fails: "✕", open: "?", stated: "", none: "" };

const STANDINGS: Readonly<Record<Standing, { words: string; kind: Verdict["kind"] }>> = {
  fails: { words: "Does not meet", kind: "fails" },
  "probably fails": { words: "Probably does not meet", kind: "fails" },
  doubtful: { words: "May not meet", kind: "doubtful" },
  "probably meets": { words: "Meets, if its unknown error is small,", kind: "doubtful" },
  meets: { words: "Meets", kind: "meets" },
};

/** One limit, and the number that stands against it. */
interface Judged {
  standing: Standing;
  limit: string;
  found: string;
}

/** Codes of doubts that say that a network needs more memory than there is. */
const TOO_LARGE: Readonly<Record<string, string>> = {
  "exceeds-arena-cache": "Needs more SRAM than its compiler may use",
  "gpu-memory": "Needs more memory than the GPU has",
};

/** A share of the latency below this decides nothing. */
const DECISIVE_SHARE = 0.15;

/** `sram_bytes` is the memory of the board where that is known, which a report does not say of every board. */
export function verdictOn(report: Report, target: string, budget: Budget, sram_bytes: number | null = null): Verdict {
  const results = report.results.filter((result) => result.target === target);
  const device = nameOf(report, target);
  const estimates = new Map(results.filter(isEstimate).map((estimate) => [estimate.metric as string, estimate]));
  if (estimates.size === 0) {
    const reason = results.find((result) => !isEstimate(result))?.unavailable ?? "this report has no estimate of it";
    return { kind: "none", sentences: [`No estimate on ${device}: ${reason}.`] };
  }
  const judged = judgedBy(report, target, budget, estimates);
  const open = openWords(notEstimated(report, budget, estimates), device);
  const memory = memoryOf(report, target, estimates, sram_bytes);
  const standings = (Object.keys(STANDINGS) as Standing[]).filter((standing) => judged.some((one) => one.standing === standing));
  const worst = memory.is_short ? "fails" : standings.length > 0 ? STANDINGS[standings[0]].kind : open.length > 0 ? "open" : "stated";
  // What nobody could judge may be what fails.
  const kind = worst === "meets" && open.length > 0 ? "doubtful" : worst;
  const lines = standings.map((standing, i) => {
    const same = judged.filter((one) => one.standing === standing);
    return `${STANDINGS[standing].words} ${list(same.map(({ limit }) => limit))}${i === 0 ? ` on ${device}` : ""}: ${list(same.map(({ found }) => found))}.`;
  });
  const stated = lines.length > 0 ? [] : [statement(report, target, estimates, device)];
  const unknown = results.find((result): result is Unavailable => result.metric === "latency" && !isEstimate(result));
  const no_latency = unknown ? [`No latency of all of it: ${unknown.unavailable}.`] : [];
  // What decides comes first.
  const [lead, tail] = memory.is_short ? [memory.sentences.map((sentence) => sentence.replace(/\.$/, ` on ${device}.`)), []] : [[], memory.sentences];
  const numbers = kind === "open" ? [...open, ...stated, ...no_latency] : [...lines, ...stated, ...no_latency, ...open];
  return { kind: unknown && kind === "stated" ? "none" : kind, sentences: [...lead, ...numbers, ...tail, ...atRate(report, budget, estimates)] };
}

function nameOf({ results }: Report, target: string): string {
  return describedTarget(target)?.short_label ?? results.find((result) => result.target === target)?.device ?? target;
}

const quantity = (value: number, unit: string): string => format.text(format.measure(value, unit));

function rangeText(lo: number, hi: number, unit: string, like: number): string {
  return format.intervalEnds(lo, hi, unit, like).join(" \u2013 ");
}

/** A limit as a person writes it, without zeros at its end, told apart from what is held against it. */
function limitText(limit: number, unit: string, value = limit): string {
  const [number, shown] = format.measureBeside(limit, unit, value);
  return format.text([number.includes(".") ? number.replace(/\.?0+$/, "") : number, shown]);
}

/** `a`, `a and b`, `a, b and c`. */
function list(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function judgedBy(report: Report, target: string, budget: Budget, estimates: ReadonlyMap<string, Estimate>): Judged[] {
  const judged: Judged[] = [];
  for (const estimate of estimates.values()) {
    const limit = limitOf(estimate.metric, budget);
    if (limit === null) continue;
    const { value, lo, hi, unit, metric } = estimate;
    const standing = isExact(estimate) ? standingOf(value, value, value, limit) : standingOf(value, lo, hi, limit);
    const range = lo !== undefined && hi !== undefined && standing !== "fails" && standing !== "meets" ? ` (${format.intervalEndsBeside(lo, hi, unit, value, limit).join(" \u2013 ")})` : "";
    const noun = metric === "latency" ? cpuWords(report, target) : ` of ${lower(metricName(metric))}`;
    judged.push({ standing, limit: limitText(limit, unit, value), found: `${format.text(format.measureBeside(value, unit, limit))}${range}${noun}` });
  }
  if (budget.rate_hz !== null) {
    const rate = rateOf(report, estimates);
    if (rate) judged.push({ standing: rateStanding(rate, budget.rate_hz), limit: limitText(budget.rate_hz, "inferences a second"), found: `up to ${format.digits(rate.value)} a second` });
  }
  return judged;
}

/** The fields of a budget that are set and that no estimate stands against. */
function notEstimated(report: Pick<Report, "batch">, budget: Budget, estimates: ReadonlyMap<string, Estimate>): (keyof Budget)[] {
  const has = { latency_ms: estimates.has("latency"), memory_kib: [...estimates.keys()].some((metric) => limitOf(metric, { ...budget, latency_ms: null, energy_mj: null }) !== null), energy_mj: estimates.has("energy"), rate_hz: rateOf(report, estimates) !== null };
  return (Object.keys(BUDGET_NOUNS) as (keyof Budget)[]).filter((name) => budget[name] !== null && !has[name]);
}

const BUDGET_NOUNS: Readonly<Record<keyof Budget, string>> = { latency_ms: "latency", memory_kib: "memory", energy_mj: "energy", rate_hz: "rate" };

function openWords(fields: readonly (keyof Budget)[], device: string): string[] {
  return fields.length === 0 ? [] : [`Whether it meets the ${list(fields.map((name) => BUDGET_NOUNS[name]))} is not known: ${device} has no such estimate.`];
}

/** Whether every limit is met, wherever the numbers lie in their intervals; a limit without an estimate is not. */
export function surelyMeets({ results, batch }: Pick<Report, "results" | "batch">, target: string, budget: Budget): boolean {
  const estimates = new Map(results.filter(isEstimate).filter((estimate) => estimate.target === target).map((estimate) => [estimate.metric as string, estimate]));
  const rate = rateOf({ batch }, estimates);
  const is_fast = budget.rate_hz === null || (rate !== null && rateStanding(rate, budget.rate_hz) === "meets");
  const judged = [...estimates.values()].flatMap((estimate) => judgeEstimate(estimate, budget) ?? []);
  return is_fast && judged.every(({ kind }) => kind === "within") && notEstimated({ batch }, budget, estimates).length === 0;
}

/** A budget without what the target, if it has estimates, has none of: no change of a network brings it. */
export function judgeableBudget(report: Report, target: string, budget: Budget): Budget {
  const estimates = new Map(report.results.filter(isEstimate).filter((estimate) => estimate.target === target).map((estimate) => [estimate.metric as string, estimate]));
  if (estimates.size === 0) return budget;
  return { ...budget, ...Object.fromEntries(notEstimated(report, budget, estimates).map((name) => [name, null])) };
}

/** Of a rate that must not be below `limit_hz`. */
function rateStanding({ value, lo, hi }: Rate, limit_hz: number): Standing {
  return standingOf(-value, hi === undefined ? undefined : -hi, lo === undefined ? undefined : -lo, -limit_hz);
}

/** Letters of a word that has others than capitals. */
function lower(name: string): string {
  return /^[A-Z][a-z]/.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : name;
}

/** The share of the processor beside an accelerator; empty where there is none. */
function cpuWords(report: Report, target: string): string {
  const hybrid = hybridOf(report, target);
  if (!hybrid || !("left_ms" in hybrid.whole)) return "";
  const { latency, left_ms } = hybrid.whole;
  if (left_ms === null || !(left_ms > 0)) return "";
  return `, of which ${format.measure(left_ms, latency.unit, latency.value).join("\u202f")} on the CPU`;
}

/** Memory that activations share, before other memory where there is no latency to state. */
const PEAKS: readonly string[] = ["sram_peak", "arena", "activation_ram"];

/** What the model costs and what decides that, where nothing is asked of it. */
function statement(report: Report, target: string, estimates: ReadonlyMap<string, Estimate>, device: string): string {
  const latency = estimates.get("latency");
  if (latency) {
    const range = latency.lo !== undefined && latency.hi !== undefined ? ` (${rangeText(latency.lo, latency.hi, latency.unit, latency.value)})` : "";
    return `${quantity(latency.value, latency.unit)}${range} on ${device}${cpuWords(report, target)}${decisive(report, latency)}.`;
  }
  const peak = PEAKS.map((metric) => estimates.get(metric)).find((estimate) => estimate !== undefined);
  const first = peak ?? (estimates.values().next().value as Estimate);
  return `${quantity(first.value, first.unit)} of ${lower(metricName(first.metric))} on ${device}${decisive(report, first)}.`;
}

/** The kind of operator that most of a sum goes to, or the operator at which a peak is reached. */
function decisive({ operators, model }: Report, { operators: parts, value, metric }: Estimate): string {
  // A summary has no operators.
  if (!Array.isArray(operators) || operators.length === 0) return "";
  if (PEAKS.includes(metric)) {
    const peak = model.peak_operator === null ? undefined : operators[model.peak_operator];
    return peak ? `; most activations are alive at ${peak.name} (#${peak.index})` : "";
  }
  if (!parts || !(value > 0)) return "";
  const kinds = new Map<string, { n: number; total: number }>();
  for (const { index, name } of operators) {
    const { n, total } = kinds.get(name) ?? { n: 0, total: 0 };
    kinds.set(name, { n: n + 1, total: total + (parts[index] ?? 0) });
  }
  const [name, { n, total }] = [...kinds].reduce((most, kind) => (kind[1].total > most[1].total ? kind : most));
  const share = total / value;
  return share < DECISIVE_SHARE ? "" : `; ${format.percent(100 * Math.min(1, share))} of it ${n === 1 ? `goes to one ${name}` : `goes to ${n.toLocaleString("en")} ${name}`}`;
}

/** What it needs of the memory that there is. */
function memoryOf(report: Report, target: string, estimates: ReadonlyMap<string, Estimate>, sram_bytes: number | null): { is_short: boolean; sentences: string[] } {
  const sram = estimates.get("sram_peak");
  const board = report.fits?.boards.find(({ id, latency }) => id === boardOf(target) || (boardOf(target) === null && latency?.target === target && !latency.is_transferred));
  const sentences: string[] = [];
  let is_short = false;
  if (sram && sram_bytes !== null) {
    is_short = sram.value > sram_bytes;
    sentences.push(`Needs ${ofWords(sram.value, sram_bytes)} of SRAM.`);
  }
  for (const { code, targets } of report.diagnostics) {
    if (!targets?.includes(target as never) || !Object.hasOwn(TOO_LARGE, code) || is_short) continue;
    const needed = estimates.get(code === "gpu-memory" ? "memory" : "sram_peak");
    is_short = true;
    sentences.push(`${TOO_LARGE[code]}${needed ? `: ${quantity(needed.value, needed.unit)}` : ""}.`);
  }
  const is_of_micro = !report.results.some((result) => result.target === target && result.metric === "activation_ram");
  if (board && !is_of_micro) {
    const needs = [["RAM", estimates.get("activation_ram"), board.ram_bytes], ["flash", estimates.get("weights_flash"), board.flash_bytes]] as const;
    const short = needs.flatMap(([name, need, bytes]) => (need && bytes !== null && need.value > bytes ? [`${quantity(need.value - bytes, "bytes")} of ${name}`] : []));
    if (short.length > 0) {
      is_short = true;
      sentences.push(`Lacks ${list(short)}.`);
    }
  } else if (board && board.reason === undefined && sram === undefined) {
    const short = ([["RAM", board.ram], ["flash", board.flash]] as const).flatMap(([name, room]) => (room?.room === "short" ? [`${quantity(room.missing_bytes, "bytes")} of ${name}`] : []));
    if (short.length > 0) {
      is_short ||= board.fits === "no";
      sentences.push(`${board.fits === "no" ? "Lacks" : "May lack"} ${list(short)} under TensorFlow Lite Micro.`);
    }
  }
  return { is_short, sentences };
}

/** Two sizes, in one unit where they are alike: `1.21 of 1.00 MiB`. */
function ofWords(value: number, whole: number): string {
  const is_alike = value > whole / 10;
  return `${is_alike ? format.bytesBeside(value, whole) : quantity(value, "bytes")} of ${format.text(format.bytes(whole))}`;
}

type Rate = Pick<Estimate, "value" | "lo" | "hi">;

/** Inferences a second, one after the other; null where nothing tells. */
function rateOf({ batch }: Pick<Report, "batch">, estimates: ReadonlyMap<string, Estimate>): Rate | null {
  const throughput = estimates.get("throughput");
  if (throughput) return throughput;
  const latency = estimates.get("latency");
  if (!latency || !(latency.value > 0)) return null;
  const rate = (ms: number | undefined): { hz?: number } => (ms !== undefined && ms > 0 ? { hz: (1000 * batch) / ms } : {});
  const [lo, hi] = [rate(latency.hi).hz, rate(latency.lo).hz];
  return { value: (1000 * batch) / latency.value, ...(lo !== undefined && hi !== undefined ? { lo, hi } : {}) };
}

/** Average power and the busy share of the time at the rate that is asked for; none where that rate is not reached. */
function atRate(report: Report, { rate_hz }: Budget, estimates: ReadonlyMap<string, Estimate>): string[] {
  const rate = rateOf(report, estimates);
  if (rate_hz === null || rate === null || rate.value < rate_hz) return [];
  const energy = estimates.get("energy");
  const scope = energy?.provenance.scope;
  const power = energy ? `${powerText((energy.value * rate_hz) / report.batch)} on average for the inferences alone${scope ? ` (${scope})` : ""}, ` : "";
  return [`At ${limitText(rate_hz, "inferences a second")}: ${power}busy for ${format.percent((100 * rate_hz) / rate.value)} of the time.`];
}

/** From milliwatts. */
function powerText(milliwatts: number): string {
  const [value, unit] = format.measure(milliwatts, "mJ");
  return `${value}\u202f${unit.replace("J", "W")}`;
}
