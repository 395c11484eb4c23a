"""Prints the instructions that a runtime executes for .tflite files, as CSV: the file, and millions of
instructions of one inference on one thread with XNNPACK.

``count_files.py EMULATOR PROCESSOR FILE...``, where EMULATOR is a folder of ``tools/install-qemu.sh``
and PROCESSOR is ``cortex-a72`` or ``cortex-a76``. For tables of a few networks; ``litecast-trainer label``
labels many.
"""

import csv
import json
import pathlib
import struct
import subprocess
import sys

WORKER = pathlib.Path(__file__).with_name("litert_qemu_worker.py")


def main():
    emulator, processor, *files = sys.argv[1:]
    folder = pathlib.Path(emulator).resolve()
    python = next(folder.glob("root/usr/bin/python3.*")).relative_to(folder)
    emulated = ["setarch", "-R", "qemu-aarch64", "-cpu", processor, "-L", processor, "-plugin", "./counter.so"]
    command = [*emulated, python, "-c", WORKER.read_text(), "-"]
    requests = b""
    for file in files:
        model = pathlib.Path(file).read_bytes()
        requests += struct.pack("<II", 0, len(model)) + model
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONHASHSEED": "0"}
    answers = subprocess.run(command, cwd=folder, env=environment, input=requests, stdout=subprocess.PIPE, check=True)
    provenance, *labels = map(json.loads, answers.stdout.splitlines())
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["file", f"{provenance['tool']} {provenance['version']}"])
    for file, answer in zip(files, labels, strict=True):
        counted = answer["label"]
        millions = f"{sum(counted['instructions'].values()) / 1e6:.3f}" if counted["status"] == "ok" else counted["reason"]
        rows.writerow([pathlib.Path(file).stem, millions])


if __name__ == "__main__":
    main()
