/** What is laid out, the layout, and the rows between the two. */

/** A graph as the layout takes it. */
export interface LayoutInput {
  /** The first nodes are the inputs of the model; what they feed is the main path. */
  n_inputs: number;
  /** Width of each node in px. */
  node_widths: Float32Array;
  /** `src`, `dst`, `tensor` of each edge; `src` and `dst` are node indices. */
  edges: Int32Array;
}

/** Columns are px, centred on the node; rows count from 0 at the top. */
export interface Layout {
  n_rows: number;
  width: number;
  node_x: Float32Array;
  node_row: Int32Array;
  /** Line pieces from one row to the next, sorted by row. */
  segments: Segments;
  /** Edges too long to route: `src`, `dst`, `tensor` of each. */
  leaps: Int32Array;
}

/** Pieces of lines, each from one row to the next, as parallel arrays. */
export interface Segments {
  x_from: Float32Array;
  x_to: Float32Array;
  /** Row the piece starts from. */
  row: Int32Array;
  tensor: Int32Array;
  /** 1 where the piece starts at a waypoint and so also crosses its own row. */
  from_waypoint: Uint8Array;
  /** First piece of each row; one more entry than there are rows. */
  row_start: Int32Array;
}

/** Nodes, then waypoints, with their neighbours one row up and one row down. */
export interface LayeredGraph {
  n_nodes: number;
  widths: Float32Array;
  row_of: Int32Array;
  /** What gets the straight lines: as from `nodeWeights`, and 0 for a waypoint. */
  weight: Uint8Array;
  up: number[][];
  down: number[][];
  /** Tensor of each entry of `down`. */
  down_tensor: number[][];
  n_rows: number;
  leaps: number[];
}
