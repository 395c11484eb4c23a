"""Writes networks whose nodes call functions of the file, and the same networks after ONNX's own inliner.

Usage: functions.py FOLDER. Prints one JSON object a line: `file`, `inlined`, and `outputs`, the shapes of the results,
which ONNX's shape inference confirms.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

OPSET = helper.make_opsetid("", 18)
OWN = helper.make_opsetid("own", 1)
node = helper.make_node


def call(name: str, inputs: list[str], outputs: list[str], **attributes) -> NodeProto:
    return node(name, inputs, outputs, domain="own", **attributes)


def function(
    name: str, inputs: list[str], outputs: list[str], nodes: list[NodeProto], attributes=(), defaults=()
) -> FunctionProto:
    return helper.make_function("own", name, inputs, outputs, nodes, [OPSET, OWN], attributes, defaults)


def refer(of: NodeProto, name: str, reference: str, kind: int) -> NodeProto:
    of.attribute.append(AttributeProto(name=name, ref_attr_name=reference, type=kind))
    return of


def block() -> FunctionProto:
    """A convolution whose stride is the call's, with a default, and whose values have names that the graph has too."""
    conv = refer(node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), "strides", "stride", AttributeProto.INTS)
    relu = node("Relu", ["a"], ["y"])
    default = helper.make_attribute("stride", [1, 1])
    return function("Block", ["x", "w"], ["y"], [conv, relu], defaults=[default])


def residual() -> FunctionProto:
    """Calls another function twice, the second time with an attribute that it was called with itself."""
    second = refer(call("Block", ["a", "w2"], ["b"]), "stride", "second", AttributeProto.INTS)
    nodes = [
        call("Block", ["x", "w1"], ["a"]),
        second,
        node("Constant", [], ["half"], value=numpy_helper.from_array(np.float32(0.5))),
        node("Mul", ["b", "half"], ["c"]),
        node("Add", ["c", "x"], ["y"]),
    ]
    return function("Residual", ["x", "w1", "w2"], ["y", "a"], nodes, attributes=["second"])


def gated() -> FunctionProto:
    """An `If` in a function, whose bodies read the function's values."""
    bodies = {
        key: helper.make_graph(
            [node(kind, ["s"], [f"of_{kind}"])],
            key,
            [],
            [helper.make_tensor_value_info(f"of_{kind}", TensorProto.FLOAT, [1, 3, 16, 16])],
        )
        for key, kind in (("then_branch", "Sigmoid"), ("else_branch", "Tanh"))
    }
    nodes = [
        node("Constant", [], ["holds"], value=numpy_helper.from_array(np.array(True))),
        node("Neg", ["x"], ["s"]),
        node("If", ["holds"], ["y"], **bodies),
    ]
    return function("Gated", ["x"], ["y"], nodes)


def clipped() -> FunctionProto:
    """An optional operand that some calls leave out."""
    return function("Clipped", ["x", "lo", "hi"], ["y"], [node("Clip", ["x", "lo", "hi"], ["y"])])


def network(nodes: list[NodeProto], functions: list[FunctionProto], outputs: dict[str, list[int]]) -> ModelProto:
    rng = np.random.default_rng(1)
    weights = {"w": (8, 3, 3, 3), "w1": (8, 8, 3, 3), "w2": (8, 8, 3, 3), "w3": (8, 8, 3, 3)}
    initializers = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    initializers += [numpy_helper.from_array(np.float32(value), name) for name, value in (("zero", 0), ("six", 6))]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        initializers,
    )
    return helper.make_model(graph, functions=functions, opset_imports=[OPSET, OWN], ir_version=9)


NETWORKS = {
    "default": network([call("Block", ["x", "w"], ["y"])], [block()], {"y": [1, 8, 16, 16]}),
    "attribute": network(
        [call("Block", ["x", "w"], ["a"], stride=[2, 2]), call("Block", ["a", "w1"], ["y"])], [block()], {"y": [1, 8, 8, 8]}
    ),
    "nested": network(
        [
            call("Block", ["x", "w"], ["half"]),
            call("Residual", ["half", "w1", "w2"], ["c", "b"], second=[1, 1]),
            call("Residual", ["c", "w3", "w1"], ["d"], second=[1, 1]),
            node("Concat", ["b", "d"], ["y"], axis=1),
        ],
        [residual(), block()],
        {"y": [1, 16, 16, 16]},
    ),
    "branch": network([call("Gated", ["x"], ["s"]), call("Gated", ["s"], ["y"])], [gated()], {"y": [1, 3, 16, 16]}),
    "optional": network(
        [call("Clipped", ["x", "zero", "six"], ["a"]), call("Clipped", ["a", "", "six"], ["y"])], [clipped()], {"y": [1, 3, 16, 16]}
    ),
}


def main(folder: Path) -> None:
    for name, model in NETWORKS.items():
        onnx.checker.check_model(model)
        inlined = onnx.inliner.inline_local_functions(model)
        files = {"file": f"{name}.onnx", "inlined": f"{name}-inlined.onnx"}
        for file, written in zip(files.values(), (model, inlined)):
            (folder / file).write_bytes(written.SerializeToString())
        assert not inlined.functions
        onnx.shape_inference.infer_shapes(inlined, strict_mode=True, data_prop=True)
        outputs = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.output]
        print(json.dumps({**files, "outputs": outputs}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
