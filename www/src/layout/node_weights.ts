import { adjacency } from "./adjacency.ts";
import type { LayoutInput } from "./types.ts";

/** What a node is to the drawing: fed by an input of the model, or not, such as those that unpack weights. */
export const FED = 2;
/** The weight of a node that no input of the model reaches. */
export const NOT_FED = 1;

/** `FED` or `NOT_FED` for each node. */
export function nodeWeights({ node_widths, n_inputs, edges }: LayoutInput): Uint8Array {
  const n_nodes = node_widths.length;
  const { start, nodes } = adjacency(n_nodes, edges, 0, 1);
  const weight = new Uint8Array(n_nodes).fill(NOT_FED);
  const reached = Array.from({ length: n_inputs }, (_, v) => v);
  for (let v = reached.pop(); v !== undefined; v = reached.pop()) {
    if (weight[v] === FED) continue;
    weight[v] = FED;
    // One by one: a tensor may have more readers than a call takes arguments.
    for (let i = start[v]; i < start[v + 1]; i++) reached.push(nodes[i]);
  }
  return weight;
}
