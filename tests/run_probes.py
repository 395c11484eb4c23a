"""Runs the networks that are handed out to be measured, in LiteRT and, of 8-bit integers, in TensorFlow Lite Micro.

Arguments: files. Prints a JSON document a line: the file, and for each interpreter whether its output is finite.
"""

import json
import sys

import numpy
from ai_edge_litert.interpreter import Interpreter
from tflite_micro.python.tflite_micro import runtime

ARENA_BYTES = 1 << 20


def main() -> None:
    for path in sys.argv[1:]:
        interpreter = Interpreter(path, num_threads=1)
        interpreter.allocate_tensors()
        [taken] = interpreter.get_input_details()
        values = numpy.random.default_rng(1).integers(-100, 100, taken["shape"])
        values = values.astype(taken["dtype"])
        interpreter.set_tensor(taken["index"], values)
        interpreter.invoke()
        [given] = interpreter.get_output_details()
        litert = interpreter.get_tensor(given["index"])
        result = {"file": path, "litert": bool(numpy.isfinite(litert).all()), "varies": len(numpy.unique(litert)) > 1}
        if taken["dtype"] == numpy.int8:
            micro = runtime.Interpreter.from_file(path, arena_size=ARENA_BYTES)
            micro.set_input(values, 0)
            micro.invoke()
            difference = numpy.abs(micro.get_output(0).astype(int) - litert.astype(int)).max()
            result["micro_difference"] = int(difference)
        print(json.dumps(result), flush=True)


main()
