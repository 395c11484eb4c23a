"""Searches a MobileNet-like space by evolution, and prints its Pareto front of latency and capacity.

    python search.py [GENERATIONS] [TARGET]

Candidates are graphs without weights. Capacity stands for accuracy here: a search of yours trains, or asks a proxy.
"""

import random
import sys
import time
from dataclasses import dataclass, replace

import litecast
from keras_like import Add, Conv2D, Dense, DepthwiseConv2D, GlobalAveragePooling2D, Input, Model

MAX_LATENCY_MS = 4
MAX_SRAM_BYTES = 256 * 1024
POPULATION = 96
N_CLASSES = 100

STAGES = [(16, 1), (24, 2), (40, 2), (80, 2), (160, 2)]  # channels, stride
CHOICES = {"expansion": (2, 3, 4, 6), "kernel": (3, 5), "depth": (1, 2, 3)}
RESOLUTIONS = (96, 128, 160, 192)
WIDTHS = (0.25, 0.35, 0.5, 0.75, 1)


@dataclass(frozen=True)
class Stage:
    expansion: int
    kernel: int
    depth: int


@dataclass(frozen=True)
class Network:
    resolution: int
    width: float
    stages: tuple[Stage, ...]

    def graph(self):
        inputs = Input((self.resolution, self.resolution, 3))
        x = Conv2D(self._channels(16), 3, strides=2, padding="same", activation="relu6")(inputs)
        for stage, (channels, stride) in zip(self.stages, STAGES):
            for block in range(stage.depth):
                x = _block(x, stage, self._channels(channels), stride if block == 0 else 1)
        return Model(inputs, Dense(N_CLASSES)(GlobalAveragePooling2D()(x))).graph()

    def _channels(self, channels):
        return max(8, 8 * round(channels * self.width / 8))

    def __str__(self):
        stages = " ".join(f"{one.depth}×e{one.expansion}k{one.kernel}" for one in self.stages)
        return f"{self.resolution} px, width {self.width}, {stages}"


def _block(x, stage, channels, stride):
    same = {"padding": "same"}
    y = Conv2D(x.shape[3] * stage.expansion, 1, activation="relu6", **same)(x)
    y = DepthwiseConv2D(stage.kernel, strides=stride, activation="relu6", **same)(y)
    y = Conv2D(channels, 1, **same)(y)
    return Add()([x, y]) if x.shape == y.shape else y


def any_network():
    stage = {name: tuple(CHOICES[name]) for name in CHOICES}
    stages = tuple(Stage(**{name: random.choice(values) for name, values in stage.items()}) for _ in STAGES)
    return Network(random.choice(RESOLUTIONS), random.choice(WIDTHS), stages)


def mutated(network):
    if random.random() < 0.2:
        network = replace(network, resolution=random.choice(RESOLUTIONS))
    if random.random() < 0.2:
        network = replace(network, width=random.choice(WIDTHS))
    stages = list(network.stages)
    idx, name = random.randrange(len(stages)), random.choice(list(CHOICES))
    stages[idx] = replace(stages[idx], **{name: random.choice(CHOICES[name])})
    return replace(network, stages=tuple(stages))


def measured(estimator, networks, target):
    """Latency in ms, peak SRAM in bytes and MACs of each network that the target runs."""
    graphs = (network.graph() for network in networks)
    reports = estimator.estimate_many(graphs, targets=[target], detail="summary")
    for network, report in zip(networks, reports):
        if isinstance(report, litecast.LitecastError):
            raise report
        values = {result["metric"]: result.get("value") for result in report["results"]}
        sram_bytes = values.get("sram_peak") or report["model"]["activation_bytes"]
        if values["latency"] is not None:
            yield network, values["latency"], sram_bytes, report["model"]["macs"]


def front_of(found):
    """Those that nothing found is both faster and larger than."""
    front, most = [], 0
    for one in sorted(found, key=lambda one: (one[1], -one[3])):
        if one[3] > most:
            front.append(one)
            most = one[3]
    return front


def main(generations=20, target="ethos-u55-128"):
    random.seed(1)
    estimator = litecast.load()
    population, front, n_networks = [any_network() for _ in range(POPULATION)], [], 0
    started = time.perf_counter()
    for _ in range(generations):
        n_networks += len(population)
        found = [
            one
            for one in measured(estimator, population, target)
            if one[1] <= MAX_LATENCY_MS and one[2] <= MAX_SRAM_BYTES
        ]
        front = front_of(front + found)
        parents = [one[0] for one in front] or [any_network()]
        population = [
            any_network() if random.random() < 0.1 else mutated(random.choice(parents)) for _ in range(POPULATION)
        ]
    seconds = time.perf_counter() - started
    print(f"{target}, at most {MAX_LATENCY_MS} ms and {MAX_SRAM_BYTES // 1024} KiB of SRAM")
    print("latency ms  SRAM KiB  million MACs  network")
    for network, latency_ms, sram_bytes, macs in front:
        print(f"{latency_ms:10.3f}  {sram_bytes / 1024:8.1f}  {macs / 1e6:12.2f}  {network}")
    print(f"{n_networks} networks in {seconds:.1f} s, {n_networks / seconds:.0f} a second", file=sys.stderr)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*([int(arguments[0]), *arguments[1:]] if arguments else []))
