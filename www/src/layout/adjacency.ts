/** Neighbours of all nodes in two arrays: as many lists of their own would take ten times the memory. */
export interface Adjacency {
  /** Of each node, where its neighbours begin in `nodes`; they end where those of the next one begin. */
  start: Int32Array;
  nodes: Int32Array;
}

/** `edges` holds `src`, `dst`, `tensor` triples, whose parts `from` and `to` are; neighbours are in the order of the edges. */
export function adjacency(n_nodes: number, edges: Int32Array, from: 0 | 1, to: 0 | 1): Adjacency {
  const start = new Int32Array(n_nodes + 1);
  for (let e = 0; e < edges.length; e += 3) start[edges[e + from] + 1] += 1;
  for (let v = 0; v < n_nodes; v++) start[v + 1] += start[v];
  const nodes = new Int32Array(edges.length / 3);
  const next = start.slice();
  for (let e = 0; e < edges.length; e += 3) nodes[next[edges[e + from]]++] = edges[e + to];
  return { start, nodes };
}

/** How many neighbours a node has. */
export function degree({ start }: Adjacency, v: number): number {
  return start[v + 1] - start[v];
}

/** Adds to the list of a node: the first entry makes a list of that length, where a push makes one of seventeen. */
export function addTo(lists: number[][], v: number, entry: number): void {
  if (lists[v].length === 0) lists[v] = [entry];
  else lists[v].push(entry);
}
