import { addTo } from "./adjacency.ts";
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
  readers: readonly number[];
  last_row: number;
}

/** Splits every line into pieces of one row each. */
export function insertWaypoints(input: LayoutInput, weight: Uint8Array, row_of_node: Int32Array): LayeredGraph {
  const n_nodes = row_of_node.length;
  const graph = emptyGraph(n_nodes);
  const rows = Array.from(row_of_node);
  let budget = MAX_WAYPOINTS;
  const lines = linesOf(input.edges, row_of_node);
  for (const idx of lines.by_length) {
    const line = lineOf(lines, idx, input.edges, row_of_node);
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

/** Lines one a (writer, tensor), shortest first, each with its edges; circles are left out. */
interface Lines {
  /** Places of edges, those of one line after the other. */
  edges: Int32Array;
  /** Where those of a line begin in them, and where the next one's do. */
  start: Int32Array;
  by_length: Int32Array;
}

function linesOf(edges: Int32Array, row: Int32Array): Lines {
  const places = Int32Array.from({ length: edges.length / 3 }, (_, i) => 3 * i).filter((e) => row[edges[e + 1]] > row[edges[e]]);
  places.sort((a, b) => edges[a] - edges[b] || edges[a + 2] - edges[b + 2] || a - b);
  const is_first = (at: number): boolean => at === 0 || edges[places[at]] !== edges[places[at - 1]] || edges[places[at] + 2] !== edges[places[at - 1] + 2];
  const n_lines = places.reduce((n, _, at) => n + Number(is_first(at)), 0);
  const start = new Int32Array(n_lines + 1).fill(places.length);
  const length = new Int32Array(n_lines);
  let line = -1;
  places.forEach((e, at) => {
    if (is_first(at)) start[++line] = at;
    length[line] = Math.max(length[line], row[edges[e + 1]] - row[edges[e]]);
  });
  // Those of one length in the order of their first edges.
  const by_length = Int32Array.from(length.keys()).sort((a, b) => length[a] - length[b] || places[start[a]] - places[start[b]]);
  return { edges: places, start, by_length };
}

/** Of one line. */
function lineOf({ edges: places, start }: Lines, line: number, edges: Int32Array, row: Int32Array): Line {
  const edges_of_line = places.subarray(start[line], start[line + 1]);
  const [first] = edges_of_line;
  const readers = Array.from(edges_of_line, (e) => edges[e + 1]);
  const last_row = readers.reduce((last, reader) => Math.max(last, row[reader]), 0);
  return { src: edges[first], tensor: edges[first + 2], readers: readers.length > 1 ? [...new Set(readers)] : readers, last_row };
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
  addTo(graph.down, from, to);
  addTo(graph.down_tensor, from, tensor);
  addTo(graph.up, to, from);
}
