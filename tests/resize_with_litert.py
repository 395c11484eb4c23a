"""Resizes the inputs of TFLite files to BATCH of them in LiteRT, one JSON document a line.

    python resize_with_litert.py BATCH FILE...

{"file", "shapes": of each tensor by index} where LiteRT can, {"file", "error"} where it cannot.
"""

import json
import sys

from ai_edge_litert.interpreter import Interpreter, OpResolverType


def shapes(path, batch):
    # Delegates replace operators, and leave the shapes between them as they were.
    interpreter = Interpreter(
        model_path=path,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    for tensor in interpreter.get_input_details():
        interpreter.resize_tensor_input(tensor["index"], [batch, *tensor["shape"][1:]])
    interpreter.allocate_tensors()
    details = interpreter.get_tensor_details()
    return {tensor["index"]: tensor["shape"].tolist() for tensor in details}


for path in sys.argv[2:]:
    try:
        print(json.dumps({"file": path, "shapes": shapes(path, int(sys.argv[1]))}))
    except (RuntimeError, ValueError) as error:
        print(json.dumps({"file": path, "error": str(error)}))
