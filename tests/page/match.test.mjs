import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./sources.mjs";

const { matchOperators } = await importSource("operator_matching.ts");

/** `names` are `OPERATOR output`; outputs without a name differ by shape alone. */
function model(names) {
  const operators = names.map((words, index) => ({ index, name: words.split(" ")[0], inputs: [], outputs: [index] }));
  const tensors = names.map((words) => ({ name: words.split(" ")[1] ?? "", shape: [1, 4] }));
  return { operators, tensors };
}

const pairs = (left, right) => matchOperators(model(left), model(right)).map(({ left, right }) => `${left ?? "-"}:${right ?? "-"}`);

test("operators are matched by tensors, then by kind and order", () => {
  assert.deepEqual(pairs(["CONV a", "ADD b"], ["CONV a", "ADD b"]), ["0:0", "1:1"]);
  assert.deepEqual(pairs(["CONV a", "RELU", "ADD b"], ["CONV a", "ADD b"]), ["0:0", "1:-", "2:1"]);
  assert.deepEqual(pairs(["CONV x", "CONV y"], ["CONV p", "PAD q", "CONV r"]), ["0:0", "-:1", "1:2"]);
  assert.deepEqual(pairs([], ["CONV"]), ["-:0"]);
});

test("networks of one architecture and other sizes are matched by kind", () => {
  const sized = (names, size) => ({ ...model(names), tensors: names.map((_, i) => ({ name: "", shape: [1, size * (i + 1)] })) });
  const names = ["CONV", "DEPTHWISE", "CONV", "ADD", "CONV"];
  const found = matchOperators(sized(names, 8), sized([...names.slice(0, 3), "RELU", ...names.slice(3)], 5));
  assert.deepEqual(found.map(({ left, right }) => `${left ?? "-"}:${right ?? "-"}`), ["0:0", "1:1", "2:2", "-:3", "3:4", "4:5"]);
});

test("a tensor that moved is no anchor where more would be lost", () => {
  assert.deepEqual(pairs(["A a", "B b", "C c"], ["C c", "A a", "B b"]), ["-:0", "0:1", "1:2", "2:-"]);
});

test("every operator of both models stands there once", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 200; round++) {
    const make = () => Array.from({ length: random(12) }, () => `${"AB"[random(2)]}${random(3) ? ` t${random(9)}` : ""}`);
    const [left, right] = [make(), make()];
    const matches = matchOperators(model(left), model(right));
    const sides = (side) => matches.flatMap((match) => (match[side] === null ? [] : [match[side]]));
    assert.deepEqual(sides("left"), left.map((_, i) => i));
    assert.deepEqual(sides("right"), right.map((_, i) => i));
    for (const { left: i, right: j } of matches) if (i !== null && j !== null) assert.equal(left[i].split(" ")[0], right[j].split(" ")[0]);
  }
});
