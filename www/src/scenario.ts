/** What if: the network or the way it runs is another one. */
import type { Changes } from "../package/types/index.d.ts";
import * as format from "./format.ts";
import type { Scenario, Sizes } from "./report.ts";

export type { Scenario, Sizes };

/** The network as its file has it, on one thread. */
export const AS_IT_IS: Scenario = { batch: 1, threads: 1, resolution: 1, width: 1, channels: null, int8: false, low_memory_order: false, dimensions: {} };

/** Of the network alone. */
export function changesOf({ resolution, width, channels, int8, low_memory_order }: Scenario): Changes {
  return { resolution, width, int8, low_memory_order, ...(channels ? { channels } : {}) };
}

/** Whether the network itself is another one. */
export function isChanged({ resolution, width, channels, int8, low_memory_order }: Scenario): boolean {
  return resolution !== 1 || width !== 1 || channels !== null || int8 || low_memory_order;
}

/** What differs from the file as it is; empty where nothing does. */
export function scenarioWords({ batch, threads, resolution, width, channels, int8, low_memory_order, dimensions = {} }: Omit<Scenario, "dimensions"> & Partial<Scenario>): string[] {
  return [
    batch > 1 ? `batch ${batch}` : "",
    threads > 1 ? format.plural(threads, "thread") : "",
    resolution !== 1 ? `${factorText(resolution)} resolution` : "",
    width !== 1 ? `${factorText(width)} width` : "",
    channels ? `${channels.to} instead of ${channels.from} channels` : "",
    int8 ? "quantised to int8" : "",
    low_memory_order ? "operators reordered" : "",
    ...Object.entries(dimensions).map(([name, size]) => `${name} = ${size}`),
  ].filter(Boolean);
}

/** A factor as it is shown: `0.5×`. */
export function factorText(factor: number): string {
  return `${Number(factor.toFixed(3))}×`;
}

/** In the address of an example; `null` where nothing is changed. */
export function scenarioParameters(scenario: Scenario): [string, string][] {
  const numbers = (["batch", "threads", "resolution", "width"] as const).filter((name) => scenario[name] !== 1);
  const flags = (["int8", "low_memory_order"] as const).filter((name) => scenario[name]);
  const { channels } = scenario;
  return [
    ...numbers.map((name): [string, string] => [name, String(scenario[name])]),
    ...flags.map((name): [string, string] => [name, "1"]),
    ...(channels ? [["channels", `${channels.from}-${channels.to}`] as [string, string]] : []),
  ];
}

/** The scenario of an address; what it does not say, or says wrongly, is as it is. */
export function readScenario(parameters: URLSearchParams): Scenario {
  const number = (name: string): number => {
    const value = Number(parameters.get(name));
    return value > 0 && Number.isFinite(value) ? value : 1;
  };
  const [from, to] = (parameters.get("channels") ?? "").split("-").map(Number);
  return {
    ...AS_IT_IS,
    channels: from > 0 && to > 0 ? { from, to } : null,
    batch: number("batch"),
    threads: number("threads"),
    resolution: number("resolution"),
    width: number("width"),
    int8: parameters.has("int8"),
    low_memory_order: parameters.has("low_memory_order"),
  };
}
