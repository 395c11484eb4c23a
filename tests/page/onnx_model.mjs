/** A residual ONNX network, so that no test needs PyTorch for one. */
import { floats, ints, node, value, writeOnnx } from "../../www/onnx.mjs";

const SIDE = 28;

function weights(name, dims, seed) {
  const values = new Float32Array(dims.reduce((a, b) => a * b));
  for (let i = 0; i < values.length; i++) values[i] = Math.sin(i * 12.9898 + seed) / 8;
  return floats(name, dims, values);
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
  return Buffer.from(writeOnnx("residual", nodes, initializers, value("x", sides), value(last, sides)));
}
