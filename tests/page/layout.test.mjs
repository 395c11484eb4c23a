import assert from "node:assert/strict";
import { test } from "node:test";
import { randomNumbers } from "./random.mjs";
import { importSource } from "./sources.mjs";

const { layOut } = await importSource("layout/layered.ts");
const { countCrossings } = await importSource("layout/order.ts");
const { assignRows } = await importSource("layout/rows.ts");
const { MAX_WAYPOINTS } = await importSource("layout/waypoints.ts");

const WIDTH = 100;

function layOutEdges(n_nodes, edges, n_inputs = 1) {
  const triples = Int32Array.from(edges.flatMap(([src, dst], i) => [src, dst, edges[i][2] ?? src]));
  return layOut({ n_inputs, node_widths: new Float32Array(n_nodes).fill(WIDTH), edges: triples });
}

function randomEdges(n_nodes, n_edges, random) {
  return Array.from({ length: n_edges }, () => {
    const [a, b] = [Math.floor(random() * n_nodes), Math.floor(random() * n_nodes)];
    return a < b ? [a, b] : [b, a];
  }).filter(([a, b]) => a !== b);
}

test("every line goes down and no two boxes of a row touch, on 60 random graphs", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = randomNumbers(seed);
    const n = 2 + Math.floor(random() * 60);
    const edges = randomEdges(n, n * 2, random);
    const { node_row, node_x, n_rows } = layOutEdges(n, edges);
    for (const [src, dst] of edges) assert.ok(node_row[src] < node_row[dst], `seed ${seed}: ${src} → ${dst}`);
    for (let row = 0; row < n_rows; row++) {
      const places = [...node_x].filter((_, v) => node_row[v] === row).sort((a, b) => a - b);
      places.slice(1).forEach((x, i) => assert.ok(x - places[i] >= WIDTH, `seed ${seed}, row ${row}: ${places[i]} and ${x}`));
    }
  }
});

test("line pieces join each writer with each of its readers", () => {
  for (let seed = 100; seed < 120; seed++) {
    const random = randomNumbers(seed);
    const edges = randomEdges(30, 60, random);
    const { segments, node_x, node_row } = layOutEdges(30, edges);
    for (const [src, dst] of edges) {
      let reached = new Set([node_x[src]]);
      for (let row = node_row[src]; row < node_row[dst]; row++) {
        const next = new Set();
        for (let i = segments.row_start[row]; i < segments.row_start[row + 1]; i++) {
          if (segments.tensor[i] === src && reached.has(segments.x_from[i])) next.add(segments.x_to[i]);
        }
        reached = next;
      }
      assert.ok(reached.has(node_x[dst]), `seed ${seed}: ${src} → ${dst}`);
    }
  }
});

test("crossings equal a count of all pairs", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = randomNumbers(seed);
    const upper = Array.from({ length: 12 }, (_, i) => i);
    const lower = Array.from({ length: 12 }, (_, i) => 12 + i);
    const down = upper.map(() => lower.filter(() => random() < 0.3));
    const graph = { down: [...down, ...lower.map(() => [])] };
    let expected = 0;
    const pieces = down.flatMap((list, v) => list.map((w) => [v, w]));
    for (const [a, b] of pieces) for (const [c, d] of pieces) if (a < c && b > d) expected += 1;
    assert.equal(countCrossings(graph, [upper, lower], new Int32Array(24)), expected);
  }
});

test("the main path of residual blocks is one straight column", () => {
  // input 0, then blocks of three operators with a skip from before the block to its last operator
  const edges = [];
  for (let block = 0; block < 50; block++) {
    const first = 3 * block;
    edges.push([first, first + 1], [first + 1, first + 2], [first + 2, first + 3], [first, first + 3]);
  }
  const { node_x } = layOutEdges(151, edges);
  assert.equal(new Set(node_x).size, 1, `columns ${[...new Set(node_x)]}`);
});

test("operators that unpack weights stand beside the main path, just above their reader", () => {
  // input 0, then 20 operators in a chain, each fed by two unpackers in a chain of their own
  const edges = [];
  for (let i = 1; i <= 20; i++) edges.push([i - 1, i], [20 + i, i], [40 + i, 20 + i]);
  const { node_x, node_row } = layOutEdges(61, edges);
  assert.equal(new Set(node_x.slice(0, 21)).size, 1);
  for (let i = 1; i <= 20; i++) {
    assert.equal(node_row[20 + i], node_row[i] - 1);
    assert.equal(node_row[40 + i], node_row[i] - 2);
  }
});

test("a tensor that all later operators read is one line", () => {
  const n = 300;
  const edges = Array.from({ length: n - 1 }, (_, i) => [i, i + 1, i]);
  for (let i = 2; i < n; i++) edges.push([0, i, 0]);
  const { segments, leaps } = layOutEdges(n, edges);
  assert.equal(leaps.length, 0);
  // chain, trunk, branches
  assert.ok(segments.row.length <= 3 * n, `${segments.row.length} pieces`);
});

test("lines beyond the limit become arcs", () => {
  const n = 2000;
  const edges = [];
  for (let i = 0; i + 1 < n; i++) edges.push([i, i + 1]);
  for (let i = 0; i < 100; i++) edges.push([i, n - 1 - i]);
  const { segments, leaps } = layOutEdges(n, edges);
  const waypoints = segments.from_waypoint.reduce((sum, flag) => sum + flag, 0);
  assert.ok(leaps.length > 0);
  assert.ok(waypoints <= 2 * MAX_WAYPOINTS, `${waypoints} waypoints`);
});

test("circles and graphs without edges do not hang", () => {
  assert.deepEqual([...assignRows(new Uint8Array(3), Int32Array.from([0, 1, 0, 1, 2, 1, 2, 0, 2]))].length, 3);
  assert.equal(layOutEdges(2, [[0, 1], [1, 0]]).node_x.length, 2);
  assert.equal(layOutEdges(0, [], 0).n_rows, 0);
  assert.equal(layOutEdges(3, []).n_rows, 1);
});

test("1,000 operators with skips lie below each other", () => {
  const edges = [];
  for (let i = 0; i + 1 < 1000; i++) edges.push([i, i + 1]);
  for (let i = 0; i + 4 < 1000; i += 4) edges.push([i, i + 4]);
  for (let i = 0; i + 60 < 1000; i += 50) edges.push([i, i + 60]);
  const { node_row, n_rows } = layOutEdges(1000, edges);
  assert.equal(n_rows, 1000);
  for (const [from, to] of edges) assert.ok(node_row[from] < node_row[to], `${from} to ${to}`);
});

test("a node with more readers than a call takes arguments is laid out", () => {
  const n_readers = 200_000;
  const { node_row } = layOutEdges(n_readers + 1, Array.from({ length: n_readers }, (_, i) => [0, i + 1]));
  assert.deepEqual([node_row[0], node_row[1], node_row[n_readers]], [0, 1, 1]);
});
