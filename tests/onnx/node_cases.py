"""Writes ONNX's own test cases of single operators, each as two files.

Usage: node_cases.py FOLDER. Writes CASE.onnx without shapes of results, and CASE.declared.onnx with those of the
reference's results. Inputs other than the first become constants, as sizes and axes are in exported networks. Prints one
JSON object a line: first the version of the package, then the case's file name without its ending and its operators, or
that it was skipped.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def dense(value):
    return isinstance(value, np.ndarray) and value.dtype != object


def write(case, folder: Path) -> dict | None:
    inputs, outputs = case.data_sets[0]
    # A size of 0 is open in an ONNX file.
    if not all(dense(value) for value in [*inputs, *outputs]) or (inputs and 0 in inputs[0].shape):
        return None
    model = ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    del graph.value_info[:]
    values = dict(zip([info.name for info in graph.input], inputs))
    for info in list(graph.input)[1:]:
        if info.name in values:
            graph.initializer.append(numpy_helper.from_array(values[info.name], info.name))
            graph.input.remove(info)
    for info, value in zip(graph.output, outputs):
        tensor = info.type.tensor_type
        tensor.ClearField("shape")
        tensor.shape.SetInParent()
        for side in value.shape:
            tensor.shape.dim.add().dim_value = side
    (folder / f"{case.name}.declared.onnx").write_bytes(model.SerializeToString())
    for info in graph.output:
        info.type.tensor_type.ClearField("shape")
    (folder / f"{case.name}.onnx").write_bytes(model.SerializeToString())
    return {"file": case.name, "operators": [node.op_type for node in graph.node]}


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    print(json.dumps({"onnx": onnx.__version__}))
    for case in collect_testcases(None):
        try:
            described = write(case, folder)
        except (TypeError, ValueError):
            described = None
        print(json.dumps(described or {"skipped": case.name}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
