"""Runs pairs of .tflite files of one network, for one input and for several at a time, in LiteRT.

usage: compare_batches.py ONE SEVERAL [ONE SEVERAL ...]

One JSON object a line and pair: {"file", "batch": first dimension of the second file's first input,
"difference": largest between the outputs of several inputs at a time and those of each alone, over
the largest output}.
"""

import json
import sys

import numpy
from ai_edge_litert.interpreter import Interpreter


class Network:
    def __init__(self, path):
        self.interpreter = Interpreter(model_path=path, num_threads=1)
        self.interpreter.allocate_tensors()
        self.inputs = self.interpreter.get_input_details()

    def run(self, inputs):
        """The first output, one row for each of the inputs in a batch."""
        for tensor, values in zip(self.inputs, inputs, strict=True):
            self.interpreter.set_tensor(tensor["index"], values)
        self.interpreter.invoke()
        output = self.interpreter.get_output_details()[0]["index"]
        batch = self.inputs[0]["shape"][0]
        return self.interpreter.get_tensor(output).reshape(batch, -1).astype(numpy.float64)


def drawn(tensor):
    random = numpy.random.default_rng(1)
    values = random.uniform(-1, 1, tensor["shape"])
    scale = 1 if tensor["dtype"] == numpy.float32 else 127
    return (scale * values).astype(tensor["dtype"])


def compared(one_path, several_path):
    several = Network(several_path)
    inputs = [drawn(tensor) for tensor in several.inputs]
    together = several.run(inputs)
    alone = [
        Network(one_path).run([values[k : k + 1] for values in inputs])
        for k in range(len(together))
    ]
    alone = numpy.concatenate(alone)
    difference = numpy.abs(together - alone).max() / max(numpy.abs(alone).max(), 1e-30)
    return {"file": several_path, "batch": len(together), "difference": float(difference)}


def main():
    paths = sys.argv[1:]
    for pair in zip(paths[::2], paths[1::2]):
        print(json.dumps(compared(*pair)), flush=True)


if __name__ == "__main__":
    main()
