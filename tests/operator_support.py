"""Files of one operator each, for `analysis_oracle.py support`: every operator of TensorFlow Lite Micro's resolver and
some outside of it, in the types and options that decide whether a kernel runs it."""

import copy
import itertools
import math
import struct

from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers
from operator_graphs import Graph, camel

TYPES = {letter: getattr(schema.TensorType, name) for letter, name in {
    "f": "FLOAT32", "i": "INT8", "h": "INT16", "w": "INT32", "l": "INT64", "b": "BOOL", "u": "UINT8", "e": "FLOAT16",
    "v": "UINT32", "4": "INT4", "r": "RESOURCE"}.items()}
FORMATS = {"f": "f", "i": "b", "h": "h", "w": "i", "l": "q", "b": "?", "u": "B", "v": "I", "e": "e"}
QUANTISED = "ihu4"
IMAGE = [1, 4, 4, 8]


class Const:
    """Values of a constant operand: one for all elements, or a list."""

    def __init__(self, values):
        self.values = values


class Case(Graph):
    def add(self, letter, shape, values=None, scale=0.5, zero_point=0, channels=0, axis=0, variable=False, is_bias=False):
        scales = [scale] * (channels or 1) if scale and (letter in QUANTISED or is_bias) else None
        contents = None
        if values is not None:
            count = math.prod(shape)
            each = values if isinstance(values, list) else [values] * count
            if letter == "4":
                contents = bytes((count + 1) // 2)
            else:
                contents = struct.pack("<%d%s" % (count, FORMATS[letter]), *each)
        point = 0 if letter == "h" and zero_point > -32768 else zero_point
        return self.add_tensor(shape, TYPES[letter], contents, scales, point, axis, variable)


def case(name, inputs, outputs, options=None, custom=None, settings=None, **fields):
    """One operator; an operand is (letter, shape, keywords of `Case.add`), or None where it is left out."""
    graph = Case()
    read = []
    for operand in inputs:
        if operand is None:
            read.append(-1)
            continue
        letter, shape, *keywords = operand
        keywords = keywords[0] if keywords else {}
        read.append(graph.add(letter, shape, **keywords))
        if "values" not in keywords and not keywords.get("variable"):
            graph.subgraph.inputs.append(read[-1])
    wrote = [graph.add(letter, shape, **(keywords[0] if keywords else {})) for letter, shape, *keywords in outputs]
    graph.operator(name, read, wrote, options, **fields)
    graph.subgraph.outputs = wrote
    if settings is not None:
        graph.subgraph.operators[0].customOptions = list(flexbuffers.Dumps(settings))
    if custom is not None:
        for each in graph.model.operatorCodes:
            each.customCode = custom
    return graph.model


def const(letter, shape, values, **keywords):
    return letter, shape, dict(values=values, **keywords)


def bias_of(letter, length):
    return const("f" if letter == "f" else "w", [length], 0, scale=0.25, is_bias=letter != "f")


ALL = "fihwlbue"


def unary():
    fixed = {"TANH": dict(scale=1 / 128), "LOGISTIC": dict(scale=1 / 256, zero_point=-128),
             "SOFTMAX": dict(scale=1 / 256, zero_point=-128), "LOG_SOFTMAX": dict(scale=16 / 256, zero_point=127),
             "L2_NORMALIZATION": dict(scale=1 / 128)}
    options = {"SOFTMAX": ("SoftmaxOptions", dict(beta=1.0)), "LEAKY_RELU": ("LeakyReluOptions", dict(alpha=0.1)),
               "L2_NORMALIZATION": ("L2NormOptions", {}), "GELU": ("GeluOptions", {})}
    names = ("RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 HARD_SWISH ELU ABS RSQRT QUANTIZE ZEROS_LIKE NEG SQUARE SQRT SIN COS "
             "LOG EXP CEIL FLOOR ROUND TANH LOGISTIC SOFTMAX LOG_SOFTMAX LEAKY_RELU L2_NORMALIZATION GELU SIGN "
             "LOGICAL_NOT DEQUANTIZE CAST RANK").split()
    for name in names:
        for letter in ALL:
            option, fields = options.get(name, (None, {}))
            if name == "CAST":
                for wrote in ALL + "v":
                    yield case(name, [(letter, IMAGE)], [(wrote, IMAGE)], "CastOptions", inDataType=TYPES[letter], outDataType=TYPES[wrote])
                continue
            if name in ("QUANTIZE", "DEQUANTIZE", "SOFTMAX"):
                for wrote in ALL:
                    keywords = fixed.get(name, {}) if wrote != "h" else dict(scale=1 / 32768)
                    if name == "SOFTMAX" and letter == "i" and wrote == "h":
                        continue  # A zero point of -32768.
                    yield case(name, [(letter, IMAGE)], [(wrote, IMAGE, keywords)], option, **fields)
                continue
            keywords = fixed.get(name, {})
            if letter == "h" and name in ("TANH", "LOGISTIC"):
                keywords = dict(scale=1 / 32768)
            read = dict(scale=1 / 4096) if letter == "h" else {}
            if name == "RSQRT":
                if letter == "h":
                    continue  # Defined for positive values alone, and inputs are 0.
                read = dict(zero_point=-128)
            if name == "RANK":
                yield case(name, [(letter, IMAGE)], [("w", [])], "RankOptions")
                continue
            yield case(name, [(letter, IMAGE, read)], [(letter, IMAGE, keywords)], option, **fields)
    # Wrong quantisation.
    for name in ("LOGISTIC", "SOFTMAX", "TANH", "LOG_SOFTMAX"):
        option, fields = options.get(name, (None, {}))
        for keywords in (dict(scale=0.5), dict(scale=1 / 256, zero_point=0), dict(scale=0.5, zero_point=-128)):
            yield case(name, [("i", IMAGE)], [("i", IMAGE, keywords)], option, **fields)
    for shape in ([8], [4, 8], [2, 4, 8], [1, 2, 2, 2, 2]):
        for name in ("SOFTMAX", "L2_NORMALIZATION", "RELU", "HARD_SWISH"):
            option, fields = options.get(name, (None, {}))
            yield case(name, [("i", shape)], [("i", shape, fixed.get(name, {}))], option, **fields)
    yield case("L2_NORMALIZATION", [("f", IMAGE)], [("f", IMAGE)], "L2NormOptions", fusedActivationFunction=1)
    for letter in "fi":
        yield case("QUANTIZE", [(letter, IMAGE)], [("i", IMAGE, dict(channels=8, axis=3))])


def pools():
    small = [1, 2, 2, 8]
    window = dict(strideW=2, strideH=2, filterWidth=2, filterHeight=2, padding=1)
    for name in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
        for letter in ALL:
            yield case(name, [(letter, IMAGE)], [(letter, small)], "Pool2DOptions", **window)
        for activation in (1, 2, 3, 4):
            for letter in "fi":
                yield case(name, [(letter, IMAGE)], [(letter, small)], "Pool2DOptions", fusedActivationFunction=activation, **window)
        yield case(name, [("i", IMAGE)], [("i", small, dict(scale=0.25))], "Pool2DOptions", **window)


def reductions():
    for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_PROD"):
        for letter, axes, keep in itertools.product(ALL, ([1, 2], [3], [0], [1], [0, 1, 2, 3], [-1]), (True, False)):
            if letter not in "fihb" and (axes != [1, 2] or not keep):
                continue
            reduced = [axis % 4 for axis in axes]
            shape = [1 if i in reduced else n for i, n in enumerate(IMAGE)] if keep else [n for i, n in enumerate(IMAGE) if i not in reduced]
            yield case(name, [(letter, IMAGE), const("w", [len(axes)], axes)], [(letter, shape)], "ReducerOptions", keepDims=keep)
        for letter in "fi":
            yield case(name, [(letter, IMAGE), const("w", [2], [1, 2])], [(letter, [1, 1, 1, 8], dict(scale=0.25))], "ReducerOptions", keepDims=True)
            yield case(name, [(letter, IMAGE), const("l", [2], [1, 2])], [(letter, [1, 1, 1, 8])], "ReducerOptions", keepDims=True)
    for name in ("ARG_MAX", "ARG_MIN"):
        for letter, wrote, axis in itertools.product(ALL, "wl", "wl"):
            yield case(name, [(letter, IMAGE), const(axis, [], [3])], [(wrote, [1, 4, 4])], camel(name) + "Options", outputType=TYPES[wrote])


def moves():
    pad = const("w", [4, 2], [0, 0, 1, 1, 1, 1, 0, 0])
    wide = [1, 6, 6, 8]
    for letter in ALL:
        yield case("PAD", [(letter, IMAGE), pad], [(letter, wide)], "PadOptions")
        if letter != "e":
            yield case("PADV2", [(letter, IMAGE), pad, const(letter, [1], [0])], [(letter, wide)], "PadV2Options")
        for mode in (0, 1):
            yield case("MIRROR_PAD", [(letter, IMAGE), pad], [(letter, wide)], "MirrorPadOptions", mode=mode)
        yield case("RESHAPE", [(letter, IMAGE), const("w", [2], [1, 128])], [(letter, [1, 128])], "ReshapeOptions")
        yield case("SQUEEZE", [(letter, IMAGE)], [(letter, [4, 4, 8])], "SqueezeOptions", squeezeDims=[0])
        yield case("EXPAND_DIMS", [(letter, IMAGE), const("w", [], [0])], [(letter, [1] + IMAGE)], "ExpandDimsOptions")
        yield case("TRANSPOSE", [(letter, IMAGE), const("w", [4], [0, 1, 3, 2])], [(letter, [1, 4, 8, 4])], "TransposeOptions")
        for wrote in "wl":
            yield case("SHAPE", [(letter, IMAGE)], [(wrote, [4])], "ShapeOptions", outType=TYPES[wrote])
        small = [1, 2, 2, 8]
        for index in "wl":
            yield case("SLICE", [(letter, IMAGE), const(index, [4], [0] * 4), const(index, [4], small)], [(letter, small)], "SliceOptions")
            yield case("STRIDED_SLICE", [(letter, IMAGE), const(index, [4], [0] * 4), const(index, [4], small), const(index, [4], [1] * 4)], [(letter, small)], "StridedSliceOptions")
            yield case("BROADCAST_TO", [(letter, IMAGE), const(index, [4], [2, 4, 4, 8])], [(letter, [2, 4, 4, 8])], "BroadcastToOptions")
            yield case("TILE", [(letter, IMAGE), const(index, [4], [2, 1, 1, 1])], [(letter, [2, 4, 4, 8])], "TileOptions")
            yield case("GATHER", [(letter, IMAGE), const(index, [2], [0, 2])], [(letter, [1, 2, 4, 8])], "GatherOptions", axis=1)
            yield case("GATHER_ND", [(letter, IMAGE), const(index, [2, 3], [0, 1, 2, 0, 2, 1])], [(letter, [2, 8])], "GatherNdOptions")
            yield case("DYNAMIC_UPDATE_SLICE", [(letter, IMAGE), (letter, small), const(index, [4], [0, 1, 1, 0])], [(letter, IMAGE)], "DynamicUpdateSliceOptions")
            yield case("REVERSE_V2", [(letter, IMAGE), const(index, [1], [1])], [(letter, IMAGE)], "ReverseV2Options")
            yield case("CUMSUM", [(letter, IMAGE), const(index, [], [1])], [(letter, IMAGE)], "CumsumOptions")
            if letter != "e":
                yield case("FILL", [const(index, [2], [2, 3]), const(letter, [], [1])], [(letter, [2, 3])], "FillOptions")
            yield case("SPLIT_V", [(letter, IMAGE), const(index, [2], [3, 5]), const("w", [], [3])], [(letter, [1, 4, 4, 3]), (letter, [1, 4, 4, 5])], "SplitVOptions", numSplits=2)
            yield case("SPACE_TO_BATCH_ND", [(letter, IMAGE), const(index, [2], [2, 2]), const(index, [2, 2], [0] * 4)], [(letter, [4, 2, 2, 8])], "SpaceToBatchNDOptions")
            yield case("BATCH_TO_SPACE_ND", [(letter, [4, 2, 2, 8]), const(index, [2], [2, 2]), const(index, [2, 2], [0] * 4)], [(letter, IMAGE)], "BatchToSpaceNDOptions")
            for name in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"):
                yield case(name, [(letter, IMAGE), const(index, [2], [8, 8])], [(letter, [1, 8, 8, 8])], camel(name) + "Options")
        yield case("SPACE_TO_DEPTH", [(letter, IMAGE)], [(letter, [1, 2, 2, 32])], "SpaceToDepthOptions", blockSize=2)
        yield case("DEPTH_TO_SPACE", [(letter, IMAGE)], [(letter, [1, 8, 8, 2])], "DepthToSpaceOptions", blockSize=2)
        yield case("SPLIT", [const("w", [], [3]), (letter, IMAGE)], [(letter, [1, 4, 4, 4])] * 2, "SplitOptions", numSplits=2)
        yield case("CONCATENATION", [(letter, IMAGE)] * 2, [(letter, [1, 4, 4, 16])], "ConcatenationOptions", axis=3)
        yield case("CONCATENATION", [(letter, IMAGE)] * 3, [(letter, [1, 4, 4, 24])], "ConcatenationOptions", axis=-1)
        yield case("PACK", [(letter, IMAGE)] * 2, [(letter, [2] + IMAGE)], "PackOptions", axis=0, valuesCount=2)
        yield case("UNPACK", [(letter, [2, 4, 8])], [(letter, [4, 8])] * 2, "UnpackOptions", axis=0, num=2)
        for lookup in "wl":
            yield case("EMBEDDING_LOOKUP", [(lookup, [2]), (letter, [4, 8]) if letter == "e" else const(letter, [4, 8], 1)], [(letter, [2, 8])])
        yield case("ONE_HOT", [("w", [4]), const("w", [], [8]), (letter, []), (letter, [])], [(letter, [4, 8])], "OneHotOptions", axis=-1)
        yield case("TOPK_V2", [(letter, [1, 8]), const("w", [], [2])], [(letter, [1, 2]), ("w", [1, 2])], "TopKV2Options")
        yield case("ADD_N", [(letter, IMAGE)] * 3, [(letter, IMAGE)], "AddNOptions")
    yield case("EMBEDDING_LOOKUP", [("w", [2]), const("i", [4, 8], 1)], [("f", [2, 8])])
    yield case("BROADCAST_ARGS", [const("w", [4], IMAGE), const("w", [4], [1, 1, 1, 8])], [("w", [4])])
    yield case("BROADCAST_ARGS", [const("l", [4], IMAGE), const("l", [4], [1, 1, 1, 8])], [("l", [4])])
    # Operands that are computed, activations, ranks and scales.
    for letter in "fi":
        yield case("PAD", [(letter, IMAGE), ("w", [4, 2])], [(letter, wide)], "PadOptions")
        yield case("MIRROR_PAD", [(letter, IMAGE), ("w", [4, 2])], [(letter, wide)], "MirrorPadOptions")
        yield case("TRANSPOSE", [(letter, IMAGE), ("w", [4])], [(letter, [1, 4, 8, 4])], "TransposeOptions")
        yield case("EXPAND_DIMS", [(letter, IMAGE), ("w", [1])], [(letter, [1] + IMAGE)], "ExpandDimsOptions")
        yield case("RESHAPE", [(letter, IMAGE), ("w", [2])], [(letter, [1, 128])], "ReshapeOptions", newShape=[1, 128])
        yield case("RESHAPE", [(letter, IMAGE)], [(letter, [1, 128])], "ReshapeOptions", newShape=[1, 128])
        yield case("RESIZE_BILINEAR", [(letter, IMAGE), ("w", [2])], [(letter, [1, 8, 8, 8])], "ResizeBilinearOptions")
        yield case("RESIZE_NEAREST_NEIGHBOR", [(letter, IMAGE), ("w", [2])], [(letter, [1, 8, 8, 8])], "ResizeNearestNeighborOptions")
        yield case("BROADCAST_TO", [(letter, IMAGE), ("w", [4])], [(letter, [2, 4, 4, 8])], "BroadcastToOptions")
        yield case("STRIDED_SLICE", [(letter, IMAGE), ("w", [4]), ("w", [4]), ("w", [4])], [(letter, [1, 2, 2, 8])], "StridedSliceOptions")
        yield case("SPLIT", [("w", [1]), (letter, IMAGE)], [(letter, [1, 4, 4, 4])] * 2, "SplitOptions", numSplits=2)
        yield case("SPLIT_V", [(letter, IMAGE), const("w", [2], [3, 5]), ("w", [1])], [(letter, [1, 4, 4, 3]), (letter, [1, 4, 4, 5])], "SplitVOptions", numSplits=2)
        yield case("SPLIT", [const("w", [1], [-1]), (letter, IMAGE)], [(letter, [1, 4, 4, 4])] * 2, "SplitOptions", numSplits=2)
        yield case("CONCATENATION", [(letter, IMAGE)] * 2, [(letter, [1, 4, 4, 16])], "ConcatenationOptions", axis=3, fusedActivationFunction=1)
        yield case("CONCATENATION", [(letter, IMAGE)] * 12, [(letter, [1, 4, 4, 96])], "ConcatenationOptions", axis=3)
        yield case("CONCATENATION", [(letter, [1, 1] + IMAGE[1:])] * 2, [(letter, [1, 1, 4, 4, 16])], "ConcatenationOptions", axis=4)
        yield case("CONCATENATION", [(letter, [1, 1, 1] + IMAGE[1:])] * 2, [(letter, [1, 1, 1, 4, 4, 16])], "ConcatenationOptions", axis=5)
        yield case("CONCATENATION", [(letter, IMAGE)] * 2, [(letter, [1, 4, 4, 16], dict(scale=0.25))], "ConcatenationOptions", axis=3)
        yield case("PAD", [(letter, IMAGE), pad], [(letter, wide, dict(scale=0.25))], "PadOptions")
        yield case("RESIZE_BILINEAR", [(letter, IMAGE), const("w", [2], [8, 8])], [(letter, [1, 8, 8, 8])], "ResizeBilinearOptions", alignCorners=True)
        for rank in (1, 2, 3, 5, 6):
            shape = [2] * rank
            yield case("TRANSPOSE", [(letter, shape), const("w", [rank], list(range(rank)))], [(letter, shape)], "TransposeOptions")
            yield case("SLICE", [(letter, shape), const("w", [rank], [0] * rank), const("w", [rank], [1] * rank)], [(letter, [1] * rank)], "SliceOptions")
            yield case("STRIDED_SLICE", [(letter, shape), const("w", [rank], [0] * rank), const("w", [rank], [1] * rank), const("w", [rank], [1] * rank)], [(letter, [1] * rank)], "StridedSliceOptions")
            yield case("PAD", [(letter, shape), const("w", [rank, 2], [0, 1] * rank)], [(letter, [3] * rank)], "PadOptions")
            yield case("BROADCAST_TO", [(letter, [1] * rank), const("w", [rank], shape)], [(letter, shape)], "BroadcastToOptions")
            yield case("REVERSE_V2", [(letter, shape), const("w", [1], [0])], [(letter, shape)], "ReverseV2Options")
            yield case("MEAN", [(letter, shape), const("w", [1], [0])], [(letter, [1] + shape[1:])], "ReducerOptions", keepDims=True)
            yield case("ADD", [(letter, shape)] * 2, [(letter, shape)], "AddOptions")
            yield case("MUL", [(letter, shape), (letter, [1] * rank)], [(letter, shape)], "MulOptions")
            yield case("SUB", [(letter, shape), (letter, [1] * rank)], [(letter, shape)], "SubOptions")
            yield case("SQUEEZE", [(letter, [1] + shape)], [(letter, shape)], "SqueezeOptions", squeezeDims=[0])
        yield case("SPACE_TO_BATCH_ND", [(letter, [1, 4, 8]), const("w", [1], [2]), const("w", [1, 2], [0] * 2)], [(letter, [2, 2, 8])], "SpaceToBatchNDOptions")
        yield case("STRIDED_SLICE", [(letter, IMAGE), const("w", [4], [0] * 4), const("w", [4], [1, 1, 2, 8]), const("w", [4], [1] * 4)], [(letter, [1, 2, 8])], "StridedSliceOptions", shrinkAxisMask=2)
        yield case("STRIDED_SLICE", [(letter, IMAGE), const("w", [5], [0] * 5), const("w", [5], [1, 1, 4, 4, 8]), const("w", [5], [1] * 5)], [(letter, [1] + IMAGE)], "StridedSliceOptions", newAxisMask=2)
        yield case("STRIDED_SLICE", [(letter, IMAGE), const("w", [1], [0]), const("w", [1], [1]), const("w", [1], [1])], [(letter, IMAGE)], "StridedSliceOptions")
        yield case("GATHER", [(letter, IMAGE), const("w", [2], [0, 2])], [(letter, [1, 4, 4, 2])], "GatherOptions", axis=-1)
        yield case("GATHER", [(letter, IMAGE), ("w", [2])], [(letter, [1, 2, 4, 8])], "GatherOptions", axis=1)


def binary():
    row = [1, 1, 1, 8]
    for name in ("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE", "MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD", "POW", "ATAN2"):
        option = {"MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions", "ATAN2": None}.get(name, camel(name) + "Options")
        for letter in ALL:
            ones = {} if letter == "e" else dict(values=1)
            yield case(name, [(letter, IMAGE), (letter, IMAGE, ones)], [(letter, IMAGE)], option)
            yield case(name, [(letter, IMAGE), (letter, row, ones)], [(letter, IMAGE)], option)
        if name in ("ADD", "SUB", "MUL", "DIV"):
            for letter, activation in itertools.product("fihw", (1, 2, 3, 4)):
                yield case(name, [(letter, IMAGE), (letter, IMAGE, dict(values=1))], [(letter, IMAGE)], option, fusedActivationFunction=activation)
        yield case(name, [("i", IMAGE), ("h", IMAGE)], [("i", IMAGE)], option)
        yield case(name, [("f", IMAGE), const("i", IMAGE, 1)], [("f", IMAGE)], option)
    for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        for letter in ALL:
            yield case(name, [(letter, IMAGE)] * 2, [("b", IMAGE)], camel(name) + "Options")
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        for letter in ALL:
            yield case(name, [(letter, IMAGE)] * 2, [("b", IMAGE)], camel(name) + "Options")
    for letter in ALL:
        yield case("SELECT_V2", [("b", IMAGE), (letter, IMAGE), (letter, IMAGE)], [(letter, IMAGE)], "SelectV2Options")
        yield case("SELECT", [("b", IMAGE), (letter, IMAGE), (letter, IMAGE)], [(letter, IMAGE)], "SelectOptions")
        yield case("PRELU", [(letter, IMAGE), (letter, [1, 1, 8])], [(letter, IMAGE)])
        yield case("WHERE", [(letter, [8])], [("l", [8, 1])], "WhereOptions")
    yield case("PRELU", [("h", IMAGE), ("i", [1, 1, 8])], [("h", IMAGE)])
    yield case("PRELU", [("h", IMAGE), const("i", [1, 1, 8], 1)], [("h", IMAGE)])
    yield case("SELECT_V2", [("b", [1, 1, 1, 1]), ("i", IMAGE), ("i", row)], [("i", IMAGE)], "SelectV2Options")


def weights():
    conv = dict(strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
    sets = [(a, w, b, o) for a, w, b, o in itertools.product("fihue", "fihu4e", "fwlh-", "fihue")
            if (a == o or (a, w, o) in (("i", "i", "h"), ("i", "i", "f"))) and (b != "f" or a in "fe")]
    for a, w, b, o in sets:
        filters = {"CONV_2D": ([8, 3, 3, 8], 0), "DEPTHWISE_CONV_2D": ([1, 3, 3, 8], 3), "FULLY_CONNECTED": ([8, 128], 0),
                   "TRANSPOSE_CONV": ([8, 3, 3, 8], 0)}
        for name, (shape, axis) in filters.items():
            for channels in ((8, 1, 0) if w in "i4" else (1,)):
                keywords = dict(channels=channels, axis=axis) if channels else dict(scale=0)
                kernel = (w, shape, dict(values=1, **keywords))
                bias = [] if b == "-" else [(b, [8], dict(values=0, scale=0.25, is_bias=a not in "fe"))]
                if name == "FULLY_CONNECTED":
                    yield case(name, [(a, [1, 128]), kernel, *bias], [(o, [1, 8])], "FullyConnectedOptions")
                elif name == "TRANSPOSE_CONV":
                    yield case(name, [const("w", [4], [1, 8, 8, 8]), kernel, (a, IMAGE), *bias], [(o, [1, 8, 8, 8])], "TransposeConvOptions", strideW=2, strideH=2)
                else:
                    extra = dict(depthMultiplier=1) if name[0] == "D" else {}
                    yield case(name, [(a, IMAGE), kernel, *bias], [(o, IMAGE)], "Conv2DOptions" if name[0] == "C" else "DepthwiseConv2DOptions", **conv, **extra)
    # Computed weights, groups, dilation, a kernel that is too small.
    for letter in "fi":
        yield case("CONV_2D", [(letter, IMAGE), (letter, [8, 3, 3, 8], dict(channels=8)), None], [(letter, IMAGE)], "Conv2DOptions", **conv)
        yield case("FULLY_CONNECTED", [(letter, [1, 128]), (letter, [8, 128]), None], [(letter, [1, 8])], "FullyConnectedOptions")
        yield case("CONV_2D", [(letter, IMAGE), const(letter, [8, 3, 3, 4], 1, channels=8), bias_of(letter, 8)], [(letter, IMAGE)], "Conv2DOptions", **conv)
        yield case("CONV_2D", [(letter, IMAGE), const(letter, [8, 3, 3, 8], 1, channels=8), bias_of(letter, 8)], [(letter, IMAGE)], "Conv2DOptions", strideW=1, strideH=1, dilationWFactor=2, dilationHFactor=2)
        yield case("DEPTHWISE_CONV_2D", [(letter, IMAGE), const(letter, [1, 3, 3, 16], 1, channels=16, axis=3), bias_of(letter, 16)], [(letter, [1, 4, 4, 16])], "DepthwiseConv2DOptions", depthMultiplier=2, **conv)
        for activation in (1, 2, 3, 4):
            yield case("CONV_2D", [(letter, IMAGE), const(letter, [8, 3, 3, 8], 1, channels=8), bias_of(letter, 8)], [(letter, IMAGE)], "Conv2DOptions", fusedActivationFunction=activation, **conv)
            yield case("FULLY_CONNECTED", [(letter, [1, 128]), const(letter, [8, 128], 1), bias_of(letter, 8)], [(letter, [1, 8])], "FullyConnectedOptions", fusedActivationFunction=activation)
        yield case("FULLY_CONNECTED", [(letter, [2, 3, 128]), const(letter, [8, 128], 1), None], [(letter, [2, 3, 8])], "FullyConnectedOptions", keepNumDims=True)
        yield case("FULLY_CONNECTED", [(letter, [1, 128]), const(letter, [330, 128], 1, channels=330), None], [(letter, [1, 330])], "FullyConnectedOptions")
        yield case("FULLY_CONNECTED", [(letter, [1, 128]), const(letter, [8, 128], 1), None], [(letter, [1, 8])], "FullyConnectedOptions", weightsFormat=1)
    for a, b, o in itertools.product("fihue", repeat=3):
        if a == o:
            for adjoint in (False, True):
                shape = [1, 6, 4] if adjoint else [1, 4, 6]
                yield case("BATCH_MATMUL", [(a, [1, 8, 4]), (b, shape)], [(o, [1, 8, 6])], "BatchMatMulOptions", adjX=False, adjY=adjoint)
                yield case("BATCH_MATMUL", [(a, [1, 8, 4]), (b, shape) if b == "e" else const(b, shape, 1)], [(o, [1, 8, 6])], "BatchMatMulOptions", adjX=False, adjY=adjoint)
    for adj in (False, True):
        yield case("BATCH_MATMUL", [("i", [2, 3, 8, 4]), ("i", [1, 3, 4, 6])], [("i", [2, 3, 8, 6])], "BatchMatMulOptions", adjX=False)
        yield case("BATCH_MATMUL", [("f", [1, 4, 8]), ("f", [1, 4, 6])], [("f", [1, 8, 6])], "BatchMatMulOptions", adjX=True)
        yield case("BATCH_MATMUL", [("i", [1, 4, 8]), ("i", [1, 4, 6])], [("i", [1, 8, 6])], "BatchMatMulOptions", adjX=True)
    for a, w, t, s in (("i", "i", "h", "h"), ("i", "i", "i", "i"), ("f", "f", "f", "f"), ("i", "i", "h", "i"), ("f", "i", "i", "f"), ("f", "i", "f", "f"), ("h", "i", "h", "h"), ("u", "u", "h", "h")):
        bias = bias_of(a, 2)
        yield case("SVDF", [(a, [1, 8]), const(w, [4, 8], 1), const(t, [4, 5], 1), bias, (s, [1, 20], dict(variable=True))], [(a, [1, 2])], "SVDFOptions", rank=2)
    for a, w, b, c in (("f", "f", "f", "f"), ("i", "i", "w", "h"), ("h", "i", "l", "h"), ("u", "u", "w", "h"), ("f", "i", "f", "f"), ("i", "i", "w", "f")):
        operands = [(a, [1, 3, 4])] + [const(w, [6, 4], 1)] * 4 + [const(w, [6, 6], 1)] * 4 + [None] * 3 + [const(b, [6], 0, scale=0.25, is_bias=a != "f")] * 4 + [None] * 2
        for batch, time_major in ((1, False), (3, True)):
            states = [(a, [batch, 6], dict(variable=True)), (c, [batch, 6], dict(variable=True, scale=1 / 32768 if c == "h" else 0.5))]
            yield case("UNIDIRECTIONAL_SEQUENCE_LSTM", operands + states + [None] * 4, [(a, [1, 3, 6])], "UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4, timeMajor=time_major)
    for name in ("UNIDIRECTIONAL_SEQUENCE_RNN", "RNN"):
        yield case(name, [("f", [1, 3, 4]), const("f", [6, 4], 1), const("f", [6, 6], 1), const("f", [6], 0), ("f", [1, 6], dict(variable=True))], [("f", [1, 3, 6])], "SequenceRNNOptions")
    yield case("CONV_3D", [("f", [1, 4, 4, 4, 2]), const("f", [3, 3, 3, 2, 4], 1)], [("f", [1, 4, 4, 4, 4])], "Conv3DOptions", strideD=1, strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1, dilationDFactor=1)


def sizes():
    """Numbers of inputs and of dimensions, inputs that are left out, results without values, and scales."""
    for letter in "fi":
        for shape in ([0], [0, 4], [1, 0, 4], [1, 2, 3, 0]):
            yield case("RELU", [(letter, shape)], [(letter, shape)])
        yield case("SPLIT_V", [(letter, [1, 4]), const("w", [2], [4, 0]), const("w", [], [1])], [(letter, [1, 4]), (letter, [1, 0])], "SplitVOptions", numSplits=2)
        yield case("CONCATENATION", [(letter, [1, 0, 4]), (letter, [1, 2, 4])], [(letter, [1, 2, 4])], "ConcatenationOptions", axis=1)
        for count in (1, 2, 9):
            yield case("ADD_N", [(letter, IMAGE)] * count, [(letter, IMAGE)], "AddNOptions")
        for rank in range(1, 8):
            shape = [2] * (rank - 1) + [8]
            for slopes in ([], [8], shape):
                yield case("PRELU", [(letter, shape), const(letter, slopes, 1)], [(letter, shape)])
        window = dict(strideW=2, strideH=2, filterWidth=2, filterHeight=2, padding=1)
        for name in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
            yield case(name, [(letter, [2, 6, 6, 8])], [(letter, [2, 3, 3, 8])], "Pool2DOptions", **window)
    conv = dict(strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
    for letter in "fih":
        weights = "f" if letter == "f" else "i"
        for bias in ([], [None]):
            yield case("DEPTHWISE_CONV_2D", [(letter, IMAGE), const(weights, [1, 3, 3, 8], 1, channels=8, axis=3), *bias], [(letter, IMAGE)], "DepthwiseConv2DOptions", depthMultiplier=1, **conv)
            yield case("CONV_2D", [(letter, IMAGE), const(weights, [8, 3, 3, 8], 1, channels=8), *bias], [(letter, IMAGE)], "Conv2DOptions", **conv)
            yield case("TRANSPOSE_CONV", [const("w", [4], [1, 8, 8, 8]), const(weights, [8, 3, 3, 8], 1, channels=8), (letter, IMAGE), *bias], [(letter, [1, 8, 8, 8])], "TransposeConvOptions", strideW=2, strideH=2)
        wrote = dict(scale=1 / 32768) if letter == "h" else dict(scale=1 / 256, zero_point=-128)
        for scale, beta in ((0.1, 0.0), (0.1, 1e-9), (0.1, 1e-3), (1e-9, 1.0), (1.4e-8, 1.0), (1.6e-8, 1.0)):
            yield case("SOFTMAX", [(letter, IMAGE, dict(scale=scale))], [(letter, IMAGE, wrote)], "SoftmaxOptions", beta=beta)
        # Copies of operands that are far larger than what an operator takes beside them.
        for adjoint in (False, True):
            for swapped in (False, True):
                left, right = [1, 4, 32, 64] if swapped else [1, 4, 64, 32], [1, 4, 64, 32] if adjoint else [1, 4, 32, 64]
                for second in ((letter, right), const(letter, right, 1)):
                    yield case("BATCH_MATMUL", [(letter, left), second], [(letter, [1, 4, 64, 64])], "BatchMatMulOptions", adjX=swapped, adjY=adjoint)
    for a, w, t, s in (("i", "i", "h", "h"), ("f", "f", "f", "f")):
        yield case("SVDF", [(a, [1, 8]), const(w, [4, 8], 1), const(t, [4, 5], 1), None, (s, [1, 20], dict(variable=True))], [(a, [1, 2])], "SVDFOptions", rank=2)


def contradictions():
    """Operands, options, indices and scales that do not fit each other."""
    for name, options, values in (("BROADCAST_TO", "BroadcastToOptions", [1, 4, 8]), ("REVERSE_V2", "ReverseV2Options", [1]),
                                  ("TRANSPOSE", "TransposeOptions", [0, 2, 1])):
        shape = [1, 8, 4] if name == "TRANSPOSE" else [1, 4, 8]
        for rank in ([len(values)], [1, len(values)], []):
            yield case(name, [("i", [1, 4, 8]), const("w", rank, values if rank else values[:1])], [("i", shape)], options)
    for letter in "fi":
        yield case("REVERSE_V2", [(letter, [1, 8]), const("w", [3], [0, 1, 1])], [(letter, [1, 8])], "ReverseV2Options")
        yield case("MIRROR_PAD", [(letter, [1, 4, 8]), const("w", [4, 2], 0)], [(letter, [1, 4, 8])], "MirrorPadOptions", mode=0)
    for wrote in (-1, 2, 4):
        yield case("SHAPE", [("i", IMAGE)], [("w", [4])], "ShapeOptions", outType=wrote)
    for given, wrote in ((2, -1), (-1, 6), (2, 6)):
        yield case("CAST", [("w", IMAGE)], [("b", IMAGE)], "CastOptions", inDataType=given, outDataType=wrote)
    for letter, weights_format in itertools.product("fi", (0, 1, 2)):
        weights = const(letter, [4, 8], 1)
        yield case("FULLY_CONNECTED", [(letter, [1, 8]), weights, bias_of(letter, 4)], [(letter, [1, 4])], "FullyConnectedOptions", weightsFormat=weights_format)
    for rank, shape in itertools.product((4, 5), ([], [1, 1], None)):
        yield case("PRELU", [("f", [1] * rank if shape is None else shape), const("f", [1] * rank, 1)], [("f", [1] * rank)])
    image = [1, 6, 6, 8]
    conv = dict(strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
    for letter in "fih":
        weights = "f" if letter == "f" else "i"
        for shape in ([3, 8], [1, 288], [-1, 8]):
            yield case("RESHAPE", [(letter, image), const("w", [2], shape)], [(letter, [36, 8] if -1 in shape else shape)], "ReshapeOptions")
        for right, written in (([3, 4, 5], [3, 3, 5]), ([1, 4, 5], [2, 3, 5])):
            yield case("BATCH_MATMUL", [(letter, [2, 3, 4]), (letter, right)], [(letter, written)], "BatchMatMulOptions")
        yield case("BATCH_MATMUL", [(letter, [2, 3, 4]), (letter, [2, 5, 5])], [(letter, [2, 3, 5])], "BatchMatMulOptions")
        for axes in ([1], [0]):
            yield case("SQUEEZE", [(letter, image)], [(letter, [6, 8] if axes == [1] else [6, 6, 8])], "SqueezeOptions", squeezeDims=axes)
        yield case("SELECT_V2", [("b", [6]), (letter, image), (letter, image)], [(letter, image)], "SelectV2Options")
        for axis in (0, 3):
            yield case("DEPTHWISE_CONV_2D", [(letter, image), const(weights, [1, 3, 3, 8], 1, channels=8, axis=axis), bias_of(letter, 8)], [(letter, image)], "DepthwiseConv2DOptions", depthMultiplier=1, **conv)
            yield case("CONV_2D", [(letter, image), const(weights, [8, 3, 3, 8], 1, channels=8, axis=axis), bias_of(letter, 8)], [(letter, image)], "Conv2DOptions", **conv)
        for aligned, centred in itertools.product((False, True), repeat=2):
            for name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
                yield case(name, [(letter, image), const("w", [2], [12, 12])], [(letter, [1, 12, 12, 8])], camel(name) + "Options", alignCorners=aligned, halfPixelCenters=centred)
        for integers in "wl":
            padding = const(integers, [4, 2], [0, 0, 1, 0, 0, 0, 0, 0])
            yield case("PAD", [(letter, image), padding], [(letter, [1, 7, 6, 8])], "PadOptions")
            yield case("PADV2", [(letter, image), padding, const(letter, [1], 0)], [(letter, [1, 7, 6, 8])], "PadV2Options")
            yield case("MIRROR_PAD", [(letter, image), padding], [(letter, [1, 7, 6, 8])], "MirrorPadOptions")
        for index in (-1, 0, 5, 6, 99):
            yield case("GATHER", [(letter, image), const("w", [2], [0, index])], [(letter, [1, 2, 6, 8])], "GatherOptions", axis=1)
        for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
            for axis in (-5, -4, 3, 4, 9):
                written = [1 if place == axis % 4 and -5 < axis < 4 else side for place, side in enumerate(image)]
                yield case(name, [(letter, image), const("w", [1], [axis])], [(letter, written)], "ReducerOptions", keepDims=True)
    for zero_point in (-32768, 0):
        yield case("SOFTMAX", [("i", [3, 8])], [("h", [3, 8], dict(scale=1 / 65536, zero_point=zero_point))], "SoftmaxOptions", beta=1.0)


def settings():
    """Options, shapes and constants at the edge of what kernels take: strides, axes, masks, groups, broadcasts, batches."""
    yield from window_settings()
    yield from axis_settings()
    yield from slice_settings()
    yield from arithmetic_settings()
    yield from matrix_settings()


def window_settings():
    conv = dict(strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
    image = [2, 7, 6, 8]
    for letter in "fih":
        weights = "f" if letter == "f" else "i"
        filters = lambda shape, axis=0: const(weights, shape, 1, channels=shape[axis], axis=axis)
        for stride, padding, wrote in ((3, 0, [2, 3, 2, 12]), (3, 1, [2, 2, 2, 12]), (2, 1, [2, 3, 2, 12])):
            yield case("CONV_2D", [(letter, image), filters([12, 3, 3, 8]), bias_of(letter, 12)], [(letter, wrote)], "Conv2DOptions", **{**conv, "strideW": stride, "strideH": stride}, padding=padding)
        yield case("CONV_2D", [(letter, image), filters([12, 3, 1, 8]), bias_of(letter, 12)], [(letter, [2, 7, 3, 12])], "Conv2DOptions", **{**conv, "strideW": 2})
        yield case("CONV_2D", [(letter, image), filters([12, 3, 3, 8]), bias_of(letter, 12)], [(letter, [2, 3, 2, 12])], "Conv2DOptions", **{**conv, "dilationWFactor": 2, "dilationHFactor": 2}, padding=1)
        yield case("CONV_2D", [(letter, image), filters([12, 9, 9, 8]), bias_of(letter, 12)], [(letter, [2, 7, 6, 12])], "Conv2DOptions", **conv)
        yield case("CONV_2D", [(letter, image), filters([12, 3, 3, 3]), bias_of(letter, 12)], [(letter, [2, 7, 6, 12])], "Conv2DOptions", **conv)
        yield case("CONV_2D", [(letter, image), filters([12, 3, 3, 2]), bias_of(letter, 12)], [(letter, [2, 7, 6, 12])], "Conv2DOptions", **conv)
        yield case("CONV_2D", [(letter, image), filters([12, 1, 1, 1]), bias_of(letter, 12)], [(letter, [2, 7, 6, 12])], "Conv2DOptions", **conv)
        yield case("CONV_2D", [(letter, image), filters([12, 3, 3, 8]), bias_of(letter, 12)], [(letter, [2, 7, 6, 12])], "Conv2DOptions", fusedActivationFunction=5, **conv)
        yield case("CONV_2D", [(letter, image[1:]), filters([12, 3, 3, 8]), bias_of(letter, 12)], [(letter, [7, 6, 12])], "Conv2DOptions", **conv)
        for multiplier in (1, 2, 3):
            wide = 8 * multiplier
            for stride in ((1, 1), (2, 1), (2, 2)):
                wrote = [2, -(-7 // stride[0]), -(-6 // stride[1]), wide]
                yield case("DEPTHWISE_CONV_2D", [(letter, image), filters([1, 3, 3, wide], 3), bias_of(letter, wide)], [(letter, wrote)], "DepthwiseConv2DOptions", depthMultiplier=multiplier, strideH=stride[0], strideW=stride[1], dilationHFactor=1, dilationWFactor=1)
        for multiplier in (0, 5):
            yield case("DEPTHWISE_CONV_2D", [(letter, image), filters([1, 3, 3, 16], 3), bias_of(letter, 16)], [(letter, [2, 7, 6, 16])], "DepthwiseConv2DOptions", depthMultiplier=multiplier, **conv)
        yield case("DEPTHWISE_CONV_2D", [(letter, image), filters([1, 3, 3, 8], 3), bias_of(letter, 8)], [(letter, [2, 3, 2, 8])], "DepthwiseConv2DOptions", depthMultiplier=1, padding=1, **{**conv, "dilationWFactor": 2, "dilationHFactor": 2})
        yield case("DEPTHWISE_CONV_2D", [(letter, image), filters([1, 3, 3, 8], 3), bias_of(letter, 8)], [(letter, image)], "DepthwiseConv2DOptions", depthMultiplier=1, fusedActivationFunction=4, **conv)
        for stride, padding, wrote in ((1, 0, [1, 4, 4, 6]), (3, 0, [1, 12, 12, 6]), (2, 1, [1, 9, 9, 6])):
            yield case("TRANSPOSE_CONV", [const("w", [4], wrote), filters([6, 3, 3, 8]), (letter, IMAGE), bias_of(letter, 6)], [(letter, wrote)], "TransposeConvOptions", strideW=stride, strideH=stride, padding=padding)
        yield case("TRANSPOSE_CONV", [const("w", [4], [1, 8, 8, 6]), filters([6, 3, 3, 8]), (letter, IMAGE), bias_of(letter, 6)], [(letter, [1, 8, 8, 6])], "TransposeConvOptions", strideW=2, strideH=2, fusedActivationFunction=1)
        yield case("TRANSPOSE_CONV", [("w", [4]), filters([6, 3, 3, 8]), (letter, IMAGE), bias_of(letter, 6)], [(letter, [1, 8, 8, 6])], "TransposeConvOptions", strideW=2, strideH=2)
        for name in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
            for window, stride, padding, wrote in (((7, 6), 1, 1, [2, 1, 1, 8]), ((3, 3), 3, 0, [2, 3, 2, 8]), ((1, 1), 2, 1, [2, 4, 3, 8]), ((9, 9), 1, 0, [2, 7, 6, 8]), ((9, 9), 1, 1, [2, 7, 6, 8])):
                yield case(name, [(letter, image)], [(letter, wrote)], "Pool2DOptions", filterHeight=window[0], filterWidth=window[1], strideH=stride, strideW=stride, padding=padding)
        for aligned, side in ((False, 3), (True, 3), (False, 1), (False, 13)):
            for name in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"):
                yield case(name, [(letter, image), const("w", [2], [side, side])], [(letter, [2, side, side, 8])], camel(name) + "Options", alignCorners=aligned)
        for name in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"):
            yield case(name, [(letter, image), const("w", [2], [5, 5])], [(letter, [2, 9, 9, 8])], camel(name) + "Options")
        for block in (1, 3):
            yield case("SPACE_TO_DEPTH", [(letter, [1, 6, 6, 4])], [(letter, [1, 6 // block, 6 // block, 4 * block ** 2])], "SpaceToDepthOptions", blockSize=block)
            yield case("DEPTH_TO_SPACE", [(letter, [1, 3, 3, 18])], [(letter, [1, 3 * block, 3 * block, 18 // block ** 2])], "DepthToSpaceOptions", blockSize=block)
        yield case("SPACE_TO_DEPTH", [(letter, [1, 5, 5, 4])], [(letter, [1, 2, 2, 16])], "SpaceToDepthOptions", blockSize=2)
        yield case("SPACE_TO_BATCH_ND", [(letter, [1, 5, 5, 4]), const("w", [2], [2, 2]), const("w", [2, 2], [0, 1, 1, 0])], [(letter, [4, 3, 3, 4])], "SpaceToBatchNDOptions")
        yield case("SPACE_TO_BATCH_ND", [(letter, [1, 5, 5, 4]), const("w", [2], [2, 2]), const("w", [2, 2], [0, 0, 0, 0])], [(letter, [4, 2, 2, 4])], "SpaceToBatchNDOptions")
        yield case("BATCH_TO_SPACE_ND", [(letter, [4, 3, 3, 4]), const("w", [2], [2, 2]), const("w", [2, 2], [0, 1, 1, 0])], [(letter, [1, 5, 5, 4])], "BatchToSpaceNDOptions")
        yield case("BATCH_TO_SPACE_ND", [(letter, [3, 3, 3, 4]), const("w", [2], [2, 2]), const("w", [2, 2], [0, 0, 0, 0])], [(letter, [1, 6, 6, 4])], "BatchToSpaceNDOptions")


def axis_settings():
    image = [2, 3, 4, 6]
    for letter in "fih":
        for axis, wrote in ((0, [4, 3, 4, 6]), (-4, [4, 3, 4, 6]), (4, image), (-5, image)):
            yield case("CONCATENATION", [(letter, image)] * 2, [(letter, wrote)], "ConcatenationOptions", axis=axis)
        yield case("CONCATENATION", [(letter, image), (letter, [2, 3, 5, 6])], [(letter, [2, 3, 4, 12])], "ConcatenationOptions", axis=3)
        yield case("CONCATENATION", [(letter, image), const(letter, image, 1)], [(letter, [2, 3, 4, 12])], "ConcatenationOptions", axis=3)
        yield case("CONCATENATION", [(letter, image)], [(letter, image)], "ConcatenationOptions", axis=1)
        yield case("CONCATENATION", [(letter, image, dict(scale=0.25)), (letter, image)], [(letter, [2, 3, 4, 12])], "ConcatenationOptions", axis=3)
        for count in (10, 11):
            yield case("CONCATENATION", [(letter, image)] * count, [(letter, [2, 3, 4, 6 * count])], "ConcatenationOptions", axis=3)
        for axis in (0, 4, -1, -5, 5, 7):
            where = axis + 5 if axis < 0 else min(axis, 4)
            yield case("PACK", [(letter, image)] * 2, [(letter, image[:where] + [2] + image[where:])], "PackOptions", axis=axis, valuesCount=2)
        yield case("PACK", [(letter, image)] * 3, [(letter, [2] + image)], "PackOptions", axis=0, valuesCount=2)
        for axis, count, wrote in ((-1, 6, [2, 3, 4]), (-4, 2, [3, 4, 6]), (1, 2, [2, 4, 6]), (1, 3, [2, 4, 6])):
            yield case("UNPACK", [(letter, image)], [(letter, wrote)] * count, "UnpackOptions", axis=axis, num=count)
        for axis in (-1, -4, 4, -5):
            yield case("SPLIT", [const("w", [], [axis]), (letter, image)], [(letter, [2, 3, 4, 3] if axis != -4 else [1, 3, 4, 6])] * 2, "SplitOptions", numSplits=2)
        yield case("SPLIT", [const("w", [], [3]), (letter, image)], [(letter, [2, 3, 4, 2]), (letter, [2, 3, 4, 4])], "SplitOptions", numSplits=2)
        yield case("SPLIT", [const("w", [], [2]), (letter, image)], [(letter, [2, 3, 1, 6])] * 3, "SplitOptions", numSplits=3)
        for sizes in ([2, -1], [2, 3], [2, 5]):
            yield case("SPLIT_V", [(letter, image), const("w", [2], sizes), const("w", [], [3])], [(letter, [2, 3, 4, 2]), (letter, [2, 3, 4, 4])], "SplitVOptions", numSplits=2)
        for axis in (-1, 4, -5):
            yield case("SPLIT_V", [(letter, image), const("w", [2], [2, 4]), const("w", [], [axis])], [(letter, [2, 3, 4, 2]), (letter, [2, 3, 4, 4])], "SplitVOptions", numSplits=2)
        for axis in (-1, -5, 4, 5, -6):
            where = axis + 5 if axis < 0 else min(axis, 4)
            where = max(where, 0)
            yield case("EXPAND_DIMS", [(letter, image), const("w", [1], [axis])], [(letter, image[:where] + [1] + image[where:])], "ExpandDimsOptions")
        for axes, wrote in ((None, [3, 6]), ([0, 2], [3, 6]), ([-2, -4], [3, 6]), ([1], [1, 3, 1, 6]), ([7], [3, 1, 6])):
            yield case("SQUEEZE", [(letter, [1, 3, 1, 6])], [(letter, wrote)], "SqueezeOptions", squeezeDims=axes)
        for order in ([3, 2, 1, 0], [-1, 0, 1, 2], [0, 0, 1, 2], [0, 1, 2], [0, 1, 2, 4]):
            yield case("TRANSPOSE", [(letter, image), const("w", [len(order)], order)], [(letter, [image[i] if i < 4 else 1 for i in order])], "TransposeOptions")
        for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
            for axes, wrote in (([-1, -2], [2, 3]), ([1, 1], [2, 4, 6]), ([], image), ([0, 3], [3, 4])):
                yield case(name, [(letter, image), const("w", [len(axes)], axes)], [(letter, wrote)], "ReducerOptions", keepDims=False)
            yield case(name, [(letter, image), const("w", [], [2])], [(letter, [2, 3, 6])], "ReducerOptions", keepDims=False)
            yield case(name, [(letter, [1, 2, 3, 4, 6]), const("w", [2], [2, 3])], [(letter, [1, 2, 6])], "ReducerOptions", keepDims=False)
        for name in ("ARG_MAX", "ARG_MIN"):
            for axis, wrote in (([0], [3, 4, 6]), ([-1], [2, 3, 4]), ([4], [2, 3, 4]), ([-5], [2, 3, 4])):
                yield case(name, [(letter, image), const("w", [1], axis)], [("w", wrote)], camel(name) + "Options", outputType=TYPES["w"])
        for axis, back, exclusive in ((-1, True, False), (0, False, True), (4, False, False), (-5, False, False)):
            yield case("CUMSUM", [(letter, image), const("w", [], [axis])], [(letter, image)], "CumsumOptions", reverse=back, exclusive=exclusive)
        for axes in ([-1], [0, 2], [4], [-5], [1, 1], [1, 2], [2, 1], [-2, 1], [0, 1, 2, 3], [3, 1, 2]):
            yield case("REVERSE_V2", [(letter, image), const("w", [len(axes)], axes)], [(letter, image)], "ReverseV2Options")
        wrote = {"f": {}, "i": dict(scale=1 / 256, zero_point=-128), "h": dict(scale=1 / 32768)}[letter]
        for shape in ([5], [3, 5], [1, 2, 2, 1, 3, 5]):
            for beta in (0.5, 2.0, -1.0):
                yield case("SOFTMAX", [(letter, shape, dict(scale=0.1))], [(letter, shape, wrote)], "SoftmaxOptions", beta=beta)


def slice_settings():
    image = [2, 5, 4, 6]
    starts, ends, steps = [0, 1, 0, 0], [2, 4, 4, 6], [1, 1, 1, 1]
    for letter in "fih":
        def strided(starts, ends, steps, wrote, **masks):
            return case("STRIDED_SLICE", [(letter, image), const("w", [4], starts), const("w", [4], ends), const("w", [4], steps)], [(letter, wrote)], "StridedSliceOptions", **masks)

        yield strided(starts, ends, steps, [2, 3, 4, 6])
        yield strided(starts, ends, steps, [2, 5, 4, 6], beginMask=2, endMask=2)
        yield strided([0, -1, 0, 0], [2, -6, 4, 6], [1, -1, 1, 1], [2, 5, 4, 6])
        yield strided([0, 4, 0, 0], [2, 0, 4, 6], [1, -2, 1, 1], [2, 2, 4, 6])
        yield strided(starts, ends, [1, 2, 1, 1], [2, 2, 4, 6])
        yield strided(starts, ends, [1, 0, 1, 1], [2, 3, 4, 6])
        yield strided(starts, [2, 99, 4, 6], steps, [2, 4, 4, 6])
        yield strided(starts, [2, 1, 4, 6], steps, [2, 0, 4, 6])
        yield strided([0, -1, 0, 0], [2, 0, 4, 6], steps, [2, 4, 6], shrinkAxisMask=2)
        yield strided([0, 7, 0, 0], [2, 8, 4, 6], steps, [2, 4, 6], shrinkAxisMask=2)
        yield strided([0, 1, 2, 3], [1, 2, 3, 4], steps, [], shrinkAxisMask=15)
        yield strided([0, 1, 0, 0], [2, 3, 4, 6], steps, [2, 3, 4, 6], offset=True)
        for begin, size, wrote in (([0, 1, 0, 0], [-1, 2, -1, -1], [2, 2, 4, 6]), ([0, 3, 0, 0], [2, 3, 4, 6], [2, 3, 4, 6]), ([0, 6, 0, 0], [2, 1, 4, 6], [2, 1, 4, 6]), ([0, -1, 0, 0], [2, 1, 4, 6], [2, 1, 4, 6])):
            yield case("SLICE", [(letter, image), const("w", [4], begin), const("w", [4], size)], [(letter, wrote)], "SliceOptions")
        yield case("SLICE", [(letter, image), const("w", [3], [0, 0, 0]), const("w", [3], [1, 1, 1])], [(letter, [1, 1, 1, 6])], "SliceOptions")
        for axis, batch, shape, wrote in ((1, 1, [2, 3], [2, 3, 4, 6]), (2, 1, [2, 2], [2, 5, 2, 6]), (1, 0, [], [2, 4, 6]), (1, 0, [2, 2], [2, 2, 2, 4, 6]), (1, -1, [2, 3], [2, 3, 4, 6]), (0, 1, [2, 3], [2, 3, 4, 6])):
            yield case("GATHER", [(letter, image), const("w", shape, 1)], [(letter, wrote)], "GatherOptions", axis=axis, batchDims=batch)
        for index, shape, wrote in (([1, 4], [1, 2], [1, 4, 6]), ([1, 4, 3, 5], [1, 4], [1]), ([1, 4, 3, 5, 0], [1, 5], [1]), ([1, 5], [1, 2], [1, 4, 6]), ([-1, 0], [1, 2], [1, 4, 6]), ([1], [1], [5, 4, 6])):
            yield case("GATHER_ND", [(letter, image), const("w", shape, index)], [(letter, wrote)], "GatherNdOptions")
        for padding, wrote in (([0, 0, 2, 0, 0, 3, 0, 1], [2, 7, 7, 7]), ([0, 0, 0, 0, 0, 0, 0, 0], image), ([0, 0, -1, 0, 0, 0, 0, 0], [2, 4, 4, 6])):
            yield case("PAD", [(letter, image), const("w", [4, 2], padding)], [(letter, wrote)], "PadOptions")
        yield case("PADV2", [(letter, image), const("w", [4, 2], [0, 0, 1, 1, 0, 0, 0, 0]), const(letter, [], 1)], [(letter, [2, 7, 4, 6])], "PadV2Options")
        yield case("PADV2", [(letter, image), const("w", [4, 2], [0, 0, 1, 1, 0, 0, 0, 0]), (letter, [1])], [(letter, [2, 7, 4, 6])], "PadV2Options")
        yield case("PADV2", [(letter, image), const("w", [4, 2], [0, 0, 1, 1, 0, 0, 0, 0]), const(letter, [1], 1, zero_point=3)], [(letter, [2, 7, 4, 6])], "PadV2Options")
        for mode, padding, wrote in ((0, [0, 0, 4, 4, 0, 0, 0, 0], [2, 13, 4, 6]), (0, [0, 0, 5, 5, 0, 0, 0, 0], [2, 15, 4, 6]), (1, [0, 0, 5, 5, 0, 0, 0, 0], [2, 15, 4, 6]), (1, [0, 0, 6, 6, 0, 0, 0, 0], [2, 17, 4, 6])):
            yield case("MIRROR_PAD", [(letter, image), const("w", [4, 2], padding)], [(letter, wrote)], "MirrorPadOptions", mode=mode)
        yield case("MIRROR_PAD", [(letter, image), const("w", [3, 2], [0, 0, 1, 1, 0, 0])], [(letter, [2, 7, 4, 6])], "MirrorPadOptions", mode=0)
        for start in ([0, 4, 3, 0], [0, -1, 0, 0], [0, 9, 9, 9]):
            yield case("DYNAMIC_UPDATE_SLICE", [(letter, image), (letter, [1, 2, 2, 6]), const("w", [4], start)], [(letter, image)], "DynamicUpdateSliceOptions")
        yield case("DYNAMIC_UPDATE_SLICE", [(letter, image), (letter, [3, 2, 2, 6]), const("w", [4], [0] * 4)], [(letter, image)], "DynamicUpdateSliceOptions")
        yield case("DYNAMIC_UPDATE_SLICE", [(letter, image), (letter, [2, 6]), const("w", [4], [0] * 4)], [(letter, image)], "DynamicUpdateSliceOptions")
        for target, wrote in (([3, 2, 5, 4, 6], [3, 2, 5, 4, 6]), ([2, 5, 4, 7], [2, 5, 4, 7]), ([5, 4, 6], [5, 4, 6]), ([2, 5, 4, -1], image)):
            yield case("BROADCAST_TO", [(letter, image), const("w", [len(target)], target)], [(letter, wrote)], "BroadcastToOptions")
        for lengths, wrote in (([2, -1], [2, 120]), ([0, 5, -1], [2, 5, 24]), ([240], [240]), ([2, 5, 24, 1, 1, 1], [2, 5, 24, 1, 1, 1])):
            yield case("RESHAPE", [(letter, image), const("w", [len(lengths)], lengths)], [(letter, wrote)], "ReshapeOptions")
            yield case("RESHAPE", [(letter, image)], [(letter, wrote)], "ReshapeOptions", newShape=lengths)
        yield case("RESHAPE", [(letter, [1]), const("w", [0], [])], [(letter, [])], "ReshapeOptions")
        for lengths in ([2, -3], [0, 3], []):
            yield case("FILL", [const("w", [len(lengths)], lengths), const(letter, [], [1])], [(letter, lengths if lengths != [2, -3] else [2, 3])], "FillOptions")
        yield case("FILL", [const("w", [2], [2, 3]), const(letter, [1], [1])], [(letter, [2, 3])], "FillOptions")
        yield case("FILL", [("w", [2]), const(letter, [], [1])], [(letter, [2, 3])], "FillOptions")
        yield case("FILL", [const("w", [2], [2, 3]), (letter, [])], [(letter, [2, 3])], "FillOptions")


def arithmetic_settings():
    image = [2, 3, 4, 6]
    for name in ("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE", "MAXIMUM", "MINIMUM"):
        option = {"MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions"}.get(name, camel(name) + "Options")
        for letter in "fihw":
            ones = dict(values=1)
            for left, right, wrote in ((image, [6], image), (image, [], image), ([1, 1, 1, 6], [2, 3, 4, 1], image), (image, [5], image), ([1] + image, [6], [1] + image),
                                       ([1, 1] + image, [1, 1, 1, 1, 1, 6], [1, 1] + image), ([2, 1, 3, 4, 6], [2, 2, 1, 4, 6], [2, 2, 3, 4, 6]), ([6], image, image), (image, image, [2, 3, 4, 5])):
                yield case(name, [(letter, left), (letter, right, ones)], [(letter, wrote)], option)
        for low, high in ((1e-6, 100.0), (100.0, 1e-6), (3.0, 0.01)):
            yield case(name, [("i", image, dict(scale=low)), ("i", image, dict(values=1, scale=low))], [("i", image, dict(scale=high))], option)
            yield case(name, [("h", image, dict(scale=low)), ("h", image, dict(values=1, scale=high))], [("h", image, dict(scale=low))], option)
        yield case(name, [("i", image, dict(zero_point=-128)), ("i", image, dict(values=1, zero_point=127))], [("i", image, dict(zero_point=5))], option)
        for letter in "ih":
            # The scale of the result beside the least that the fixed-point sum takes.
            for scale in (2.0 ** -20, 1.9e-6, 2.0 ** -15, 6.1e-5, 6.2e-5):
                yield case(name, [(letter, image, dict(scale=1.0)), (letter, image, dict(values=1, scale=0.25))], [(letter, image, dict(scale=scale))], option)
        if name in ("ADD", "SUB"):
            for scale in (0.5, 0.3):
                yield case(name, [("h", image, dict(scale=scale)), ("h", image, dict(scale=scale))], [("h", image, dict(scale=scale))], option, potScaleInt16=True)
        if name in ("ADD", "SUB", "MUL", "DIV"):
            yield case(name, [("f", image), ("f", image, dict(values=1))], [("f", image)], option, fusedActivationFunction=5)
            yield case(name, [("i", image), ("i", image, dict(values=1))], [("i", image)], option, fusedActivationFunction=5)
    for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        for left, right in ((image, [6]), (image, []), ([1] + image, [6]), ([2, 1, 3, 4, 6], [2, 2, 1, 4, 6]), (image, [5])):
            for letter in "fi":
                wrote = [2, 2, 3, 4, 6] if len(left) == 5 and len(right) == 5 else left
                yield case(name, [(letter, left), (letter, right)], [("b", wrote)], camel(name) + "Options")
        for letter in "ih":
            for low, high in ((0.1, 7.0), (7.0, 0.1), (1.0, 1.0), (0.999, 0.999)):
                yield case(name, [(letter, image, dict(scale=low)), (letter, image, dict(scale=high))], [("b", image)], camel(name) + "Options")
    for letter in "fihw":
        for condition, left, right in (([1], image, image), ([2, 1, 1, 1], image, [6]), ([2, 1, 3, 4, 6], [2, 2, 1, 4, 6], [6]), ([2, 1, 3, 1, 4, 6], [2, 1, 3, 1, 4, 6], [6])):
            yield case("SELECT_V2", [("b", condition), (letter, left), (letter, right)], [(letter, [2, 2, 3, 4, 6] if len(condition) == 5 else condition if len(condition) == 6 else image)], "SelectV2Options")
    for left, right in ((image, [6]), (image, []), ([2, 1, 3, 4, 6], [2, 2, 1, 4, 6])):
        for name in ("LOGICAL_AND", "LOGICAL_OR"):
            yield case(name, [("b", left), ("b", right)], [("b", left if len(left) == 4 else [2, 2, 3, 4, 6])], camel(name) + "Options")
    for letter in "fih":
        for alpha in (0.0, 1.0, 2.5, -0.5):
            yield case("LEAKY_RELU", [(letter, image)], [(letter, image, dict(scale=0.25))], "LeakyReluOptions", alpha=alpha)
        for slopes in ([6], [1, 1, 6], [3, 1, 6], [], [1, 1, 1, 1]):
            yield case("PRELU", [(letter, image), const(letter, slopes, 1)], [(letter, image)])
        for scale in (0.01, 0.5, 20.0):
            yield case("HARD_SWISH", [(letter, image, dict(scale=scale))], [(letter, image, dict(scale=0.5))], "HardSwishOptions")
            yield case("HARD_SWISH", [(letter, image, dict(scale=0.5))], [(letter, image, dict(scale=scale))], "HardSwishOptions")
            for name in ("RELU", "RELU6", "ELU", "ABS", "QUANTIZE"):
                yield case(name, [(letter, image, dict(scale=0.5))], [("i" if name == "QUANTIZE" else letter, image, dict(scale=scale, zero_point=3))])
            yield case("L2_NORMALIZATION", [(letter, [3, 6])], [(letter, [3, 6], dict(scale=scale))], "L2NormOptions")
        for name in ("RELU", "TANH", "LOGISTIC", "SHAPE", "ABS", "NEG", "ZEROS_LIKE", "HARD_SWISH", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"):
            wrote = {"TANH": {"h": dict(scale=1 / 32768)}.get(letter, dict(scale=1 / 128)), "LOGISTIC": {"h": dict(scale=1 / 32768)}.get(letter, dict(scale=1 / 256, zero_point=-128)),
                     "SOFTMAX": {"h": dict(scale=1 / 32768)}.get(letter, dict(scale=1 / 256, zero_point=-128)), "LOG_SOFTMAX": dict(scale=16 / 256, zero_point=127)}.get(name, {})
            option = {"SHAPE": "ShapeOptions", "SOFTMAX": "SoftmaxOptions", "L2_NORMALIZATION": "L2NormOptions"}.get(name)
            fields = {"SHAPE": dict(outType=TYPES["w"]), "SOFTMAX": dict(beta=1.0)}.get(name, {})
            for shape in ([], [7], [1, 1, 2, 1, 3, 2, 5]):
                yield case(name, [(letter, shape)], [("w", [len(shape)]) if name == "SHAPE" else (letter, shape, wrote)], option, **fields)
    for low, high in ((1e-6, 100.0), (100.0, 1e-6), (1.0, 1.9e-6), (1.0, 2.0 ** -20)):
        yield case("ADD_N", [("i", image, dict(scale=low))] * 3, [("i", image, dict(scale=high))], "AddNOptions")
        yield case("CUMSUM", [("i", image, dict(scale=low)), const("w", [], [1])], [("i", image, dict(scale=high))], "CumsumOptions")
        yield case("HARD_SWISH", [("i", image, dict(scale=127 * low))], [("i", image, dict(scale=low))])
        yield case("HARD_SWISH", [("i", image, dict(scale=128 * low))], [("i", image, dict(scale=low))])
        for name in ("MEAN", "SUM"):
            yield case(name, [("i", image, dict(scale=low)), const("w", [1], [1])], [("i", [2, 1, 4, 6], dict(scale=high))], "ReducerOptions", keepDims=True)
        for name, option in (("RELU", None), ("LEAKY_RELU", "LeakyReluOptions"), ("HARD_SWISH", None), ("ELU", None), ("ABS", None), ("QUANTIZE", None)):
            yield case(name, [("i", image, dict(scale=low))], [("i", image, dict(scale=high))], option)
        yield case("PRELU", [("i", image, dict(scale=low)), const("i", [6], 1)], [("i", image, dict(scale=high))])
        yield case("FULLY_CONNECTED", [("i", [2, 16], dict(scale=low)), const("i", [8, 16], 1), None], [("i", [2, 8], dict(scale=high))], "FullyConnectedOptions")
        yield case("BATCH_MATMUL", [("i", [1, 4, 6], dict(scale=low)), ("i", [1, 6, 5])], [("i", [1, 4, 5], dict(scale=high))], "BatchMatMulOptions")
        yield case("CONV_2D", [("i", [1, 4, 4, 8], dict(scale=low)), const("i", [8, 3, 3, 8], 1, channels=8), None], [("i", [1, 4, 4, 8], dict(scale=high))], "Conv2DOptions", strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
    yield case("DEQUANTIZE", [("i", image, dict(channels=6, axis=3))], [("f", image)])
    yield case("DEQUANTIZE", [const("i", image, 1)], [("f", image)])
    yield case("QUANTIZE", [const("f", image, 1)], [("i", image)])
    for read, wrote in (("i", "h"), ("h", "i"), ("h", "w"), ("i", "w"), ("i", "u"), ("u", "i"), ("w", "i"), ("w", "h"), ("f", "u"), ("f", "w")):
        yield case("QUANTIZE", [(read, image, dict(scale=0.3, zero_point=7, is_bias=read == "w"))], [(wrote, image, dict(scale=0.01, is_bias=wrote == "w"))])


def matrix_settings():
    for letter in "fih":
        weights = "f" if letter == "f" else "i"
        for shape, units, wrote, keep in (([2, 3, 16], 8, [6, 8], False), ([2, 3, 16], 8, [2, 3, 8], False), ([2, 2, 2, 4], 8, [2, 8], False), ([5, 16], 1, [5, 1], False), ([2, 3, 16], 8, [2, 3, 8], True), ([16], 8, [1, 8], False), ([16], 8, [8], True), ([15], 8, [1, 8], False)):
            for activation in (0, 3):
                yield case("FULLY_CONNECTED", [(letter, shape), const(weights, [units, 16], 1), bias_of(letter, units)], [(letter, wrote)], "FullyConnectedOptions", keepNumDims=keep, fusedActivationFunction=activation)
        yield case("FULLY_CONNECTED", [(letter, [2, 16]), const(weights, [8, 16], 1), bias_of(letter, 8)], [(letter, [2, 8])], "FullyConnectedOptions", asymmetricQuantizeInputs=True)
        yield case("FULLY_CONNECTED", [(letter, [2, 16]), const(weights, [8, 16], 1, channels=8), bias_of(letter, 8)], [(letter, [2, 8])], "FullyConnectedOptions")
        yield case("FULLY_CONNECTED", [(letter, [2, 16]), const("4", [8, 16], 1), bias_of(letter, 8)], [(letter, [2, 8])], "FullyConnectedOptions")
        yield case("FULLY_CONNECTED", [(letter, [2, 16]), const(weights, [8, 16], 1, zero_point=3), bias_of(letter, 8)], [(letter, [2, 8])], "FullyConnectedOptions")
        yield case("FULLY_CONNECTED", [(letter, [2, 16]), const(weights, [8, 16], 1), const("w", [8], 0, scale=7.0, is_bias=True)], [(letter, [2, 8])], "FullyConnectedOptions")
        yield case("FULLY_CONNECTED", [(letter, [2, 16]), const(weights, [8, 16], 1), bias_of(letter, 4)], [(letter, [2, 8])], "FullyConnectedOptions")
        yield case("FULLY_CONNECTED", [(letter, [2, 16]), const(weights, [2, 4, 16], 1), bias_of(letter, 8)], [(letter, [2, 8])], "FullyConnectedOptions")
        for left, right, wrote in (([4, 6], [6, 5], [4, 5]), ([2, 1, 4, 6], [1, 3, 6, 5], [2, 3, 4, 5]), ([2, 4, 6], [6, 5], [2, 4, 5]), ([2, 2, 2, 4, 6], [2, 2, 2, 6, 5], [2, 2, 2, 4, 5]), ([6], [6, 5], [5]), ([1, 4, 6], [1, 5, 5], [1, 4, 5])):
            yield case("BATCH_MATMUL", [(letter, left), (letter, right)], [(letter, wrote)], "BatchMatMulOptions")
            yield case("BATCH_MATMUL", [(letter, left), const(letter, right, 1)], [(letter, wrote)], "BatchMatMulOptions")
        yield case("BATCH_MATMUL", [const(letter, [1, 4, 6], 1), (letter, [1, 6, 5])], [(letter, [1, 4, 5])], "BatchMatMulOptions")
        yield case("BATCH_MATMUL", [(letter, [1, 4, 6]), (letter, [1, 6, 5])], [(letter, [1, 4, 5])], "BatchMatMulOptions", asymmetricQuantizeInputs=True)
        for shape, wrote in (([6], [3]), ([6, 2], [3, 2]), ([6, 2, 2], [3, 2, 2])):
            yield case("EMBEDDING_LOOKUP", [("w", [3]), const(weights, shape, 1)], [(weights, [3] + shape[1:])])
        yield case("EMBEDDING_LOOKUP", [const("w", [2], [0, 99]), const(weights, [6, 2], 1)], [(weights, [2, 2])])
        yield case("EMBEDDING_LOOKUP", [("w", [2, 2]), const(weights, [6, 2], 1)], [(weights, [2, 2, 2])])
    for a, w, t, s in (("i", "i", "h", "h"), ("i", "i", "i", "i"), ("f", "f", "f", "f")):
        for rank, batch, memory, activation in ((1, 1, 3, 0), (4, 2, 8, 1), (2, 1, 1, 1), (3, 1, 5, 0)):
            filters = 4 * rank if rank != 3 else 8
            bias = bias_of(a, 4) if a == "f" else const("w", [4], 0, scale=0.25, is_bias=True)
            yield case("SVDF", [(a, [batch, 8]), const(w, [filters, 8], 1), const(t, [filters, memory], 1), bias, (s, [batch, filters * memory], dict(variable=True))], [(a, [batch, 4])], "SVDFOptions", rank=rank, fusedActivationFunction=activation)
    for a, b, c in (("f", "f", "f"), ("i", "w", "h"), ("h", "l", "h")):
        w = "f" if a == "f" else "i"
        def lstm(missing=(), units=6, batch=1, steps=3, **fields):
            operands = [(a, [batch, steps, 4])] + [const(w, [units, 4], 1)] * 4 + [const(w, [units, units], 1)] * 4 + [None] * 3 + [const(b, [units], 0, scale=0.25, is_bias=a != "f")] * 4 + [None] * 2
            operands = [None if index in missing else operand for index, operand in enumerate(operands)]
            states = [(a, [batch, units], dict(variable=True)), (c, [batch, units], dict(variable=True, scale=1 / 32768 if c == "h" else 0.5))]
            return case("UNIDIRECTIONAL_SEQUENCE_LSTM", operands + states + [None] * 4, [(a, [batch, steps, units])], "UnidirectionalSequenceLSTMOptions", **{"fusedActivationFunction": 4, **fields})

        for shape in ([5], [1, 6], []):
            model = lstm()
            model.subgraphs[0].tensors[model.subgraphs[0].operators[0].inputs[14]].shape = shape
            yield model
        yield lstm(batch=2, steps=1)
        yield lstm(units=16, steps=10)
        yield lstm(missing=(1, 5, 12))
        for missing in (1, 5, 8, 12, 15):
            yield lstm(missing=(missing,))
        yield lstm(cellClip=1.0)
        yield lstm(projClip=1.0)
        yield lstm(fusedActivationFunction=1)
        yield lstm(fusedActivationFunction=0)


def customs():
    yield case("CUSTOM", [("f", [1, 8])], [("f", [1, 8])], custom="NobodyKnowsThis")
    yield case("CUSTOM", [("i", [1, 8])], [("i", [1, 8])], custom="edgetpu-custom-op")
    yield case("CUSTOM", [("i", [1, 8])], [("i", [1, 8])], custom="FlexErf")


def detections(n_boxes, n_classes, n_detections, letter="f", **changed):
    settings = dict(max_detections=n_detections, max_classes_per_detection=1, nms_score_threshold=0.5, nms_iou_threshold=0.5,
                    num_classes=n_classes, y_scale=10.0, x_scale=10.0, h_scale=5.0, w_scale=5.0)
    return case("CUSTOM", [(letter, [1, n_boxes, 4]), (letter, [1, n_boxes, n_classes + 1]), const(letter, [n_boxes, 4], 1)],
                [("f", [1, n_detections, 4]), ("f", [1, n_detections]), ("f", [1, n_detections]), ("f", [1])],
                custom="TFLite_Detection_PostProcess", settings={**settings, **changed})


def changed_options(model):
    """A custom operator without options, with damaged ones, and without each of them."""
    stored = model.subgraphs[0].operators[0].customOptions
    settings = flexbuffers.Loads(bytes(stored))
    without = [list(flexbuffers.Dumps({k: v for k, v in settings.items() if k != name})) for name in settings]
    for options in [None, [], [0], stored[:-5], [0] * len(stored), list(flexbuffers.Dumps([1, 2])), *without]:
        changed = copy.deepcopy(model)
        changed.subgraphs[0].operators[0].customOptions = options
        yield changed


def detectors():
    """Options of detectors that contradict the operator, are damaged or are absent."""
    for name, values in dict(num_classes=(0, 1, 2, 4, 5, 90, -1, 3.5), max_classes_per_detection=(0, -1, 1, 2, 8),
                             nms_iou_threshold=(0.0, -0.5, 0.25, 1.0, 1.5, 1), max_detections=(1, 8, 64, -1),
                             nms_score_threshold=(0.0, 1.0), y_scale=(0.0, -1.0)).items():
        for value in values:
            yield detections(64, 3, 4, **{name: value})
    for per_class in (-1, 0, 1, 4, 100):
        yield detections(64, 3, 4, use_regular_nms=True, detections_per_class=per_class)
    yield detections(64, 3, 4, use_regular_nms=True)
    yield from changed_options(detections(64, 3, 4))
    for tensor, shape in ((0, [64, 4]), (0, [1, 63, 4]), (1, [64, 4]), (1, [1, 63, 4]), (2, [63, 4])):
        model = detections(64, 3, 4)
        model.subgraphs[0].tensors[tensor].shape = shape
        yield model


def branch(condition, shape, letter="f"):
    """An IF whose branches each have a RELU."""
    graph = Case()
    read = [graph.add(condition, shape), graph.add(letter, [1, 4])]
    wrote = [graph.add(letter, [1, 4])]
    graph.subgraph.inputs = read
    graph.operator("IF", read, wrote, "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    for _ in range(2):
        body = Case()
        body.subgraph.inputs = [body.add(letter, [1, 4])]
        body.operator("RELU", body.subgraph.inputs, [body.add(letter, [1, 4])])
        for operator in body.subgraph.operators:
            operator.opcodeIndex += len(graph.model.operatorCodes)
        graph.model.operatorCodes += body.model.operatorCodes
        graph.model.subgraphs.append(body.subgraph)
    return graph.model


def structures():
    """Detectors' last operator, buffers of streams, and branches."""
    for n_boxes, n_classes, n_detections in itertools.product((100, 333), (1, 3, 20), (1, 4, 10)):
        yield detections(n_boxes, n_classes, n_detections)
    yield detections(1917, 90, 10, use_regular_nms=True, detections_per_class=100)
    for letter in "iuh":
        yield detections(64, 3, 4, letter)
    for letter, shape in itertools.product("ifh", ([1, 4, 1, 8], [1, 1, 1, 8], [2, 4, 1, 8], [1, 4, 8])):
        one = [shape[0], 1, 1, 8] if len(shape) == 4 else [1, 1, 8]
        yield case("CUSTOM", [(letter, one)], [(letter, shape)], custom="CIRCULAR_BUFFER", settings=dict(cycles_max=2))
    for condition, shape, letter in itertools.product("bfw", ([], [1], [2]), "fi"):
        yield branch(condition, shape, letter)


def signals():
    """The operators of the signal library, whose options are a map of FlexBuffers."""
    def signal(name, inputs, outputs, **settings):
        return case("CUSTOM", inputs, outputs, custom="Signal" + name, settings=settings)

    for letter, length in itertools.product("fhwi", (64, 256, 512)):
        yield signal("Rfft", [(letter, [length])], [(letter, [length + 2])], T=TYPES[letter], fft_length=length)
        yield signal("Irfft", [(letter, [length + 2])], [(letter, [length])], T=TYPES[letter], fft_length=length)
        yield signal("OverlapAdd", [(letter, [1, length])], [(letter, [length // 2])], T=TYPES[letter], frame_step=length // 2)
    for letter, length in itertools.product("hf", (160, 320)):
        yield signal("Framer", [(letter, [1, length])], [(letter, [1, 1, 2 * length]), ("b", [])], frame_size=2 * length, frame_step=length, prefill=True)
        yield signal("Window", [(letter, [length]), const(letter, [length], 1)], [(letter, [length])], shift=12)
        yield signal("Delay", [(letter, [1, length])], [(letter, [1, length])], delay_length=4)
        yield signal("FftAutoScale", [(letter, [length])], [(letter, [length]), ("w", [])])
        yield signal("Energy", [(letter, [length])], [("v", [length // 2])], start_index=1, end_index=length // 2)
        yield signal("Stacker", [(letter, [40])], [(letter, [120]), ("b", [])], num_channels=40, stacker_left_context=1, stacker_right_context=1, stacker_step=2)
    for channels in (16, 40):
        yield signal("FilterBankLog", [("v", [channels])], [("h", [channels])], input_correction_bits=3, output_scale=1600)
        yield signal("FilterBankSpectralSubtraction", [("v", [channels])], [("v", [channels]), ("v", [channels])], alternate_one_minus_smoothing=1, alternate_smoothing=1, clamping=True, min_signal_remaining=1, num_channels=channels, one_minus_smoothing=1, smoothing=1, smoothing_bits=10, spectral_subtraction_bits=14)
        yield signal("PCAN", [("v", [channels]), ("v", [channels]), const("h", [125], 1)], [("v", [channels])], snr_shift=6)
    for length in (-1, 0, 1, 63, 64, 65, 66, 80, 98, 128):
        yield signal("Rfft", [("h", [64])], [("h", [66])], T=TYPES["h"], fft_length=length)
        yield signal("Irfft", [("h", [66])], [("h", [64])], T=TYPES["h"], fft_length=length)
    for letter in "fw":
        yield signal("Rfft", [("h", [64])], [("h", [66])], T=TYPES[letter], fft_length=64)
    for step, frame in ((16, 32), (16, 16), (16, 8), (16, 0), (8, 16), (5, 16), (0, 16), (32, 64)):
        yield signal("Framer", [("h", [1, 16])], [("h", [1, 1, 32]), ("b", [])], frame_size=frame, frame_step=step, prefill=True)
    for length in (-1, 0, 4):
        yield signal("Delay", [("h", [1, 16])], [("h", [1, 16])], delay_length=length)
        yield signal("OverlapAdd", [("h", [1, 16])], [("h", [8])], T=TYPES["h"], frame_step=2 * length)
    for shape in ([1, 1, 16], [16], [2, 16]):
        yield signal("OverlapAdd", [("h", shape)], [("h", [8])], T=TYPES["h"], frame_step=8)
    absent = signal("Energy", [("h", [16])], [("v", [8])], start_index=1, end_index=8)
    absent.subgraphs[0].operators[0].customOptions = None
    yield absent


def support_graphs():
    """Name and model of each case."""
    for make in (unary, pools, reductions, moves, binary, weights, sizes, contradictions, settings, structures, detectors, customs, signals):
        for index, model in enumerate(make()):
            code = model.operatorCodes[0].builtinCode
            name = next(k for k, v in vars(schema.BuiltinOperator).items() if v == code)
            yield "%s_%04d_%s" % (make.__name__, index, name), model
    empty = Case()
    empty.subgraph.inputs = empty.subgraph.outputs = [empty.add("i", [1, 8])]
    yield "no_operators", empty.model


# Of the operands that most kernels run.
TYPES_OF_KERNELS = {schema.TensorType.FLOAT32, schema.TensorType.INT8, schema.TensorType.INT16, schema.TensorType.INT32, schema.TensorType.BOOL}


def changed_graphs():
    """Name and model of cases with one operand more or fewer, or with another quantisation of one operand: two of each
    operator and type, those whose operands differ least in type."""
    cases = {}
    for name, model in support_graphs():
        graph = model.subgraphs[0]
        if len(graph.operators) != 1 or name.startswith(("customs", "structures", "detectors", "signals", "contradictions")):
            continue
        operator = graph.operators[0]
        types = [graph.tensors[i].type for i in [*operator.inputs, *operator.outputs] if i >= 0]
        if TYPES_OF_KERNELS.isdisjoint(types[:1]):
            continue
        cases.setdefault((name.split("_", 2)[2], types[0]), []).append((len(set(types)), name, model))
    for alike in cases.values():
        for _, name, model in sorted(alike, key=lambda case: case[0])[:2]:
            for words, change in changes_of(model):
                changed = copy.deepcopy(model)
                change(changed.subgraphs[0], changed.subgraphs[0].operators[0])
                yield name + "_" + words, changed


def changes_of(model):
    """Words and a function that changes a subgraph and its operator."""
    graph = model.subgraphs[0]
    operator = graph.operators[0]

    def add_output(graph, operator):
        graph.tensors.append(copy.deepcopy(graph.tensors[operator.outputs[0]]))
        operator.outputs = [*operator.outputs, len(graph.tensors) - 1]

    yield "fewer", lambda _, operator: setattr(operator, "inputs", list(operator.inputs)[:-1])
    yield "more", lambda _, operator: setattr(operator, "inputs", [*operator.inputs, operator.inputs[-1]])
    yield "outputs", add_output
    for tensor in {*operator.inputs, *operator.outputs} - {-1}:
        is_wide = graph.tensors[tensor].type == schema.TensorType.INT16
        if not is_wide and graph.tensors[tensor].type != schema.TensorType.INT8:
            continue
        if graph.tensors[tensor].quantization is None or not len(graph.tensors[tensor].quantization.scale or []):
            continue
        yield "bare%d" % tensor, lambda graph, _, tensor=tensor: setattr(graph.tensors[tensor], "quantization", None)
        for words, scale in ("nan", math.nan), ("below", -0.1):
            yield "%s%d" % (words, tensor), lambda graph, _, tensor=tensor, scale=scale: rescale(graph.tensors[tensor], scale)
        if is_wide:
            yield "zero%d" % tensor, lambda graph, _, tensor=tensor: setattr(graph.tensors[tensor].quantization, "zeroPoint", [5])


def rescale(tensor, scale):
    tensor.quantization.scale = [scale] * len(tensor.quantization.scale)


def key_of(model):
    """What a file of floats has in common with the int8 file of the same operator."""
    graph = model.subgraphs[0]
    operator = graph.operators[0]
    options = vars(operator.builtinOptions) if operator.builtinOptions is not None else {}
    shapes = [(tuple(tensor.shape), tensor.isVariable, tensor.buffer > 0) for tensor in graph.tensors]
    return repr((model.operatorCodes[0].builtinCode, operator.inputs, operator.outputs, shapes, sorted(options.items(), key=str)))


def has_whole_scales(model):
    """Whether a fully connected layer has one scale for all its weights, as most converters write it."""
    graph = model.subgraphs[0]
    code = model.operatorCodes[0].builtinCode
    scales = [tensor.quantization.scale for tensor in graph.tensors if tensor.quantization is not None]
    return code != schema.BuiltinOperator.FULLY_CONNECTED or all(len(scale) == 1 for scale in scales)


def pair_graphs():
    """Name and model of each file of floats, followed by an int8 file of the same operator, shapes and options."""
    models = [model for _, model in support_graphs() if model.subgraphs[0].operators]
    types = [{tensor.type for tensor in model.subgraphs[0].tensors if not tensor.isVariable} for model in models]
    letters = lambda text: {TYPES[letter] for letter in text}
    int8 = {}
    for model, used in zip(models, types):
        if TYPES["i"] in used and used <= letters("iwb") and has_whole_scales(model):
            int8.setdefault(key_of(model), []).append(model)
    for index, (model, used) in enumerate(zip(models, types)):
        if TYPES["f"] in used and used <= letters("fwlb"):
            for number, twin in enumerate(int8.pop(key_of(model), [])):
                yield "pair_%04d_%02d_float" % (index, number), model
                yield "pair_%04d_%02d_int8" % (index, number), twin
