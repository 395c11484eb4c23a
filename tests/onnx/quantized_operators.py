"""Writes one network as float32 and as ONNX Runtime quantises it: with operators in 8 bits, in both types.

Usage: quantized_operators.py FOLDER. Prints one JSON object a line: `file` and `operators`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)


def network() -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    weights = {
        "w1": (8, 3, 3, 3),
        "w2": (8, 8, 3, 3),
        "w3": (8, 1, 3, 3),
        "w4": (16, 10),
    }
    initializers = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1]),
        node("Add", ["b", "c"], ["d"]),
        node("Conv", ["d", "w3"], ["e"], pads=[1, 1, 1, 1], group=8),
        node("Sigmoid", ["e"], ["f"]),
        node("Mul", ["e", "f"], ["g"]),
        node("LeakyRelu", ["d"], ["h"], alpha=0.1),
        node("Concat", ["g", "h"], ["i"], axis=1),
        node("AveragePool", ["i"], ["j"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["j"], ["k"]),
        node("Flatten", ["k"], ["l"]),
        node("MatMul", ["l", "w4"], ["m"]),
        node("Softmax", ["m"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Samples(CalibrationDataReader):
    def __init__(self):
        rng = np.random.default_rng(2)
        values = [rng.standard_normal((1, 3, 16, 16)).astype(np.float32) for _ in range(4)]
        self.left = iter([{"x": value} for value in values])

    def get_next(self):
        return next(self.left, None)


def main(folder: Path) -> None:
    source = folder / "float32.onnx"
    onnx.save(network(), source)
    for name, activations in (("uint8", QuantType.QUInt8), ("int8", QuantType.QInt8)):
        quantize_static(
            source,
            folder / f"{name}.onnx",
            Samples(),
            quant_format=QuantFormat.QOperator,
            activation_type=activations,
            weight_type=QuantType.QInt8,
        )
    quantize_dynamic(source, folder / "dynamic.onnx")
    for path in sorted(folder.glob("*.onnx")):
        operators = [node.op_type for node in onnx.load(path).graph.node]
        print(json.dumps({"file": path.name, "operators": operators}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
