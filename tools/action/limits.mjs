/** Limits of a change relative to its base: "latency: 5%" is at most 5 % slower. */
import { Refusal } from "./runner.mjs";

/** The codes that reports have for what `litecast check` limits under these names. */
const METRICS = {
  latency: "latency",
  energy: "energy",
  sram: "sram_peak",
  "activation-ram": "activation_ram",
  "weights-flash": "weights_flash",
  "file-flash": "file_flash",
  "offchip-traffic": "offchip_traffic",
  arena: "arena_bytes",
  activations: "activation_bytes",
  "file-size": "file_bytes",
  macs: "macs",
  parameters: "parameters",
};

/** Lines of the input `max-increase`: `[TARGET] METRIC: PERCENT`. */
export function parse(lines) {
  return lines.map((line) => {
    const match = /^(?:(\S+)\s+)?([a-z-]+)\s*[:=]?\s*\+?(\d+(?:\.\d+)?)\s*%?$/.exec(line);
    if (!match) throw new Refusal(`expected lines such as "latency: 5%" in the input "max-increase", found ${JSON.stringify(line)}`);
    const [, target, metric, percent] = match;
    if (!Object.hasOwn(METRICS, metric)) throw new Refusal(`expected one of ${Object.keys(METRICS).join(", ")} in the input "max-increase", found ${JSON.stringify(metric)}`);
    return { target, metric, percent: Number(percent) };
  });
}

function rowsOf({ facts, results }, { target, metric }) {
  const code = METRICS[metric];
  const isMeant = (row) => row.metric === code && (target === undefined || row.target === target);
  return [...facts.filter(({ fact }) => fact === code), ...results.filter(isMeant)];
}

/** A verdict for each limit and target: `within`, `over`, or `unknown` where the estimate was lost or never was. */
export function judge(comparison, limits) {
  return limits.flatMap((limit) => rowsOf(comparison, limit).map((row) => {
    const { before, after, unit } = row;
    const increase = before > 0 ? 100 * (after / before - 1) : after > before ? Infinity : 0;
    const status = before === null ? "unknown" : after === null ? "lost" : increase > limit.percent * (1 + 1e-12) ? "over" : "within";
    return { target: row.target, metric: limit.metric, limit_percent: limit.percent, before, after, unit, increase, status };
  }));
}

const rounded = (value) => (value === null ? "?" : String(Number(value.toPrecision(3))));

export function describe({ target, metric, limit_percent, before, after, unit, increase, status }) {
  const place = target ? `${metric} on ${target}` : metric;
  if (status === "lost") return `${place}: ${rounded(before)} ${unit} before, no estimate after`;
  if (status === "unknown") return `${place}: no estimate before`;
  const change = increase === Infinity ? "from 0" : `${increase < 0 ? "−" : "+"}${rounded(Math.abs(increase))} %`;
  return `${place}: ${change} (${rounded(before)} to ${rounded(after)} ${unit}), at most +${limit_percent} %`;
}

export const isFailure = ({ status }) => status === "over" || status === "lost";
