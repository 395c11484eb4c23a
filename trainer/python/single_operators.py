"""Writes one .tflite file for each operator, element type and shape of a table: `single_operators.py FOLDER`.

A file holds one operator whose activations are inputs of the network, so that LiteRT folds nothing.
Its name is `OPERATOR-NUMBERS-INDEX.tflite`. NUMBERS is the element type of the activations, or
`dynamic` (float32 activations with int8 weights) or `float16` (float32 activations, weights stored as
float16 behind a DEQUANTIZE, as converters write them). The table does not know what LiteRT accepts: a file
that it refuses tells that this operator does not run in these numbers.

The files are the input of `litecast-trainer label --tool litert-qemu --files FOLDER` and then of
`litecast-trainer fit-cpu-singles`. Values are drawn from one seed; the same
version writes the same bytes.
"""

import itertools
import sys
from pathlib import Path

import numpy
from flatbuffers import flexbuffers
from ai_edge_litert import schema_py_generated as schema

from tflite_graph import Graph, options, to_bytes

SEED = 1
SCALE = 0.05
# Where a kernel insists on the quantisation of its output (int8).
UNIT_OUTPUTS = {"SOFTMAX": 1 / 256, "LOGISTIC": 1 / 256, "LOG_SOFTMAX": 16 / 256}
SIGNED_UNIT_OUTPUTS = {"TANH": 1 / 128, "L2_NORMALIZATION": 1 / 128}

DTYPES = {
    "float32": numpy.float32,
    "float16": numpy.float16,
    "int8": numpy.int8,
    "uint8": numpy.uint8,
    "int16": numpy.int16,
    "int32": numpy.int32,
    "int64": numpy.int64,
    "bool": numpy.bool_,
}
QUANTIZED = ("int8", "uint8", "int16")
REAL = ("float32", "int8", "uint8", "int16")
NUMBERS = REAL + ("int32", "int64")
WEIGHTED = ("float32", "float16", "dynamic", "int8", "uint8", "int16")

# From a few values to a feature map that no first-level cache holds; the last sizes are no multiples.
IMAGES = [(1, 4, 4, 4), (1, 12, 12, 8), (1, 16, 16, 32), (1, 40, 40, 16), (1, 7, 7, 96), (1, 33, 31, 11)]
MATRICES = [(1, 16), (1, 250), (8, 64), (32, 100), (64, 256), (200, 48)]


class File:
    """One operator with its tensors."""

    def __init__(self, name, options=None, version=1):
        """`options` of a custom operator is a dictionary."""
        self.name, self.options, self.version = name, options, version
        self.graph = Graph()
        self.inputs, self.operands, self.outputs = [], [], []
        self.before = []
        self.random = numpy.random.default_rng(SEED)

    def _tensor(self, shape, kind, scales=None, zero_point=0, axis=0, contents=None):
        kind = getattr(schema.TensorType, kind.upper())
        index = self.graph.add_tensor(shape, kind, contents, scales, zero_point, axis)
        self.graph.subgraph.tensors[index].hasRank = True
        return index

    def _quantized(self, kind, scale):
        if kind not in QUANTIZED:
            return None, 0
        if kind == "int16":
            return [scale / 256], 0
        return [scale], 128 if kind == "uint8" else 0

    def activation(self, shape, kind, scale=SCALE):
        """An input of the network that the operator reads."""
        scales, zero_point = self._quantized(kind, scale)
        tensor = self._tensor(shape, kind, scales, zero_point)
        self.inputs.append(tensor)
        self.operands.append(tensor)
        return tensor

    def output(self, shape, kind, scale=SCALE):
        scales, zero_point = self._quantized(kind, scale)
        if kind == "int8" and self.name in UNIT_OUTPUTS:
            scales, zero_point = [UNIT_OUTPUTS[self.name]], -128
            zero_point = 127 if self.name == "LOG_SOFTMAX" else zero_point
        if kind == "uint8" and self.name in UNIT_OUTPUTS:
            scales, zero_point = [UNIT_OUTPUTS[self.name]], 0
        if kind in ("int8", "uint8") and self.name in SIGNED_UNIT_OUTPUTS:
            scales, zero_point = [1 / 128], 0 if kind == "int8" else 128
        if kind == "int16" and self.name in {**UNIT_OUTPUTS, **SIGNED_UNIT_OUTPUTS}:
            scales, zero_point = [1 / 32768], 0
        self.outputs.append(self._tensor(shape, kind, scales, zero_point))

    def constant(self, values, kind="int32", scales=None, zero_point=0, axis=0):
        values = numpy.asarray(values, DTYPES[kind])
        tensor = self._tensor(values.shape, kind, scales, zero_point, axis, values.tobytes())
        self.operands.append(tensor)
        return tensor

    def absent(self):
        self.operands.append(-1)

    def weights(self, shape, numbers, axis=0):
        """Learned values, as files of these numbers store them."""
        values = self.random.normal(0, 0.2, shape).clip(-1, 1)
        if numbers == "float32":
            self.constant(values, "float32")
        elif numbers == "float16":
            stored = self.constant(values, "float16")
            self.operands[-1] = self._tensor(shape, "float32")
            self.before.append((stored, self.operands[-1]))
        elif numbers == "uint8":
            self.constant((values * 127 + 128).round(), "uint8", [0.01], 128)
        else:
            scales = [0.01] * shape[axis]
            self.constant((values * 127).round(), "int8", scales, 0, axis)

    def bias(self, n, numbers):
        values = self.random.normal(0, 1, n)
        if numbers in ("float32", "float16", "dynamic"):
            self.constant(values, "float32")
        elif numbers == "int16":
            self.constant((values * 100).round(), "int64", [SCALE / 256 * 0.01] * n)
        else:
            n_scales = 1 if numbers == "uint8" else n
            self.constant((values * 100).round(), "int32", [SCALE * 0.01] * n_scales)

    def to_bytes(self):
        graph = self.graph
        graph.model.description = "one operator"
        graph.subgraph.inputs, graph.subgraph.outputs = self.inputs, self.outputs
        graph.subgraph.name = "main"
        if self.before:
            dequantize = graph.add_code("DEQUANTIZE", 3)
            for source, target in self.before:
                graph.add_operator(dequantize, [source], [target])
        is_custom = isinstance(self.options, dict)
        code = graph.add_code(self.name, self.version)
        operator = graph.add_operator(code, self.operands, self.outputs, None if is_custom else self.options)
        if is_custom:
            operator.customOptions = numpy.frombuffer(flexbuffers.Dumps(self.options), numpy.uint8)
            operator.customOptionsFormat = schema.CustomOptionsFormat.FLEXBUFFERS
        return to_bytes(graph.model)


def version(numbers):
    """A version that is new enough for the numbers and that old kernels do not refuse."""
    return {"float32": 1, "float16": 1, "uint8": 1, "int8": 2, "int16": 4, "dynamic": 2}.get(numbers, 1)


CASES = []


def case(names, numbers, shapes):
    def add(function):
        for name in names.split():
            CASES.append((name, numbers, shapes, function))
        return function

    return add


@case("ABS NEG SQRT RSQRT EXP LOG ELU HARD_SWISH LOGISTIC TANH RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 "
      "CEIL FLOOR ROUND SIN COS SQUARE SIGN ZEROS_LIKE L2_NORMALIZATION SOFTMAX LOG_SOFTMAX GELU "
      "LEAKY_RELU", NUMBERS, IMAGES)
def unary(name, numbers, shape):
    kinds = {
        "L2_NORMALIZATION": lambda: options("L2NormOptions"),
        "SOFTMAX": lambda: options("SoftmaxOptions", beta=1.0),
        "GELU": lambda: options("GeluOptions", approximate=False),
        "LEAKY_RELU": lambda: options("LeakyReluOptions", alpha=0.1),
    }
    file = File(name, kinds[name]() if name in kinds else None, version(numbers))
    file.activation(shape, numbers)
    file.output(shape, numbers)
    return file


@case("LOGICAL_NOT", ("bool",), IMAGES)
def logical_not(name, numbers, shape):
    return unary(name, numbers, shape)


@case("CAST", ("float32", "int32", "int64", "bool", "uint8", "int8"), IMAGES)
def cast(name, numbers, shape):
    target = "int32" if numbers == "float32" else "float32"
    file = File(name, options("CastOptions"))
    file.activation(shape, numbers)
    file.operands = file.inputs[:]
    for tensor in file.graph.subgraph.tensors:
        tensor.quantization = None
    file.output(shape, target)
    return file


@case("DEQUANTIZE", QUANTIZED + ("float16",), IMAGES)
def dequantize(name, numbers, shape):
    file = File(name, None, 3)
    file.activation(shape, numbers)
    file.output(shape, "float32")
    return file


@case("QUANTIZE", REAL, IMAGES)
def quantize(name, numbers, shape):
    file = File(name, None, version(numbers))
    file.activation(shape, numbers)
    file.output(shape, "int8", 0.07)
    return file


@case("FAKE_QUANT", ("float32",), IMAGES)
def fake_quant(name, numbers, shape):
    file = File(name, options("FakeQuantOptions", min=-1.0, max=1.0, numBits=8))
    file.activation(shape, numbers)
    file.output(shape, numbers)
    return file


BINARY_OPTIONS = {
    "ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions",
}


@case("ADD SUB MUL DIV MAXIMUM MINIMUM SQUARED_DIFFERENCE FLOOR_DIV FLOOR_MOD POW ATAN2 BITWISE_XOR "
      "RIGHT_SHIFT", NUMBERS, IMAGES)
def binary(name, numbers, shape):
    made = options(BINARY_OPTIONS[name]) if name in BINARY_OPTIONS else None
    if made is not None and hasattr(made, "potScaleInt16"):
        made.potScaleInt16 = False
    file = File(name, made, 2 if numbers in ("int8", "int16") else 1)
    file.activation(shape, numbers)
    if name in ("FLOOR_DIV", "FLOOR_MOD", "DIV") and numbers in NUMBERS:
        # Inputs that the counter fills may be 0.
        if numbers in QUANTIZED:
            scales, zero_point = file._quantized(numbers, SCALE)
            file.constant(numpy.full(shape[-1:], 3 + zero_point), numbers, scales, zero_point)
        else:
            file.constant(numpy.full(shape[-1:], 3), numbers)
    else:
        file.activation(shape, numbers)
    file.output(shape, numbers)
    return file


@case("ADD_N", ("float32", "int32"), IMAGES)
def add_n(name, numbers, shape):
    file = File(name, options("AddNOptions"))
    for _ in range(3):
        file.activation(shape, numbers)
    file.output(shape, numbers)
    return file


@case("EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL", NUMBERS, IMAGES)
def compare(name, numbers, shape):
    file = File(name, None, 2 if numbers == "int8" else 1)
    file.activation(shape, numbers)
    file.activation(shape, numbers)
    file.output(shape, "bool")
    return file


@case("LOGICAL_AND LOGICAL_OR", ("bool",), IMAGES)
def logical(name, numbers, shape):
    file = File(name)
    file.activation(shape, numbers)
    file.activation(shape, numbers)
    file.output(shape, "bool")
    return file


@case("SELECT SELECT_V2", NUMBERS, IMAGES)
def select(name, numbers, shape):
    file = File(name, None, version(numbers) if numbers != "int16" else 2)
    file.activation(shape, "bool")
    file.activation(shape, numbers)
    file.activation(shape, numbers)
    file.output(shape, numbers)
    return file


@case("PRELU", REAL, IMAGES)
def prelu(name, numbers, shape):
    file = File(name)
    file.activation(shape, numbers)
    scales, zero_point = file._quantized(numbers, 0.01)
    file.constant(numpy.full((1, 1, shape[-1]), zero_point + 20), numbers, scales, zero_point)
    file.output(shape, numbers)
    return file


@case("MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN", NUMBERS, IMAGES)
def reduce(name, numbers, shape):
    file = File(name, options("ReducerOptions", keepDims=True), version(numbers) if numbers != "int16" else 3)
    file.activation(shape, numbers)
    file.constant([1, 2])
    file.output((shape[0], 1, 1, shape[-1]), numbers)
    return file


@case("REDUCE_ANY REDUCE_ALL", ("bool",), IMAGES)
def reduce_truth(name, numbers, shape):
    return reduce(name, numbers, shape)


@case("ARG_MAX ARG_MIN", NUMBERS, IMAGES)
def arg(name, numbers, shape):
    kind = "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions"
    file = File(name, options(kind, outputType=schema.TensorType.INT32), 2 if numbers == "int8" else 1)
    file.activation(shape, numbers)
    file.constant(3)
    file.output(shape[:-1], "int32")
    return file


@case("CUMSUM", ("float32", "int32", "int64"), IMAGES)
def cumsum(name, numbers, shape):
    file = File(name, options("CumsumOptions"))
    file.activation(shape, numbers)
    file.constant(1)
    file.output(shape, numbers)
    return file


@case("RESHAPE EXPAND_DIMS SQUEEZE BITCAST SHAPE RANK", NUMBERS, IMAGES)
def rename(name, numbers, shape):
    n = int(numpy.prod(shape))
    made = {
        "RESHAPE": lambda: options("ReshapeOptions", newShape=[1, n]),
        "EXPAND_DIMS": lambda: options("ExpandDimsOptions"),
        "SQUEEZE": lambda: options("SqueezeOptions", squeezeDims=[0]),
        "SHAPE": lambda: options("ShapeOptions", outType=schema.TensorType.INT32),
        "RANK": lambda: options("RankOptions"),
    }
    file = File(name, made[name]() if name in made else None)
    file.activation(shape, numbers)
    if name == "RESHAPE":
        file.constant([1, n])
    if name == "EXPAND_DIMS":
        file.constant(0)
    shapes = {
        "RESHAPE": (1, n), "EXPAND_DIMS": (1, *shape), "SQUEEZE": shape[1:], "BITCAST": shape,
        "SHAPE": (len(shape),), "RANK": (),
    }
    file.output(shapes[name], "int32" if name in ("SHAPE", "RANK") else numbers)
    return file


@case("TRANSPOSE", NUMBERS, IMAGES)
def transpose(name, numbers, shape):
    file = File(name, options("TransposeOptions"), version(numbers))
    file.activation(shape, numbers)
    order = [0, 3, 1, 2]
    file.constant(order)
    file.output([shape[i] for i in order], numbers)
    return file


@case("CONCATENATION", NUMBERS, IMAGES)
def concatenation(name, numbers, shape):
    file = File(name, options("ConcatenationOptions", axis=3), version(numbers))
    for _ in range(3):
        file.activation(shape, numbers)
    file.output((*shape[:3], 3 * shape[3]), numbers)
    return file


@case("PACK", NUMBERS, IMAGES)
def pack(name, numbers, shape):
    file = File(name, options("PackOptions", axis=0, valuesCount=2), version(numbers))
    file.activation(shape, numbers)
    file.activation(shape, numbers)
    file.output((2, *shape), numbers)
    return file


@case("UNPACK", NUMBERS, IMAGES)
def unpack(name, numbers, shape):
    file = File(name, options("UnpackOptions", axis=1, num=shape[1]), version(numbers))
    file.activation(shape, numbers)
    for _ in range(shape[1]):
        file.output((shape[0], shape[2], shape[3]), numbers)
    return file


@case("SPLIT SPLIT_V", NUMBERS, [s for s in IMAGES if s[3] % 2 == 0])
def split(name, numbers, shape):
    half = (*shape[:3], shape[3] // 2)
    made = options("SplitOptions", numSplits=2) if name == "SPLIT" else options("SplitVOptions", numSplits=2)
    file = File(name, made, version(numbers))
    if name == "SPLIT":
        file.constant(3)
        file.activation(shape, numbers)
    else:
        file.activation(shape, numbers)
        file.constant([half[3], half[3]])
        file.constant(3)
    file.output(half, numbers)
    file.output(half, numbers)
    return file


@case("SLICE STRIDED_SLICE", NUMBERS, IMAGES)
def cut(name, numbers, shape):
    size = [1, shape[1] - 1, shape[2] - 2, shape[3]]
    file = File(name, options("SliceOptions" if name == "SLICE" else "StridedSliceOptions"), version(numbers))
    file.activation(shape, numbers)
    file.constant([0, 1, 2, 0])
    if name == "SLICE":
        file.constant(size)
    else:
        file.constant(shape)
        file.constant([1, 1, 1, 1])
    file.output(size, numbers)
    return file


@case("TILE", NUMBERS, IMAGES)
def tile(name, numbers, shape):
    file = File(name, options("TileOptions"))
    file.activation(shape, numbers)
    file.constant([1, 2, 1, 2])
    file.output((1, 2 * shape[1], shape[2], 2 * shape[3]), numbers)
    return file


@case("PAD PADV2 MIRROR_PAD", NUMBERS, IMAGES)
def pad(name, numbers, shape):
    made = {
        "PAD": lambda: options("PadOptions"), "PADV2": lambda: options("PadV2Options"),
        "MIRROR_PAD": lambda: options("MirrorPadOptions"),
    }
    file = File(name, made[name](), version(numbers) if name != "MIRROR_PAD" else 1)
    file.activation(shape, numbers)
    file.constant([[0, 0], [1, 1], [2, 1], [0, 0]])
    if name == "PADV2":
        scales, zero_point = file._quantized(numbers, SCALE)
        file.constant([zero_point], numbers, scales, zero_point)
    file.output((1, shape[1] + 2, shape[2] + 3, shape[3]), numbers)
    return file


@case("GATHER", NUMBERS, IMAGES)
def gather(name, numbers, shape):
    file = File(name, options("GatherOptions", axis=1), version(numbers))
    file.activation(shape, numbers)
    file.constant(numpy.arange(shape[1])[::-1][: shape[1] // 2])
    file.output((1, shape[1] // 2, *shape[2:]), numbers)
    return file


@case("GATHER_ND", NUMBERS, IMAGES)
def gather_nd(name, numbers, shape):
    file = File(name, options("GatherNdOptions"))
    file.activation(shape, numbers)
    rows = [[0, y] for y in range(shape[1] - 1)]
    file.constant(rows)
    file.output((len(rows), *shape[2:]), numbers)
    return file


@case("SCATTER_ND", NUMBERS, IMAGES)
def scatter_nd(name, numbers, shape):
    file = File(name, options("ScatterNdOptions"))
    file.constant([[y] for y in range(shape[1])])
    file.activation((shape[1], *shape[2:]), numbers)
    file.constant([2 * shape[1], *shape[2:]])
    file.output((2 * shape[1], *shape[2:]), numbers)
    return file


@case("DYNAMIC_UPDATE_SLICE", NUMBERS + ("bool",), IMAGES)
def dynamic_update_slice(name, numbers, shape):
    file = File(name, options("DynamicUpdateSliceOptions"), 2)
    file.activation(shape, numbers)
    file.activation((1, shape[1] // 2, *shape[2:]), numbers)
    file.constant([0, 1, 0, 0])
    file.output(shape, numbers)
    return file


@case("SPACE_TO_DEPTH DEPTH_TO_SPACE", NUMBERS, [(1, 4, 4, 4), (1, 12, 12, 8), (1, 16, 16, 32), (1, 40, 40, 16)])
def rearrange(name, numbers, shape):
    _, h, w, c = shape
    if name == "SPACE_TO_DEPTH":
        file, size = File(name, options("SpaceToDepthOptions", blockSize=2)), (1, h // 2, w // 2, 4 * c)
    else:
        file, size = File(name, options("DepthToSpaceOptions", blockSize=2)), (1, 2 * h, 2 * w, c // 4)
    file.version = 2 if numbers == "int8" else 1
    file.activation(shape, numbers)
    file.output(size, numbers)
    return file


@case("SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND", NUMBERS, [(4, 4, 4, 4), (4, 12, 12, 8), (4, 16, 16, 32), (4, 6, 6, 96)])
def batch_space(name, numbers, shape):
    n, h, w, c = shape
    made = "SpaceToBatchNDOptions" if name == "SPACE_TO_BATCH_ND" else "BatchToSpaceNDOptions"
    file = File(name, options(made), version(numbers) if numbers != "int16" else 1)
    file.activation(shape, numbers)
    file.constant([2, 2])
    file.constant([[0, 0], [0, 0]])
    size = (4 * n, h // 2, w // 2, c) if name == "SPACE_TO_BATCH_ND" else (n // 4, 2 * h, 2 * w, c)
    file.output(size, numbers)
    return file


@case("REVERSE_V2", NUMBERS, IMAGES)
def reverse(name, numbers, shape):
    file = File(name)
    file.activation(shape, numbers)
    file.constant([1])
    file.output(shape, numbers)
    return file


@case("REVERSE_SEQUENCE", ("float32", "uint8", "int16", "int32", "int64"), IMAGES)
def reverse_sequence(name, numbers, shape):
    file = File(name, options("ReverseSequenceOptions", seqDim=1, batchDim=0))
    file.activation(shape, numbers)
    for tensor in file.graph.subgraph.tensors:
        tensor.quantization = None
    file.constant([shape[1] - 1])
    file.output(shape, numbers)
    file.graph.subgraph.tensors[-1].quantization = None
    return file


@case("BROADCAST_TO", NUMBERS + ("bool",), IMAGES)
def broadcast_to(name, numbers, shape):
    file = File(name, None, version(numbers))
    file.activation((1, 1, 1, shape[-1]), numbers)
    file.constant(shape)
    file.output(shape, numbers)
    return file


@case("BROADCAST_ARGS", ("int32", "int64"), MATRICES[:3])
def broadcast_args(name, numbers, shape):
    file = File(name)
    file.activation((4,), numbers)
    file.activation((4,), numbers)
    file.output((4,), numbers)
    return file


@case("FILL", ("float32", "int8", "int16", "int32", "int64", "bool"), IMAGES)
def fill(name, numbers, shape):
    file = File(name, options("FillOptions"), 3)
    file.constant(shape)
    file.activation((), numbers)
    file.output(shape, numbers)
    return file


@case("RANGE", ("float32", "int32", "int64"), [(16,), (256,), (4096,)])
def number_range(name, numbers, shape):
    file = File(name, options("RangeOptions"))
    file.activation((), numbers)
    file.constant(shape[0], numbers)
    file.constant(1, numbers)
    file.output(shape, numbers)
    return file


@case("ONE_HOT", ("int32", "int64"), MATRICES)
def one_hot(name, numbers, shape):
    file = File(name, options("OneHotOptions", axis=-1))
    file.activation(shape, numbers)
    file.constant(16)
    file.constant(1.0, "float32")
    file.constant(0.0, "float32")
    file.output((*shape, 16), "float32")
    return file


@case("WHERE", ("bool",), MATRICES)
def where(name, numbers, shape):
    file = File(name, options("WhereOptions"))
    file.activation(shape, numbers)
    file.output((int(numpy.prod(shape)), 2), "int64")
    return file


@case("TOPK_V2", ("float32", "int8", "uint8", "int32", "int64"), [(1, 16), (1, 250), (8, 64), (32, 100), (1, 4000)])
def topk(name, numbers, shape):
    file = File(name, options("TopKV2Options"))
    file.activation(shape, numbers)
    file.constant(5)
    file.output((shape[0], 5), numbers)
    file.output((shape[0], 5), "int32")
    return file


@case("MATRIX_DIAG", NUMBERS, MATRICES[:3])
def matrix_diag(name, numbers, shape):
    file = File(name, options("MatrixDiagOptions"))
    file.activation(shape, numbers)
    file.output((*shape, shape[-1]), numbers)
    return file


@case("MATRIX_SET_DIAG", NUMBERS, MATRICES[:3])
def matrix_set_diag(name, numbers, shape):
    file = File(name, options("MatrixSetDiagOptions"))
    file.activation((*shape, shape[-1]), numbers)
    file.activation(shape, numbers)
    file.output((*shape, shape[-1]), numbers)
    return file


@case("UNIQUE", ("float32", "int8", "uint8", "int16", "int32", "int64"), [(16,), (250,), (4000,)])
def unique(name, numbers, shape):
    file = File(name, options("UniqueOptions", idxOutType=schema.TensorType.INT32))
    file.activation(shape, numbers)
    file.output(shape, numbers)
    file.output(shape, "int32")
    return file


@case("SEGMENT_SUM", ("float32", "int32"), MATRICES)
def segment_sum(name, numbers, shape):
    file = File(name, options("SegmentSumOptions"))
    file.activation(shape, numbers)
    file.constant(numpy.arange(shape[0]) // 2)
    file.output(((shape[0] + 1) // 2, shape[1]), numbers)
    return file


@case("UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN",
      ("float32", "int32"), MATRICES)
def unsorted_segment(name, numbers, shape):
    kinds = {
        "UNSORTED_SEGMENT_SUM": "UnsortedSegmentSumOptions", "UNSORTED_SEGMENT_PROD": "UnsortedSegmentProdOptions",
        "UNSORTED_SEGMENT_MAX": "UnsortedSegmentMaxOptions", "UNSORTED_SEGMENT_MIN": "UnsortedSegmentMinOptions",
    }
    file = File(name, options(kinds[name]))
    file.activation(shape, numbers)
    file.constant(numpy.arange(shape[0]) % 4)
    file.constant(4)
    file.output((4, shape[1]), numbers)
    return file


@case("EMBEDDING_LOOKUP", ("float32", "int8", "uint8"), [(8, 16), (32, 64), (128, 128), (16, 512)])
def embedding_lookup(name, numbers, shape):
    file = File(name, None, version(numbers))
    file.activation((shape[0],), "int32")
    scales, zero_point = file._quantized(numbers, 0.01)
    table = file.random.integers(0, 100, (64, shape[1]))
    file.constant(table, numbers, scales, zero_point)
    file.output(shape, numbers, 0.01)
    return file


@case("SPARSE_TO_DENSE", ("float32", "int8", "uint8", "int32", "int64"), [(16,), (100,), (1000,)])
def sparse_to_dense(name, numbers, shape):
    file = File(name, options("SparseToDenseOptions"))
    file.constant([[i] for i in range(0, shape[0], 2)])
    file.constant([shape[0]])
    file.activation(((shape[0] + 1) // 2,), numbers)
    file.constant(0, numbers)
    file.output(shape, numbers)
    return file


@case("BUCKETIZE", ("float32", "int32", "int64"), MATRICES)
def bucketize(name, numbers, shape):
    file = File(name, options("BucketizeOptions", boundaries=[-0.5, 0.0, 0.25, 0.5]))
    file.activation(shape, numbers)
    file.output(shape, "int32")
    return file


@case("RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR", REAL, IMAGES)
def resize(name, numbers, shape):
    kind = "ResizeBilinearOptions" if name == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    file = File(name, options(kind, halfPixelCenters=True), 3)
    file.activation(shape, numbers)
    size = [2 * shape[1], 2 * shape[2]]
    file.constant(size)
    file.output((1, *size, shape[3]), numbers)
    return file


@case("LOCAL_RESPONSE_NORMALIZATION", ("float32",), IMAGES)
def local_response(name, numbers, shape):
    made = options("LocalResponseNormalizationOptions", radius=5, bias=1.0, alpha=1.0, beta=0.5)
    file = File(name, made)
    file.activation(shape, numbers)
    file.output(shape, numbers)
    return file


@case("AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D", REAL, IMAGES)
def pool(name, numbers, shape):
    made = options("Pool2DOptions", padding=0, strideW=2, strideH=2, filterWidth=3, filterHeight=3)
    file = File(name, made, version(numbers) if numbers != "int16" else 3)
    file.activation(shape, numbers)
    file.output((1, -(-shape[1] // 2), -(-shape[2] // 2), shape[3]), numbers)
    return file


@case("CONV_2D", WEIGHTED, [(s, k, f) for s, k, f in zip(IMAGES, (3, 1, 3, 1, 1, 3), (8, 24, 32, 40, 96, 20))])
def conv(name, numbers, shape):
    (n, h, w, c), kernel, filters = shape
    made = options("Conv2DOptions", padding=0, strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
    file = File(name, made, {"int8": 3, "int16": 4, "dynamic": 5}.get(numbers, 1))
    kind = numbers if numbers in QUANTIZED else "float32"
    file.activation((n, h, w, c), kind)
    file.weights((filters, kernel, kernel, c), numbers)
    file.bias(filters, numbers)
    file.output((n, h, w, filters), kind)
    return file


@case("DEPTHWISE_CONV_2D", WEIGHTED, [(s, k) for s, k in zip(IMAGES, (3, 5, 3, 3, 5, 3))])
def depthwise(name, numbers, shape):
    (n, h, w, c), kernel = shape
    made = options("DepthwiseConv2DOptions", padding=0, strideW=1, strideH=1, depthMultiplier=1,
                   dilationWFactor=1, dilationHFactor=1)
    file = File(name, made, {"int8": 3, "int16": 5, "dynamic": 6}.get(numbers, 1))
    kind = numbers if numbers in QUANTIZED else "float32"
    file.activation((n, h, w, c), kind)
    file.weights((1, kernel, kernel, c), numbers, 3)
    file.bias(c, numbers)
    file.output((n, h, w, c), kind)
    return file


@case("FULLY_CONNECTED", WEIGHTED, [(r, c, f) for r, c, f in
      ((1, 16, 10), (1, 256, 128), (1, 1000, 300), (8, 64, 64), (50, 128, 100), (3, 33, 17))])
def dense(name, numbers, shape):
    rows, inputs, units = shape
    file = File(name, options("FullyConnectedOptions"),
                {"int8": 4, "int16": 7, "dynamic": 9}.get(numbers, 1))
    kind = numbers if numbers in QUANTIZED else "float32"
    file.activation((rows, inputs), kind)
    if numbers == "dynamic" or numbers == "int8" or numbers == "int16":
        values = file.random.normal(0, 25, (units, inputs)).round().clip(-127, 127)
        file.constant(values, "int8", [0.01])
    else:
        file.weights((units, inputs), numbers)
    if numbers in ("float32", "float16", "dynamic"):
        file.bias(units, numbers)
    else:
        width = "int64" if numbers == "int16" else "int32"
        scale = SCALE * 0.01 / (256 if numbers == "int16" else 1)
        file.constant(numpy.zeros(units), width, [scale])
    file.output((rows, units), kind)
    return file


@case("TRANSPOSE_CONV", WEIGHTED, [(s, k, f) for s, k, f in zip(IMAGES, (3, 2, 3, 2, 3, 2), (8, 24, 16, 12, 48, 20))])
def transpose_conv(name, numbers, shape):
    (n, h, w, c), kernel, filters = shape
    file = File(name, options("TransposeConvOptions", padding=0, strideW=2, strideH=2), 3)
    kind = numbers if numbers in QUANTIZED else "float32"
    file.constant([n, 2 * h, 2 * w, filters])
    file.weights((filters, kernel, kernel, c), numbers)
    file.activation((n, h, w, c), kind)
    file.bias(filters, numbers)
    file.output((n, 2 * h, 2 * w, filters), kind)
    return file


@case("CONV_3D", ("float32",), [(4, 8, 4, 8), (8, 8, 8, 16), (6, 14, 16, 16)])
def conv_3d(name, numbers, shape):
    depth, side, c, filters = shape
    made = options("Conv3DOptions", padding=0, strideD=1, strideH=1, strideW=1)
    file = File(name, made)
    file.activation((1, depth, side, side, c), numbers)
    file.constant(file.random.normal(0, 0.2, (3, 3, 3, c, filters)), numbers)
    file.constant(numpy.zeros(filters), numbers)
    file.output((1, depth, side, side, filters), numbers)
    return file


@case("CONV_3D_TRANSPOSE", ("float32",), [(4, 8, 4, 8), (8, 8, 8, 16), (6, 14, 16, 16)])
def conv_3d_transpose(name, numbers, shape):
    depth, side, c, filters = shape
    made = options("Conv3DOptions", padding=0, strideD=2, strideH=2, strideW=2)
    file = File(name, made)
    size = (1, 2 * depth, 2 * side, 2 * side, filters)
    file.constant(size)
    file.constant(file.random.normal(0, 0.2, (3, 3, 3, filters, c)), numbers)
    file.activation((1, depth, side, side, c), numbers)
    file.output(size, numbers)
    return file


@case("BATCH_MATMUL", REAL, [(1, 8, 16, 8), (2, 16, 64, 32), (4, 64, 32, 64), (1, 100, 70, 30), (1, 1, 256, 256)])
def batch_matmul(name, numbers, shape):
    n, rows, summed, columns = shape
    file = File(name, options("BatchMatMulOptions"), {"int8": 2, "int16": 3}.get(numbers, 1))
    file.activation((n, rows, summed), numbers)
    file.activation((n, summed, columns), numbers)
    file.output((n, rows, columns), numbers)
    return file


@case("NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5", ("float32",), [(50,), (500,), (2000,)])
def non_max_suppression(name, numbers, shape):
    n, kept = shape[0], 10
    kind = "NonMaxSuppressionV4Options" if name.endswith("4") else "NonMaxSuppressionV5Options"
    file = File(name, options(kind))
    file.activation((n, 4), numbers)
    file.activation((n,), numbers)
    file.constant(kept)
    file.constant(0.5, "float32")
    file.constant(0.1, "float32")
    if name.endswith("5"):
        file.constant(0.0, "float32")
    file.output((kept,), "int32")
    if name.endswith("5"):
        file.output((kept,), "float32")
    file.output((), "int32")
    return file


@case("RFFT2D", ("float32",), [(16, 16), (64, 64), (128, 256)])
def rfft(name, numbers, shape):
    file = File(name, options("Rfft2dOptions"))
    file.activation((1, *shape), numbers)
    file.constant(shape)
    file.outputs.append(file._tensor((1, shape[0], shape[1] // 2 + 1), "complex64"))
    return file


@case("UNIDIRECTIONAL_SEQUENCE_RNN RNN", ("float32",), [(1, 8, 16), (10, 40, 64), (30, 80, 128)])
def recurrent(name, numbers, shape):
    steps, inputs, units = shape
    is_sequence = name != "RNN"
    made = options("SequenceRNNOptions", timeMajor=False) if is_sequence else options("RNNOptions")
    made.fusedActivationFunction = schema.ActivationFunctionType.TANH
    file = File(name, made)
    file.activation((1, steps, inputs) if is_sequence else (1, inputs), numbers)
    file.constant(file.random.normal(0, 0.2, (units, inputs)), numbers)
    file.constant(file.random.normal(0, 0.2, (units, units)), numbers)
    file.constant(numpy.zeros(units), numbers)
    state = file._tensor((1, units), numbers)
    file.graph.subgraph.tensors[state].isVariable = True
    file.operands.append(state)
    file.output((1, steps, units) if is_sequence else (1, units), numbers)
    return file


@case("LSTM UNIDIRECTIONAL_SEQUENCE_LSTM", ("float32", "dynamic"), [(1, 8, 16), (10, 40, 64), (20, 80, 128)])
def lstm(name, numbers, shape):
    steps, inputs, units = shape
    is_sequence = name != "LSTM"
    made = options("UnidirectionalSequenceLSTMOptions" if is_sequence else "LSTMOptions")
    made.fusedActivationFunction = schema.ActivationFunctionType.TANH
    file = File(name, made)
    file.activation((1, steps, inputs) if is_sequence else (1, inputs), "float32")
    for columns in (inputs, units):
        for _ in range(4):
            if numbers == "dynamic":
                values = file.random.normal(0, 25, (units, columns)).round().clip(-127, 127)
                file.constant(values, "int8", [0.01])
            else:
                file.constant(file.random.normal(0, 0.2, (units, columns)), "float32")
    for _ in range(3):
        file.absent()
    for _ in range(4):
        file.constant(numpy.zeros(units), "float32")
    file.absent()
    file.absent()
    for _ in range(2):
        state = file._tensor((1, units), "float32")
        file.graph.subgraph.tensors[state].isVariable = True
        file.operands.append(state)
    file.output((1, steps, units) if is_sequence else (1, units), "float32")
    return file


@case("SVDF", ("float32", "dynamic"), [(1, 16, 8), (1, 40, 64), (1, 80, 128)])
def svdf(name, numbers, shape):
    rank, inputs, units = shape
    memory = 8
    file = File(name, options("SVDFOptions", rank=rank), 2 if numbers == "dynamic" else 1)
    file.activation((1, inputs), "float32")
    for size in ((units * rank, inputs), (units * rank, memory)):
        if numbers == "dynamic":
            values = file.random.normal(0, 25, size).round().clip(-127, 127)
            file.constant(values, "int8", [0.01])
        else:
            file.constant(file.random.normal(0, 0.2, size), "float32")
    file.constant(numpy.zeros(units), "float32")
    state = file._tensor((1, memory * units * rank), "float32")
    file.graph.subgraph.tensors[state].isVariable = True
    file.operands.append(state)
    file.output((1, units), "float32")
    return file


@case("TFLite_Detection_PostProcess", ("float32", "uint8"),
      [(100, 2), (500, 21), (1917, 91), (4000, 4), (8000, 90), (19206, 90)])
def detections(name, numbers, shape):
    anchors, classes = shape
    file = File(name, {
        "max_detections": 100, "max_classes_per_detection": 1, "detections_per_class": 100,
        "use_regular_nms": False, "nms_score_threshold": 1e-8, "nms_iou_threshold": 0.5,
        "num_classes": classes, "y_scale": 1.0, "x_scale": 1.0, "h_scale": 1.0, "w_scale": 1.0,
    })
    file.activation((1, anchors, 4), numbers)
    file.activation((1, anchors, classes), numbers, 1 / 256)
    values = file.random.uniform(0.1, 0.9, (anchors, 4))
    if numbers == "float32":
        file.constant(values, numbers)
    else:
        file.constant((values * 255).round(), numbers, [1 / 255])
    for output in ((1, 100, 4), (1, 100), (1, 100), (1,)):
        file.output(output, "float32")
    return file


STABLEHLO = {
    "STABLEHLO_ADD": 2, "STABLEHLO_MULTIPLY": 2, "STABLEHLO_MAXIMUM": 2, "STABLEHLO_MINIMUM": 2,
    "STABLEHLO_SUBTRACT": 2, "STABLEHLO_DIVIDE": 2, "STABLEHLO_POWER": 2, "STABLEHLO_REMAINDER": 2,
    "STABLEHLO_ABS": 1, "STABLEHLO_COSINE": 1, "STABLEHLO_EXPONENTIAL": 1, "STABLEHLO_FLOOR": 1,
    "STABLEHLO_LOG": 1, "STABLEHLO_NEGATE": 1, "STABLEHLO_RSQRT": 1, "STABLEHLO_TANH": 1,
    "STABLEHLO_LOGISTIC": 1, "STABLEHLO_CBRT": 1,
}


@case(" ".join(STABLEHLO), ("float32", "int32"), IMAGES[:4])
def stablehlo(name, numbers, shape):
    file = File(name)
    for _ in range(STABLEHLO[name]):
        file.activation(shape, numbers)
    file.output(shape, numbers)
    return file


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    n_files = 0
    for name, numbers, shapes, function in CASES:
        for kind, (index, shape) in itertools.product(numbers, enumerate(shapes)):
            path = folder / f"{name}-{kind}-{index}.tflite"
            path.write_bytes(function(name, kind, shape).to_bytes())
            n_files += 1
    print(f"{n_files} files of {len({name for name, *_ in CASES})} operators in {folder}")


if __name__ == "__main__":
    main()
