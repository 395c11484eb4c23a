"""Profiles ONNX files without weights with ONNX Runtime on one thread, with random weights.

usage: profile_onnx.py GRAPHS PROFILES NAME...

Writes PROFILES/NAME.json for each GRAPHS/NAME.onnx that is there. All networks are profiled in turn, and that several times,
because other processes slow down some of the runs: the profile whose median run is the shortest is kept. PROFILES/rounds.json
has that median of each round in milliseconds and the load of the machine at its end. Rounds that are there are not run again, so
that a run that was interrupted goes on.
"""

import json
import os
import pathlib
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

ROUNDS = 5
# As many runs as fit into so many seconds, within these numbers.
SECONDS = 2
MIN_RUNS, MAX_RUNS = 5, 40


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


def profile(graph: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
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
    return pathlib.Path(session.end_profiling())


def median_ms(profile: pathlib.Path) -> float:
    events = json.loads(profile.read_text())
    return float(numpy.median([event["dur"] for event in events if event["name"] == "model_run"])) / 1e3


def noise(rounds: dict[str, list[list[float]]]) -> str:
    """How far the shortest of every other round is from that of the rounds between them, and the load meanwhile."""
    known = [[ms for ms, _ in of_name] for of_name in rounds.values() if len(of_name) == ROUNDS]
    logarithms = [numpy.log(min(ms[::2]) / min(ms[1::2])) for ms in known]
    loads = [load for of_name in rounds.values() for _, load in of_name]
    if not known:
        return "no network has all rounds"
    return f"{len(known)} networks; rounds differ by {numpy.std(logarithms):.2f} (standard deviation of logarithms); load {min(loads):.1f} to {max(loads):.1f}"


def main() -> None:
    graphs, profiles = map(pathlib.Path, sys.argv[1:3])
    rounds_file = profiles / "rounds.json"
    rounds = json.loads(rounds_file.read_text()) if rounds_file.exists() else {}
    for idx in range(ROUNDS):
        for name in sys.argv[3:]:
            graph, to = graphs / f"{name}.onnx", profiles / f"{name}.json"
            known = rounds.setdefault(name, [])
            if len(known) > idx or not graph.exists():
                continue
            try:
                made = profile(graph, to)
            except Exception as error:  # ONNX Runtime raises what it meets
                print(f"{name}: {type(error).__name__}: {error}"[:200], file=sys.stderr, flush=True)
                continue
            known.append([median_ms(made), os.getloadavg()[0]])
            if known[-1][0] == min(known)[0]:
                os.replace(made, to)
            else:
                made.unlink()
            rounds_file.write_text(json.dumps(rounds))
            print(idx, name, *known[-1], flush=True)
    print(noise(rounds), flush=True)


if __name__ == "__main__":
    main()
