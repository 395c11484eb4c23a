"""Profiles ONNX files without weights with ONNX Runtime on one thread, with random weights.

usage: profile_onnx.py GRAPHS PROFILES NAME...

Writes PROFILES/NAME.json for each GRAPHS/NAME.onnx that is there. Profiles that exist are kept, so that a run that was
interrupted goes on.
"""

import os
import pathlib
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

# As many runs as fit into so many seconds, within these numbers.
SECONDS = 6
MIN_RUNS, MAX_RUNS = 7, 40


def with_weights(path: pathlib.Path) -> bytes:
    model = onnx.load(path, load_external_data=False)
    generator = numpy.random.default_rng(1)
    for tensor in model.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        shape = tuple(tensor.dims)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.data_type != onnx.TensorProto.FLOAT:
            values = numpy.zeros(shape)
        elif len(shape) > 1:
            # Activations keep their size, so that none is denormal or infinite.
            values = generator.standard_normal(shape) / numpy.sqrt(max(1, numpy.prod(shape[1:])))
        else:
            values = numpy.abs(generator.standard_normal(shape)) + 0.1
        tensor.CopyFrom(numpy_helper.from_array(numpy.asarray(values, dtype), tensor.name))
    return model.SerializeToString()


def inputs_of(session: onnxruntime.InferenceSession) -> dict[str, numpy.ndarray]:
    generator = numpy.random.default_rng(2)
    feeds = {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in value.shape]
        is_float = "float" in value.type
        integer = "int64" if "int64" in value.type else "int32"
        feeds[value.name] = generator.random(shape).astype("float32") if is_float else numpy.ones(shape, integer)
    return feeds


def profile(graph: pathlib.Path, to: pathlib.Path) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = str(to.with_suffix(".part"))
    session = onnxruntime.InferenceSession(with_weights(graph), options, providers=["CPUExecutionProvider"])
    feeds = inputs_of(session)
    start = time.perf_counter()
    session.run(None, feeds)
    seconds = time.perf_counter() - start
    for _ in range(int(min(MAX_RUNS, max(MIN_RUNS, SECONDS / seconds)))):
        session.run(None, feeds)
    os.replace(session.end_profiling(), to)


def main() -> None:
    graphs, profiles = map(pathlib.Path, sys.argv[1:3])
    for name in sys.argv[3:]:
        graph, to = graphs / f"{name}.onnx", profiles / f"{name}.json"
        if to.exists() or not graph.exists():
            continue
        try:
            profile(graph, to)
            print(name, flush=True)
        except Exception as error:  # ONNX Runtime raises what it meets
            print(f"{name}: {type(error).__name__}: {error}"[:200], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
