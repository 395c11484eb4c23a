/** An ONNX network written field by field, so that no test needs PyTorch for one. */

const FLOAT = 1;
const INTS = 7;
const SIDE = 28;

const text = new TextEncoder();

function varint(value) {
  const bytes = [];
  for (let left = BigInt(value); ; ) {
    const low = Number(left & 0x7fn);
    left >>= 7n;
    bytes.push(left ? low | 0x80 : low);
    if (!left) return Uint8Array.from(bytes);
  }
}

function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Fields of a message: numbers, texts, bytes, and lists of those, by number. */
function message(fields) {
  const parts = [];
  for (const [number, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one === "number") parts.push(varint(Number(number) << 3), varint(one));
      else {
        const bytes = typeof one === "string" ? text.encode(one) : one;
        parts.push(varint((Number(number) << 3) | 2), varint(bytes.length), bytes);
      }
    }
  }
  return joined(parts);
}

const node = (op_type, inputs, output, attributes = []) => message({ 1: inputs, 2: output, 3: output, 4: op_type, 5: attributes });
const ints = (name, values) => message({ 1: name, 8: values, 20: INTS });

/** Sizes that have a name in place of a number are open. */
function value(name, sides) {
  const shape = message({ 1: sides.map((side) => message(typeof side === "string" ? { 2: side } : { 1: side })) });
  return message({ 1: name, 2: message({ 1: message({ 1: FLOAT, 2: shape }) }) });
}

function weights(name, dims, seed) {
  const values = new Float32Array(dims.reduce((a, b) => a * b));
  for (let i = 0; i < values.length; i++) values[i] = Math.sin(i * 12.9898 + seed) / 8;
  return message({ 1: dims, 2: FLOAT, 8: name, 9: new Uint8Array(values.buffer) });
}

export const CHANNELS = 32;

/** Blocks of two convolutions with a SiLU between them and a sum behind: `n_operators` in five a block, of images of `sides`. */
export function residualOnnx(n_operators, sides = [1, CHANNELS, SIDE, SIDE]) {
  const nodes = [];
  const initializers = [];
  let last = "x";
  const convolution = (source, output) => {
    const name = `${output}.weight`;
    initializers.push(weights(name, [CHANNELS, CHANNELS, 3, 3], initializers.length));
    nodes.push(node("Conv", [source, name], output, [ints("kernel_shape", [3, 3]), ints("pads", [1, 1, 1, 1])]));
    return output;
  };
  for (let block = 0; nodes.length < n_operators; block++) {
    const first = convolution(last, `a${block}`);
    nodes.push(node("Sigmoid", [first], `s${block}`), node("Mul", [first, `s${block}`], `m${block}`));
    const second = convolution(`m${block}`, `b${block}`);
    nodes.push(node("Add", [last, second], `y${block}`));
    last = `y${block}`;
  }
  const graph = message({ 1: nodes, 2: "residual", 5: initializers, 11: value("x", sides), 12: value(last, sides) });
  return Buffer.from(message({ 1: 8, 2: "litecast", 7: graph, 8: message({ 1: "", 2: 17 }) }));
}
