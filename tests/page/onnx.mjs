/** Writes an ONNX file by hand, apart from the reader: field numbers are those of the public onnx.proto. */

const FLOAT = 1;
const INTS = 7;

/** Bytes of a 3×3 convolution of 8 channels on a 16×16 image, NCHW, and a RELU. */
export function onnxModel() {
  const weights = [...text(8, "weights"), ...[8, 3, 3, 3].flatMap((n) => number(1, n)), ...number(2, FLOAT), ...field(9, new Uint8Array(4 * 8 * 3 * 3 * 3))];
  const padding = [...text(1, "pads"), ...[1, 1, 1, 1].flatMap((n) => number(8, n)), ...number(20, INTS)];
  const graph = [
    ...field(1, [...text(1, "image"), ...text(1, "weights"), ...text(2, "wide"), ...text(4, "Conv"), ...field(5, padding)]),
    ...field(1, [...text(1, "wide"), ...text(2, "result"), ...text(4, "Relu")]),
    ...text(2, "small"),
    ...field(5, weights),
    ...field(11, valueInfo("image", [1, 3, 16, 16])),
    ...field(12, valueInfo("result", [1, 8, 16, 16])),
  ];
  return Buffer.from([...number(1, 8), ...field(7, graph), ...field(8, number(2, 13))]);
}

/** Bytes of a RELU on an input whose second dimension has a name instead of a size. */
export function onnxWithOpenSize(name) {
  const ends = [...field(11, valueInfo("x", [1, name, 4])), ...field(12, valueInfo("y", [1, name, 4]))];
  const graph = [...field(1, [...text(1, "x"), ...text(2, "y"), ...text(4, "Relu")]), ...text(2, "open"), ...ends];
  return Buffer.from([...number(1, 8), ...field(7, graph), ...field(8, number(2, 13))]);
}

/** Sizes are numbers, or names of open dimensions. */
function valueInfo(name, shape) {
  const dimensions = shape.flatMap((size) => field(1, typeof size === "string" ? text(2, size) : number(1, size)));
  return [...text(1, name), ...field(2, field(1, [...number(1, FLOAT), ...field(2, dimensions)]))];
}

function varint(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
}

const number = (id, value) => [...varint(id << 3), ...varint(value)];
const field = (id, bytes) => [...varint((id << 3) | 2), ...varint(bytes.length), ...bytes];
const text = (id, words) => field(id, Buffer.from(words));
