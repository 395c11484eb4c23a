import { type Adjacency, adjacency, degree } from "./adjacency.ts";
import { FED } from "./node_weights.ts";

/** Passes that move nodes towards their readers; each can lengthen no line. More gain nothing on real models. */
const TIGHTEN_PASSES = 4;

/**
 * Row of each node: below all it reads from. As close to its first reader as it can be where the model's input does not
 * feed it, or where more lines leave it than enter it. `weight` is that of `nodeWeights`. `edges` holds `src`, `dst`, `tensor` triples.
 * An edge that closes a circle is left out of the count.
 */
export function assignRows(weight: Uint8Array, edges: Int32Array): Int32Array {
  const n_nodes = weight.length;
  const inputs = adjacency(n_nodes, edges, 1, 0);
  const outputs = adjacency(n_nodes, edges, 0, 1);
  const order = topologicalOrder(inputs, outputs);
  const row = new Int32Array(n_nodes);
  for (const v of order) {
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) row[outputs.nodes[i]] = Math.max(row[outputs.nodes[i]], row[v] + 1);
  }
  for (let pass = 0; pass < TIGHTEN_PASSES; pass++) if (!tighten(order, weight, inputs, outputs, row)) break;
  return row;
}

/** Kahn's order; nodes in or behind a circle are missing from it. */
function topologicalOrder(inputs: Adjacency, { start, nodes }: Adjacency): Int32Array {
  const waiting = Int32Array.from({ length: start.length - 1 }, (_, v) => degree(inputs, v));
  const order = new Int32Array(waiting.length);
  let n = 0;
  for (let v = 0; v < waiting.length; v++) if (waiting[v] === 0) order[n++] = v;
  for (let at = 0; at < n; at++) {
    const v = order[at];
    for (let i = start[v]; i < start[v + 1]; i++) if (--waiting[nodes[i]] === 0) order[n++] = nodes[i];
  }
  return order.subarray(0, n);
}

function tighten(order: Int32Array, weight: Uint8Array, inputs: Adjacency, outputs: Adjacency, row: Int32Array): boolean {
  let moved = false;
  for (let i = order.length - 1; i >= 0; i--) {
    const v = order[i];
    if (weight[v] === FED && degree(outputs, v) <= degree(inputs, v)) continue;
    let lowest = Infinity;
    for (let at = outputs.start[v]; at < outputs.start[v + 1]; at++) lowest = Math.min(lowest, row[outputs.nodes[at]] - 1);
    if (lowest > row[v] && lowest < Infinity) {
      row[v] = lowest;
      moved = true;
    }
  }
  return moved;
}
