"""Figures of other tools for `tests/analysis.rs`: one JSON object per model on standard output.

    analysis_oracle.py naive  FILE...   operators and constants read by LiteRT's own schema code
    analysis_oracle.py arena  FILE...   arena head that TensorFlow Lite Micro's recorder reports
    analysis_oracle.py vela   FILE...   MACs that Arm's Vela reports per source operator
    analysis_oracle.py graphs DIR N     writes N random graphs for `arena`
    analysis_oracle.py operators DIR    writes a graph of each kind of operator for `arena`
    analysis_oracle.py kernels DIR      writes a graph of each operator, type and option that decides on a kernel
    analysis_oracle.py changed DIR      writes such graphs with an operand, a scale or a zero point more or less
    analysis_oracle.py pairs  DIR       writes files of floats, each with an int8 file of the same operator behind it
    analysis_oracle.py runs   FILE...   as `arena`, and whether TensorFlow Lite Micro's interpreter invokes the file
"""

import importlib
import json
import math
import os
import random
import re
import signal
import sys
import tempfile

# Which package each command needs; status 3 says that it is not installed.
PACKAGES = {"naive": "ai_edge_litert", "graphs": "flatbuffers", "operators": "flatbuffers", "kernels": "flatbuffers", "changed": "flatbuffers", "pairs": "flatbuffers", "runs": "tflite_micro", "arena": "tflite_micro", "vela": "ethosu.vela"}
NOT_INSTALLED = 3

try:
    for package in ("ai_edge_litert", PACKAGES[sys.argv[1]]):
        importlib.import_module(package)
except ModuleNotFoundError as missing:
    print(missing, file=sys.stderr)
    sys.exit(NOT_INSTALLED)

from ai_edge_litert import schema_py_generated as schema  # noqa: E402

OPERATOR_NAMES = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
TYPE_NAMES = {v: k for k, v in vars(schema.TensorType).items() if isinstance(v, int)}
BITS = {"INT2": 2, "INT4": 4, "INT8": 8, "UINT8": 8, "BOOL": 8, "INT16": 16, "UINT16": 16, "FLOAT16": 16,
        "BFLOAT16": 16, "INT32": 32, "UINT32": 32, "FLOAT32": 32, "INT64": 64, "UINT64": 64, "FLOAT64": 64}
ARENA_BYTES = 256 << 20
MAX_SECONDS = 20


def silently(call):
    """What `call` returns, and what it or native code below it wrote to the two standard streams."""
    sys.stdout.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            result = call()
        finally:
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            os.close(saved[0])
            os.close(saved[1])
        log.seek(0)
        return result, log.read().decode(errors="replace")


# ---- naive: another reader, other formulas --------------------------------------------------


def shape_of(tensor):
    return [] if tensor.shape is None else [int(d) for d in tensor.shape]


def window_outputs(size, window, stride, dilation, padding):
    reach = (window - 1) * dilation + 1
    return math.ceil(size / stride) if padding == schema.Padding.SAME else math.ceil((size - reach + 1) / stride)


def naive_macs(name, operator, tensors):
    """From inputs and options alone, never from the shape of the output."""
    operands = [None if i < 0 else shape_of(tensors[i]) for i in operator.inputs]
    if name.endswith("CONV_2D") and not (operands[0] and shape_of(tensors[operator.outputs[0]])):
        return None  # a file without shapes
    options = operator.builtinOptions
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        n, height, width, depth = operands[0]
        _, kernel_h, kernel_w, last = operands[1]
        rows = window_outputs(height, kernel_h, options.strideH, options.dilationHFactor, options.padding)
        columns = window_outputs(width, kernel_w, options.strideW, options.dilationWFactor, options.padding)
        if name == "DEPTHWISE_CONV_2D":
            multiplier = last // depth
            return n * rows * columns * depth * multiplier * kernel_h * kernel_w
        groups = depth // last
        return n * rows * columns * operands[1][0] * kernel_h * kernel_w * (depth // groups)
    if name == "TRANSPOSE_CONV":
        out, kernel_h, kernel_w, depth = operands[1]
        n, height, width, _ = operands[2]
        return sum(height * width * kernel_h * kernel_w * out * depth for _ in range(n))
    if name == "FULLY_CONNECTED":
        units, depth = operands[1]
        return math.prod(operands[0]) // depth * units * depth
    if name == "BATCH_MATMUL":
        left, right = operands
        m, k = left[-2:][::-1] if options.adjX else left[-2:]
        n = right[-2] if options.adjY else right[-1]
        rank = max(len(left), len(right))
        pad = lambda s: [1] * (rank - len(s)) + s[:-2]
        return math.prod(max(a, b) for a, b in zip(pad(left), pad(right))) * m * k * n
    if name == "UNIDIRECTIONAL_SEQUENCE_LSTM":
        first, second, _ = operands[0]
        gates = [operands[i] for i in (1, 2, 3, 4, 5, 6, 7, 8, 16) if operands[i]]
        return first * second * sum(rows * columns for rows, columns in gates)
    return 0


def is_weight(tensor, model):
    """A constant of numbers. Wide whole numbers without a scale are shapes, axes and indices."""
    content = model.buffers[tensor.buffer].data
    if content is None or len(content) == 0 or tensor.isVariable:
        return False
    quantised = tensor.quantization is not None and tensor.quantization.scale is not None
    wide = TYPE_NAMES[tensor.type] in ("INT32", "INT64", "UINT32", "UINT64", "BOOL", "STRING")
    return not wide or (quantised and len(tensor.quantization.scale) > 0)


def name_of(operator, model):
    code = model.operatorCodes[operator.opcodeIndex]
    return OPERATOR_NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]


def callees(name, operator):
    options = operator.builtinOptions
    if name == "WHILE":
        return [options.condSubgraphIndex, options.bodySubgraphIndex]
    if name == "CALL_ONCE":
        return [options.initSubgraphIndex]
    if name == "STABLEHLO_COMPOSITE":
        return [operator.builtinOptions2.decompositionSubgraphIndex]
    return []


def walk(index, model, weights):
    """Name and MACs of each operator of a subgraph; adds its weights as (buffer, stored values)."""
    graph = model.subgraphs[index]
    operators = []
    for operator in graph.operators if graph.operators is not None else []:
        name = name_of(operator, model)
        for i in (i for i in operator.inputs if i >= 0 and is_weight(graph.tensors[i], model)):
            weights[index, i] = graph.tensors[i].buffer, stored_values(graph.tensors[i], model)
        inner = [walk(callee, model, weights) for callee in callees(name, operator)]
        macs = naive_macs(name, operator, graph.tensors)
        if name != "CALL_ONCE" and inner:
            macs = sum(each["macs"] for body in inner for each in body)
        operators.append({"name": name, "macs": macs})
    return operators


def naive(path):
    with open(path, "rb") as file:
        model = schema.ModelT.InitFromPackedBuf(file.read(), 0)
    weights = {}
    operators = walk(0, model, weights)
    buffers = {buffer for buffer, _ in weights.values()}
    return {"operators": operators, "parameters": sum(count for _, count in weights.values()),
            "weight_bytes": sum(len(model.buffers[b].data) for b in buffers)}


def stored_values(tensor, model):
    if tensor.sparsity is None:
        return math.prod(shape_of(tensor))
    bits = BITS[TYPE_NAMES[tensor.type]]
    return len(model.buffers[tensor.buffer].data) * 8 // bits


# ---- TensorFlow Lite Micro ------------------------------------------------------------------


def recorded(paths, invoke):
    """Figures of each file. An assertion in the library, or a loop without end, ends a process of its own, whose
    successor goes on behind the file at which it ended."""
    from tflite_micro.python.tflite_micro import runtime  # noqa: F401

    paths = list(paths)
    while paths:
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            with os.fdopen(write_end, "w") as answers:
                for path in paths:
                    signal.alarm(MAX_SECONDS)
                    print(json.dumps(recorded_here(path, invoke)), file=answers, flush=True)
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as answers:
            for line in answers:
                yield paths.pop(0), json.loads(line)
        os.waitpid(child, 0)
        if paths:
            yield paths.pop(0), {"refused": "the library ended the process"}


def recorded_here(path, invoke):
    from tflite_micro.python.tflite_micro import runtime

    def record():
        try:
            interpreter = runtime.Interpreter.from_file(path, arena_size=ARENA_BYTES)
            interpreter.print_allocations()
            if invoke:
                interpreter.invoke()
            return True
        except Exception as error:
            print(error, file=sys.stderr)
            return False

    ended, log = silently(record)
    head = re.search(r"Arena allocation head (\d+) bytes", log)
    total = re.search(r"Arena allocation total (\d+) bytes", log)
    answer = {"head_bytes": int(head[1]), "total_bytes": int(total[1])} if head and total else {}
    if not answer or not ended:
        lines = [line for line in log.strip().splitlines() if "[RecordingMicroAllocator]" not in line]
        answer["refused"] = lines[0][:200] if lines else "the library gave no reason"
    return answer


# ---- Vela -----------------------------------------------------------------------------------


def vela_compiler():
    from ethosu.vela import architecture_features
    from ethosu.vela.vela import get_compiler_config

    ini = os.path.join(architecture_features.CONFIG_FILES_PATH, "Arm", "vela.ini")
    system_config, memory_mode = "Ethos_U55_High_End_Embedded", "Shared_Sram"
    features = architecture_features.ArchitectureFeatures(
        vela_config_files=[ini], system_config=system_config, memory_mode=memory_mode,
        accelerator_config="ethos-u55-256", verbose_config=False, arena_cache_size=None,
        max_blockdep=architecture_features.ArchitectureFeatures.MAX_BLOCKDEP)
    system = "[architecture]\nmacs=%d\ncores=%d\n[vela]\nsystem_config_name=%s\nmemory_mode_name=%s\n" % (
        features.num_macs_per_cycle, features.ncores, system_config, memory_mode)
    with open(ini) as file:
        system += file.read()
    options = get_compiler_config(
        False, False, False, False, "Performance", features.arena_cache_size, False, False, False, False, False,
        True, True, "tflite", False, False, False, False, False, "COP1", False, 16, "HillClimb", 10.0, "")
    return system, options


def vela(path):
    from ethosu import regor

    system, options = vela_compiler()
    with open(path, "rb") as file:
        content = file.read()
    try:
        compiled, _ = silently(lambda: regor.compile("EthosU55", content, "TFLITE", system, options=options, verbose=False))
    except Exception as error:
        return {"refused": str(error).strip().splitlines()[0][:120]}
    tables = compiled.opt_database.tables
    perf, source = tables["perf"], tables["source"]
    column = {name: i for i, name in enumerate(perf.header)}
    keys = {row[source.header.index("id")]: int(row[source.header.index("ext_key")]) for row in source.data}
    macs = {}
    for row in perf.data:
        key, kind = keys.get(row[column["source_id"]], -1), row[column["operator"]]
        macs.setdefault(key, {})[kind] = macs.get(key, {}).get(kind, 0) + int(row[column["mac_count"]])
    return {"total": compiled.perf_report.macCount, "by_operator": macs, "cpu_operators": compiled.perf_report.cpuOps}


# ---- random graphs --------------------------------------------------------------------------


def random_graph(rng):
    """A graph of CONCATENATION and RELU over float vectors: kernels without working buffers."""
    from operator_graphs import tflite_graph

    graph = tflite_graph.Graph()
    concatenation, relu = graph.add_code("CONCATENATION"), graph.add_code("RELU")
    lengths = []

    def tensor(length):
        lengths.append(length)
        return graph.add_tensor([length], schema.TensorType.FLOAT32)

    graph.subgraph.inputs = [tensor(rng.randint(1, 200)) for _ in range(rng.randint(1, 3))]
    n_inputs = len(lengths)
    for _ in range(rng.randint(1, 60)):
        inputs = rng.sample(range(len(lengths)), k=rng.randint(1, min(3, len(lengths))))
        length = sum(lengths[i] for i in inputs)
        if len(inputs) == 1 or length > 5000:
            graph.add_operator(relu, inputs[:1], [tensor(lengths[inputs[0]])])
        else:
            options = tflite_graph.options("ConcatenationOptions", axis=0, fusedActivationFunction=0)
            graph.add_operator(concatenation, inputs, [tensor(length)], options)
    graph.subgraph.outputs = rng.sample(range(n_inputs, len(lengths)), k=1)
    # Tensors that no operator touches take room too.
    for _ in range(rng.randint(0, 2)):
        tensor(rng.randint(1, 400))
    if rng.random() < 0.3:
        prescribe_offsets(graph, lengths, rng)
    return graph.model


def prescribe_offsets(graph, lengths, rng):
    """Metadata with which a compiler fixes the place of some tensors; here they may overlap."""
    offsets = [-1 if rng.random() < 0.7 else 16 * rng.randint(0, 100) for _ in lengths]
    entry = schema.MetadataT()
    entry.name = "OfflineMemoryAllocation"
    entry.buffer = graph.add_buffer(
        b"".join(word.to_bytes(4, "little", signed=True) for word in [1, 0, len(offsets), *offsets]))
    graph.model.metadata = [entry]


def write_graphs(directory, graphs):
    from operator_graphs import tflite_graph

    for name, model in graphs:
        with open(os.path.join(directory, name + ".tflite"), "wb") as file:
            file.write(tflite_graph.to_bytes(model))


def random_graphs(n_graphs):
    for seed in range(n_graphs):
        yield "random_%03d" % seed, random_graph(random.Random(seed))


def main(command, *arguments):
    if command == "graphs":
        return write_graphs(arguments[0], random_graphs(int(arguments[1])))
    if command == "kernels":
        from operator_support import support_graphs

        return write_graphs(arguments[0], support_graphs())
    if command == "changed":
        from operator_support import changed_graphs

        return write_graphs(arguments[0], changed_graphs())
    if command == "pairs":
        from operator_support import pair_graphs

        return write_graphs(arguments[0], pair_graphs())
    if command == "operators":
        from operator_graphs import operator_graphs

        return write_graphs(arguments[0], operator_graphs())
    if command in ("arena", "runs"):
        figures = recorded(arguments, command == "runs")
    else:
        figures = ((path, {"naive": naive, "vela": vela}[command](path)) for path in arguments)
    for path, answer in figures:
        print(json.dumps({"file": os.path.basename(path), **answer}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
