"""Writes weightless graphs of the networks that measurements of accelerators are of.

usage: export_accelerator_graphs.py TABLES OUT [--table NAME] [--only PART] [--package NAME] [--retry]
                                                  [--until HH:MM]

TABLES is the folder of the tables (`../shared/data/accelerators`). OUT gets two files:

- `graphs.parquet`: a row for each admitted network and input: where it is defined (package, version, model, height, width,
  form), its parameters, multiply-accumulates and operators, the tables that have it, what of their statements was checked,
  and the graph (JSON, format "litecast-graph" version 1).
- `refused.csv`: a row for each network of a table without a graph, with the reason.

The command continues where it was stopped; `--retry` tries refused ones again. A graph is admitted if what a table states
about its network is true of it: parameters within 3 %, multiply-accumulates within 5 %, layers within 15 %. Where a table
states nothing, its network is taken to be the one that the package has under this name.

Needs torch, torchvision, timm, transformers, ultralytics, pyarrow, and qai-hub-models and mediapipe (both --no-deps) (8 GB): an environment of
its own, which no test needs. `requirements-accelerators.txt` names the versions.
"""

import argparse
import csv
import importlib
import importlib.metadata
import json
import logging
import math
import multiprocessing
import os
import pathlib
import resource
import sys
import time
import traceback
import warnings

import pyarrow
import pyarrow.parquet
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import accelerator_networks
import accelerator_tables
import export_timm
import qai_shims
from simplify_graph import simplified

# Seconds of the processor for one network.
TIME_LIMIT = 300
COLUMNS = ["package", "version", "model", "height", "width", "form", "parameters", "macs", "operators", "tables", "checked", "graph"]
# Modules of packages that have another name.
MODULES = {"face-detection": "face_detection", "ultralytics": "ultralytics.nn.tasks", "qai-hub-models": "qai_shims"}
# How far a graph may be from what a table states.
PARAMETERS, MACS, LAYERS = 0.03, 0.05, 0.15
# What TensorFlow Lite needs for operators of the graph that it does not have.
DECOMPOSED = {"LAYER_NORMALIZATION": 8, "GROUP_NORMALIZATION": 10, "RMS_NORMALIZATION": 5, "VARIANCE": 4}


def graph_of(definition):
    """The graph of a network, and its number of parameters."""
    if definition.package == "mediapipe":
        import tflite_to_graph

        return tflite_to_graph.graph_of_mediapipe(definition.model)
    torch.manual_seed(0)
    network, data = accelerator_networks.built(definition)
    network.eval()
    try:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        return recorded(network, definition, [mode.from_tensor(one) for one in data], mode)
    except Exception as error:
        print("without values:", definition.model, str(error)[:200].replace("\n", " "), flush=True)
    # Its shapes depend on values.
    return recorded(network, definition, data)



def recorded(network, definition, data, *contexts):
    graph = export_timm.graph_of_inputs(network, definition.model, data, *contexts)
    return simplified(graph), sum(parameter.numel() for parameter in network.parameters())


def macs_of(graph):
    """Multiply-accumulates of convolutions and matrix products."""
    shapes = {tensor["name"]: tensor["shape"] for tensor in graph["tensors"]}
    total = 0
    for operator in graph["operators"]:
        kind, inputs = operator["kind"], operator["inputs"]
        out = math.prod(shapes[operator["outputs"][0]])
        if kind == "CONV_2D":
            total += out * math.prod(shapes[inputs[1]][1:])
        elif kind == "CONV_3D":
            total += out * math.prod(shapes[inputs[1]][:4])
        elif kind == "DEPTHWISE_CONV_2D":
            total += out * math.prod(shapes[inputs[1]][1:3])
        elif kind == "TRANSPOSE_CONV":
            total += math.prod(shapes[inputs[2]]) * math.prod(shapes[inputs[1]]) // shapes[inputs[2]][-1]
        elif kind == "FULLY_CONNECTED":
            total += out * shapes[inputs[1]][-1]
        elif kind == "BATCH_MATMUL":
            total += out * shapes[inputs[0]][-1]
        elif kind == "UNIDIRECTIONAL_SEQUENCE_LSTM":
            weights = sum(math.prod(shapes[name]) for name in inputs[1:9] if name)
            total += math.prod(shapes[inputs[0]][:-1]) * weights
        else:
            total += operator.get("macs", 0)
    return total


def layers_of(graph):
    """How many layers runtimes have for the graph: TensorFlow Lite, which fuses activations and has no normalisations; and
    those that take ONNX's operators one by one."""
    fused = sum(operator["attributes"].get("activation", "NONE") != "NONE" for operator in graph["operators"])
    n = len(graph["operators"]) - axes_for_products(graph)
    decomposed = sum(DECOMPOSED.get(operator["kind"], 1) - 1 for operator in graph["operators"])
    return {"tflite": n + decomposed, "onnx": n + fused, "qnn_dlc": n + fused}


def axes_for_products(graph):
    """How many reshapes add or take axes of one position for a matrix product, which takes any number of axes in an export."""
    sides = {tensor["name"]: [side for side in tensor["shape"] if side != 1] for tensor in graph["tensors"]}
    products = [operator for operator in graph["operators"] if operator["kind"] == "BATCH_MATMUL"]
    of_products = {name for product in products for name in product["inputs"] + product["outputs"]}
    reshapes = [(one["inputs"][0], one["outputs"][0]) for one in graph["operators"] if one["kind"] == "RESHAPE"]
    return sum(sides[a] == sides[b] and not of_products.isdisjoint((a, b)) for a, b in reshapes)


def contradictions(wanted, graph, parameters):
    """What a table states and the graph contradicts, and what of it was checked."""
    found, checked = [], []

    def compare(what, stated, own, allowed):
        checked.append(what)
        if abs(own / stated - 1) > allowed:
            found.append(f"{what}: {stated:.4g} stated, {own:.4g} in the graph")

    if wanted.parameters:
        compare("parameters", wanted.parameters, parameters, PARAMETERS)
    if wanted.macs:
        compare("multiply-accumulates", wanted.macs, macs_of(graph), MACS)
    if wanted.layers:
        own = layers_of(graph)
        # Converters differ; one that has the graph's layers is enough.
        runtime, stated = min(wanted.layers, key=lambda layers: abs(math.log(own[layers[0]] / layers[1])))
        compare(f"layers under {runtime}", stated, own[runtime], LAYERS)
    return found, checked


def in_child(pipe, definition):
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (TIME_LIMIT, TIME_LIMIT))
        warnings.filterwarnings("ignore")
        logging.disable(logging.WARNING)
        pipe.send((*graph_of(definition), None))
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        pipe.send((None, 0, f"{type(error).__name__}: {str(error)[:200]}{where}".replace("\n", " ")))
    finally:
        pipe.close()
        os._exit(0)


def exported(definition):
    """Graph, parameters and, if there is none, the reason; in a process of its own, which ends with the network."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=in_child, args=(sender, definition), daemon=True)
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None, 0, f"its process ended: more than {TIME_LIMIT} s of the processor, or too much memory"
    finally:
        child.kill()
        child.join()


class Store:
    """What has been exported so far."""

    def __init__(self, folder):
        self.graphs, self.refused = folder / "graphs.parquet", folder / "refused.csv"
        self.rows = pyarrow.parquet.read_table(self.graphs).to_pylist() if self.graphs.exists() else []
        self.failures = list(csv.DictReader(open(self.refused))) if self.refused.exists() else []

    def done(self, with_refused):
        keys = {key(row) for row in self.rows}
        return keys | {key(row) for row in self.failures} if with_refused else keys

    def forget(self, definition):
        self.failures = [row for row in self.failures if key(row) != key_of(definition)]

    def write(self):
        rows = sorted(self.rows, key=key)
        table = pyarrow.Table.from_pylist([{name: row[name] for name in COLUMNS} for row in rows])
        unfinished = self.graphs.with_suffix(".unfinished")
        pyarrow.parquet.write_table(table, unfinished, compression="zstd", compression_level=19)
        unfinished.replace(self.graphs)
        with open(self.refused, "w", newline="") as file:
            columns = ["table", "network", "package", "model", "height", "width", "form", "reason"]
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(self.failures, key=lambda row: (row["table"], row["network"], key(row))))


def key(row):
    return row["package"], row["model"], int(row["height"] or 0), int(row["width"] or 0), row["form"]


def key_of(definition):
    if definition is None:
        return "", "", 0, 0, ""
    height, width = (*definition.sides, 0, 0)[:2]
    return definition.package, definition.model, height, width, definition.form


def place(definition):
    package, model, height, width, form = key_of(definition)
    return {"package": package, "model": model, "height": height, "width": width, "form": form}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--table", action="append", help="networks of this table; can be given several times")
    parser.add_argument("--only", help="networks whose model has this part")
    parser.add_argument("--package")
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--until", help="time of day after which no network is begun")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.nn.functional.scaled_dot_product_attention = export_timm.explicit_attention
    torch.backends.mha.set_fastpath_enabled(False)
    by_definition = {}
    for wanted in accelerator_tables.all_wanted(args.tables):
        by_definition.setdefault(wanted.definition, []).append(wanted)
    store = Store(args.out)
    store.failures = [row for row in store.failures if row["package"]]
    for wanted in by_definition.pop(None, []):
        reason = "no package is known that defines it"
        store.failures.append({"table": wanted.table, "network": wanted.network, **place(None), "reason": reason})
    done = store.done(not args.retry)
    begun = [d for d in by_definition if key_of(d) not in done]
    tables = args.table
    begun = [d for d in begun if not tables or any(wanted.table in tables for wanted in by_definition[d])]
    begun = [d for d in begun if (not args.package or d.package == args.package) and (not args.only or args.only in d.model)]
    # Libraries are loaded once, before the first child.
    for package in {definition.package for definition in begun} - {"mediapipe"}:
        importlib.import_module(MODULES.get(package, package))
    # Those whose package changes others come last; before them, the packages of networks that are rarer in the tables first.
    order = ["mediapipe", "torch", "face-detection", "transformers", "ultralytics", "torchvision", "timm", "qai-hub-models"]
    begun.sort(key=lambda definition: order.index(definition.package))
    for n, definition in enumerate(begun):
        if definition.package == "qai-hub-models":
            qai_shims.install()
        if args.until and time.strftime("%H:%M") >= args.until:
            print("time is over", flush=True)
            break
        started = time.time()
        graph, parameters, reason = exported(definition)
        store.forget(definition)
        admitted, checks = [], set()
        for wanted in by_definition[definition]:
            found, checked = ([reason], []) if graph is None else contradictions(wanted, graph, parameters)
            if found:
                text = "; ".join(found)
                store.failures.append({"table": wanted.table, "network": wanted.network, **place(definition), "reason": text})
            else:
                admitted.append(f"{wanted.table}: {wanted.network}")
                checks.update(checked)
            print(wanted.table, wanted.network, "; ".join(found) or "admitted", f"{time.time() - started:.1f} s", flush=True)
        if admitted:
            store.rows.append({
                **place(definition), "version": importlib.metadata.version(definition.package), "parameters": parameters,
                "macs": macs_of(graph), "operators": len(graph["operators"]), "tables": admitted,
                "checked": sorted(checks), "graph": json.dumps(graph, separators=(",", ":")),
            })  # fmt: skip
        if n % 10 == 9:
            store.write()
    store.write()
    names = {(row["package"], row["model"]) for row in store.rows}
    print(f"{len(store.rows)} graphs of {len(names)} networks, {len(store.failures)} refused")


if __name__ == "__main__":
    sys.exit(main())
