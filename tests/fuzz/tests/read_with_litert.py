"""Prints what LiteRT's interpreter makes of TFLite files, one JSON document a line.

    python read_with_litert.py FILE...

Each file is read in a process of its own: a file that nobody would write can end it. `error` or `signal` stands in the
place of the tensors of a file that LiteRT does not take.
"""

import json
import os
import sys

import numpy
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def numbers(values):
    return [int(value) for value in values]


def tensor(details):
    return {"index": int(details["index"]), "shape": numbers(details["shape"]),
            "type": numpy.dtype(details["dtype"]).name}


def operator(details):
    return {"name": details["op_name"], "inputs": numbers(details["inputs"]),
            "outputs": numbers(details["outputs"])}


def read(path):
    # Delegates would put their own operators in the place of the file's.
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        interpreter = Interpreter(model_path=path, experimental_op_resolver_type=resolver)
        return {"tensors": [tensor(details) for details in interpreter.get_tensor_details()],
                "operators": [operator(details) for details in interpreter._get_ops_details()],
                "inputs": [int(details["index"]) for details in interpreter.get_input_details()]}
    except (RuntimeError, ValueError) as error:
        return {"error": str(error)[:200]}


def apart(path):
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(write_end, "w") as answer:
            json.dump(read(path), answer)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as answer:
        said = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"signal": os.WTERMSIG(status)}
    return json.loads(said)


for name in sys.argv[1:]:
    print(json.dumps({"file": name, **apart(name)}))
