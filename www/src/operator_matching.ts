/** Which operators of two models are the same one, so that their costs can be compared. */
import type { Operator, Report } from "./report.ts";

/** One operator, in the model on the left, on the right, or in both. */
export interface Match {
  left: number | null;
  right: number | null;
}

/** Cells of the table of a longest common subsequence; a longer pair of models is matched by tensor names alone. */
const MAX_CELLS = 4_000_000;

/**
 * In the order of both models. Operators with the same output tensor are the same; between those, the longest common
 * subsequence of operators with equal name and output shape is, and between those the one of operators with equal name:
 * networks of one architecture differ in size.
 */
export function matchOperators(left: Report, right: Report): Match[] {
  const anchors = increasing(byTensorName(left, right));
  const matches: Match[] = [];
  let [i, j] = [0, 0];
  for (const [to_i, to_j] of [...anchors, [left.operators.length, right.operators.length] as const]) {
    for (const match of withinGaps(left, right, matchBetween(left, right, i, to_i, j, to_j, keyOf))) matches.push(match);
    if (to_i < left.operators.length && to_j < right.operators.length) matches.push({ left: to_i, right: to_j });
    [i, j] = [to_i + 1, to_j + 1];
  }
  return matches;
}

type Pair = readonly [left: number, right: number];

/** Operators whose first output has a name that stands once in each model. */
function byTensorName(left: Report, right: Report): Pair[] {
  const places = uniqueNames(right);
  return [...uniqueNames(left)].flatMap(([name, i]) => {
    const j = places.get(name);
    return j !== undefined && left.operators[i].name === right.operators[j].name ? [[i, j] as const] : [];
  });
}

function uniqueNames({ operators, tensors }: Report): Map<string, number> {
  const places = new Map<string, number>();
  const twice = new Set<string>();
  for (const { index, outputs } of operators) {
    const name = tensors[outputs[0] ?? -1]?.name;
    if (!name) continue;
    if (places.has(name)) twice.add(name);
    places.set(name, index);
  }
  for (const name of twice) places.delete(name);
  return places;
}

/** The longest chain of pairs that goes forward in both models (patience sorting, n log n). */
function increasing(pairs: Pair[]): Pair[] {
  const sorted = pairs.toSorted((a, b) => a[0] - b[0]);
  const tops: number[] = [];
  const before = new Int32Array(sorted.length).fill(-1);
  sorted.forEach(([, right], i) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[tops[middle]][1] < right) low = middle + 1;
      else high = middle;
    }
    before[i] = low > 0 ? tops[low - 1] : -1;
    tops[low] = i;
  });
  const chain: Pair[] = [];
  for (let i = tops.at(-1) ?? -1; i >= 0; i = before[i]) chain.push(sorted[i]);
  return chain.reverse();
}

/** Operators that stand alone between two matches are matched by name. */
function withinGaps(left: Report, right: Report, matches: Match[]): Match[] {
  const gap_matches: Match[] = [];
  let gap: Match[] = [];
  const close = (): void => {
    const [lefts, rights] = [gap.flatMap(({ left }) => (left === null ? [] : [left])), gap.flatMap(({ right }) => (right === null ? [] : [right]))];
    const is_between = lefts.length > 0 && rights.length > 0;
    const between = (): Match[] => matchBetween(left, right, lefts[0], lefts[lefts.length - 1] + 1, rights[0], rights[rights.length - 1] + 1, (_, { name }) => name);
    for (const match of is_between ? between() : gap) gap_matches.push(match);
    gap = [];
  };
  for (const match of matches) {
    if (match.left === null || match.right === null) {
      gap.push(match);
      continue;
    }
    close();
    gap_matches.push(match);
  }
  close();
  return gap_matches;
}

function matchBetween(left: Report, right: Report, from_i: number, to_i: number, from_j: number, to_j: number, key: (report: Report, operator: Operator) => string): Match[] {
  const [n, m] = [to_i - from_i, to_j - from_j];
  const only_left = (i: number): Match => ({ left: from_i + i, right: null });
  const only_right = (j: number): Match => ({ left: null, right: from_j + j });
  if (n === 0 || m === 0 || (n + 1) * (m + 1) > MAX_CELLS) {
    return [...Array.from({ length: n }, (_, i) => only_left(i)), ...Array.from({ length: m }, (_, j) => only_right(j))];
  }
  const left_keys = left.operators.slice(from_i, to_i).map((operator) => key(left, operator));
  const right_keys = right.operators.slice(from_j, to_j).map((operator) => key(right, operator));
  const width = m + 1;
  const longest = new Uint32Array((n + 1) * width); // of what follows
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const is_same = left_keys[i] === right_keys[j];
      longest[i * width + j] = is_same ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const matches: Match[] = [];
  let [i, j] = [0, 0];
  while (i < n && j < m) {
    if (left_keys[i] === right_keys[j]) matches.push({ left: from_i + i++, right: from_j + j++ });
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) matches.push(only_left(i++));
    else matches.push(only_right(j++));
  }
  while (i < n) matches.push(only_left(i++));
  while (j < m) matches.push(only_right(j++));
  return matches;
}

function keyOf({ tensors }: Report, { name, outputs }: Operator): string {
  return `${name} ${tensors[outputs[0] ?? -1]?.shape.join("x") ?? ""}`;
}
