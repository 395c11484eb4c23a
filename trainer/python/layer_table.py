"""Compares LiteCast with Vela on files of single layers: `layer_table.py FOLDER LITECAST`.

FOLDER has files whose names are `LAYER-INDEX.tflite`, as `keras_layers.py`, `keras_networks.py` and
`single_operators.py` write them. Each is labelled with Vela in 25 configurations, or with `--defaults` behind LITECAST in
the default of each of the eleven accelerators, and estimated by the command LITECAST. The table that is printed has one row for
each layer and one column for each accelerator, with all configurations of this accelerator: how many estimates are
within 2 % of Vela's latency, of how many; `cpu` where Vela leaves every file to the processor, and an exclamation mark
where only one of both has a latency. Below it are the shares of all files within 2 % and within the 90 % interval, a table
with these shares by configuration and metric, one with errors by configuration, and the files whose latencies are
furthest from Vela's.

Vela's totals contain what CALL_ONCE runs before the first inference. It is added to the estimates, from the report's
diagnostic `runs-once`.

Labels are kept in FOLDER/labels.json, so that a second run labels new files alone.
"""

import collections
import json
import os
import re
import signal
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
    ("ethos-u85-1024", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_512KB"),
    ("ethos-u85-2048", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_512KB"),
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
N_ACCELERATORS = 11
# Vela takes less than a second for a layer.
LIMIT_S = 120
NO_NPU = "expected operators for the npu, found none"
CLOSE = 0.02
PEAK_LIMIT = 0.08
# LiteCast's metrics by the names that labels have for them.
METRICS = {"latency_ms": "latency", "sram_peak_bytes": "sram_peak", "offchip_traffic_bytes": "offchip_traffic"}
# Intervals of bytes are compared with this slack, because their ends are rounded to whole bytes.
SLACK_BYTES = 1
FILES_BETWEEN_WRITES = 20
N_WORST = 10


def labels(folder, files, configurations):
    """Vela's label by file name and configuration. Each file is compiled in a process of its own, because some end it."""
    record = folder / "labels.json"
    known = json.loads(record.read_text()) if record.exists() else {}
    targets = {" ".join(names): vela_worker.Target(" ".join(names), *names) for names in configurations}
    for n_files, file in enumerate(files):
        labels_of_file = known.setdefault(file.name, {})
        missing = [name for name in targets if name not in labels_of_file]
        if missing:
            labels_of_file.update(labelled(targets, missing, file.read_bytes()))
        if missing and n_files % FILES_BETWEEN_WRITES == 0:
            record.write_text(json.dumps(known))
    record.write_text(json.dumps(known))
    return known


def labelled(targets, names, model):
    """Labels of one file in the named configurations. A child process writes one line for each and is started again
    where it ended."""
    answers = {}
    while len(answers) < len(names):
        reading, writing = os.pipe()
        if (process := os.fork()) == 0:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            with os.fdopen(writing, "w") as pipe:
                for name in names[len(answers) :]:
                    signal.alarm(LIMIT_S)
                    pipe.write(json.dumps(answer(targets[name], model)) + "\n")
                    pipe.flush()
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            for line in pipe:
                answers[names[len(answers)]] = json.loads(line)
        os.waitpid(process, 0)
        if len(answers) < len(names):
            answers[names[len(answers)]] = {"reason": "the compiler ended"}
    return answers


def answer(target, model):
    try:
        label = vela_worker.label(target, model)
    except Exception as error:  # The compiler raises RuntimeError, ValueError, MemoryError, ...
        return {"reason": str(error)[:200]}
    operators = label["cpu_operators"]
    return {
        "latency_ms": label["latency_ms"],
        "sram_peak_bytes": label["sram_peak_bytes"],
        "offchip_traffic_bytes": label["offchip_traffic_bytes"],
        "cpu": operators and sorted(operator["operator_idx"] for operator in operators),
    }


def estimates(command, configuration, files):
    """LiteCast's results by file name and metric, without those that have no value."""
    target, system, mode = configuration
    options = ["--target", target, "--system-config", system, "--memory-mode", mode]
    run = subprocess.run(
        [command, "predict", "--json", *options, *map(str, files)], capture_output=True, text=True, check=False
    )
    return {Path(report["file"]).name: results(report) for report in map(json.loads, run.stdout.splitlines())}


def results(report):
    """Results by metric. The latency is that of the accelerator's part, which Vela estimates."""
    by_metric = {result["metric"]: result for result in report.get("results", [])}
    by_metric["latency"] = by_metric.get("npu_latency", by_metric.get("latency", {}))
    by_metric = {metric: result for metric, result in by_metric.items() if "value" in result}
    for metric, once in zip(("latency", "offchip_traffic"), runs_once(report), strict=True):
        result = by_metric.get(metric, {})
        result.update({end: result[end] + once for end in ("value", "lo", "hi") if end in result})
    return by_metric


def runs_once(report):
    """Milliseconds and off-chip bytes of what runs before the first inference."""
    messages = (one["message"] for one in report.get("diagnostics", []) if one["code"] == "runs-once")
    found = re.search(r"takes ([\d.]+) ms and moves (\d+) bytes", next(messages, ""))
    return map(float, found.groups()) if found else (0.0, 0.0)


def comparison(result, expected, slack):
    """Whether a result is within 2 % of Vela's and holds it in its interval, and by how much it is off. What Vela has
    as 0 is close if the result is 0."""
    value = result["value"]
    error = abs(value / expected - 1) if expected else float(value > 0)
    low, high = result.get("lo", value) - slack, result.get("hi", value) + slack
    return error <= CLOSE, low <= expected <= high, error


class Cell:
    """The files of a layer on one accelerator."""

    def __init__(self):
        self.n = self.n_close = self.n_inside = self.n_cpu = 0
        self.differs = False

    def add(self, label, estimate):
        """Returns by how much the latency is off, relative to Vela."""
        result = estimate.get("latency")
        if label.get("reason") == NO_NPU:
            self.n_cpu += 1
            self.differs |= result is not None
        elif "reason" not in label:
            self.n += 1
            if result is None:
                self.differs = True
                return 1.0
            is_close, is_inside, error = comparison(result, label["latency_ms"], 0)
            self.n_close += is_close
            self.n_inside += is_inside
            return error
        return 0.0

    def __str__(self):
        text = f"{self.n_close}/{self.n}" if self.n else "cpu" if self.n_cpu else "–"
        return text + "!" * self.differs


def print_table(rows):
    accelerators = list(dict.fromkeys(target for target, _, _ in CONFIGURATIONS))
    names = [name.removeprefix("ethos-").upper() for name in accelerators]
    print("| layer | " + " | ".join(names) + " |")
    print("|---|" + "---:|" * len(names))
    for layer, cells in sorted(rows.items()):
        print(f"| {layer} | " + " | ".join(str(cells[name]) for name in accelerators) + " |")


def shares(label, estimate):
    """By metric, whether the result is close, whether it is inside, and its error. Nothing where one of both has no
    figure."""
    slacks = {name: 0 if name == "latency_ms" else SLACK_BYTES for name in METRICS}
    pairs = ((METRICS[name], label.get(name), slack) for name, slack in slacks.items())
    known = ((metric, expected, slack) for metric, expected, slack in pairs if expected is not None)
    return {
        metric: comparison(estimate[metric], expected, slack)
        for metric, expected, slack in known
        if metric in estimate
    }


def print_configurations(by_configuration):
    """Files, and shares within 2 % and within the interval, by configuration and metric."""
    print("| configuration | files |" + "".join(f" {metric} |" for metric in METRICS.values()))
    print("|---|---:|" + "---:|" * len(METRICS))
    for name, rows in by_configuration.items():
        columns = ([row[metric] for row in rows if metric in row] for metric in METRICS.values())
        print(f"| {name} | {len(rows)} | " + " | ".join(map(in_percent, columns)) + " |")


def in_percent(pairs):
    if not pairs:
        return "–"
    return " / ".join(f"{100 * sum(column) / len(pairs):.1f} %" for column in list(zip(*pairs, strict=True))[:2])


def print_errors(by_configuration):
    """Latency: median and 95th percentile of the error, and the share inside the interval. SRAM peak: the share of files
    within 8 %. Off-chip traffic: the mean error."""
    print("| configuration | latency | sram_peak within 8 % | offchip_traffic |")
    print("|---|---:|---:|---:|")
    all_rows = [row for rows in by_configuration.values() for row in rows]
    for name, rows in {**by_configuration, "all": all_rows}.items():
        latency, peak, traffic = ([row[metric] for row in rows if metric in row] for metric in METRICS.values())
        errors = sorted(error for _, _, error in latency) or [0.0]
        median, p95 = (100 * errors[int(share * (len(errors) - 1))] for share in (0.5, 0.95))
        inside = share_of(is_inside for _, is_inside, _ in latency)
        near = share_of(error <= PEAK_LIMIT for _, _, error in peak)
        mean = share_of(error for _, _, error in traffic)
        print(f"| {name} | {median:.2f} / {p95:.2f} % / {inside:.1f} % | {near:.1f} % | {mean:.2f} % |")


def share_of(values):
    values = list(values)
    return 100 * sum(values) / max(len(values), 1)


def main():
    folder, command = Path(sys.argv[1]), sys.argv[2]
    configurations = CONFIGURATIONS[:N_ACCELERATORS] if sys.argv[3:] == ["--defaults"] else CONFIGURATIONS
    files = sorted(folder.glob("*.tflite"))
    known = labels(folder, files, configurations)
    rows = collections.defaultdict(lambda: collections.defaultdict(Cell))
    errors, by_configuration = [], {}
    for configuration in configurations:
        name = " ".join(configuration)
        estimated = estimates(command, configuration, files)
        pairs = [(file, known[file.name][name], estimated.get(file.name, {})) for file in files]
        for file, label, estimate in pairs:
            cell = rows[file.stem.rsplit("-", 1)[0]][configuration[0]]
            errors.append((cell.add(label, estimate), file.stem, name))
        by_configuration[name] = [row for _, label, estimate in pairs if (row := shares(label, estimate))]
    print_table(rows)
    cells = [cell for row in rows.values() for cell in row.values()]
    n, n_close, n_inside = (sum(getattr(cell, name) for cell in cells) for name in ("n", "n_close", "n_inside"))
    print(
        f"\n{len(files)} files of {len(rows)} layers in {len(configurations)} configurations, {n} latencies: "
        f"{100 * n_close / max(n, 1):.1f} % within 2 %, {100 * n_inside / max(n, 1):.1f} % within the interval; "
        f"{sum(cell.differs for cell in cells)} of {len(cells)} cells where only one of both has a latency\n"
    )
    print_configurations(by_configuration)
    print()
    print_errors(by_configuration)
    print()
    for error, file, name in sorted(errors, reverse=True)[:N_WORST]:
        print(f"- {file} on {name}: {100 * error:.1f} %")


if __name__ == "__main__":
    main()
