import type { LayeredGraph, LayoutInput } from "./types.ts";

/** Width that a line takes where it passes a row, in px. */
const WAYPOINT_WIDTH = 10;
/**
 * Most waypoints in one drawing. A tensor read across n rows needs n of them, so a graph of n
 * operators can ask for n²/2; the longest lines beyond this are drawn as single arcs.
 */
export const MAX_WAYPOINTS = 40_000;

interface Line {
  src: number;
  tensor: number;
  readers: Set<number>;
  last_row: number;
}

/** Splits every line into pieces of one row each. */
export function insertWaypoints(input: LayoutInput, weight: Uint8Array, row_of_node: Int32Array): LayeredGraph {
  const n_nodes = row_of_node.length;
  const graph = emptyGraph(n_nodes);
  const rows = Array.from(row_of_node);
  let budget = MAX_WAYPOINTS;
  for (const line of linesByLength(input.edges, row_of_node)) {
    const needed = Math.max(0, line.last_row - row_of_node[line.src] - 1);
    if (needed > budget) {
      for (const reader of line.readers) graph.leaps.push(line.src, reader, line.tensor);
    } else {
      budget -= needed;
      route(graph, rows, line);
    }
  }
  graph.row_of = Int32Array.from(rows);
  graph.widths = new Float32Array(rows.length).fill(WAYPOINT_WIDTH);
  graph.widths.set(input.node_widths);
  graph.weight = new Uint8Array(rows.length);
  graph.weight.set(weight);
  graph.n_rows = rows.reduce((most, row) => Math.max(most, row + 1), 0);
  return graph;
}

function emptyGraph(n_nodes: number): LayeredGraph {
  const lists = () => Array.from({ length: n_nodes }, (): number[] => []);
  return {
    n_nodes,
    widths: new Float32Array(),
    row_of: new Int32Array(),
    weight: new Uint8Array(),
    up: lists(),
    down: lists(),
    down_tensor: lists(),
    n_rows: 0,
    leaps: [],
  };
}

/** One line a (writer, tensor), shortest first; circles are left out. */
function linesByLength(edges: Int32Array, row: Int32Array): Line[] {
  const lines = new Map<string, Line>();
  for (let e = 0; e < edges.length; e += 3) {
    const [src, dst, tensor] = [edges[e], edges[e + 1], edges[e + 2]];
    if (row[dst] <= row[src]) continue;
    const key = `${src} ${tensor}`;
    const line = lines.get(key) ?? { src, tensor, readers: new Set<number>(), last_row: 0 };
    line.readers.add(dst);
    line.last_row = Math.max(line.last_row, row[dst]);
    lines.set(key, line);
  }
  return [...lines.values()].sort((a, b) => a.last_row - row[a.src] - (b.last_row - row[b.src]));
}

function route(graph: LayeredGraph, rows: number[], line: Line): void {
  const trunk = [line.src];
  for (let row = rows[line.src] + 1; row < line.last_row; row++) {
    const waypoint = rows.length;
    rows.push(row);
    graph.up.push([]);
    graph.down.push([]);
    graph.down_tensor.push([]);
    link(graph, trunk[trunk.length - 1], waypoint, line.tensor);
    trunk.push(waypoint);
  }
  for (const reader of line.readers) {
    link(graph, trunk[rows[reader] - rows[line.src] - 1], reader, line.tensor);
  }
}

function link(graph: LayeredGraph, from: number, to: number, tensor: number): void {
  graph.down[from].push(to);
  graph.down_tensor[from].push(tensor);
  graph.up[to].push(from);
}
