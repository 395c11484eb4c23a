/** Kinds of operators: what the drawing colours. */

import { MEMBERS } from "./operator_kinds.ts";

/** Kinds of operators, each with a colour. */
export type Kind =
  | "convolution"
  | "depthwise"
  | "matrix"
  | "recurrent"
  | "arithmetic"
  | "activation"
  | "reduction"
  | "movement"
  | "conversion"
  | "control"
  | "other";

/** Names of the kinds in legends. */
export const KIND_NAMES: Record<Kind, string> = {
  convolution: "Convolution",
  depthwise: "Depthwise convolution",
  matrix: "Matrix product",
  recurrent: "Recurrent",
  arithmetic: "Arithmetic",
  activation: "Activation, normalisation",
  reduction: "Pooling, reduction",
  movement: "Data movement",
  conversion: "Precision change",
  control: "Control flow",
  other: "Custom and other",
};

const KIND_OF = new Map<string, Kind>(
  Object.entries(MEMBERS satisfies Record<Exclude<Kind, "other">, string>).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind as Kind] as const)),
);

/** The kind of an operator by its name in the schema. */
export function kindOf(operator: { name: string; custom: boolean }): Kind {
  return operator.custom ? "other" : (KIND_OF.get(operator.name) ?? "other");
}

/** Operators of each kind and what they cost together, or the largest where costs are no sum; the costliest kind first. */
export function costsByKind(operators: readonly { name: string; custom: boolean }[], costs: readonly number[], is_sum: boolean): [Kind, { n: number; cost: number }][] {
  const kinds = new Map<Kind, { n: number; cost: number }>();
  operators.forEach((operator, index) => {
    const kind = kindOf(operator);
    const { n, cost } = kinds.get(kind) ?? { n: 0, cost: 0 };
    const value = costs[index] ?? 0;
    kinds.set(kind, { n: n + 1, cost: is_sum ? cost + value : Math.max(cost, value) });
  });
  return [...kinds].sort(([, a], [, b]) => b.cost - a.cost || b.n - a.n);
}
