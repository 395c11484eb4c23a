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
  for (const v of order) for (const w of outputs[v]) row[w] = Math.max(row[w], row[v] + 1);
  for (let pass = 0; pass < TIGHTEN_PASSES; pass++) if (!tighten(order, weight, inputs, outputs, row)) break;
  return row;
}

function adjacency(n_nodes: number, edges: Int32Array, from: 0 | 1, to: 0 | 1): number[][] {
  const lists: number[][] = Array.from({ length: n_nodes }, () => []);
  for (let e = 0; e < edges.length; e += 3) lists[edges[e + from]].push(edges[e + to]);
  return lists;
}

/** Kahn's order; nodes in or behind a circle are missing from it. */
function topologicalOrder(inputs: number[][], outputs: number[][]): number[] {
  const waiting = inputs.map((list) => list.length);
  const order = [...waiting.keys()].filter((v) => waiting[v] === 0);
  for (let i = 0; i < order.length; i++) {
    for (const w of outputs[order[i]]) if (--waiting[w] === 0) order.push(w);
  }
  return order;
}

function tighten(order: number[], weight: Uint8Array, inputs: number[][], outputs: number[][], row: Int32Array): boolean {
  let moved = false;
  for (let i = order.length - 1; i >= 0; i--) {
    const v = order[i];
    if (weight[v] === FED && outputs[v].length <= inputs[v].length) continue;
    let lowest = Infinity;
    for (const w of outputs[v]) lowest = Math.min(lowest, row[w] - 1);
    if (lowest > row[v] && lowest < Infinity) {
      row[v] = lowest;
      moved = true;
    }
  }
  return moved;
}
