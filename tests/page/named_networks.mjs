/** Chains of operators, each with a name of its own, in every format that has names: what a reader, a page and a report keep for each. */
import { Builder } from "flatbuffers";
import { residualGraph } from "./model.mjs";

const nameOf = (i) => `stage_three/block_${String(i).padStart(6, "0")}/activation`;
const KINDS = [["Relu", "RELU", 19], ["Abs", "ABS", 101], ["Sigmoid", "LOGISTIC", 14], ["Tanh", "TANH", 28]];
const SHAPE = [1, 8, 8, 8];
/** `BuiltinOperator.CUSTOM` of the schema. */
const CUSTOM = 32;
const INT8 = 9;

/** Fields of a protobuf message, as pairs of a number and a value. */
function message(fields) {
  const parts = [];
  const varint = (value) => {
    for (; value >= 0x80; value = Math.floor(value / 0x80)) parts.push(Buffer.of((value & 0x7f) | 0x80));
    parts.push(Buffer.of(value));
  };
  for (const [number, value] of fields) {
    const bytes = typeof value === "number" ? null : Buffer.from(value);
    varint((number << 3) | (bytes ? 2 : 0));
    varint(bytes ? bytes.length : value);
    if (bytes) parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function onnx(n) {
  const output = (i) => (i < 0 ? "x" : `${nameOf(i)}/out`);
  const nodes = Array.from({ length: n }, (_, i) => message([[1, output(i - 1)], [2, output(i)], [3, nameOf(i)], [4, KINDS[i % 4][0]]]));
  const sides = message(SHAPE.map((side) => [1, message([[1, side]])]));
  const value = (name) => message([[1, name], [2, message([[1, message([[1, 1], [2, sides]])]])]]);
  const graph = message([...nodes.map((node) => [1, node]), [2, "chain"], [11, value("x")], [12, value(output(n - 1))]]);
  return message([[1, 8], [7, graph], [8, message([[1, ""], [2, 17]])]]);
}

function graphJson(n, kindOf) {
  const tensor = (i) => (i === 0 ? "x" : nameOf(i - 1));
  const tensors = Array.from({ length: n + 1 }, (_, i) => ({ name: tensor(i), shape: SHAPE, type: "int8" }));
  const operators = Array.from({ length: n }, (_, i) => ({ kind: kindOf(i), inputs: [tensor(i)], outputs: [tensor(i + 1)] }));
  return Buffer.from(JSON.stringify({ ...residualGraph(4), inputs: ["x"], outputs: [tensor(n)], tensors, operators }));
}

function tflite(n, is_custom) {
  const builder = new Builder(64 * n);
  const vector = (list, add) => {
    builder.startVector(4, list.length, 4);
    for (const value of list.toReversed()) add(value);
    return builder.endVector();
  };
  const offsets = (list) => vector(list, (offset) => builder.addOffset(offset));
  const integers = (list) => vector(list, (value) => builder.addInt32(value));
  const table = (n_fields, fill) => (builder.startObject(n_fields), fill(), builder.endObject());
  const code = (number, name) => table(4, () => {
    builder.addFieldInt8(0, number, 0);
    if (name !== null) builder.addFieldOffset(1, name, 0);
    builder.addFieldInt32(2, 1, 1);
    builder.addFieldInt32(3, number, 0);
  });
  const buffers = offsets([table(1, () => {})]);
  const shape = integers(SHAPE);
  const tensors = offsets(Array.from({ length: n + 1 }, (_, i) => {
    const name = builder.createString(is_custom ? `t${i}` : `${nameOf(i)}/out`);
    return table(8, () => {
      builder.addFieldOffset(0, shape, 0);
      builder.addFieldInt8(1, INT8, 0);
      builder.addFieldOffset(3, name, 0);
    });
  }));
  const codes = offsets(is_custom ? Array.from({ length: n }, (_, i) => code(CUSTOM, builder.createString(nameOf(i)))) : KINDS.map(([, , number]) => code(number, null)));
  const operators = offsets(Array.from({ length: n }, (_, i) => {
    const [inputs, outputs] = [integers([i]), integers([i + 1])];
    return table(5, () => {
      builder.addFieldInt32(0, is_custom ? i : i % 4, 0);
      builder.addFieldOffset(1, inputs, 0);
      builder.addFieldOffset(2, outputs, 0);
    });
  }));
  const [inputs, outputs] = [integers([0]), integers([n])];
  const subgraph = table(5, () => [tensors, inputs, outputs, operators].forEach((offset, field) => builder.addFieldOffset(field, offset, 0)));
  const subgraphs = offsets([subgraph]);
  builder.finish(table(8, () => {
    builder.addFieldInt32(0, 3, 0);
    builder.addFieldOffset(1, codes, 0);
    builder.addFieldOffset(2, subgraphs, 0);
    builder.addFieldOffset(4, buffers, 0);
  }), "TFL3");
  return Buffer.from(builder.asUint8Array());
}

/** Files by name, each of `n` operators. */
export function namedNetworks(n) {
  return {
    "named.tflite": tflite(n, false),
    "custom.tflite": tflite(n, true),
    "named.onnx": onnx(n),
    "named.json": graphJson(n, (i) => KINDS[i % 4][1]),
    "custom.json": graphJson(n, nameOf),
  };
}
