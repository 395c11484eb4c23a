"""Checks .tflite files with independent tools: each loads and runs in LiteRT and compiles in Vela.

usage: check_models.py FILE...

One JSON object a line and file: {"file", "litert": null or the error, "output_values": number of
values of the first output, "output_levels": how many of them differ, "vela": {configuration: {"cpu_operators", "npu_operators", "ms",
"cpu_seconds"} or {"error"}}}. The exit code is 0 however the checks end: the caller judges.
"""

import contextlib
import json
import os
import sys
import time

import numpy
from ai_edge_litert.interpreter import Interpreter
from ethosu import regor
from ethosu.vela import architecture_features
from ethosu.vela.vela import get_compiler_config

INI = os.path.join(architecture_features.CONFIG_FILES_PATH, "Arm", "vela.ini")

# accelerator: (system configuration, memory mode)
CONFIGURATIONS = {
    "ethos-u55-256": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "ethos-u65-512": ("Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    "ethos-u85-256": ("Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
}


class Vela:
    """One configuration of the compiler, used in process."""

    def __init__(self, accelerator, system_configuration, memory_mode):
        self.architecture = architecture_features.ArchitectureFeatures(
            vela_config_files=[INI],
            system_config=system_configuration,
            memory_mode=memory_mode,
            accelerator_config=accelerator,
            max_blockdep=architecture_features.ArchitectureFeatures.MAX_BLOCKDEP,
            verbose_config=False,
            arena_cache_size=None,
        )
        self.family = "".join(part.capitalize() for part in accelerator.split("-")[:-1])
        with open(INI, encoding="utf-8") as ini:
            self.system = (
                f"[architecture]\nmacs={self.architecture.num_macs_per_cycle}\n"
                f"cores={self.architecture.ncores}\n"
                f"[vela]\nsystem_config_name={system_configuration}\n"
                f"memory_mode_name={memory_mode}\n" + ini.read()
            )
        self.options = compiler_options(self.architecture.arena_cache_size)

    def compile(self, model):
        start = time.process_time()
        compiled = regor.compile(self.family, model, "TFLITE", self.system, options=self.options, verbose=False)
        report = compiled.perf_report
        return {
            "cpu_operators": report.cpuOps,
            "npu_operators": report.npuOps,
            "ms": 1e3 * report.totalCycles / self.architecture.core_clock,
            "cpu_seconds": time.process_time() - start,
        }


def compiler_options(arena_cache_size):
    """Vela's defaults: optimise for performance, no debug output."""
    return get_compiler_config(
        False, False, False, False, "Performance", arena_cache_size, False, False, False, False,
        False, False, False, "tflite", False, False, False, False, False, "COP1", False, 16,
        "HillClimb", 10.0, "",
    )


@contextlib.contextmanager
def quiet():
    """Silences file descriptors 1 and 2: the compiler's C++ core prints there."""
    sys.stdout.flush()
    saved = [os.dup(1), os.dup(2)]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        for target, copy in zip((1, 2), saved):
            os.dup2(copy, target)
            os.close(copy)
        os.close(null)


def run_in_litert(model):
    """Runs once on random input; returns the first output."""
    interpreter = Interpreter(model_content=model, num_threads=1)
    interpreter.allocate_tensors()
    random = numpy.random.default_rng(1)
    for tensor in interpreter.get_input_details():
        values = random.integers(-128, 128, tensor["shape"], dtype=numpy.int8)
        interpreter.set_tensor(tensor["index"], values)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def check(path, compilers):
    with open(path, "rb") as file:
        model = file.read()
    result = {"file": path, "litert": None, "vela": {}}
    with quiet():
        try:
            output = run_in_litert(model)
            result["output_values"] = output.size
            result["output_levels"] = len(numpy.unique(output))
        except (RuntimeError, ValueError) as error:
            result["litert"] = str(error)
        for name, compiler in compilers.items():
            try:
                result["vela"][name] = compiler.compile(model)
            except (RuntimeError, ValueError) as error:
                result["vela"][name] = {"error": str(error)}
    return result


def main():
    with quiet():
        compilers = {name: Vela(name, *modes) for name, modes in CONFIGURATIONS.items()}
    for path in sys.argv[1:]:
        print(json.dumps(check(path, compilers)), flush=True)


if __name__ == "__main__":
    main()
