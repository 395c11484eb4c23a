"""Runs pairs of .tflite files of one network, int8 and float32, on the same random input in LiteRT.

usage: compare_precisions.py INT8 FLOAT32 [INT8 FLOAT32 ...]

One JSON object a line and pair: {"file", "correlation": of the real values of the first outputs}.
"""

import json
import sys

import numpy
from ai_edge_litert.interpreter import Interpreter


def output_of(path, value_of):
    """Real values of the first output; `value_of(shape)` gives the inputs' real values."""
    interpreter = Interpreter(model_path=path, num_threads=1)
    interpreter.allocate_tensors()
    for tensor in interpreter.get_input_details():
        interpreter.set_tensor(tensor["index"], stored(value_of(tensor["shape"]), tensor))
    interpreter.invoke()
    tensor = interpreter.get_output_details()[0]
    return real(interpreter.get_tensor(tensor["index"]), tensor).ravel()


def stored(values, tensor):
    if tensor["dtype"] == numpy.float32:
        return values.astype(numpy.float32)
    scale, zero_point = tensor["quantization"]
    return numpy.clip(numpy.round(values / scale) + zero_point, -128, 127).astype(numpy.int8)


def real(values, tensor):
    if tensor["dtype"] == numpy.float32:
        return values
    scale, zero_point = tensor["quantization"]
    return (values.astype(numpy.float64) - zero_point) * scale


def correlation(int8_path, float32_path):
    outputs = []
    for path in (int8_path, float32_path):
        random = numpy.random.default_rng(1)
        outputs.append(output_of(path, lambda shape: random.uniform(-1, 1, shape)))
    return float(numpy.corrcoef(*outputs)[0, 1])


def main():
    paths = sys.argv[1:]
    for pair in zip(paths[::2], paths[1::2]):
        print(json.dumps({"file": pair[1], "correlation": correlation(*pair)}), flush=True)


if __name__ == "__main__":
    main()
