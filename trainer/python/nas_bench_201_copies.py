"""How well NAS-Bench-201's published latencies agree with themselves: cells that reduce to one graph were measured each.

Argument: the table of HELP (`../shared/data/nb201_help_latency_ms.csv.gz`). Prints a row of Markdown for each device: Spearman's
correlation and the median difference between two copies of a graph, drawn from those with copies; the standard deviation of
the logarithm of one measurement, and of all graphs; and the correlation with one measurement of the logarithms that an
estimate without any error has, sqrt(1 - variance of a measurement / variance of all graphs).
"""

import csv
import gzip
import math
import random
import statistics
import sys

DEVICES = ["raspi4", "pixel2", "pixel3", "samsung_a50", "samsung_s7", "essential_ph_1"]


def ranks(values: list[float]) -> list[float]:
    """From the smallest; equal values have their mean."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [statistics.fmean(places[value]) for value in values]


def main() -> None:
    with gzip.open(sys.argv[1], "rt") as file:
        rows = list(csv.DictReader(file))
    graphs: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        graphs.setdefault(row["rep_arch_idx"], []).append(row)
    random.seed(1)
    pairs = [random.sample(copies, 2) for copies in graphs.values() if len(copies) > 1]
    print(f"{len(graphs)} graphs, {len(pairs)} with copies\n")
    print("| device | Spearman of copies | difference of copies | of one measurement | of all graphs | best correlation |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for device in DEVICES:
        left, right = ([float(pair[side][device]) for pair in pairs] for side in (0, 1))
        spearman = statistics.correlation(ranks(left), ranks(right))
        difference = statistics.median(abs(a / b - 1) for a, b in zip(left, right))
        noise = statistics.fmean(math.log(a / b) ** 2 for a, b in zip(left, right)) / 2
        of_all = statistics.pvariance(math.log(float(copies[0][device])) for copies in graphs.values())
        best = math.sqrt(max(0.0, 1 - noise / of_all))
        print(f"| {device} | {spearman:.3f} | {100 * difference:.1f} % | {math.sqrt(noise):.2f} | {math.sqrt(of_all):.2f} | {best:.3f} |")


main()
