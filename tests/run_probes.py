"""Runs the networks that are handed out to be measured: TFLite in LiteRT and, of 8-bit integers, in TensorFlow Lite Micro,
ONNX in ONNX Runtime.

Arguments: files. Prints a JSON document a line: the file, whether its output is finite and not one value, and how far the
two interpreters of TFLite are from each other.
"""

import json
import sys

import numpy
import onnxruntime
from ai_edge_litert.interpreter import Interpreter
from tflite_micro.python.tflite_micro import runtime

ARENA_BYTES = 1 << 20


def drawn(shape: list[int]) -> numpy.ndarray:
    return numpy.random.default_rng(1).integers(-100, 100, shape)


def of_onnx(path: str) -> numpy.ndarray:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    [taken] = session.get_inputs()
    [output] = session.run(None, {taken.name: drawn(taken.shape).astype(numpy.float32)})
    return output


def of_tflite(path: str) -> tuple[numpy.ndarray, int | None]:
    interpreter = Interpreter(path, num_threads=1)
    interpreter.allocate_tensors()
    [taken] = interpreter.get_input_details()
    values = drawn(taken["shape"]).astype(taken["dtype"])
    interpreter.set_tensor(taken["index"], values)
    interpreter.invoke()
    [given] = interpreter.get_output_details()
    output = interpreter.get_tensor(given["index"])
    if taken["dtype"] != numpy.int8:
        return output, None
    micro = runtime.Interpreter.from_file(path, arena_size=ARENA_BYTES)
    micro.set_input(values, 0)
    micro.invoke()
    return output, int(numpy.abs(micro.get_output(0).astype(int) - output.astype(int)).max())


def main() -> None:
    for path in sys.argv[1:]:
        output, difference = (of_onnx(path), None) if path.endswith(".onnx") else of_tflite(path)
        result = {"file": path, "is_finite": bool(numpy.isfinite(output).all()), "varies": len(numpy.unique(output)) > 1}
        if difference is not None:
            result["micro_difference"] = difference
        print(json.dumps(result), flush=True)


main()
