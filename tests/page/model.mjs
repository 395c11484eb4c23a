/**
 * TensorFlow Lite files of any length: int8 residual blocks of CONV_2D, DEPTHWISE_CONV_2D, CONV_2D, ADD, with a skip
 * over ten blocks now and then.
 */
import { ADD, CONV_2D, DEPTHWISE_CONV_2D, DEPTH_TO_SPACE, FLOAT32, INT32, INT8, writeModel as write } from "../../www/tflite.mjs";

const CHANNELS = 8;
const SIZE = 16;
const SKIP_BLOCKS = 10;
const BLOCK = 2;

/** Bytes of a model with exactly `n_operators` operators, at least 4. `hidden` are the channels inside of each block. */
export function residualModel(n_operators, hidden = CHANNELS) {
  const { tensors, operators } = describe(n_operators, hidden);
  const filled = (length, value) => Array.from({ length }, (_, i) => (value * (i % 7)) % 100);
  const own = [filled(hidden * CHANNELS, 3), new Array(4 * hidden).fill(0), filled(9 * hidden, 5), filled(hidden * CHANNELS, 2)];
  const shared = [new Array(CHANNELS * CHANNELS).fill(3), new Array(4 * CHANNELS).fill(0), new Array(9 * CHANNELS).fill(5)];
  return write(tensors, operators, [[], ...shared, ...(hidden === CHANNELS ? [] : own)]);
}

/** The same network, whose images have rows and columns that are known at run time alone. */
export function openModel(n_operators) {
  const { tensors, operators } = describe(n_operators, CHANNELS);
  for (const tensor of tensors) {
    if (tensor.buffer > 0) continue;
    const [batch, , , channels] = tensor.shape;
    Object.assign(tensor, { shape: [batch, 1, 1, channels], signature: [batch, -1, -1, channels] });
  }
  return write(tensors, operators, [[], new Array(CHANNELS * CHANNELS).fill(3), new Array(4 * CHANNELS).fill(0), new Array(9 * CHANNELS).fill(5)]);
}

/** The same, but each layer has weights of its own, which differ: sums of four random bytes, a bell as trained ones are. */
export function ownWeightsModel(n_operators, hidden = CHANNELS) {
  const { tensors, operators } = describe(n_operators, hidden);
  const contents = [[]];
  const owned = new Set();
  let state = hidden;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24;
  const weight = (spread) => (random() % spread) + (random() % spread) + (random() % spread) + (random() % spread) - 2 * spread;
  const own = (input) => {
    const tensor = tensors[input];
    if (tensor.buffer === 0) return input;
    const n_values = tensor.shape.reduce((a, b) => a * b, 1);
    const spread = 16 + (contents.length % 16);
    const bytes = tensor.type === INT8 ? Array.from({ length: n_values }, () => weight(spread) & 255) : new Array(4 * n_values).fill(0);
    const buffer = contents.push(bytes) - 1;
    if (owned.has(input)) return tensors.push({ ...tensor, name: `${tensor.name}${buffer}`, buffer }) - 1;
    owned.add(input);
    tensor.buffer = buffer;
    return input;
  };
  for (const operator of operators) operator.inputs = operator.inputs.map(own);
  return write(tensors, operators, contents);
}

const KINDS = { [ADD]: "ADD", [CONV_2D]: "CONV_2D", [DEPTHWISE_CONV_2D]: "DEPTHWISE_CONV_2D" };

/** The same network as a graph without weights (docs/guide/graph-json.md). */
export function residualGraph(n_operators, hidden = CHANNELS) {
  const { tensors, operators } = describe(n_operators, hidden);
  const name = (idx) => `t${idx}`;
  return {
    format: "litecast-graph",
    version: 1,
    inputs: [name(0)],
    outputs: operators.at(-1).outputs.map(name),
    tensors: tensors.map(({ shape, type, buffer }, idx) => ({ name: name(idx), shape, type: type === INT8 ? "int8" : "int32", constant: buffer > 0 })),
    operators: operators.map(({ code, inputs, outputs }) => ({
      kind: KINDS[code],
      inputs: inputs.map(name),
      outputs: outputs.map(name),
      ...(code !== ADD && { attributes: { stride: [1, 1], padding: "SAME" } }),
    })),
  };
}

/** Convolutions of a square image with sides of `size`, one after the other: 1×1, with these numbers of channels. */
function convolutions(size, channels, type = INT8) {
  const tensors = [{ name: "input", shape: [1, size, size, channels[0]], type, buffer: 0 }];
  const operators = [];
  const contents = [[]];
  const add = (tensor) => tensors.push(tensor) - 1;
  const constant = (name, shape, type) => {
    const n_bytes = shape.reduce((a, b) => a * b, 1) * (type === INT8 ? 1 : 4);
    contents.push(Array.from({ length: n_bytes }, (_, i) => (type === INT8 ? (7 * i) % 100 : 0)));
    return add({ name, shape, type, buffer: contents.length - 1 });
  };
  const convolve = (input, from, to) => {
    const inputs = [input, constant("filter", [to, 1, 1, from], type), constant("bias", [to], type === FLOAT32 ? FLOAT32 : INT32)];
    const output = add({ name: `layer${operators.length}`, shape: [1, size, size, to], type, buffer: 0 });
    operators.push({ code: CONV_2D, inputs, outputs: [output] });
    return output;
  };
  let current = 0;
  channels.slice(1).forEach((to, i) => (current = convolve(current, channels[i], to)));
  return { tensors, operators, contents, add, convolve, current };
}

/** Bytes of a chain of convolutions in 32-bit floats. */
export function floatModel() {
  const { tensors, operators, contents } = convolutions(32, [8, 32, 32, 8], FLOAT32);
  return write(tensors, operators, contents);
}

/** Bytes of small convolutions with weights of a little more than 8 MiB. */
export function heavyModel() {
  const { tensors, operators, contents } = convolutions(4, [8, 2048, 2048, 2048, 8]);
  return write(tensors, operators, contents);
}

/** Bytes of convolutions with feature maps of 288 KiB between them. */
export function wideModel() {
  const { tensors, operators, contents } = convolutions(96, [8, 32, 32, 8]);
  return write(tensors, operators, contents);
}

/** Bytes of convolutions and one operator that no Ethos-U runs, DEPTH_TO_SPACE, before an addition that all run. */
export function mixedModel({ has_shuffle = true } = {}) {
  const { tensors, operators, contents, add, current } = convolutions(32, [8, 32, 32]);
  if (!has_shuffle) {
    const sum = add({ name: "output", shape: [1, 32, 32, 32], type: INT8, buffer: 0 });
    operators.push({ code: ADD, inputs: [current, current], outputs: [sum] });
    return write(tensors, operators, contents);
  }
  const [wide, output] = ["wide", "output"].map((name) => add({ name, shape: [1, BLOCK * 32, BLOCK * 32, 8], type: INT8, buffer: 0 }));
  operators.push({ code: DEPTH_TO_SPACE, inputs: [current], outputs: [wide], block: BLOCK }, { code: ADD, inputs: [wide, wide], outputs: [output] });
  return write(tensors, operators, contents);
}

/** Bytes of two branches whose wide layers are alive at once in the order of the file, and need not be. */
export function branchedModel() {
  const { tensors, operators, contents, add, convolve } = convolutions(32, [8]);
  const wide = [convolve(0, 8, 64), convolve(0, 8, 64)];
  const [left, right] = wide.map((tensor) => convolve(tensor, 64, 8));
  const sum = add({ name: "sum", shape: [1, 32, 32, 8], type: INT8, buffer: 0 });
  operators.push({ code: ADD, inputs: [left, right], outputs: [sum] });
  return write(tensors, operators, contents);
}

function describe(n_operators, hidden) {
  const tensors = [];
  const operators = [];
  const add = (name, shape, type, buffer) => tensors.push({ name, shape, type, buffer }) - 1;
  const activation = (channels = CHANNELS) => add(`block${operators.length}`, [1, SIZE, SIZE, channels], INT8, 0);
  let current = activation();
  const pointwise = add("pointwise", [CHANNELS, 1, 1, CHANNELS], INT8, 1);
  const bias = add("bias", [CHANNELS], INT32, 2);
  const depthwise = add("depthwise", [1, 3, 3, CHANNELS], INT8, 3);
  const is_shared = hidden === CHANNELS;
  const expand = is_shared ? [pointwise, bias] : [add("expand", [hidden, 1, 1, CHANNELS], INT8, 4), add("hidden_bias", [hidden], INT32, 5)];
  const filter = is_shared ? [depthwise, bias] : [add("filter", [1, 3, 3, hidden], INT8, 6), expand[1]];
  const reduce = is_shared ? [pointwise, bias] : [add("reduce", [CHANNELS, 1, 1, hidden], INT8, 7), bias];
  const apply = (code, inputs, channels = CHANNELS) => {
    const output = activation(channels);
    operators.push({ code, inputs, outputs: [output] });
    return output;
  };
  const blocks = [current];
  while (operators.length < n_operators) {
    const left = n_operators - operators.length;
    if (left < 4) current = apply(CONV_2D, [current, pointwise, bias]);
    else {
      const wide = apply(CONV_2D, [current, ...expand], hidden);
      const filtered = apply(DEPTHWISE_CONV_2D, [wide, ...filter], hidden);
      const narrow = apply(CONV_2D, [filtered, ...reduce]);
      const long_skip = blocks.length % 5 === 0 ? blocks.at(-SKIP_BLOCKS) : undefined;
      current = apply(ADD, [long_skip ?? current, narrow]);
      blocks.push(current);
    }
  }
  return { tensors, operators };
}
