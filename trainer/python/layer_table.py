"""Compares LiteCast with Vela on files of single layers: `layer_table.py FOLDER LITECAST`.

FOLDER has files whose names are `LAYER-INDEX.tflite`, as `keras_layers.py` and `single_operators.py` write them. Each is
labelled with Vela on the accelerators below, and estimated by the command LITECAST. The table that is printed has one
row for each layer and one column for each accelerator: how many of its files have an estimate within 2 % of Vela's
latency, of how many; `cpu` where Vela leaves all of them to the processor, and an exclamation mark where only one of both
has a latency. Below it are the shares of all files within 2 % and within the 90 % interval.

Labels are kept in FOLDER/labels.json, so that a second run labels new files alone.
"""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import vela_worker

# Vela's own sections: the defaults of each accelerator, and other memories and modes of each family.
CONFIGURATIONS = [
    ("ethos-u55-32", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    ("ethos-u55-64", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    ("ethos-u55-256", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    ("ethos-u65-256", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    ("ethos-u65-512", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    ("ethos-u85-128", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    ("ethos-u85-512", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    ("ethos-u85-1024", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    ("ethos-u85-2048", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    ("ethos-u55-256", "Ethos_U55_High_End_Embedded", "Sram_Only"),
    ("ethos-u55-128", "Ethos_U55_Deep_Embedded", "Shared_Sram"),
    ("ethos-u65-256", "Ethos_U65_Embedded", "Shared_Sram"),
    ("ethos-u65-256", "Ethos_U65_Mid_End", "Dedicated_Sram_256KB"),
    ("ethos-u65-512", "Ethos_U65_Client_Server", "Dedicated_Sram"),
    ("ethos-u65-256", "Ethos_U65_High_End", "Sram_Only"),
    ("ethos-u65-256", "Ethos_U65_High_End", "Shared_Sram"),
    ("ethos-u85-256", "Ethos_U85_SYS_Flash_Low", "Shared_Sram"),
    ("ethos-u85-512", "Ethos_U85_SYS_Flash_High", "Shared_Sram"),
    ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Low", "Dedicated_Sram_256KB"),
    ("ethos-u85-2048", "Ethos_U85_SYS_DRAM_High", "Dedicated_Sram_512KB"),
    ("ethos-u85-1024", "Ethos_U85_SYS_DRAM_High", "Dedicated_Sram"),
    ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
    ("ethos-u85-2048", "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram"),
]
# Vela takes less than a second for a layer.
LIMIT_S = 120
NO_NPU = "expected operators for the npu, found none"
CLOSE = 0.02


def labels(folder, files):
    """By file name and configuration, Vela's label. Each compile runs in a process of its own, because some end it."""
    path = folder / "labels.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    targets = {" ".join(one): vela_worker.Target(" ".join(one), *one) for one in CONFIGURATIONS}
    for file in files:
        of_file = known.setdefault(file.name, {})
        for name, target in targets.items():
            if name not in of_file:
                of_file[name] = label(target, file.read_bytes())
        path.write_text(json.dumps(known))
    return known


def label(target, model):
    reading, writing = os.pipe()
    if (process := os.fork()) == 0:
        import signal

        signal.alarm(LIMIT_S)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            found = vela_worker.label(target, model)
            cpu = found["cpu_operators"]
            answer = {
                "latency_ms": found["latency_ms"],
                "cpu": cpu and sorted(one["operator_idx"] for one in cpu),
            }
        except Exception as error:  # The compiler raises RuntimeError, ValueError, MemoryError, ...
            answer = {"reason": str(error)[:200]}
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(process, 0)
    return json.loads(answer) if answer else {"reason": "the compiler ended"}


def estimates(command, configuration, files):
    """By file name, the report of LiteCast."""
    target, system, mode = configuration
    options = ["--target", target, "--system-config", system, "--memory-mode", mode]
    run = subprocess.run(
        [command, "predict", "--json", *options, *map(str, files)], capture_output=True, text=True, check=False
    )
    reports = [json.loads(line) for line in run.stdout.splitlines()]
    return {Path(report["file"]).name: report for report in reports}


class Cell:
    """The files of a layer in one configuration."""

    def __init__(self):
        self.n = self.n_close = self.n_inside = self.n_cpu = 0
        self.is_elsewhere = False

    def add(self, label, report):
        found = latency(report)
        if label.get("reason") == NO_NPU:
            self.n_cpu += 1
            self.is_elsewhere |= found is not None
        elif "reason" not in label:
            self.n += 1
            self.is_elsewhere |= found is None and not label["cpu"]
            if found is not None:
                of_vela = label["latency_ms"]
                self.n_close += abs(found["value"] / of_vela - 1) <= CLOSE
                self.n_inside += found.get("lo", of_vela) <= of_vela <= found.get("hi", of_vela)

    def __str__(self):
        text = f"{self.n_close}/{self.n}" if self.n else "cpu" if self.n_cpu else "–"
        return text + "!" * self.is_elsewhere


def latency(report):
    """LiteCast's estimate of latency, or None."""
    results = report.get("results", [])
    found = next((one for one in results if one["metric"] == "latency"), {})
    return found if "value" in found else None


def main():
    folder, command = Path(sys.argv[1]), sys.argv[2]
    files = sorted(folder.glob("*.tflite"))
    of_vela = labels(folder, files)
    table = collections.defaultdict(list)
    for configuration in CONFIGURATIONS:
        reports = estimates(command, configuration, files)
        column = collections.defaultdict(Cell)
        for file in files:
            layer = file.stem.rsplit("-", 1)[0]
            column[layer].add(of_vela[file.name][" ".join(configuration)], reports.get(file.name, {}))
        for layer, cell in column.items():
            table[layer].append(cell)
    names = [" ".join(one).replace("ethos-", "").replace("_", " ") for one in CONFIGURATIONS]
    print("| layer | " + " | ".join(names) + " |")
    print("|---|" + "---:|" * len(names))
    for layer, cells in sorted(table.items()):
        print(f"| {layer} | " + " | ".join(map(str, cells)) + " |")
    cells = [cell for row in table.values() for cell in row]
    n = max(sum(cell.n for cell in cells), 1)
    close, inside = (sum(getattr(cell, one) for cell in cells) for one in ("n_close", "n_inside"))
    print(
        f"\n{len(files)} files of {len(table)} layers, {n} latencies: {100 * close / n:.1f} % within 2 %, "
        f"{100 * inside / n:.1f} % within the interval; {sum(cell.is_elsewhere for cell in cells)} cells where only "
        "one of both has a latency"
    )


if __name__ == "__main__":
    main()
