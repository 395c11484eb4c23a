"""Resizes the inputs of TFLite files in LiteRT, one JSON document a line.

    python resize_with_litert.py BATCH MORE FILE...

The first dimension of every input becomes BATCH, and images of four dimensions have MORE rows and columns; with any, the
network runs on zeros. {"file", "shapes": of each tensor by index} where LiteRT can, {"file", "error"} where it cannot.
"""

import json
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def resized(shape, batch, more):
    _, *sizes = shape.tolist()
    if len(sizes) == 3:
        sizes[:2] = [sizes[0] + more, sizes[1] + more]
    return [batch, *sizes]


def shapes(path, batch, more):
    # Delegates replace operators, and leave the shapes between them as they were.
    interpreter = Interpreter(
        model_path=path,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    for tensor in interpreter.get_input_details():
        interpreter.resize_tensor_input(tensor["index"], resized(tensor["shape"], batch, more))
    interpreter.allocate_tensors()
    if more > 0:
        # Behind a shape that is computed at run time, operators learn theirs when they run.
        for tensor in interpreter.get_input_details():
            interpreter.set_tensor(tensor["index"], np.zeros(tensor["shape"], tensor["dtype"]))
        interpreter.invoke()
    details = interpreter.get_tensor_details()
    return {tensor["index"]: tensor["shape"].tolist() for tensor in details}


for path in sys.argv[3:]:
    try:
        print(json.dumps({"file": path, "shapes": shapes(path, int(sys.argv[1]), int(sys.argv[2]))}), flush=True)
    except (RuntimeError, ValueError) as error:
        print(json.dumps({"file": path, "error": str(error)}))
