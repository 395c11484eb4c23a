/**
 * Writes TensorFlow Lite files, apart from the reader and the writers in Rust: what the page warms up with, and what its
 * tests drop on it. Field numbers are those of the public schema, version 3.
 */
import { Builder } from "flatbuffers";

export const FLOAT32 = 0;
export const INT32 = 2;
export const UINT8 = 3;
export const INT8 = 9;

export const ADD = 0;
export const AVERAGE_POOL_2D = 1;
export const CONV_2D = 3;
export const DEPTHWISE_CONV_2D = 4;
export const DEPTH_TO_SPACE = 5;
export const FULLY_CONNECTED = 9;
export const SOFTMAX = 25;

/** Of each operator the number of its options in the schema's union. */
const OPTIONS = { [ADD]: 11, [AVERAGE_POOL_2D]: 5, [CONV_2D]: 1, [DEPTHWISE_CONV_2D]: 2, [DEPTH_TO_SPACE]: 94, [FULLY_CONNECTED]: 8, [SOFTMAX]: 9 };
const CODES = [ADD, AVERAGE_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D, DEPTH_TO_SPACE, FULLY_CONNECTED, SOFTMAX];

export const RELU6 = 3;
/** No padding. */
const VALID = 1;

/**
 * Bytes of a file with one subgraph, which begins with tensor 0 and ends with the outputs of the last operator. `contents`
 * are the bytes of buffers, of which the first is empty.
 */
export function writeModel(tensors, operators, contents) {
  const builder = new Builder(256 * operators.length);
  const buffers = bufferVector(builder, contents);
  const subgraph = writeSubgraph(builder, tensors, operators);
  const subgraphs = offsets(builder, [subgraph]);
  const codes = offsets(builder, CODES.map((code) => table(builder, 4, (b) => {
    b.addFieldInt8(0, code, 0);
    b.addFieldInt32(2, 1, 1);
    b.addFieldInt32(3, code, 0);
  })));
  const model = table(builder, 8, (b) => {
    b.addFieldInt32(0, 3, 0);
    b.addFieldOffset(1, codes, 0);
    b.addFieldOffset(2, subgraphs, 0);
    b.addFieldOffset(4, buffers, 0);
  });
  builder.finish(model, "TFL3");
  return Buffer.from(builder.asUint8Array());
}

function writeSubgraph(builder, tensors, operators) {
  const scale = quantization(builder);
  const tensor_vector = offsets(builder, tensors.map((tensor) => writeTensor(builder, tensor, scale)));
  const inputs = integers(builder, [0]);
  const outputs = integers(builder, operators.at(-1).outputs);
  const operator_vector = offsets(builder, operators.map((operator) => writeOperator(builder, operator)));
  return table(builder, 5, (b) => {
    b.addFieldOffset(0, tensor_vector, 0);
    b.addFieldOffset(1, inputs, 0);
    b.addFieldOffset(2, outputs, 0);
    b.addFieldOffset(3, operator_vector, 0);
  });
}

function writeTensor(builder, { name, shape, signature, type, buffer }, scale) {
  const words = builder.createString(name);
  const dimensions = integers(builder, shape);
  const open = signature ? integers(builder, signature) : null;
  return table(builder, 8, (b) => {
    b.addFieldOffset(0, dimensions, 0);
    b.addFieldInt8(1, type, 0);
    b.addFieldInt32(2, buffer, 0);
    b.addFieldOffset(3, words, 0);
    b.addFieldOffset(4, scale, 0);
    if (open !== null) b.addFieldOffset(7, open, 0);
  });
}

function writeOperator(builder, operator) {
  const { code, inputs, outputs } = operator;
  const options = table(builder, 7, (b) => writeOptions(b, operator));
  const input_vector = integers(builder, inputs);
  const output_vector = integers(builder, outputs);
  return table(builder, 5, (b) => {
    b.addFieldInt32(0, CODES.indexOf(code), 0);
    b.addFieldOffset(1, input_vector, 0);
    b.addFieldOffset(2, output_vector, 0);
    b.addFieldInt8(3, OPTIONS[code], 0);
    b.addFieldOffset(4, options, 0);
  });
}

function writeOptions(b, { code, stride = 1, window = 1, activation = 0, block = 1 }) {
  if (code === DEPTH_TO_SPACE) b.addFieldInt32(0, block, 0);
  if (![CONV_2D, DEPTHWISE_CONV_2D, AVERAGE_POOL_2D].includes(code)) return;
  b.addFieldInt32(1, stride, 0); // stride_w
  b.addFieldInt32(2, stride, 0); // stride_h
  if (code === CONV_2D) b.addFieldInt8(3, activation, 0);
  if (code === DEPTHWISE_CONV_2D) {
    b.addFieldInt32(3, 1, 0); // depth_multiplier
    b.addFieldInt8(4, activation, 0);
  }
  if (code === AVERAGE_POOL_2D) {
    b.addFieldInt8(0, VALID, 0);
    b.addFieldInt32(3, window, 0); // filter_width
    b.addFieldInt32(4, window, 0); // filter_height
  }
}

function quantization(builder) {
  builder.startVector(4, 1, 4);
  builder.addFloat32(0.05);
  const scale = builder.endVector();
  builder.startVector(8, 1, 8);
  builder.addInt64(0n);
  const zero_point = builder.endVector();
  return table(builder, 7, (b) => {
    b.addFieldOffset(2, scale, 0);
    b.addFieldOffset(3, zero_point, 0);
  });
}

function bufferVector(builder, contents) {
  return offsets(builder, contents.map((bytes) => {
    builder.startVector(1, bytes.length, 16);
    for (const byte of bytes.toReversed()) builder.addInt8(byte);
    const vector = builder.endVector();
    return table(builder, 1, (b) => bytes.length > 0 && b.addFieldOffset(0, vector, 0));
  }));
}

function table(builder, n_fields, fill) {
  builder.startObject(n_fields);
  fill(builder);
  return builder.endObject();
}

function offsets(builder, list) {
  builder.startVector(4, list.length, 4);
  for (const offset of list.toReversed()) builder.addOffset(offset);
  return builder.endVector();
}

function integers(builder, list) {
  builder.startVector(4, list.length, 4);
  for (const value of list.toReversed()) builder.addInt32(value);
  return builder.endVector();
}
