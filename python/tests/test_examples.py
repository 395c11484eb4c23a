"""The builders of examples/python, against each other and against counts by hand."""

import contextlib
import io
import os
import sys
import unittest
from pathlib import Path

import litecast

sys.path.insert(0, str(Path(os.environ["LITECAST_ROOT"]) / "examples/python"))

import keras_like as keras  # noqa: E402
import search  # noqa: E402
import torch_like as torch  # noqa: E402

estimator = litecast.load()


def keras_network():
    x = inputs = keras.Input((96, 96, 3))
    x = keras.Conv2D(16, 3, padding="same", activation="relu6")(x)
    y = keras.DepthwiseConv2D(3, padding="same", activation="relu6")(x)
    x = keras.Add()([x, keras.Conv2D(16, 1)(y)])
    x = keras.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, keras.Dense(10)(x)).graph()


def torch_network(stride=1):
    block = torch.Sequential(torch.Conv2d(16, 16, 3, padding=1, groups=16), torch.ReLU6(), torch.Conv2d(16, 16, 1))
    stem = torch.Sequential(torch.Conv2d(3, 16, 3, stride=stride, padding=1), torch.BatchNorm2d(16), torch.ReLU6())
    head = torch.Sequential(torch.AdaptiveAvgPool2d(1), torch.Flatten(), torch.Linear(16, 10))
    return torch.export(torch.Sequential(stem, torch.Residual(block), head), (1, 3, 96, 96))


class Builders(unittest.TestCase):
    def test_both_build_the_same_network(self):
        one, other = (estimator.estimate(graph, name="") for graph in (keras_network(), torch_network()))
        macs = 96 * 96 * (16 * 27 + 16 * 9 + 16 * 16) + 16 * 10
        self.assertEqual((one["model"]["macs"], other["model"]["macs"]), (macs, macs))
        self.assertEqual(one["results"], other["results"])

    def test_padding_that_tflite_does_not_have_is_an_operator(self):
        report = estimator.analyze(torch_network(stride=2))
        self.assertEqual(report["operators"][0]["name"], "PAD")
        self.assertEqual(report["model"]["macs"], 48 * 48 * (16 * 27 + 16 * 9 + 16 * 16) + 16 * 10)

    def test_a_search_prints_a_front_from_fast_to_large(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            search.main(generations=3)
        rows = [line.split() for line in said.getvalue().splitlines()[2:]]
        numbers = [[float(value) for value in row[:3]] for row in rows]
        self.assertGreater(len(numbers), 2)
        for latency_ms, sram_kib, _ in numbers:
            self.assertTrue(latency_ms <= search.MAX_LATENCY_MS and sram_kib * 1024 <= search.MAX_SRAM_BYTES)
        for slower, faster in zip(numbers[1:], numbers):
            # Printed with three and two decimals, of which neighbours may share all.
            self.assertTrue(slower[0] >= faster[0] and slower[2] >= faster[2])


if __name__ == "__main__":
    unittest.main()
