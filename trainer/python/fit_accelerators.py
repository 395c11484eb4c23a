"""Compares ways to estimate the latency of networks on Qualcomm's NPUs, with whole families of networks left out.

usage: fit_accelerators.py TABLES FACTS [--folds N] [--members N] [--seeds N] [--methods regression,roofline,physics,network]
                           [--refusals]

TABLES is `../shared/data/accelerators`. FACTS is a folder with what `litecast facts --json --operators` prints for each
graph, under the network's name. Final families (`FINAL`) are taken out before anything else.

- regression: logarithms of multiply-accumulates, values and parameters, for each runtime and precision, and a factor for
  each device.
- roofline: non-negative costs of six sums, for each device, runtime and precision.
- physics: shared non-negative costs of the terms of `accelerator_features.py` for each precision; a device has a scale of
  computation, memory and constants, a runtime factors of these; priors in logarithms, a robust loss.
- network: the physics of each operator times a factor between 1/e and e that a network with messages gives, averaged over
  members.

Needs numpy, scipy and torch: the environment of `export_accelerator_graphs.py`.
"""

import argparse
import csv
import gzip
import pathlib
import random
import sys

import numpy
import scipy.optimize
import torch

import accelerator_features
from accelerator_features import TERM, TERMS

# `random.Random(48)` drew them from the families of the graphs.
FINAL = ["det-other", "mobilenet-cls", "seg-cnn"]
PRECISIONS = ["float", "w8a8", "w8a16"]
RUNTIMES = ["tflite", "qnn_dlc", "onnx"]
# Network factors stay within exp(±this).
BOUND = 1.0
# Deviation of one network's rows from the physics, which decides how much these outweigh priors.
SIGMA = 0.3


class Rows:
    """Measurements, as arrays of positions."""

    def __init__(self, tables, facts):
        self.networks = {path.stem: accelerator_features.Network(path) for path in sorted(facts.glob("*.json"))}
        kept, refused = [], []
        with gzip.open(tables / "qualcomm_ai_hub.csv.gz", "rt") as file:
            for row in csv.DictReader(file):
                name = row["onnx_file"].removesuffix(".onnx")
                if name not in self.networks or name in OTHERS or row["precision"] not in PRECISIONS or row["runtime"] not in RUNTIMES:
                    continue
                on_others = float(row["layers_gpu"] or 0) + float(row["layers_cpu"] or 0)
                reasons = ["layers run off the NPU"] if on_others else cliffs(self.networks[name], row)
                if reasons:
                    refused.append((row, reasons))
                else:
                    kept.append(row)
        families = sorted({row["family"] for row in kept})
        kept = [row for row in kept if row["family"] not in FINAL]
        self.refused = [(row, reasons) for row, reasons in refused if row["family"] not in FINAL]
        self.families = sorted(set(families) - set(FINAL))
        self.names = sorted({row["onnx_file"].removesuffix(".onnx") for row in kept})
        self.devices = sorted({row["device"] for row in kept})

        def place(values, of):
            return numpy.array([values.index(of(row)) for row in kept])

        self.network = place(self.names, lambda row: row["onnx_file"].removesuffix(".onnx"))
        self.device = place(self.devices, lambda row: row["device"])
        self.runtime = place(RUNTIMES, lambda row: row["runtime"])
        self.precision = place(PRECISIONS, lambda row: row["precision"])
        self.family = place(self.families, lambda row: row["family"])
        self.ms = numpy.array([float(row["latency_ms"]) for row in kept])
        # A network's rows are not independent.
        groups = self.network * 3 + self.precision
        counts = numpy.bincount(groups)
        self.weight = 1 / counts[groups]
        self.sums = numpy.stack([accelerator_features.amounts(self.networks[name]) for name in self.names])


def cliffs(network, row):
    """Why rules say that the row is many times slower than its work: the fit leaves it out, an estimate refuses it."""
    return [
        reason
        for reason, runtime, precision in network.cliffs
        if runtime in (None, row["runtime"]) and precision in (None, row["precision"])
    ]


def print_refusals(rows):
    """How many times longer refused rows take than the physics of all others says, by reason and precision."""
    model = fit_physics(rows, numpy.zeros(len(rows.ms), bool), 0)
    times = {}
    for row, reasons in rows.refused:
        if row["device"] not in rows.devices:
            continue
        place = rows.devices.index(row["device"]), RUNTIMES.index(row["runtime"]), PRECISIONS.index(row["precision"])
        with torch.no_grad():
            costs = model.costs(*(torch.tensor([at]) for at in place))[0].numpy()
        ms = costs @ accelerator_features.amounts(rows.networks[row["onnx_file"].removesuffix(".onnx")])
        for reason in reasons:
            times.setdefault((reason, row["precision"]), []).append(float(row["latency_ms"]) / ms)
    print("| refused because | precision | rows | times the physics, median | 10th to 90th percentile |\n|---|---|---|---|---|")
    for (reason, precision), ratios in sorted(times.items()):
        low, median, high = numpy.percentile(ratios, [10, 50, 90])
        print(f"| {reason} | {precision} | {len(ratios)} | {median:.1f} | {low:.1f} to {high:.1f} |")


# Graphs of other sizes than what was measured: more than 15 % of the layers differ.
OTHERS = {"yolov5", "levit", "sinet", "superpoint"}


def folds(rows, n, seed):
    """Families in turn, in `n` groups of about as many networks."""
    order = list(range(len(rows.families)))
    random.Random(seed).shuffle(order)
    sizes = {f: len(set(rows.network[rows.family == f])) for f in order}
    groups = [[] for _ in range(n)]
    for family in sorted(order, key=lambda f: -sizes[f]):
        min(groups, key=lambda group: sum(sizes[f] for f in group)).append(family)
    return [numpy.isin(rows.family, group) for group in groups]


def regression(rows, held, _):
    sums = rows.sums
    values = sums[:, [TERM[t] for t in TERMS if t.startswith("bytes")]].sum(1)
    macs = sums[:, [TERM[t] for t in TERMS if t.startswith("macs")]].sum(1)
    three = numpy.log(numpy.stack([macs + 1, values + 0.01, sums[:, TERM["weights"]] + 0.01, numpy.ones(len(sums))], 1))
    three[:, 3] = 1
    out = numpy.zeros(len(rows.ms))
    log_ms = numpy.log(rows.ms)
    factor = numpy.zeros(len(rows.devices))
    group = rows.runtime * 3 + rows.precision
    for _ in range(5):
        for g in set(group):
            fit = (group == g) & ~held
            x, y, w = three[rows.network[fit]], log_ms[fit] - factor[rows.device[fit]], rows.weight[fit] ** 0.5
            costs = numpy.linalg.lstsq(x * w[:, None], y * w, rcond=None)[0]
            out[group == g] = three[rows.network[group == g]] @ costs
        for device in range(len(factor)):
            fit = (rows.device == device) & ~held
            factor[device] = numpy.average(log_ms[fit] - out[fit], weights=rows.weight[fit])
    return numpy.exp(out + factor[rows.device])


def roofline(rows, held, _):
    sums = rows.sums
    dense = [TERM[t] for t in TERMS if t.startswith("macs") and t != "macs_depthwise"]
    layout = [TERM["bytes_layout"], TERM["bytes_reshape"]]
    values = [TERM[t] for t in TERMS if t.startswith("bytes") and TERM[t] not in layout]
    counts = [TERM[t] for t in TERMS if t.startswith("n_")]
    x = numpy.stack([
        sums[:, dense].sum(1), sums[:, TERM["macs_depthwise"]], sums[:, values].sum(1), sums[:, layout].sum(1),
        sums[:, TERM["weights"]], sums[:, counts].sum(1) + 1,
    ], 1)  # fmt: skip
    out = numpy.zeros(len(rows.ms))
    group = (rows.device * 3 + rows.runtime) * 3 + rows.precision
    for g in set(group):
        fit = (group == g) & ~held
        if fit.sum() < 6:
            out[group == g] = numpy.nan
            continue
        # Relative errors count.
        w = rows.weight[fit] ** 0.5 / rows.ms[fit]
        costs, _ = scipy.optimize.nnls(x[rows.network[fit]] * w[:, None], rows.ms[fit] * w)
        out[group == g] = x[rows.network[group == g]] @ costs
    return out


class Physics(torch.nn.Module):
    """Milliseconds as a sum of terms: cost × scale of the device × factor of the runtime."""

    # How far costs are from that of their kind, precisions from each other, devices and runtimes from the mean: standard
    # deviations of logarithms.
    TERM, PRECISION, DEVICE, RUNTIME = 0.25, 0.4, 1.0, 0.3

    def __init__(self, rows):
        super().__init__()
        scale = torch.tensor([accelerator_features.scale_of(term) for term in TERMS])
        self.register_buffer("scale", scale)
        self.register_buffer("known", torch.tensor([term in accelerator_features.USED for term in TERMS]).float())
        # In millions: 10 TMAC/s, 50 G values/s, 1 µs an operator.
        self.kind = torch.nn.Parameter(torch.tensor([1e-4, 0.02, 0.001]).log().repeat(len(PRECISIONS), 1))
        self.term = torch.nn.Parameter(torch.tensor([accelerator_features.PRIOR.get(term, 0.0) for term in TERMS]))
        self.register_buffer("prior", self.term.detach().clone())
        self.of_term = torch.nn.Parameter(torch.zeros(len(PRECISIONS), len(TERMS)))
        self.device = torch.nn.Parameter(torch.zeros(len(rows.devices), 3))
        self.of_precision = torch.nn.Parameter(torch.zeros(len(rows.devices), len(PRECISIONS)))
        self.runtime = torch.nn.Parameter(torch.zeros(len(RUNTIMES), len(PRECISIONS), 3))

    def costs(self, device, runtime, precision):
        """Of each term, by row."""
        cost = (self.kind[:, self.scale] + self.term + self.of_term)[precision]
        scales = self.device[device] + self.runtime[runtime, precision] + self.of_precision[device, precision][:, None]
        return (cost + scales[:, self.scale]).exp() * self.known

    def penalty(self):
        deviations = [
            ((self.term - self.prior), self.TERM), (self.of_term, 0.2), (self.kind - self.kind.mean(0), self.PRECISION),
            (self.device, self.DEVICE), (self.of_precision, 0.3), (self.runtime, self.RUNTIME),
        ]  # fmt: skip
        return sum(0.5 * (deviation / sigma).square().sum() for deviation, sigma in deviations)


def robust(error):
    """Of errors in logarithms: as squares up to some 25 %, as distances beyond."""
    delta = 0.25
    return delta**2 * ((1 + (error / delta).square()).sqrt() - 1)


def tensors(rows, mask):
    return [torch.as_tensor(array[mask]) for array in (rows.network, rows.device, rows.runtime, rows.precision)]


def fit_physics(rows, held, seed, steps=700):
    torch.manual_seed(seed)
    model = Physics(rows)
    x = torch.tensor(rows.sums, dtype=torch.float32)
    network, *others = tensors(rows, ~held)
    log_ms = torch.tensor(numpy.log(rows.ms[~held]), dtype=torch.float32)
    weight = torch.tensor(rows.weight[~held], dtype=torch.float32)
    adam = torch.optim.Adam(model.parameters(), 0.03)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    for _ in range(steps):
        adam.zero_grad()
        ms = (x[network] * model.costs(*others)).sum(1)
        # All rows of a network and precision are as good as one measurement of this deviation.
        loss = (weight * robust(ms.log() - log_ms)).sum() / SIGMA**2 + model.penalty()
        loss.backward()
        adam.step()
        schedule.step()
    return model


def physics(rows, held, seed):
    model = fit_physics(rows, held, seed)
    network, *others = tensors(rows, numpy.ones(len(rows.ms), bool))
    with torch.no_grad():
        return (torch.tensor(rows.sums, dtype=torch.float32)[network] * model.costs(*others)).sum(1).numpy()


class Graphs:
    """The operators of all networks as one graph."""

    def __init__(self, rows):
        networks = [rows.networks[name] for name in rows.names]
        start = numpy.cumsum([0] + [len(n.kinds) for n in networks])
        self.owner = torch.tensor(numpy.repeat(numpy.arange(len(networks)), numpy.diff(start)))
        self.amounts = torch.tensor(numpy.concatenate([n.amounts for n in networks]), dtype=torch.float32)
        edges = [(a + s, b + s) for n, s in zip(networks, start) for a, b in n.edges]
        self.edges = torch.tensor(edges).T
        kinds = sorted({kind or "multiplied" for n in networks for kind in n.kinds})
        kind = torch.tensor([kinds.index(k or "multiplied") for n in networks for k in n.kinds])
        shapes = [([1] * 4 + list(shape))[-4:] for n in networks for shape in n.shapes]
        self.features = torch.cat([
            torch.nn.functional.one_hot(kind, len(kinds)).float(),
            (self.amounts[:, : TERM["n_multiplied"]] * 1e3 + 1).log() / 5,
            torch.tensor(shapes, dtype=torch.float32).clamp(min=1).log() / 3,
        ], 1)  # fmt: skip


class Factors(torch.nn.Module):
    """A factor for each operator, runtime and precision, from its features and its neighbours'."""

    def __init__(self, n_features, width=24, rounds=2):
        super().__init__()
        self.first = torch.nn.Linear(n_features, width)
        self.rounds = torch.nn.ModuleList(torch.nn.Linear(3 * width, width) for _ in range(rounds))
        self.last = torch.nn.Linear(width, len(RUNTIMES) * len(PRECISIONS))
        torch.nn.init.zeros_(self.last.weight)
        torch.nn.init.zeros_(self.last.bias)

    def forward(self, graphs):
        h = torch.relu(self.first(graphs.features))
        source, target = graphs.edges
        n = len(h)
        counts = [torch.zeros(n).index_add_(0, side, torch.ones(len(side))).clamp(min=1)[:, None] for side in (source, target)]
        for layer in self.rounds:
            before = torch.zeros_like(h).index_add_(0, target, h[source]) / counts[1]
            after = torch.zeros_like(h).index_add_(0, source, h[target]) / counts[0]
            h = h + torch.relu(layer(torch.cat([h, before, after], 1)))
        return BOUND * torch.tanh(self.last(h).view(n, len(RUNTIMES), len(PRECISIONS)))


def network(rows, held, seed, members, steps=250):
    graphs = rows.graphs
    base = fit_physics(rows, held, seed)
    fit = ~held
    groups = rows.runtime * 3 + rows.precision
    logs = []
    for member in range(members):
        torch.manual_seed(1000 * seed + member)
        model = Factors(graphs.features.shape[1])
        adam = torch.optim.Adam(model.parameters(), 3e-3, weight_decay=1e-3)
        log_ms = torch.tensor(numpy.log(rows.ms), dtype=torch.float32)
        weight = torch.tensor(rows.weight, dtype=torch.float32)
        index = [(g, torch.as_tensor(numpy.flatnonzero((groups == g) & fit)), torch.as_tensor(numpy.flatnonzero(groups == g))) for g in sorted(set(groups))]
        device, precision, runtime, of = (torch.as_tensor(a) for a in (rows.device, rows.precision, rows.runtime, rows.network))
        with torch.no_grad():
            costs = base.costs(device, runtime, precision)

        def estimate(factors, g, rows_of):
            """Weighted amounts of each network, then the costs of each row."""
            factor = factors[:, g // 3, g % 3].exp()
            sums = torch.zeros(len(rows.names), len(TERMS)).index_add_(0, graphs.owner, graphs.amounts * factor[:, None])
            sums[:, TERM["once"]] = 1
            return (sums[of[rows_of]] * costs[rows_of]).sum(1)

        for _ in range(steps):
            adam.zero_grad()
            factors = model(graphs)
            loss = 0.02 * factors.square().mean() * len(rows.names)
            for g, fitted, _ in index:
                if len(fitted):
                    error = estimate(factors, g, fitted).log() - log_ms[fitted]
                    loss = loss + (weight[fitted] * robust(error)).sum() / SIGMA**2 * 0.1
            loss.backward()
            adam.step()
        with torch.no_grad():
            factors = model(graphs)
            out = torch.zeros(len(rows.ms))
            for g, _, every in index:
                out[every] = estimate(factors, g, every).log()
            logs.append(out)
    return torch.stack(logs).mean(0).exp().numpy()


def errors(rows, estimate, mask):
    known = mask & numpy.isfinite(estimate)
    share = 100 * numpy.abs(estimate[known] / rows.ms[known] - 1)
    ratio = numpy.maximum(estimate[known] / rows.ms[known], rows.ms[known] / estimate[known])
    return numpy.median(share), share.mean(), numpy.percentile(share, 90), 100 * (ratio > 3).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("facts", type=pathlib.Path)
    parser.add_argument("--folds", type=int, default=6)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--refusals", action="store_true", help="print how slow refused rows are, and nothing else")
    parser.add_argument("--methods", default="regression,roofline,physics,network")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = Rows(args.tables, args.facts)
    rows.graphs = Graphs(rows)
    n_refused, n_asked = len(rows.refused), len(rows.ms) + len(rows.refused)
    print(f"{len(rows.ms)} rows of {len(rows.names)} networks in {len(rows.families)} families, {len(rows.devices)} devices; "
          f"{n_refused} more ({100 * n_refused / n_asked:.1f} %) are refused")  # fmt: skip
    print("final families, not looked at:", ", ".join(FINAL))
    if args.refusals:
        return print_refusals(rows)
    methods = {"regression": regression, "roofline": roofline, "physics": physics,
               "network": lambda rows, held, seed: network(rows, held, seed, args.members)}  # fmt: skip
    print("| method | seed | rows | median % | mean % | 90th percentile % | off by more than 3 times % |\n|---|---|---|---|---|---|---|")
    for name in args.methods.split(","):
        for seed in range(args.seeds):
            out = numpy.full(len(rows.ms), numpy.nan)
            for held in folds(rows, args.folds, seed):
                out[held] = methods[name](rows, held, seed)[held]
            everything = numpy.ones(len(rows.ms), bool)
            parts = [("all", everything)] + [(p, rows.precision == i) for i, p in enumerate(PRECISIONS)]
            for part, mask in parts:
                numbers = " | ".join(f"{number:.1f}" for number in errors(rows, out, mask))
                print(f"| {name} | {seed} | {part} {mask.sum()} | {numbers} |", flush=True)
            if name == "physics":
                for at, family in enumerate(rows.families):
                    median, mean, *_ = errors(rows, out, rows.family == at)
                    print(f"  {family}: {len(set(rows.network[rows.family == at]))} networks, {median:.1f}, {mean:.1f} %", file=sys.stderr)


if __name__ == "__main__":
    main()
