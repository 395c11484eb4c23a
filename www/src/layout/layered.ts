/**
 * Layered drawing of a directed acyclic graph (Sugiyama, Tagawa, Toda 1981): rows, then order within the
 * rows, then positions. Linear in operators and waypoints up to a small factor; `order` sweeps a fixed number of times.
 *
 * A tensor read by several operators is one line with branches, so that a mask that every layer of
 * a transformer reads costs one waypoint a row and not one a row and reader.
 */
import { orderRows } from "./order.ts";
import { placeColumns } from "./columns.ts";
import { assignRows } from "./rows.ts";
import type { LayeredGraph, Layout, LayoutInput, Segments } from "./types.ts";
import { insertWaypoints } from "./waypoints.ts";
import { nodeWeights } from "./node_weights.ts";

/** `progress` hears the part that is done, 0 to 1. */
export function layOut(input: LayoutInput, progress: (done: number) => void = () => {}): Layout {
  const weight = nodeWeights(input);
  const rows = assignRows(weight, input.edges);
  const graph = insertWaypoints(input, weight, rows);
  progress(0.1);
  const order = orderRows(graph, (done) => progress(0.1 + 0.5 * done));
  const x = placeColumns(graph, order);
  progress(0.9);
  const width = shiftToZero(graph, x);
  const n = graph.n_nodes;
  return {
    n_rows: graph.n_rows,
    width,
    node_x: x.slice(0, n),
    node_row: graph.row_of.slice(0, n),
    segments: collectSegments(graph, order, x),
    leaps: Int32Array.from(graph.leaps),
  };
}

/** Moves all columns so that the leftmost border is 0; returns the width. */
function shiftToZero(graph: LayeredGraph, x: Float32Array): number {
  let left = Infinity;
  let right = -Infinity;
  x.forEach((centre, i) => {
    left = Math.min(left, centre - graph.widths[i] / 2);
    right = Math.max(right, centre + graph.widths[i] / 2);
  });
  if (x.length === 0) return 0;
  x.forEach((centre, i) => (x[i] = centre - left));
  return right - left;
}

function collectSegments(graph: LayeredGraph, order: number[][], x: Float32Array): Segments {
  const n = graph.down.reduce((sum, list) => sum + list.length, 0);
  const segments: Segments = {
    x_from: new Float32Array(n),
    x_to: new Float32Array(n),
    row: new Int32Array(n),
    tensor: new Int32Array(n),
    from_waypoint: new Uint8Array(n),
    row_start: new Int32Array(order.length + 1),
  };
  let i = 0;
  order.forEach((row, r) => {
    segments.row_start[r] = i;
    for (const v of row) {
      graph.down[v].forEach((w, k) => {
        segments.x_from[i] = x[v];
        segments.x_to[i] = x[w];
        segments.row[i] = r;
        segments.tensor[i] = graph.down_tensor[v][k];
        segments.from_waypoint[i] = v >= graph.n_nodes ? 1 : 0;
        i += 1;
      });
    }
  });
  segments.row_start[order.length] = i;
  return segments;
}
