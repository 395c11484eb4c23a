"""Counts the instructions that LiteRT executes for TensorFlow Lite files, inside QEMU.

Runs as a process under ``qemu-aarch64`` with the plugin of ``trainer/qemu``:
``litert_qemu_worker.py ENVIRONMENT`` where ENVIRONMENT names what ``tools/install-qemu.sh``
installed. It speaks as ``vela_worker.py`` does: one JSON line that says what it is, then one JSON
line for each request until its input ends. A request is two little-endian u32, the index of a
target (there is one, the emulated processor) and the number of bytes that follow, and the bytes
of one .tflite file. An answer is a label (``"status": "ok"``) or ``"status": "rejected"`` with
LiteRT's words.

What the figures are: executed instructions of one inference on one thread with XNNPACK, by class.
Where memory lies decides how many steps a copy takes, so every request is answered by a copy of
this process that has answered none. Without address space randomisation (``setarch -R``), with
``PYTHONHASHSEED=0`` and nothing else but ``PATH`` in the environment, and started in the folder of
the emulator with paths seen from there, the same file then gives the same figures to the last
instruction.
"""

import ctypes
import json
import os
import platform
import signal
import struct
import sys
import time
from importlib.metadata import version

import numpy

try:
    from ai_edge_litert.interpreter import Interpreter

    PACKAGE = "ai-edge-litert"
except ImportError:
    from tflite_runtime import interpreter as tflite

    PACKAGE = "tflite-runtime"

# The marks that the plugin knows: getpid with one of these as an argument that it ignores.
GETPID = 172
BEGIN = 0x6C697465
END = 0x63617374

# The first inference also packs weights and touches every page for the first time.
N_WARM_UP = 1
N_THREADS = 1

# After so many copies of itself the process no longer changes from one to the next: Python
# specialises code that runs often.
N_IDLE_COPIES = 3
# Exit status of a copy that found no further request.
HAS_ENDED = 100
# prctl: a signal that a process gets when the one that made it ends.
SET_PARENT_DEATH_SIGNAL = 1

# LiteRT's messages can quote whole tensors.
REASON_LIMIT_CHARS = 400


class Counter:
    """Counts of the plugin between two marks of this process."""

    def __init__(self):
        self._syscall = ctypes.CDLL(None).syscall
        self._syscall.argtypes = [ctypes.c_long] * 3
        reading_end, self._writing_end = os.pipe()
        self._counts = os.fdopen(reading_end, "r", encoding="ascii")

    def count(self, function):
        """Instructions that `function` executes, by class."""
        self._syscall(GETPID, BEGIN, 0)
        function()
        self._syscall(GETPID, END, self._writing_end)
        return json.loads(self._counts.readline())


class XnnpackOptions(ctypes.Structure):
    """TFLite's options of the delegate, whose later fields are left at 0."""

    _fields_ = [("n_threads", ctypes.c_int32), ("flags", ctypes.c_uint32), ("rest", ctypes.c_void_p * 8)]


# Signed and unsigned 8-bit operators.
XNNPACK_QUANTIZED = 1 | 2


def _older_interpreter(model):
    """Until 2.10, TFLite's Python package gives XNNPACK floats alone unless its C interface is asked for more."""
    library = ctypes.CDLL(tflite._interpreter_wrapper.__file__)
    library.TfLiteXNNPackDelegateCreate.restype = ctypes.c_void_p
    options = XnnpackOptions(N_THREADS, XNNPACK_QUANTIZED)
    delegate = library.TfLiteXNNPackDelegateCreate(ctypes.byref(options))
    without = tflite.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = tflite.Interpreter(
        model_content=model, num_threads=N_THREADS, experimental_op_resolver_type=without
    )
    interpreter._interpreter.ModifyGraphWithDelegate(delegate)
    return interpreter


def _interpreter(model):
    if PACKAGE == "tflite-runtime":
        return _older_interpreter(model)
    return Interpreter(model_content=model, num_threads=N_THREADS)


def label(counter, model):
    """The label of one .tflite file, given as bytes. Raises what LiteRT raises."""
    interpreter = _interpreter(model)
    interpreter.allocate_tensors()
    for tensor in interpreter.get_input_details():
        interpreter.set_tensor(tensor["index"], _input(tensor["shape"], tensor["dtype"]))
    for _ in range(N_WARM_UP):
        interpreter.invoke()
    return {"status": "ok", "instructions": counter.count(interpreter.invoke)}


def _input(shape, dtype):
    """Values that are not all alike; zeros for wider integers, which may be indices."""
    n_values = int(numpy.prod(shape))
    pattern = (numpy.arange(n_values, dtype=numpy.int64) * 37 + 11) % 251
    if numpy.issubdtype(dtype, numpy.floating):
        pattern = pattern / 125.0 - 1.0
    elif dtype == numpy.int8:
        pattern = pattern - 125
    elif dtype != numpy.uint8:
        pattern = numpy.zeros_like(pattern)
    return pattern.astype(dtype).reshape(shape)


def _private_stdout():
    """The real standard output; descriptors 1 and 2 then lead nowhere, for LiteRT prints there.
    Python's own errors keep the real standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    sys.stderr = os.fdopen(os.dup(2), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _provenance(environment):
    return {
        "tool": "litert-qemu",
        "version": f"{PACKAGE} {version(PACKAGE)}" if PACKAGE == "tflite-runtime" else version(PACKAGE),
        "python": platform.python_version(),
        "environment": environment,
        "delegate": "XNNPACK",
        "threads": str(N_THREADS),
        "process": "one for each file",
    }


def _answer(counter, model):
    start = time.process_time()
    try:
        document = label(counter, model)
    except Exception as error:  # LiteRT raises RuntimeError, ValueError, ...
        reason = " ".join(str(error).split())[:REASON_LIMIT_CHARS]
        document = {"status": "rejected", "reason": reason or type(error).__name__}
    return {"label": document, "cpu_s": round(time.process_time() - start, 4)}


def _write_line(answers, document):
    answers.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
    answers.flush()


def _read(n_bytes):
    """So many bytes of standard input, or fewer where it ends; unbuffered, so that the next
    process reads on behind them."""
    parts = []
    while n_bytes and (part := os.read(0, n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _respond(answers, counter):
    """Answers one request. Returns an exit status: HAS_ENDED where input has ended, even in a
    request."""
    header = _read(8)
    if len(header) < 8:
        return HAS_ENDED
    _, n_bytes = struct.unpack("<II", header)
    model = _read(n_bytes)
    if len(model) < n_bytes:
        return HAS_ENDED
    _write_line(answers, _answer(counter, model))
    return 0


def _in_copy(function):
    """Calls `function` in a copy of this process. Returns its exit status, negative for a signal."""
    copy = os.fork()
    if copy == 0:
        # Whoever stops this process means its copy too.
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        try:
            status = function()
        except BrokenPipeError:
            # Whoever asked is gone; there is nobody to answer.
            status = HAS_ENDED
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])


def main():
    answers = _private_stdout()
    counter = Counter()
    _write_line(answers, _provenance(sys.argv[1]))
    for _ in range(N_IDLE_COPIES):
        _in_copy(int)
    while (status := _in_copy(lambda: _respond(answers, counter))) == 0:
        pass
    sys.exit(0 if status == HAS_ENDED else f"LiteRT ended with {status}")


if __name__ == "__main__":
    main()
