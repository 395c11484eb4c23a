"""The graph of a TFLite file that a package of PyPI contains: convolutional networks of floats, whose weights may be stored in
16 bits."""

import importlib.util
import math
import pathlib

from ai_edge_litert import schema_py_generated as schema

# By Qualcomm's name: MediaPipe's.
FILES = {
    "mediapipe_selfie": "selfie_segmentation/selfie_segmentation",
    "mediapipe_hand_gesture/hand_landmark_detector": "hand_landmark/hand_landmark_full",
}
NAMES = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6"}
PADDINGS = {0: "SAME", 1: "VALID"}


def graph_of_mediapipe(name):
    """Graph and number of parameters."""
    (folder,) = importlib.util.find_spec("mediapipe").submodule_search_locations
    file = pathlib.Path(folder) / "modules" / f"{FILES[name]}.tflite"
    return graph(schema.ModelT.InitFromPackedBuf(file.read_bytes(), 0), name)


def graph(model, name):
    (subgraph,) = model.subgraphs
    tensors = subgraph.tensors
    has_values = [bool(len(buffer.data)) if buffer.data is not None else False for buffer in model.buffers]
    constants = {index for index, tensor in enumerate(tensors) if has_values[tensor.buffer]}
    # Of weights in 16 bits, those in 32 bits that they are made of.
    stored = {}
    operators, extra = [], []
    for operator in subgraph.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        custom = code.customCode.decode() if code.customCode else None
        kind = custom or NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]
        inputs = [stored.get(int(index), int(index)) for index in operator.inputs]
        outputs = [int(index) for index in operator.outputs]
        if kind == "DEQUANTIZE" and inputs[0] in constants:
            stored[outputs[0]] = inputs[0]
            continue
        names = [f"t{index}" for index in inputs]
        attributes = attributes_of(kind, operator.builtinOptions)
        if kind == "Convolution2DTransposeBias":
            kind, shape = "TRANSPOSE_CONV", f"shape{len(operators)}"
            sides = [int(side) for side in tensors[outputs[0]].shape]
            extra.append({"name": shape, "shape": [4], "type": "int32", "constant": True, "values": sides})
            names = [shape, names[1], names[0], names[2]]
        elif kind in ("MEAN", "RESIZE_BILINEAR"):
            names = names[:1]
        operators.append({"kind": kind, "inputs": names, "outputs": [f"t{index}" for index in outputs], "attributes": attributes})
    used = {name for operator in operators for name in operator["inputs"] + operator["outputs"]}
    own = []
    for index, tensor in enumerate(tensors):
        if f"t{index}" in used:
            shape = [int(side) for side in tensor.shape]
            own.append({"name": f"t{index}", "shape": shape, "type": "float32", "constant": index in constants})
    ends = ([f"t{index}" for index in indices] for indices in (subgraph.inputs, subgraph.outputs))
    parameters = sum(math.prod(tensor["shape"]) for tensor in own if tensor["constant"])
    document = {"format": "litecast-graph", "version": 1, "name": name}
    document |= {**dict(zip(("inputs", "outputs"), ends)), "tensors": own + extra, "operators": operators}
    return document, parameters


def attributes_of(kind, options):
    if kind == "Convolution2DTransposeBias":
        # MediaPipe's own operator: a transposed convolution with a bias, here one that doubles the sides.
        return {"stride": [2, 2], "padding": "SAME"}
    attributes = {}
    if hasattr(options, "fusedActivationFunction"):
        attributes["activation"] = ACTIVATIONS[options.fusedActivationFunction]
    if hasattr(options, "strideH"):
        attributes |= {"stride": [options.strideH, options.strideW], "padding": PADDINGS[options.padding]}
    if hasattr(options, "filterHeight"):
        attributes["filter"] = [options.filterHeight, options.filterWidth]
    if hasattr(options, "dilationHFactor"):
        attributes["dilation"] = [options.dilationHFactor, options.dilationWFactor]
    if kind == "MEAN":
        attributes |= {"axes": [1, 2], "keep_dims": bool(options.keepDims)}
    return attributes
