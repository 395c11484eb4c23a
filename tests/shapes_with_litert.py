"""Shapes that LiteRT computes for TFLite files whose results have none, one JSON document a line.

    python shapes_with_litert.py ERASED FILE...

Each file is written to ERASED without the shapes of what operators write, loaded from there, and run on zeros, so that
shapes which depend on other values are known, too. {"file", "shapes": of the main subgraph's tensors by index} where
LiteRT can run it, {"file", "error"} where it cannot.
"""

import json
import pathlib
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def is_constant(model, tensor):
    contents = model.buffers[tensor.buffer]
    return contents.data is not None and len(contents.data) > 0 or contents.offset > 1


def erase(path, erased):
    model = schema.ModelT.InitFromPackedBuf(pathlib.Path(path).read_bytes())
    for subgraph in model.subgraphs:
        for operator in subgraph.operators or []:
            for output in operator.outputs:
                tensor = subgraph.tensors[output]
                is_state = tensor.isVariable or output in subgraph.inputs
                if output >= 0 and not is_state and not is_constant(model, tensor):
                    tensor.shape, tensor.shapeSignature, tensor.hasRank = None, None, False
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    pathlib.Path(erased).write_bytes(builder.Output())


def shapes(path):
    # Delegates replace operators, and leave the shapes between them as they were.
    interpreter = Interpreter(
        model_path=path,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    for tensor in interpreter.get_input_details():
        interpreter.set_tensor(tensor["index"], np.zeros(tensor["shape"], tensor["dtype"]))
    interpreter.invoke()
    return {tensor["index"]: tensor["shape"].tolist() for tensor in interpreter.get_tensor_details()}


erased = sys.argv[1]
for path in sys.argv[2:]:
    try:
        erase(path, erased)
        print(json.dumps({"file": path, "shapes": shapes(erased)}), flush=True)
    except (RuntimeError, ValueError) as error:
        print(json.dumps({"file": path, "error": str(error)}), flush=True)
