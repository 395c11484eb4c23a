/**
 * Columns by Brandes and Köpf (2001): four extreme alignments, each straight along its blocks, and the
 * middle of the four. One change: an element aligns only with the weightiest of its neighbours,
 * so that the main path of a network stays straight, and skips and unpacked weights bend around it.
 */
import type { LayeredGraph } from "./types.ts";

/** Free space between neighbours of a row, in px. */
const COLUMN_GAP = 22;

/** Centre of each element in px, for the given order of the rows. */
export function placeColumns(graph: LayeredGraph, order: number[][]): Float32Array {
  const position = numberRows(graph.row_of.length, order);
  const conflicts = findConflicts(graph, order, position);
  const alignments: Float64Array[] = [];
  for (const downwards of [true, false]) {
    for (const leftwards of [true, false]) {
      alignments.push(placeOneWay(graph, order, conflicts, downwards, leftwards));
    }
  }
  return balance(graph, alignments);
}

function numberRows(n: number, order: number[][]): Int32Array {
  const position = new Int32Array(n);
  for (const row of order) row.forEach((v, i) => (position[v] = i));
  return position;
}

function placeOneWay(
  graph: LayeredGraph,
  order: number[][],
  conflicts: Set<number>,
  downwards: boolean,
  leftwards: boolean,
): Float64Array {
  const rows = downwards ? order : order.slice().reverse();
  const facing = leftwards ? rows : rows.map((row) => (row.length > 1 ? row.slice().reverse() : row));
  const [neighbours, opposite] = downwards ? [graph.up, graph.down] : [graph.down, graph.up];
  const root = alignBlocks(graph, facing, neighbours, opposite, conflicts);
  const x = compact(graph, facing, root);
  return leftwards ? x : x.map((value) => -value);
}

const conflictKey = (graph: LayeredGraph, a: number, b: number): number =>
  Math.min(a, b) * graph.row_of.length + Math.max(a, b);

/** Pieces that cross a passing line: the line stays straight, the piece gives way. */
function findConflicts(graph: LayeredGraph, order: number[][], position: Int32Array): Set<number> {
  const conflicts = new Set<number>();
  for (let r = 1; r < order.length; r++) {
    const row = order[r];
    let scanned = 0;
    let left = 0;
    row.forEach((v, i) => {
      const above = passingAbove(graph, v);
      if (above === undefined && i < row.length - 1) return;
      const right = above === undefined ? order[r - 1].length : position[above];
      for (; scanned <= i; scanned++) markOutside(graph, row[scanned], left, right, position, conflicts);
      left = right;
    });
  }
  return conflicts;
}

function passingAbove(graph: LayeredGraph, v: number): number | undefined {
  if (v < graph.n_nodes) return undefined;
  return graph.up[v].find((u) => u >= graph.n_nodes);
}

function markOutside(
  graph: LayeredGraph,
  v: number,
  left: number,
  right: number,
  position: Int32Array,
  conflicts: Set<number>,
): void {
  for (const u of graph.up[v]) {
    const passing = u >= graph.n_nodes && v >= graph.n_nodes;
    if (!passing && (position[u] < left || position[u] > right)) conflicts.add(conflictKey(graph, u, v));
  }
}

/** Root of the vertical block of each element. */
function alignBlocks(
  graph: LayeredGraph,
  rows: number[][],
  neighbours: number[][],
  opposite: number[][],
  conflicts: Set<number>,
): Int32Array {
  const n = graph.row_of.length;
  const position = numberRows(n, rows);
  const root = Int32Array.from({ length: n }, (_, i) => i);
  const taken = new Uint8Array(n);
  for (const row of rows) {
    let last = -1;
    for (const v of row) {
      for (const u of middleNeighbours(graph, neighbours[v], position)) {
        if (taken[u] || position[u] <= last || conflicts.has(conflictKey(graph, u, v))) continue;
        if (graph.weight[v] < heaviest(graph, opposite[u])) continue;
        root[v] = root[u];
        taken[u] = 1;
        last = position[u];
        break;
      }
    }
  }
  return root;
}

function heaviest(graph: LayeredGraph, list: number[]): number {
  return list.reduce((most, v) => Math.max(most, graph.weight[v]), 0);
}

function middleNeighbours(graph: LayeredGraph, list: number[], position: Int32Array): number[] {
  const most = heaviest(graph, list);
  const sorted = list.filter((u) => graph.weight[u] === most).sort((a, b) => position[a] - position[b]);
  if (sorted.length < 2) return sorted;
  const middle = (sorted.length - 1) / 2;
  return sorted.slice(Math.floor(middle), Math.ceil(middle) + 1);
}

/** Packs the blocks to the left, then pulls each towards what stands right of it. */
function compact(graph: LayeredGraph, rows: number[][], root: Int32Array): Float64Array {
  const n = root.length;
  // Of the blocks that have any.
  const right = new Map<number, { block: number; distance: number }[]>();
  const waiting = new Int32Array(n);
  for (const row of rows) {
    for (let i = 0; i + 1 < row.length; i++) {
      const distance = (graph.widths[row[i]] + graph.widths[row[i + 1]]) / 2 + COLUMN_GAP;
      const others = right.get(root[row[i]]);
      const other = { block: root[row[i + 1]], distance };
      if (others) others.push(other);
      else right.set(root[row[i]], [other]);
      waiting[root[row[i + 1]]] += 1;
    }
  }
  const x = new Float64Array(n);
  const order = [...root.keys()].filter((v) => root[v] === v && waiting[v] === 0);
  for (let i = 0; i < order.length; i++) {
    for (const { block, distance } of right.get(order[i]) ?? []) {
      x[block] = Math.max(x[block], x[order[i]] + distance);
      if (--waiting[block] === 0) order.push(block);
    }
  }
  for (let i = order.length - 1; i >= 0; i--) {
    let limit = Infinity;
    for (const { block, distance } of right.get(order[i]) ?? []) limit = Math.min(limit, x[block] - distance);
    if (limit < Infinity) x[order[i]] = Math.max(x[order[i]], limit);
  }
  return x.map((_, v) => x[root[v]]);
}

/** Aligns the four to the narrowest and takes the mean of the middle two. */
function balance(graph: LayeredGraph, alignments: Float64Array[]): Float32Array {
  const bounds = alignments.map((x) => extent(graph, x));
  const narrowest = bounds.reduce((a, b) => (b.right - b.left < a.right - a.left ? b : a));
  alignments.forEach((x, i) => {
    const leftwards = i % 2 === 0;
    const shift = leftwards ? narrowest.left - bounds[i].left : narrowest.right - bounds[i].right;
    x.forEach((value, v) => (x[v] = value + shift));
  });
  return Float32Array.from({ length: graph.row_of.length }, (_, v) => {
    const sorted = alignments.map((x) => x[v]).sort((a, b) => a - b);
    return (sorted[1] + sorted[2]) / 2;
  });
}

function extent(graph: LayeredGraph, x: Float64Array): { left: number; right: number } {
  let left = Infinity;
  let right = -Infinity;
  x.forEach((centre, v) => {
    left = Math.min(left, centre - graph.widths[v] / 2);
    right = Math.max(right, centre + graph.widths[v] / 2);
  });
  return { left, right };
}
