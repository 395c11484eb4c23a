"""Labels TensorFlow Lite files with Arm's Vela compiler, in process.

Used as a module: ``Target(...)`` once, then ``label(target, model_bytes)`` for each file; a pure
function of the two, so that any job scheduler can call it.

Used as a process: ``vela_worker.py TARGETS`` where TARGETS is a JSON list of objects with ``id``,
``accelerator``, ``system_config`` and ``memory_mode``, and what else ``Target`` takes. It writes one JSON line that says what it
is, then answers each request with one JSON line until its input ends. A request is two
little-endian u32, the index of a target and the number of bytes that follow, and the bytes of
one .tflite file. An answer is a label (``"status": "ok"``) or ``"status": "rejected"`` with the
compiler's words.

What the figures are: estimates of the compiler's performance model, not measurements.
"""

import collections
import hashlib
import json
import os
import platform
import resource
import struct
import sys
import tempfile
import time
from importlib.metadata import version

from ethosu import regor
from ethosu.vela.architecture_features import CONFIG_FILES_PATH, ArchitectureFeatures
from ethosu.vela.vela import get_compiler_config

VELA_INI = os.path.join(CONFIG_FILES_PATH, "Arm", "vela.ini")

# Of TFLite files, behind the offset of the root table.
FILE_IDENTIFIER = b"TFL3"

# The command line's defaults, so that a label here is what `vela FILE` prints.
OPTIMISE = "Performance"
TENSOR_ALLOCATOR = "HillClimb"
CPU_TENSOR_ALIGNMENT = 16
SOFTMAX_INT16_NEG_EXP_RANGE = 10.0

# Behind an AXI port that leaves the chip: weights live in OffChipFlash in the memory mode
# Shared_Sram of Ethos-U55; weights and whatever overflows the SRAM in Dram in the dedicated ones.
OFF_CHIP_MEMORIES = {"Dram", "OffChipFlash"}
ON_CHIP_MEMORIES = {"Sram", "OnChipFlash", "shram", "lutram"}

# A compile that needs more is a runaway: the largest file seen (DeepLab, 66,000 NPU operations)
# stays under 1 GiB.
MEMORY_LIMIT_BYTES = 8 << 30

# Compiler messages can quote whole tensors.
REASON_LIMIT_CHARS = 400


class Target:
    """One accelerator in one system configuration and memory mode, of Vela's own vela.ini or of `vela_ini`, the contents
    of another one."""

    def __init__(
        self,
        id,
        accelerator,
        system_config,
        memory_mode,
        arena_cache_size=None,
        optimise=OPTIMISE,
        vela_ini=None,
    ):
        if vela_ini is None:
            with open(VELA_INI, encoding="utf-8") as ini:
                vela_ini = ini.read()
        with tempfile.NamedTemporaryFile("w", suffix=".ini", encoding="utf-8") as ini:
            ini.write(vela_ini)
            ini.flush()
            arch = _architecture(
                ini.name, accelerator, system_config, memory_mode, arena_cache_size
            )
        self.id = id
        self.core_clock_hz = arch.core_clock
        # "ethos-u55-256" is "EthosU55" to the C++ core, and 256 is in the system text below.
        self.accelerator = "".join(part.capitalize() for part in accelerator.split("-")[:-1])
        self.system = _system_text(arch, system_config, memory_mode, vela_ini)
        self.options = _compiler_options(arch.arena_cache_size, optimise)

    def describe(self):
        return {"id": self.id, "core_clock_hz": self.core_clock_hz}


def _architecture(path, accelerator, system_config, memory_mode, arena_cache_size):
    return ArchitectureFeatures(
        vela_config_files=[path],
        system_config=system_config,
        memory_mode=memory_mode,
        accelerator_config=accelerator,
        max_blockdep=ArchitectureFeatures.MAX_BLOCKDEP,
        verbose_config=False,
        arena_cache_size=arena_cache_size,
    )


def label(target, model):
    """The label of one .tflite file, given as bytes.

    Raises what the compiler raises where it does not accept the file, and ValueError where no
    operator at all runs on the NPU (a float model), for then there is nothing to label.
    """
    # The compiler reads past the end of what is no TFLite file.
    if model[4:8] != FILE_IDENTIFIER:
        raise ValueError(f"expected the file identifier {FILE_IDENTIFIER}, found {model[4:8]}")
    compiled = regor.compile(
        target.accelerator, model, "TFLITE", target.system, options=target.options, verbose=False
    )
    report = compiled.perf_report
    if report.npuOps == 0:
        raise ValueError("expected operators for the npu, found none")
    memories = {str(name): _memory(memory) for name, memory in report.memories.items()}
    return {
        "status": "ok",
        "latency_ms": 1e3 * report.totalCycles / target.core_clock_hz,
        "total_cycles": report.totalCycles,
        "npu_cycles": report.npuCycles,
        "macs": report.macCount,
        "sram_peak_bytes": memories["Sram"]["peak_bytes"],
        "offchip_traffic_bytes": _offchip_traffic_bytes(memories),
        "memories": memories,
        "weight_bytes": report.originalWeights,
        "encoded_weight_bytes": report.encodedWeights,
        "npu_operations": report.npuOps,
        "cascades": report.cascades,
        "n_cpu_operators": report.cpuOps,
        **_per_operator(compiled.opt_database, report),
    }


def _system_text(arch, system_config, memory_mode, vela_ini):
    return (
        f"[architecture]\nmacs={arch.num_macs_per_cycle}\ncores={arch.ncores}\n"
        f"[vela]\nsystem_config_name={system_config}\nmemory_mode_name={memory_mode}\n" + vela_ini
    )


def _compiler_options(arena_cache_size, optimise):
    # The database holds the per-operator figures; it changes no total.
    return get_compiler_config(
        enable_debug_db=True,
        verbose_all=False,
        verbose_high_level_command_stream=False,
        verbose_register_command_stream=False,
        optimize=optimise,
        arena_cache_size=arena_cache_size,
        verbose_schedule=False,
        verbose_allocation=False,
        verbose_graph=False,
        verbose_quantization=False,
        verbose_packing=False,
        verbose_performance=True,
        show_cpu_operations=False,
        output_format="tflite",
        disable_chaining=False,
        disable_fwd=False,
        disable_cascading=False,
        disable_buffering=False,
        disable_ifm_reuse=False,
        cop_format="COP1",
        separate_io_regions=False,
        cpu_tensor_alignment=CPU_TENSOR_ALIGNMENT,
        tensor_allocator=TENSOR_ALLOCATOR,
        softmax_int16_neg_exp_range=SOFTMAX_INT16_NEG_EXP_RANGE,
    )


def _memory(memory):
    accesses = memory.accesses.values()
    return {
        "peak_bytes": memory.peakUsage,
        "read_bytes": sum(access.bytesRead for access in accesses),
        "written_bytes": sum(access.bytesWritten for access in accesses),
        "access_cycles": memory.totalAccessCycles,
    }


def _offchip_traffic_bytes(memories):
    unknown = memories.keys() - OFF_CHIP_MEMORIES - ON_CHIP_MEMORIES
    if unknown:
        raise ValueError(f"expected memories on or off the chip, found {sorted(unknown)}")
    return sum(
        memory["read_bytes"] + memory["written_bytes"]
        for name, memory in memories.items()
        if name in OFF_CHIP_MEMORIES
    )


def _rows(database, name):
    """The rows of one table as dictionaries; none where the table is absent."""
    table = database.tables.get(name)
    return [dict(zip(table.header, row)) for row in table.data] if table else []


def _per_operator(database, report):
    """Figures of each operator of the source file, by its index there.

    Vela splits an operator into several NPU operations, or fuses it into a neighbour; each
    operation names the source operator that it came from. A fused operator thus has 0 cycles of
    its own, and what it costs stands with the operator it was fused into. Operations that Vela
    invents without naming a source (the parts of ARG_MAX) are `unattributed_cycles`, so that
    sum(cycles) + unattributed_cycles == total_cycles. Bytes moved stand where the cycles do.
    `sram_live_bytes` is how much of the SRAM is in use while the operator runs, weights that are
    fetched for its successor included; its maximum is the peak, but for gaps of the allocator.
    Where the compiler's table does not cover the whole file (several subgraphs), `operators` is
    None.
    """
    sources = _rows(database, "source")
    performance = _rows(database, "perf")
    operator_idx = {row["id"]: int(row["ext_key"]) for row in sources}
    is_one_graph = sorted(operator_idx.values()) == list(range(len(sources)))
    cycles_seen = sum(int(row["op_cycles"]) for row in performance)
    if not is_one_graph or cycles_seen != report.totalCycles:
        return {"operators": None, "unattributed_cycles": 0, "cpu_operators": None}
    columns = _operator_columns(database, operator_idx, len(sources))
    return {
        "operators": columns,
        "unattributed_cycles": report.totalCycles - sum(columns["cycles"]),
        "cpu_operators": _cpu_operators(sources, performance),
    }


# Column of a label -> columns of Vela's performance table that are added up for it.
CYCLE_COLUMNS = {
    "cycles": ["op_cycles"],
    "npu_cycles": ["npu_cycles"],
    "macs": ["mac_count"],
    "sram_access_cycles": ["Sram_ac"],
    "offchip_access_cycles": [f"{name}_ac" for name in sorted(OFF_CHIP_MEMORIES)],
}


def _byte_columns(memories):
    """Columns of the table of details with the bytes that an operation moves to and from these."""
    contents = ["Lut", "FeatureMap", "Weights", "Scales"]
    directions = ["read", "write"]
    return [f"{m}{c}_{d}" for m in sorted(memories) for c in contents for d in directions]


# The same for the table of details. They add up to the traffic of the totals.
TRAFFIC_COLUMNS = {
    "sram_traffic_bytes": _byte_columns({"Sram"}),
    "offchip_traffic_bytes": _byte_columns(OFF_CHIP_MEMORIES),
}


def _operator_columns(database, operator_idx, n_operators):
    names = [*CYCLE_COLUMNS, *TRAFFIC_COLUMNS, "sram_live_bytes"]
    columns = {name: [0] * n_operators for name in names}
    details = {row["id"]: row for row in _rows(database, "perf_debug")}
    live_bytes = _sram_live_bytes(database)
    for row in _rows(database, "perf"):
        idx = operator_idx.get(row["source_id"])
        if idx is None:
            continue
        detail = details[row["id"]]
        for table, parts_of in ((row, CYCLE_COLUMNS), (detail, TRAFFIC_COLUMNS)):
            for name, parts in parts_of.items():
                # A memory that no operation uses has no columns, an unused cell is empty.
                columns[name][idx] += sum(int(table.get(part) or 0) for part in parts)
        time = int(detail["time_index"])
        live = max(live_bytes[time : time + 2], default=0)
        columns["sram_live_bytes"][idx] = max(columns["sram_live_bytes"][idx], live)
    return columns


def _sram_live_bytes(database):
    """Bytes of SRAM that hold something at each step of Vela's schedule.

    An operation runs in step 2 i; in step 2 i + 1 it still runs, and the weights of the next one
    are fetched beside it. Tensors that share addresses (a result written over its input) count
    once.
    """
    tensors = [row for row in _rows(database, "tensors") if row["memory"] == "Sram"]
    starting, ending = collections.defaultdict(list), collections.defaultdict(list)
    for row in tensors:
        addresses = int(row["start_address"], 16), int(row["end_address"], 16)
        starting[int(row["start_time"])].append(addresses)
        ending[int(row["end_time"])].append(addresses)
    alive = []
    steps = []
    for step in range(max(ending, default=-1) + 1):
        alive += starting[step]
        steps.append(_union_bytes(alive))
        for addresses in ending[step]:
            alive.remove(addresses)
    return steps


def _union_bytes(ranges):
    """Addresses in at least one of the half-open ranges."""
    covered_to, n_bytes = 0, 0
    for start, end in sorted(ranges):
        n_bytes += max(end - max(start, covered_to), 0)
        covered_to = max(covered_to, end)
    return n_bytes


def _cpu_operators(sources, performance):
    """Index and Vela's name of each operator left to the CPU, which costs nothing in the totals."""
    on_cpu = {row["source_id"] for row in performance if row["operator"] == "Passthrough"}
    left = [row for row in sources if row["id"] in on_cpu]
    return [{"operator_idx": int(row["ext_key"]), "name": row["operator"]} for row in left]


def _private_stdout():
    """The real standard output; descriptors 1 and 2 then lead nowhere, for the C++ core prints
    there. Python's own errors keep the real standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    sys.stderr = os.fdopen(os.dup(2), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _provenance(targets):
    with open(VELA_INI, "rb") as ini:
        ini_sha256 = hashlib.sha256(ini.read()).hexdigest()
    return {
        "tool": "ethos-u-vela",
        "version": version("ethos-u-vela"),
        "python": platform.python_version(),
        "vela_ini_sha256": ini_sha256,
        "optimise": OPTIMISE,
        "tensor_allocator": TENSOR_ALLOCATOR,
        "targets": [target.describe() for target in targets],
    }


def _answer(target, model):
    start = time.process_time()
    try:
        document = label(target, model)
    except Exception as error:  # The core raises RuntimeError, ValueError, MemoryError, ...
        reason = " ".join(str(error).split())[:REASON_LIMIT_CHARS]
        document = {"status": "rejected", "reason": reason or type(error).__name__}
    return {"label": document, "cpu_s": round(time.process_time() - start, 4)}


def _write_line(answers, document):
    answers.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
    answers.flush()


def _read_request(requests):
    """The index of a target and a file, or None where the input has ended, even in a request."""
    header = requests.read(8)
    if len(header) < 8:
        return None
    target_idx, n_bytes = struct.unpack("<II", header)
    model = requests.read(n_bytes)
    return (target_idx, model) if len(model) == n_bytes else None


def main():
    answers = _private_stdout()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    targets = [Target(**configuration) for configuration in json.loads(sys.argv[1])]
    _write_line(answers, _provenance(targets))
    while request := _read_request(sys.stdin.buffer):
        target_idx, model = request
        _write_line(answers, _answer(targets[target_idx], model))


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        # Whoever asked is gone; there is nobody to answer, and nothing to flush at exit.
        os._exit(1)
