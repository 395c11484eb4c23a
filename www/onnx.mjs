/**
 * Writes ONNX files field by field, apart from the reader: what the page warms up with, and what its tests drop on it. Field
 * numbers are those of the public onnx.proto.
 */

const FLOAT = 1;
const INT = 2;
const INTS = 7;

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

export const node = (op_type, inputs, output, attributes = []) => message({ 1: inputs, 2: output, 3: output, 4: op_type, 5: attributes });
export const int = (name, number) => message({ 1: name, 3: number, 20: INT });
export const ints = (name, values) => message({ 1: name, 8: values, 20: INTS });

/** Sizes that have a name in place of a number are open. */
export function value(name, sides) {
  const shape = message({ 1: sides.map((side) => message(typeof side === "string" ? { 2: side } : { 1: side })) });
  return message({ 1: name, 2: message({ 1: message({ 1: FLOAT, 2: shape }) }) });
}

/** A constant of floats. */
export function floats(name, dims, values) {
  return message({ 1: dims, 2: FLOAT, 8: name, 9: new Uint8Array(values.buffer) });
}

/** Bytes of a file of opset 17. */
export function writeOnnx(name, nodes, constants, input, output) {
  const graph = message({ 1: nodes, 2: name, 5: constants, 11: input, 12: output });
  return message({ 1: 8, 2: "litecast", 7: graph, 8: message({ 1: "", 2: 17 }) });
}
