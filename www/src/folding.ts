/** Which operators share a box of the drawing: those that unpack weights with their reader, and the blocks that repeat. */
import type { Operator, Report } from "./report.ts";

/** One box: the operator that stands for it, and all that it holds. */
export interface Fold {
  operators: readonly number[];
  /** Of a block: which one of how many. */
  block: { number: number; of: number } | null;
}

/** Consecutive blocks of the same operators. */
export interface Repeat {
  /** Operators of each block, in topological order. */
  blocks: number[][];
}

/** A block of one operator is a layer, and one longer than this is a network. */
const MIN_BLOCK = 2;
const MAX_BLOCK = 96;
const MIN_BLOCKS = 2;
/** Operators that a repeat spans at least: fewer are seen at a glance. */
const MIN_REPEATED = 6;
const UNPACKING = new Set(["DEQUANTIZE", "DENSIFY", "CAST", "TRANSPOSE", "RESHAPE"]);

/** By operator, the reader into which it is folded; itself where it is not. Linear in operators. */
export function foldedConstants({ operators, tensors }: Pick<Report, "operators" | "tensors">): number[] {
  const reader = new Map<number, number>();
  const n_readers = new Map<number, number>();
  for (const { index, inputs } of operators) {
    for (const tensor of new Set(inputs)) {
      if (tensor === null) continue;
      n_readers.set(tensor, (n_readers.get(tensor) ?? 0) + 1);
      if (!reader.has(tensor)) reader.set(tensor, index);
    }
  }
  const unpacked = new Set<number>();
  const is_constant = (tensor: number | null): boolean => tensor === null || unpacked.has(tensor) || tensors[tensor]?.constant === true;
  const into = operators.map(({ index }) => index);
  for (const { index, name, inputs, outputs } of operators) {
    if (!UNPACKING.has(name) || outputs.length !== 1 || !inputs.every(is_constant)) continue;
    const target = reader.get(outputs[0]);
    if (target === undefined || n_readers.get(outputs[0]) !== 1) continue;
    unpacked.add(outputs[0]);
    into[index] = target;
  }
  // Of a chain all are in the last one.
  for (let i = operators.length - 1; i >= 0; i--) if (into[i] !== i && into[i] > i) into[i] = into[into[i]];
  return into;
}

/**
 * Repeats that do not overlap, those of most operators first. Operators are the same where they do the same with windows of
 * the same size, whatever their channels. Time is operators times the longest block.
 */
export function findRepeats(report: Pick<Report, "operators" | "tensors">, into: readonly number[]): Repeat[] {
  const shown = report.operators.filter(({ index }) => into[index] === index);
  const names = shown.map((operator) => signature(operator));
  const ids = new Map<string, number>();
  const symbols = names.map((name) => ids.get(name) ?? (ids.set(name, ids.size), ids.size - 1));
  const candidates: { start: number; period: number; length: number }[] = [];
  for (let period = MIN_BLOCK; period <= Math.min(MAX_BLOCK, shown.length / MIN_BLOCKS); period++) {
    let run = 0;
    for (let i = 0; i + period <= symbols.length; i++) {
      const is_same = i + period < symbols.length && symbols[i] === symbols[i + period];
      if (is_same) run++;
      if ((!is_same || i + period === symbols.length - 1) && run > 0) {
        const start = i - run + (is_same ? 1 : 0);
        const blocks = Math.floor(run / period) + 1;
        if (blocks >= MIN_BLOCKS && blocks * period >= MIN_REPEATED && !isUniform(symbols, start, period)) candidates.push({ start, period, length: blocks * period });
        run = 0;
      }
    }
  }
  // Of two that span the same the one with shorter blocks tells more.
  candidates.sort((a, b) => b.length - a.length || a.period - b.period || a.start - b.start);
  const taken = new Uint8Array(symbols.length);
  const repeats: Repeat[] = [];
  for (const { start, period, length } of candidates) {
    if (taken.subarray(start, start + length).some((is_taken) => is_taken === 1)) continue;
    taken.fill(1, start, start + length);
    const blocks = Array.from({ length: length / period }, (_, block) => Array.from({ length: period }, (_, i) => shown[start + block * period + i].index));
    repeats.push({ blocks });
  }
  return repeats.sort((a, b) => a.blocks[0][0] - b.blocks[0][0]);
}

/** What graph and timeline fold. */
export interface Folding {
  /** See {@link foldedConstants}. */
  into: readonly number[];
  repeats: readonly Repeat[];
}

const known = new WeakMap<readonly Operator[], Folding>();

/** Found once for a report. */
export function foldingOf(report: Pick<Report, "operators" | "tensors">): Folding {
  const before = known.get(report.operators);
  if (before) return before;
  const into = foldedConstants(report);
  const folding = { into, repeats: findRepeats(report, into) };
  known.set(report.operators, folding);
  return folding;
}

/** A row of the same operator repeats at every length, and is no block. */
function isUniform(symbols: readonly number[], start: number, period: number): boolean {
  for (let i = 1; i < period; i++) if (symbols[start + i] !== symbols[start]) return false;
  return true;
}

function signature({ name, attributes, inputs }: Operator): string {
  const { stride_h, stride_w, filter_h, filter_w, activation } = attributes ?? {};
  return JSON.stringify([name, filter_h, filter_w, stride_h, stride_w, activation, inputs.length]);
}

/** Boxes of the drawing. `folded` names the repeats whose blocks are one box each, by their place in `repeats`. */
export function folds(report: Pick<Report, "operators">, into: readonly number[], repeats: readonly Repeat[], folded: ReadonlySet<number>): Fold[] {
  const head = [...into];
  const numbers = new Map<number, { number: number; of: number }>();
  repeats.forEach(({ blocks }, i) => {
    if (!folded.has(i)) return;
    blocks.forEach((block, number) => {
      for (const operator of block) head[operator] = block[0];
      numbers.set(block[0], { number: number + 1, of: blocks.length });
    });
  });
  const members = new Map<number, number[]>();
  report.operators.forEach(({ index }) => {
    const to = head[into[index]];
    const others = members.get(to);
    if (others) others.push(index);
    else members.set(to, [index]);
  });
  return [...members].sort(([a], [b]) => a - b).map(([to, operators]) => ({ operators, block: numbers.get(to) ?? null }));
}
