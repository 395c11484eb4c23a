import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./sources.mjs";

const { findRepeats, foldedConstants, folds } = await importSource("folding.ts");

/** Operators `NAME inputs -> output`; tensors below `n_constants` are constants. */
function model(lines, n_constants = 0) {
  const operators = lines.map((line, index) => {
    const [call, output] = line.split(" -> ");
    const [name, ...inputs] = call.split(" ");
    return { index, name, inputs: inputs.map(Number), outputs: [Number(output)], attributes: null };
  });
  const n = Math.max(...operators.flatMap(({ inputs, outputs }) => [...inputs, ...outputs])) + 1;
  return { operators, tensors: Array.from({ length: n }, (_, i) => ({ constant: i < n_constants })) };
}

const chain = (names) => model(names.map((name, i) => `${name} ${i} -> ${i + 1}`));
const identity = ({ operators }) => operators.map(({ index }) => index);

test("what unpacks weights is folded into its reader", () => {
  const found = foldedConstants(model(["DEQUANTIZE 0 -> 2", "CONV_2D 3 2 -> 4", "DEQUANTIZE 1 -> 5", "CAST 5 -> 6", "ADD 4 6 -> 7", "DEQUANTIZE 7 -> 8"], 2));
  assert.deepEqual(found, [1, 1, 4, 4, 4, 5], "a result that is unpacked stays");
});

test("weights that two operators read stand alone", () => {
  assert.deepEqual(foldedConstants(model(["DEQUANTIZE 0 -> 1", "CONV_2D 2 1 -> 3", "CONV_2D 3 1 -> 4"], 1)), [0, 1, 2]);
});

test("repeated blocks are found, the shortest that tell all", () => {
  const network = chain(["PAD", ..."ABCABCABC".split(""), "SOFTMAX"]);
  const repeats = findRepeats(network, identity(network));
  assert.deepEqual(repeats.map(({ blocks }) => blocks), [[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]);
  const boxes = folds(network, identity(network), repeats, new Set([0]));
  assert.deepEqual(boxes.map(({ operators }) => operators.length), [1, 3, 3, 3, 1]);
  assert.deepEqual(boxes[2].block, { number: 2, of: 3 });
  assert.equal(folds(network, identity(network), repeats, new Set()).length, 11);
});

test("a row of one operator is no block", () => {
  const network = chain(new Array(20).fill("RELU"));
  assert.deepEqual(findRepeats(network, identity(network)), []);
});

test("every operator is in one box, whatever repeats, on 40 random chains", () => {
  let seed = 1;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let i = 0; i < 40; i++) {
    const network = chain(Array.from({ length: 5 + random(60) }, () => "ABC"[random(3)]));
    const repeats = findRepeats(network, identity(network));
    const boxes = folds(network, identity(network), repeats, new Set(repeats.keys()));
    assert.deepEqual(boxes.flatMap(({ operators }) => operators).sort((a, b) => a - b), identity(network));
    for (const { blocks } of repeats) assert.ok(blocks.length >= 2 && blocks.every((block) => block.length === blocks[0].length));
  }
});
