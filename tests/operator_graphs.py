"""Files with two operators of one kind each, for `analysis_oracle.py operators`."""

import math
import pathlib
import sys

from ai_edge_litert import schema_py_generated as schema

sys.path.append(str(pathlib.Path(__file__).parents[1] / "trainer" / "python"))
import tflite_graph

INT8, BOOL, FLOAT32, INT32, INT16 = (
    getattr(schema.TensorType, name) for name in ("INT8", "BOOL", "FLOAT32", "INT32", "INT16"))
BYTES = {INT8: 1, BOOL: 1, FLOAT32: 4, INT32: 4, INT16: 2}
IMAGE = [1, 4, 4, 8]
N_OPERATORS = 2


class Graph(tflite_graph.Graph):
    """A model with one subgraph of operators that all read the same tensors."""

    def tensor(self, shape, kind=INT8, values=None, scale=0.5, zero_point=0, is_variable=False):
        """`values`: integers of a constant; a single one fills it."""
        contents = None
        if values is not None:
            each = values if isinstance(values, list) else [values] * math.prod(shape)
            contents = b"".join(value.to_bytes(BYTES[kind], "little", signed=True) for value in each)
        scales = [scale] if kind in (INT8, INT16) or values == 0 else None
        return self.add_tensor(shape, kind, contents, scales, zero_point, is_variable=is_variable)

    def operator(self, name, inputs, outputs, options_name=None, **fields):
        options = tflite_graph.options(options_name, **fields) if options_name else None
        self.add_operator(self.add_code(name), inputs, outputs, options)
        self.subgraph.outputs = outputs[:1]


def simple(name, options=None, inputs=(IMAGE,), constants=(), outputs=(IMAGE,), kind=INT8, written=None,
           scale=0.5, zero_point=0, **fields):
    """Operators of tensors and of constants of 32-bit numbers, which come last."""
    graph = Graph()
    read = [graph.tensor(shape, kind) for shape in inputs]
    graph.subgraph.inputs = list(read)
    read += [graph.tensor(shape, INT32, values) for shape, values in constants]
    for _ in range(N_OPERATORS):
        wrote = [graph.tensor(shape, kind if written is None else written, None, scale, zero_point) for shape in outputs]
        graph.operator(name, read, wrote, options, **fields)
    return graph.model


def weighted(name, options, inputs, weights, bias, output, state=None, shape=None, **fields):
    """Operators with int8 weights; `shape` is a constant that comes first, `state` a variable that comes last."""
    graph = Graph()
    graph.subgraph.inputs = [graph.tensor(inputs)]
    constants = [graph.tensor(each, kind, 1) for each, kind in weights]
    bias = graph.tensor([bias], INT32, 0, 0.25)
    before = [] if shape is None else [graph.tensor([len(shape)], INT32, shape)]
    operands = [constants[0], graph.subgraph.inputs[0], bias] if shape else [graph.subgraph.inputs[0], *constants, bias]
    for _ in range(N_OPERATORS):
        after = [] if state is None else [graph.tensor(state, INT16, None, is_variable=True)]
        graph.operator(name, before + operands + after, [graph.tensor(output)], options, **fields)
    return graph.model


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


PAIR, SMALL, WIDE = (IMAGE, IMAGE), [1, 2, 2, 8], [1, 8, 8, 8]
POOL = dict(strideW=2, strideH=2, filterWidth=2, filterHeight=2, padding=1)
PADDING = ([4, 2], [0, 0, 1, 1, 1, 1, 0, 0])
CONVOLUTION = dict(strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)


def operator_graphs():
    """Name and model of each."""
    for name in ("RELU", "RELU6", "HARD_SWISH", "ELU", "ABS", "RSQRT", "QUANTIZE", "ZEROS_LIKE"):
        yield name, simple(name)
    for name in ("NEG", "SQUARE", "SQRT", "SIN", "COS", "LOG", "EXP", "CEIL", "FLOOR", "ROUND"):
        yield name, simple(name, kind=FLOAT32)
    yield "TANH", simple("TANH", scale=1 / 128)
    yield "LOGISTIC", simple("LOGISTIC", scale=1 / 256, zero_point=-128)
    yield "SOFTMAX", simple("SOFTMAX", "SoftmaxOptions", scale=1 / 256, zero_point=-128, beta=1.0)
    yield "LOG_SOFTMAX", simple("LOG_SOFTMAX", scale=16 / 256, zero_point=127)
    yield "LEAKY_RELU", simple("LEAKY_RELU", "LeakyReluOptions", alpha=0.1)
    yield "L2_NORMALIZATION", simple("L2_NORMALIZATION", "L2NormOptions", scale=1 / 128)
    yield "DEQUANTIZE", simple("DEQUANTIZE", written=FLOAT32)
    yield "CAST", simple("CAST", "CastOptions", written=FLOAT32, inDataType=INT8, outDataType=FLOAT32)
    yield "PRELU", simple("PRELU", inputs=(IMAGE, [1, 1, 8]))
    for name in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        yield name, simple(name, "Pool2DOptions", outputs=(SMALL,), **POOL)
    yield "L2_POOL_2D", simple("L2_POOL_2D", "Pool2DOptions", outputs=(SMALL,), kind=FLOAT32, **POOL)
    for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"):
        kind = BOOL if name == "REDUCE_ALL" else INT8
        yield name, simple(name, "ReducerOptions", constants=(([2], [1, 2]),), outputs=([1, 1, 1, 8],), kind=kind,
                           keepDims=True)
    for name in ("ARG_MAX", "ARG_MIN"):
        yield name, simple(name, camel(name) + "Options", constants=(([], [3]),), outputs=([1, 4, 4],), written=INT32,
                           outputType=INT32)
    yield "PAD", simple("PAD", "PadOptions", constants=(PADDING,), outputs=([1, 6, 6, 8],))
    yield "MIRROR_PAD", simple("MIRROR_PAD", "MirrorPadOptions", constants=(PADDING,), outputs=([1, 6, 6, 8],), mode=0)
    yield "RESHAPE", simple("RESHAPE", "ReshapeOptions", constants=(([2], [1, 128]),), outputs=([1, 128],))
    yield "SQUEEZE", simple("SQUEEZE", "SqueezeOptions", outputs=([4, 4, 8],), squeezeDims=[0])
    yield "EXPAND_DIMS", simple("EXPAND_DIMS", "ExpandDimsOptions", constants=(([], [0]),), outputs=([1] + IMAGE,))
    yield "TRANSPOSE", simple("TRANSPOSE", "TransposeOptions", constants=(([4], [0, 1, 3, 2]),), outputs=([1, 4, 8, 4],))
    yield "SHAPE", simple("SHAPE", "ShapeOptions", outputs=([4],), written=INT32, outType=INT32)
    yield "SLICE", simple("SLICE", "SliceOptions", constants=(([4], [0] * 4), ([4], SMALL)), outputs=(SMALL,))
    yield "STRIDED_SLICE", simple("STRIDED_SLICE", "StridedSliceOptions", outputs=(SMALL,),
                                  constants=(([4], [0] * 4), ([4], SMALL), ([4], [1] * 4)))
    yield "BROADCAST_TO", simple("BROADCAST_TO", constants=(([4], [2, 4, 4, 8]),), outputs=([2, 4, 4, 8],))
    for name in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"):
        yield name, simple(name, camel(name) + "Options", constants=(([2], [8, 8]),), outputs=(WIDE,))
    for name, shape in (("SPACE_TO_DEPTH", [1, 2, 2, 32]), ("DEPTH_TO_SPACE", [1, 8, 8, 2])):
        yield name, simple(name, camel(name) + "Options", outputs=(shape,), blockSize=2)
    blocks = (([2], [2, 2]), ([2, 2], [0] * 4))
    yield "SPACE_TO_BATCH_ND", simple("SPACE_TO_BATCH_ND", "SpaceToBatchNDOptions", constants=blocks,
                                      outputs=([4, 2, 2, 8],))
    yield "BATCH_TO_SPACE_ND", simple("BATCH_TO_SPACE_ND", "BatchToSpaceNDOptions", ([4, 2, 2, 8],), blocks)
    yield "GATHER", simple("GATHER", "GatherOptions", constants=(([2], [0, 2]),), outputs=([1, 2, 4, 8],), axis=1)
    yield "GATHER_ND", simple("GATHER_ND", "GatherNdOptions", constants=(([2, 3], [0, 1, 2, 0, 2, 1]),),
                              outputs=([2, 8],))
    yield "CUMSUM", simple("CUMSUM", "CumsumOptions", constants=(([], [1]),))
    yield "REVERSE_V2", simple("REVERSE_V2", "ReverseV2Options", constants=(([1], [1]),))
    for name in ("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE"):
        yield name, simple(name, camel(name) + "Options", PAIR)
    for name in ("MAXIMUM", "MINIMUM"):
        yield name, simple(name, "MaximumMinimumOptions", PAIR)
    for name in ("FLOOR_DIV", "FLOOR_MOD"):
        yield name, simple(name, camel(name) + "Options", PAIR, kind=FLOAT32)
    for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        yield name, simple(name, camel(name) + "Options", PAIR, written=BOOL)
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        yield name, simple(name, camel(name) + "Options", PAIR, kind=BOOL)
    yield "CONCATENATION", simple("CONCATENATION", "ConcatenationOptions", PAIR, outputs=([1, 4, 4, 16],), axis=3)
    yield "PACK", simple("PACK", "PackOptions", PAIR, outputs=([2] + IMAGE,), axis=0, valuesCount=2)
    yield "UNPACK", simple("UNPACK", "UnpackOptions", ([2, 4, 8],), outputs=([4, 8],) * 2, axis=0, num=2)
    yield "SPLIT_V", simple("SPLIT_V", "SplitVOptions", constants=(([2], [3, 5]), ([], [3])),
                            outputs=([1, 4, 4, 3], [1, 4, 4, 5]), numSplits=2)
    yield "DYNAMIC_UPDATE_SLICE", simple("DYNAMIC_UPDATE_SLICE", "DynamicUpdateSliceOptions", (IMAGE, SMALL),
                                         (([4], [0, 1, 1, 0]),))
    yield "FULLY_CONNECTED", weighted("FULLY_CONNECTED", "FullyConnectedOptions", [1, 8], [([4, 8], INT8)], 4, [1, 4])
    yield "CONV_2D", weighted("CONV_2D", "Conv2DOptions", IMAGE, [([8, 3, 3, 8], INT8)], 8, IMAGE, **CONVOLUTION)
    yield "DEPTHWISE_CONV_2D", weighted("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", IMAGE, [([1, 3, 3, 8], INT8)],
                                        8, IMAGE, depthMultiplier=1, **CONVOLUTION)
    yield "TRANSPOSE_CONV", weighted("TRANSPOSE_CONV", "TransposeConvOptions", IMAGE, [([8, 3, 3, 8], INT8)], 8, WIDE,
                                     shape=WIDE, strideW=2, strideH=2)
    yield "SVDF", weighted("SVDF", "SVDFOptions", [1, 8], [([4, 8], INT8), ([4, 5], INT16)], 2, [1, 2], state=[1, 20],
                           rank=2)
