"""Writes the files beside it: one float network whose weights are stored dense, by rows, in blocks and as half floats.

LiteRT computes the same from each of them, which is checked here."""

import pathlib
import random
import struct
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "trainer" / "python"))
import tflite_graph  # noqa: E402

N_IN, N_OUT, BLOCK = 32, 8, 4
FLOAT, HALF = schema.TensorType.FLOAT32, schema.TensorType.FLOAT16
DENSE, SPARSE = schema.DimensionType.DENSE, schema.DimensionType.SPARSE_CSR


def weights():
    """Rows of which one block in four has values, which halves represent."""
    random.seed(1)
    block = lambda: [random.randint(-64, 64) / 64 for _ in range(BLOCK)]  # noqa: E731
    rows = [[block() if random.random() < 0.25 else [0.0] * BLOCK for _ in range(N_IN // BLOCK)] for _ in range(N_OUT)]
    return [[value for block in row for value in block] for row in rows]


def level(size=None, segments=None, indices=None):
    metadata = schema.DimensionMetadataT()
    metadata.format, metadata.denseSize = (SPARSE, 0) if size is None else (DENSE, size)
    for name, numbers, vector, kind in (("arraySegments", segments, schema.Int32VectorT, schema.SparseIndexVector.Int32Vector),
                                        ("arrayIndices", indices, schema.Uint8VectorT, schema.SparseIndexVector.Uint8Vector)):
        if numbers is not None:
            stored = vector()
            stored.values = numbers
            setattr(metadata, name + "Type", kind)
            setattr(metadata, name, stored)
    return metadata


def sparse(rows, block):
    """Stored values, and their places, of blocks of a row."""
    values, segments, indices = [], [0], []
    for row in rows:
        for start in range(0, N_IN, block):
            if any(row[start:start + block]):
                values += row[start:start + block]
                indices.append(start // block)
        segments.append(len(indices))
    places = schema.SparsityParametersT()
    places.traversalOrder, places.blockMap = ([0, 1], []) if block == 1 else ([0, 1, 2], [1])
    places.dimMetadata = [level(N_OUT), level(None, segments, indices)] + ([level(block)] if block > 1 else [])
    return values, places


def network(block=None, is_half=False):
    graph = tflite_graph.Graph()
    rows = weights()
    read = graph.add_tensor([1, N_IN], FLOAT)
    graph.subgraph.inputs = [read]
    bias = graph.add_tensor([N_OUT], FLOAT, struct.pack("<%df" % N_OUT, *[0.5] * N_OUT))
    values, places = (sum(rows, []), None) if block is None else sparse(rows, block)
    kind = HALF if is_half else FLOAT
    filters = graph.add_tensor([N_OUT, N_IN], kind, struct.pack("<%d%s" % (len(values), "e" if is_half else "f"), *values))
    if places:
        graph.subgraph.tensors[filters].sparsity = places
        stored, filters = filters, graph.add_tensor([N_OUT, N_IN], kind)
        graph.add_operator(graph.add_code("DENSIFY"), [stored], [filters])
    if is_half:
        halves, filters = filters, graph.add_tensor([N_OUT, N_IN], FLOAT)
        graph.add_operator(graph.add_code("DEQUANTIZE"), [halves], [filters])
    wrote = graph.add_tensor([1, N_OUT], FLOAT)
    graph.add_operator(graph.add_code("FULLY_CONNECTED"), [read, filters, bias], [wrote], tflite_graph.options("FullyConnectedOptions"))
    graph.subgraph.outputs = [wrote]
    return tflite_graph.to_bytes(graph.model)


def computed(contents):
    interpreter = Interpreter(model_content=contents)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.linspace(-1, 1, N_IN, dtype=np.float32)[None])
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


expected = computed(network())
for name, contents in (("dense", network()), ("rows", network(1)), ("blocks", network(BLOCK)), ("halves", network(1, True))):
    assert np.allclose(computed(contents), expected), name
    (HERE / (name + ".tflite")).write_bytes(contents)
