/**
 * The networks that the page's workers estimate before any file is dropped, so that the browser has compiled what a first
 * file runs: inverted residual blocks with weights of their own in every layer, as most image networks have them.
 */
import { floats, int, ints, node, value, writeOnnx } from "./onnx.mjs";
import { ADD, AVERAGE_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, INT32, INT8, RELU6, SOFTMAX, UINT8, writeModel } from "./tflite.mjs";

const SIZE = 96;
const CLASSES = 100;
const EXPANSION = 4;
/** Channels, stride of the first block, blocks. */
const STAGES = [[16, 2, 2], [24, 2, 3], [40, 2, 3], [64, 1, 3], [96, 2, 3]];
/** Weights repeat after so many bytes: the file is sent compressed to a fiftieth. */
const PERIOD = 4096;

/** Weights around 0 that are the rarer the larger they are, as trained ones are. */
function bellShaped() {
  let seed = 1;
  const uniform = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
  return Array.from({ length: PERIOD }, () => Math.round((uniform() + uniform() + uniform() + uniform() - 2) * 60));
}

/**
 * Bytes of a TensorFlow Lite file; signed or unsigned, as quantisers have written weights. Some files store no shapes for
 * the results of operators: these take a way of their own.
 */
function warmUpModel(type, stores_shapes) {
  const pattern = bellShaped();
  const tensors = [];
  const operators = [];
  const contents = [[]];
  const add = (shape, type, buffer = 0) => tensors.push({ name: `t${tensors.length}`, shape, type, buffer }) - 1;
  const constant = (shape, type, bytes) => add(shape, type, contents.push(bytes) - 1);
  const zero = type === UINT8 ? 128 : 0;
  const weights = (shape) => {
    const begun = 37 * contents.length;
    return constant(shape, type, Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => pattern[(begun + i) % PERIOD] + zero));
  };
  const bias = (n) => constant([n], INT32, new Array(4 * n).fill(0));
  let size = SIZE;
  let channels = 3;
  let current = add([1, size, size, channels], type);
  const apply = (code, inputs, shape, options = {}) => {
    const output = add(stores_shapes ? shape : [], type);
    operators.push({ code, inputs, outputs: [output], ...options });
    current = output;
  };
  const convolve = (code, shape, to, stride) => {
    size = Math.ceil(size / stride);
    apply(code, [current, weights(shape), bias(to)], [1, size, size, to], { stride, activation: RELU6 });
    channels = to;
  };
  const block = (to, stride) => {
    const [from, before] = [current, channels];
    const wide = EXPANSION * channels;
    convolve(CONV_2D, [wide, 1, 1, channels], wide, 1);
    convolve(DEPTHWISE_CONV_2D, [1, 3, 3, wide], wide, stride);
    convolve(CONV_2D, [to, 1, 1, wide], to, 1);
    if (stride === 1 && before === to) apply(ADD, [from, current], [1, size, size, to]);
  };
  convolve(CONV_2D, [STAGES[0][0], 3, 3, channels], STAGES[0][0], 2);
  for (const [to, stride, n] of STAGES) for (let i = 0; i < n; i++) block(to, i === 0 ? stride : 1);
  apply(AVERAGE_POOL_2D, [current], [1, 1, 1, channels], { window: size });
  apply(FULLY_CONNECTED, [current, weights([CLASSES, channels]), bias(CLASSES)], [1, CLASSES]);
  apply(SOFTMAX, [current], [1, CLASSES]);
  return writeModel(tensors, operators, contents);
}

/** Channels, stride of the first block, blocks: fewer, because a conversion looks at each weight. */
const ONNX_STAGES = [[16, 2, 1], [24, 2, 2], [40, 2, 2]];

/** Bytes of an ONNX file as training leaves it: floats, activations and their parts as operators of their own. */
function warmUpOnnx() {
  const pattern = bellShaped();
  const constants = [];
  const nodes = [];
  let last = "image";
  let channels = 3;
  const constant = (dims) => {
    const name = `c${constants.length}`;
    const begun = 37 * constants.length;
    constants.push(floats(name, dims, Float32Array.from({ length: dims.reduce((a, b) => a * b) }, (_, i) => pattern[(begun + i) % PERIOD] / 512)));
    return name;
  };
  const apply = (type, inputs, attributes = []) => {
    const output = `t${nodes.length}`;
    nodes.push(node(type, inputs, output, attributes));
    return (last = output);
  };
  const convolve = (to, side, stride, groups = 1) => {
    const weights = [constant([to, channels / groups, side, side]), constant([to])];
    const padding = (side - 1) / 2;
    const sizes = { kernel_shape: [side, side], pads: [padding, padding, padding, padding], strides: [stride, stride] };
    apply("Conv", [last, ...weights], [...Object.entries(sizes).map(([name, values]) => ints(name, values)), int("group", groups)]);
    channels = to;
  };
  const block = (to, stride) => {
    const [from, before] = [last, channels];
    const wide = EXPANSION * channels;
    convolve(wide, 1, 1);
    apply("Relu", [last]);
    convolve(wide, 3, stride, wide);
    const deep = last;
    apply("Mul", [deep, apply("Sigmoid", [deep])]);
    convolve(to, 1, 1);
    if (stride === 1 && before === to) apply("Add", [from, last]);
  };
  convolve(ONNX_STAGES[0][0], 3, 2);
  for (const [to, stride, n] of ONNX_STAGES) for (let i = 0; i < n; i++) block(to, i === 0 ? stride : 1);
  apply("GlobalAveragePool", [last]);
  apply("Flatten", [last]);
  apply("Gemm", [last, constant([CLASSES, channels]), constant([CLASSES])], [int("transB", 1)]);
  return writeOnnx("warm-up", nodes, constants, value("image", [1, 3, SIZE, SIZE]), value(last, [1, CLASSES]));
}

/** By the name of their files. */
export const WARM_UPS = { "warm-up-int8.tflite": () => warmUpModel(INT8, true), "warm-up-uint8.tflite": () => warmUpModel(UINT8, false), "warm-up-float.onnx": warmUpOnnx };
