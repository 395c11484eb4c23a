import { addTo } from "./adjacency.ts";
import type { LayeredGraph } from "./types.ts";

/** Sweeps down and up; real models stop getting better after a few. */
const MAX_SWEEPS = 8;
/** Sweeps without a better order before giving up. */
const MAX_SWEEPS_WITHOUT_GAIN = 3;

/** Elements of each row from left to right, with few crossings (barycentre heuristic). */
export function orderRows(graph: LayeredGraph, progress: (done: number) => void = () => {}): number[][] {
  let rows = firstOrder(graph);
  const position = new Int32Array(graph.row_of.length);
  let best = rows;
  let fewest = countCrossings(graph, rows, position);
  for (let sweep = 0, idle = 0; sweep < MAX_SWEEPS && idle < MAX_SWEEPS_WITHOUT_GAIN && fewest > 0; sweep++) {
    rows = rows.map((row) => row.slice());
    sweepRows(graph, rows, position, sweep % 2 === 0);
    const crossings = countCrossings(graph, rows, position);
    progress((sweep + 1) / MAX_SWEEPS);
    idle = crossings < fewest ? 0 : idle + 1;
    if (crossings < fewest) {
      fewest = crossings;
      best = rows;
    }
  }
  return best;
}

/** Depth first from the nodes nothing flows into, which keeps branches together. */
function firstOrder(graph: LayeredGraph): number[][] {
  const rows: number[][] = Array.from({ length: graph.n_rows }, () => []);
  const seen = new Uint8Array(graph.row_of.length);
  const starts = [...graph.up.keys()].filter((v) => graph.up[v].length === 0);
  starts.sort((a, b) => graph.row_of[a] - graph.row_of[b]);
  for (const start of starts) {
    const stack = [start];
    while (stack.length > 0) {
      const v = stack.pop() as number;
      if (seen[v]) continue;
      seen[v] = 1;
      addTo(rows, graph.row_of[v], v);
      for (let k = graph.down[v].length - 1; k >= 0; k--) stack.push(graph.down[v][k]);
    }
  }
  return rows;
}

function sweepRows(graph: LayeredGraph, rows: number[][], position: Int32Array, downwards: boolean): void {
  for (const row of rows) number(row, position);
  const neighbours = downwards ? graph.up : graph.down;
  for (let i = 1; i < rows.length; i++) {
    const row = rows[downwards ? i : rows.length - 1 - i];
    sortByBarycentre(row, neighbours, position);
    number(row, position);
  }
}

function number(row: number[], position: Int32Array): void {
  row.forEach((v, i) => (position[v] = i));
}

/** Elements without neighbours keep their place. */
function sortByBarycentre(row: number[], neighbours: number[][], position: Int32Array): void {
  if (row.length < 2) return;
  const movable = row.filter((v) => neighbours[v].length > 0);
  const centre = new Map(movable.map((v) => [v, barycentre(neighbours[v], position)]));
  movable.sort((a, b) => (centre.get(a) as number) - (centre.get(b) as number));
  let next = 0;
  row.forEach((v, i) => {
    if (neighbours[v].length > 0) row[i] = movable[next++];
  });
}

function barycentre(list: number[], position: Int32Array): number {
  let sum = 0;
  for (const w of list) sum += position[w];
  return sum / list.length;
}

/** Crossings between all neighbouring rows, n log n in the lines (Barth, Mutzel, Jünger 2004). */
export function countCrossings(graph: LayeredGraph, rows: number[][], position: Int32Array): number {
  for (const row of rows) number(row, position);
  let total = 0;
  for (let r = 0; r + 1 < rows.length; r++) {
    if (rows[r].length > 1 && rows[r + 1].length > 1) total += crossingsBelow(graph, rows[r], rows[r + 1].length, position);
  }
  return total;
}

function crossingsBelow(graph: LayeredGraph, row: number[], n_below: number, position: Int32Array): number {
  const counts = new Int32Array(n_below + 1);
  let seen = 0;
  let crossings = 0;
  for (const v of row) {
    const ends = graph.down[v].map((w) => position[w]).sort((a, b) => a - b);
    for (const end of ends) crossings += seen - prefixSum(counts, end + 1);
    for (const end of ends) addAt(counts, end + 1);
    seen += ends.length;
  }
  return crossings;
}

/** Fenwick tree: sum of the first `i` counts. */
function prefixSum(counts: Int32Array, i: number): number {
  let sum = 0;
  for (; i > 0; i -= i & -i) sum += counts[i];
  return sum;
}

function addAt(counts: Int32Array, i: number): void {
  for (; i < counts.length; i += i & -i) counts[i] += 1;
}
