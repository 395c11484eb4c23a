"""The installed package against the command and the published schema.

Run by tools/test-python.sh, which names the command in LITECAST_COMMAND and the repository in LITECAST_ROOT.
"""

import hashlib
import itertools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import typing
import unittest
from pathlib import Path

import litecast
from litecast import LitecastError, types

ROOT = Path(os.environ["LITECAST_ROOT"])
COMMAND = os.environ["LITECAST_COMMAND"]
EXAMPLES = sorted(str(path) for path in (ROOT / "www/examples").glob("*.tflite"))
KWS = str(ROOT / "www/examples/cnn-kws-s7-i43.tflite")
SCHEMA = json.loads((ROOT / "src/report/report.schema.json").read_text())["$defs"]

GRAPH = {
    "version": 1,
    "inputs": ["x"],
    "outputs": ["y"],
    "tensors": [
        {"name": "x", "shape": [1, 32, 32, 3], "type": "int8"},
        {"name": "w", "shape": [16, 3, 3, 3], "type": "int8", "constant": True},
        {"name": "b", "shape": [16], "type": "int32", "constant": True},
        {"name": "y", "shape": [1, 16, 16, 16], "type": "int8"},
    ],
    "operators": [
        {
            "kind": "CONV_2D",
            "inputs": ["x", "w", "b"],
            "outputs": ["y"],
            "attributes": {"stride": [2, 2], "padding": "SAME"},
        }
    ],
    "format": "litecast-graph",
}

estimator = litecast.load()


def command(*arguments):
    """The lines of JSON that the command prints."""
    said = subprocess.run([COMMAND, "predict", "--json", *arguments], capture_output=True, text=True, check=False)
    return [json.loads(line) for line in said.stdout.splitlines()]


def fields(typed_dict):
    return set(typing.get_type_hints(typed_dict))


def latency(report, target):
    of_target = (result for result in report["results"] if result["target"] == target)
    return next(result["value"] for result in of_target if result["metric"] == "latency")


#: A RELU on an input of 1 × `seq` × 4, as `onnxWithOpenSize` of tests/page/onnx.mjs writes it.
OPEN_ONNX = (
    "08083a4c0a0c0a0178120179220452656c7512046f70656e5a1a0a017812150a130801120f0a0208010a0512037365710a0208046"
    "21a0a017912150a130801120f0a0208010a0512037365710a0208044202100d"
)


class Reports(unittest.TestCase):
    maxDiff = 2000

    def test_reports_are_those_of_the_command_to_the_last_bit(self):
        in_sram = {"target": "ethos-u55-128", "memory_mode": "Sram_Only"}
        options = [
            ((), {}),
            (("--batch=4", "--threads=2"), {"batch": 4, "threads": 2}),
            (("--target=ethos-u55-128", "--memory-mode=Sram_Only"), {"targets": [in_sram]}),
            (("--board=imx93", "--app-ram=64"), {"targets": [{"board": "imx93"}], "app_ram_kib": 64}),
            (("--target=cortex-m7-stm32h747@8",), {"targets": ["cortex-m7-stm32h747@8"]}),
            (("--target=rtx-3090", "--batch=8"), {"targets": ["rtx-3090"], "batch": 8}),
            (("--target=galaxy-s24", "--target=Snapdragon 8 Gen 2@qnn"), {"targets": ["galaxy-s24", "Snapdragon 8 Gen 2@qnn"]}),
        ]
        n_results = 0
        for arguments, keywords in options:
            expected = command(*arguments, *EXAMPLES)
            found = estimator.estimate_many(EXAMPLES, **keywords)
            self.assertEqual(len(expected), len(EXAMPLES))
            # As JSON both say the same, numbers to the last digit.
            for one, other in zip(found, expected):
                self.assertEqual(json.dumps(one), json.dumps(other))
            n_results += sum(len(report["results"]) for report in found)
        # What one network took elsewhere.
        [expected] = command("--target=galaxy-s25", "--measured=galaxy-s24=0.5ms", KWS)
        beside = {"target": "galaxy-s25", "measured_on": "galaxy-s24", "measured_ms": 0.5}
        self.assertEqual(json.dumps(estimator.estimate(KWS, targets=[beside])), json.dumps(expected))
        self.assertNotEqual(estimator.estimate(KWS, targets=["galaxy-s25"])["results"], expected["results"])
        print(f"{n_results} results on {len(EXAMPLES)} files equal the command's")
        self.assertGreater(n_results, 100)

    def test_one_file_is_as_one_of_many_and_bytes_as_a_path(self):
        contents = Path(KWS).read_bytes()
        expected = estimator.estimate(KWS, name="kws")
        for given in (contents, bytearray(contents), memoryview(contents), Path(KWS)):
            self.assertEqual(estimator.estimate(given, name="kws"), expected)
        files = [litecast.ModelFile(contents, name="kws"), litecast.ModelFile(KWS, batch=2)]
        [one, other] = estimator.estimate_many(files)
        self.assertEqual(one, expected)
        self.assertEqual((other["batch"], other["file"]), (2, KWS))

    def test_a_summary_has_the_same_numbers(self):
        full = estimator.estimate(KWS)
        summary = estimator.estimate(KWS, detail="summary")
        for result in full["results"]:
            result.pop("operators", None)
        self.assertEqual(summary["results"], full["results"])
        self.assertEqual(summary["model"], full["model"])
        self.assertNotIn("tensors", summary)

    def test_a_graph_without_weights_is_taken_as_a_dict(self):
        report = estimator.estimate(GRAPH, name="graph")
        self.assertEqual(report["model"]["macs"], 16 * 16 * 16 * 27)
        [same] = estimator.estimate_many([GRAPH])
        self.assertEqual(same["results"], report["results"])

    def test_a_change_is_that_of_the_engine(self):
        half = estimator.estimate_changed(KWS, {"width": 0.5})
        self.assertLess(half["model"]["macs"], estimator.analyze(KWS)["model"]["macs"])
        with self.assertRaises(LitecastError) as caught:
            estimator.estimate_changed(KWS, {"widht": 0.5})
        self.assertEqual(caught.exception.kind, "wrong-argument")

    def test_operators_left_out_are_those_of_a_report(self):
        targets = ["ethos-u55-256", "ethos-u65-256", "edgetpu-coral-dev-board"]
        found = estimator.left_out(KWS, targets)
        self.assertEqual(len(found), len(targets))
        report = estimator.estimate(KWS, targets=targets)
        for target, operators in zip(targets, found):
            reported = [left["operators"] for left in report.get("left_out", []) if target in left["targets"]]
            self.assertEqual(operators, reported[0] if reported else [])
        with self.assertRaises(LitecastError) as caught:
            estimator.left_out(b"TFL3", targets)
        self.assertEqual(caught.exception.kind, "truncated")

    def test_accelerators_can_be_chosen_as_listed(self):
        listed = estimator.accelerators()
        self.assertEqual(set(listed), fields(types.Accelerators))
        for npu in listed["npus"]:
            self.assertEqual(set(npu), fields(types.NpuInfo))
            choice = {"target": npu["id"], **{key: npu[key] for key in ("system_config", "memory_mode")}}
            estimator.estimate(KWS, targets=[choice], detail="summary")
        for host in listed["hosts"]:
            self.assertEqual(set(host), fields(types.HostInfo))
            estimator.estimate(KWS, targets=[{"target": "ethos-u55-256", "host": host["id"]}], detail="summary")
        with self.assertRaises(LitecastError) as caught:
            estimator.accelerators("[System_Config.Own]\ncore_clock=fast")
        self.assertEqual(caught.exception.kind, "configuration")

    def test_analyze_has_the_report_without_learned_estimates(self):
        report = estimator.analyze(KWS)
        self.assertEqual(report["model"], estimator.estimate(KWS)["model"])
        kinds = {result["provenance"]["kind"] for result in report["results"] if "value" in result}
        self.assertTrue(kinds and not any(kind.startswith("learned") for kind in kinds), kinds)


class Types(unittest.TestCase):
    def test_types_have_the_fields_of_the_schema(self):
        # Beside what is written out, dicts stand for what few programs read.
        facts = ("ModelFacts", "SubgraphFacts", "OperatorFacts", "TensorFacts", "QuantizationFacts", "EdgeFacts")
        for name in ("Report", *facts, "Provenance", "ReportDiagnostic", "LeftOut", "LeftOperator"):
            found = fields(getattr(types, name))
            self.assertEqual(found, set(SCHEMA[name]["properties"]), name)

    def test_reports_and_summaries_are_valid(self):
        try:
            from jsonschema import Draft202012Validator
        except ImportError:
            self.skipTest("jsonschema is not installed")
        validator = Draft202012Validator(json.loads((ROOT / "src/report/report.schema.json").read_text()))
        for detail in ("full", "summary"):
            document = estimator.estimate(KWS, detail=detail)
            self.assertEqual([error.message[:200] for error in validator.iter_errors(document)], [], detail)
            # A part of another type makes neither of it.
            self.assertFalse(validator.is_valid({**document, "operators": 3}), detail)

    def test_results_have_no_other_fields(self):
        known = fields(types.TargetResult)
        for report in estimator.estimate_many(EXAMPLES):
            for result in report["results"]:
                self.assertLessEqual(set(result), known)


class Case(unittest.TestCase):
    def kind(self, call, *arguments, **keywords):
        with self.assertRaises(LitecastError) as caught:
            call(*arguments, **keywords)
        print(f"{caught.exception.kind}: {str(caught.exception)[:100]}")
        return caught.exception.kind


class Errors(Case):
    def test_kinds_are_those_of_the_command(self):
        contents = Path(KWS).read_bytes()
        files = {"empty.tflite": b"", "cut.tflite": contents[:500], "other.tflite": b"no model at all" * 9}
        folder = Path(os.environ["LITECAST_SCRATCH"])
        for name, data in files.items():
            (folder / name).write_bytes(data)
        paths = [str(folder / name) for name in (*files, "missing.tflite")]
        expected = [line["error"] for line in command(*paths)]
        found = estimator.estimate_many([*paths, KWS])
        self.assertEqual([error.kind for error in found[:-1]], [error["kind"] for error in expected])
        self.assertEqual(str(found[0]), expected[0]["message"])
        self.assertGreater(len(found[-1]["results"]), 0)
        self.assertEqual(self.kind(estimator.estimate, paths[0]), expected[0]["kind"])

    def test_objects_that_raise_or_change_while_they_are_read_are_wrong_arguments(self):
        class Fails:
            def fail(self, *_):
                raise ZeroDivisionError("of the caller")

            __index__ = __float__ = __fspath__ = __iter__ = __getitem__ = __len__ = __eq__ = fail
            __hash__ = None

        class FailingDict(dict):
            def items(self):
                raise ZeroDivisionError("of the caller")

            get = __iter__ = keys = items

        class Growing(dict):
            """A dict that grows while it is read."""

            def items(self):
                for key in list(super().items()):
                    self[str(len(self))] = 1
                    yield key
                for _ in self.keys():
                    self[str(len(self))] = 1

        def generated():
            yield KWS
            raise ZeroDivisionError("of the caller")

        released = memoryview(b"bytes")
        released.release()
        fails = Fails()
        contents = Path(KWS).read_bytes()
        calls = {
            "model": lambda: estimator.estimate(fails),
            "released": lambda: estimator.estimate(released),
            "batch": lambda: estimator.estimate(contents, batch=fails),
            "detail": lambda: estimator.estimate(contents, detail=fails),
            "dimensions": lambda: estimator.estimate(contents, dimensions=FailingDict(n=1)),
            "growing": lambda: estimator.estimate(contents, dimensions=Growing(n=1)),
            "targets": lambda: estimator.estimate(contents, targets=fails),
            "target": lambda: estimator.estimate(contents, targets=[FailingDict(target="gpu")]),
            "models": lambda: estimator.estimate_many(generated()),
            "graph": lambda: estimator.estimate(FailingDict(format="litecast-graph")),
            "changes": lambda: estimator.estimate_changed(contents, {"width": fails}),
            "calibration": lambda: estimator.calibrate([FailingDict(measured_ms=1)] * 3),
            "measured": lambda: estimator.calibrate([{"measured_ms": fails, "estimates_ms": {}}] * 3),
            "report": lambda: estimator.compare(FailingDict(), FailingDict()),
            "predictor": lambda: litecast.load(fails),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.assertEqual(self.kind(call), "wrong-argument")

        # The contents are those of the call, whatever becomes of the object.
        changing = bytearray(contents)
        expected = estimator.estimate(contents)["sha256"]
        is_done = threading.Event()

        def change():
            while not is_done.is_set():
                for at in range(0, len(changing), 997):
                    changing[at] ^= 0xFF
                for at in range(0, len(changing), 997):
                    changing[at] ^= 0xFF

        thread = threading.Thread(target=change)
        thread.start()
        try:
            found = [estimator.estimate_many([changing])[0] for _ in range(20)]
        finally:
            is_done.set()
            thread.join()
        for entry in found:
            self.assertTrue(isinstance(entry, LitecastError) or len(entry["sha256"]) == len(expected))
        self.assertEqual(estimator.estimate(bytes(changing))["sha256"], expected)

    def test_what_has_no_short_words_is_a_wrong_argument(self):
        report = estimator.estimate(KWS)
        calls = {
            "half a character in a name": lambda: estimator.estimate(KWS, name="\ud800"),
            "half a character in a device": lambda: estimator.measure_device("\ud800", report, "a,b"),
            "half a character in a profile": lambda: estimator.measure_device("board", report, "\ud800"),
            "half a character in a target": lambda: estimator.estimate(KWS, targets=["\ud800"]),
            "a number of 5,000 digits": lambda: estimator.calibrate(10**5000),
            "a number of 5,000 digits among numbers": lambda: estimator.estimate(KWS, batch=10**5000),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.assertEqual(self.kind(call), "wrong-argument")

    def test_a_list_in_many_places_is_no_longer_than_the_engine_takes(self):
        shared = []
        for _ in range(60):
            shared = [shared, shared]
        named = ["x" * 1_000_000] * 100_000
        report = estimator.estimate(KWS)
        entry = {"measured_ms": 1, "estimates_ms": {f"target{i}": 1.0 for i in range(10_000)}}
        device = {"name": "board", "notes": "x" * 3_000_000}
        calls = {
            "graph": lambda: estimator.estimate({**GRAPH, "extra": shared}),
            "names": lambda: estimator.estimate({**GRAPH, "extra": named}),
            "device": lambda: estimator.estimate(KWS, targets=[{"measured_device": {"networks": shared}}]),
            "devices": lambda: estimator.estimate(KWS, targets=[{"measured_device": device}] * 100_000),
            "targets": lambda: estimator.estimate(KWS, targets=itertools.repeat("edge-tpu")),
            "513 targets": lambda: estimator.estimate(KWS, targets=["ethos-u55-256"] * 513),
            "report": lambda: estimator.measure_device("board", {**report, "extra": shared}, "a,b"),
            "old report": lambda: estimator.compare({**report, "schema_version": 1, "extra": shared}, report),
            "known device": lambda: estimator.measure_device("board", report, "a,b", device={"networks": shared}),
            "measurements": lambda: estimator.calibrate(itertools.repeat(entry)),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.assertEqual(self.kind(call), "too-large")
        circle = {**GRAPH}
        circle["extra"] = [circle]
        self.assertEqual(self.kind(estimator.estimate, circle), "wrong-argument")
        # What stands in two places and is short is taken.
        pair = {**GRAPH, "inputs": GRAPH["inputs"]}
        self.assertEqual(estimator.estimate(pair)["model"], estimator.estimate(GRAPH)["model"])

    def test_wrong_arguments_are_named(self):
        wrong = [
            dict(batch=0), dict(batch=2.5), dict(batch=-1), dict(batch=2**32), dict(batch=True), dict(batch="2"),
            dict(threads=None), dict(dimensions=[1]), dict(dimensions={"n": -1}), dict(detail="all"), dict(name=3),
            dict(targets="edge-tpu"), dict(targets=[]), dict(targets=[3]), dict(targets=[{"taget": "edge-tpu"}]),
            dict(targets=[{"target": "edge-tpu", "memory_mode": "x"}]), dict(app_ram_kib=-1), dict(app_flash_kib=2**64),
            dict(targets=[{"target": "edge-tpu", "clock_mhz": float("nan")}]),
        ]  # fmt: skip
        for keywords in wrong:
            self.assertEqual(self.kind(estimator.estimate, KWS, **keywords), "wrong-argument", keywords)
        for model in (None, 3, [], {"format": "other"}, {**GRAPH, "inputs": [object()]}, {**GRAPH, "x": float("nan")}):
            self.assertEqual(self.kind(estimator.estimate, model), "wrong-argument", model)
        for models in (KWS, b"", 3, GRAPH):
            self.assertEqual(self.kind(estimator.estimate_many, models), "wrong-argument", models)
        self.assertEqual(self.kind(estimator.estimate, KWS, targets=["ethos-u99"]), "unknown-target")
        self.assertEqual(self.kind(estimator.estimate, KWS, targets=[{"board": "nowhere"}]), "unknown-board")
        self.assertEqual(self.kind(estimator.estimate, {**GRAPH, "version": 2}), "unsupported-version")
        self.assertEqual(self.kind(estimator.compare, {}, {}), "wrong-argument")

    def test_a_wrong_field_is_named_as_python_writes_it(self):
        fields = {name: 1 for name in ("center", "intercept", "slope", "n_measurements", "left_out_percent")}
        kept = {"target": "ethos-u55-128", **fields, "left_out_worst_factor": 1}
        report = estimator.estimate(KWS, targets=["ethos-u55-128"])

        def on(choice):
            return lambda: estimator.estimate(KWS, targets=["ethos-u55-128", choice])

        def changed(changes):
            return lambda: estimator.estimate_changed(KWS, changes, targets=["ethos-u55-128"])

        wrong = [
            (on({"target": "cortex-m7-stm32h747", "release": 8}), "targets[1].release: expected a string, found 8"),
            (on({"target": 3}), "targets[1].target: expected a string, found 3"),
            (on({"taget": "x"}), "targets[1]: unknown option 'taget', expected one of target, board, runtime,"),
            (on({"target": "ethos-u55-128", "optimise": "Speed"}), "targets[1].optimise: expected \"Performance\" or"),
            (on({"target": "ethos-u55-128", "arena_cache_bytes": 2.5}), "targets[1].arena_cache_bytes: expected a whole"),
            (on({"target": "ethos-u55-128", "clock_mhz": float("inf")}), "targets[1].clock_mhz: expected a finite number"),
            (on({"target": "ethos-u55-128", "vela_ini": b""}), "targets[1].vela_ini: expected a string, found an object"),
            (on(3), "targets[1]: expected the id of a target or a dict, found 3"),
            (changed({"width": "half"}), "changes.width: expected a number, found 'half'"),
            (changed({"int8": 1}), "changes.int8: expected True or False, found 1"),
            (changed({"channels": {"from": 32}}), "changes.channels.to: expected a whole number"),
            (changed({"wdth": 1}), "changes: unknown option 'wdth', expected one of resolution, width,"),
            (lambda: estimator.left_out(KWS, ["ethos-u55-128"], {"int8": "yes"}), "changes.int8: expected True or False"),
            (lambda: estimator.calibrated({**kept, "slope": "1"}, report), "calibration.slope: expected a number"),
            (lambda: estimator.calibrated({"target": "x"}, report), "calibration.center: expected a number, found None"),
            (lambda: estimator.calibrate([{"measured_ms": 1, "report": {"results": [3]}}]), "measurements[0]: expected a"),
            (lambda: estimator.measure_device("d", {}, "x"), "report: expected a report of estimate() or analyze()"),
            (lambda: estimator.measure_device("d", report, 3), "profile: expected text or bytes, found 3"),
            (lambda: estimator.compare(report, {"results": [{}], "model": {}}), "after: expected a report of"),
        ]
        for call, words in wrong:
            with self.assertRaises(LitecastError, msg=words) as caught:
                call()
            self.assertEqual(caught.exception.kind, "wrong-argument", words)
            self.assertTrue(caught.exception.message.startswith(words), caught.exception.message)
        summary = estimator.estimate(KWS, targets=["ethos-u55-128"], detail="summary")
        with self.assertRaisesRegex(LitecastError, "a report with its operators, found one of detail=.summary"):
            estimator.measure_device("d", summary, "x")
        # Beside the fields, a program may keep words of its own.
        self.assertGreater(estimator.calibrated({**kept, "name": "bench"}, report)["latency_ms"], 0)

    def test_an_error_can_be_sent_to_another_process(self):
        error = LitecastError("batch", "words")
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((copy.kind, copy.message, str(copy)), ("batch", "words", "words"))

    def test_predictors_of_ones_own_are_taken_and_checked(self):
        folder = ROOT / "bundle"
        network, manifest = folder / "predictor.onnx", (folder / "manifest.json").read_bytes()
        expected = estimator.estimate(KWS)
        self.assertIsNone(expected["bundle"])
        named = {**expected, "bundle": hashlib.sha256(network.read_bytes() + manifest).hexdigest()[:16]}
        for own in (litecast.load(str(folder)), litecast.load((network, manifest))):
            self.assertEqual(own.estimate(KWS), named)
            self.assertEqual(own.analyze(KWS), expected)
        other = json.dumps({**json.loads(manifest), "feature_schema_id": "0"}).encode()
        self.assertEqual(self.kind(litecast.load, (network, other)), "predictor-feature-schema")
        self.assertEqual(self.kind(litecast.load, (network, b"[]")), "predictor-manifest")
        self.assertEqual(self.kind(litecast.load, (b"x", manifest)), "predictor-network")
        self.assertEqual(self.kind(litecast.load, 3), "wrong-argument")
        for without in (litecast.load(None), litecast.load("shipped")):
            self.assertEqual(without.estimate(KWS), expected)


class Others(Case):
    def test_two_reports_are_compared_metric_by_metric(self):
        before, after = estimator.estimate_many(EXAMPLES[:2])
        compared = estimator.compare(before, after)
        self.assertEqual((compared["before"], compared["after"]), (EXAMPLES[0], EXAMPLES[1]))
        [macs] = [fact for fact in compared["facts"] if fact["fact"] == "macs"]
        self.assertEqual(macs["difference"], after["model"]["macs"] - before["model"]["macs"])
        keys = {(result["target"], result["metric"]) for result in before["results"] + after["results"]}
        self.assertEqual(len(compared["results"]), len(keys))
        itself = estimator.compare(before, before)
        for result in itself["results"]:
            self.assertIn(result["change_percent"], (0, None))
            self.assertIn(result["is_within_intervals"], (True, None))

    def test_floats_are_estimated_as_int8_where_integers_alone_run(self):
        floats = json.loads(json.dumps(GRAPH).replace('"int8"', '"float32"').replace('"int32"', '"float32"'))
        targets = ["ethos-u55-256", "cortex-a76-rpi5"]

        def results(precision):
            report = estimator.estimate(floats, targets=targets, precision=precision)
            return {result["target"]: result for result in report["results"] if result["metric"] == "latency"}

        auto, as_is, int8 = (results(precision) for precision in ("auto", "as-is", "int8"))
        self.assertEqual(auto["ethos-u55-256"]["estimated_as"], "int8")
        self.assertNotIn("estimated_as", auto["cortex-a76-rpi5"])
        self.assertIn("unavailable", as_is["ethos-u55-256"])
        self.assertEqual(int8["ethos-u55-256"]["value"], auto["ethos-u55-256"]["value"])
        self.assertEqual(auto["ethos-u55-256"]["evidence"], "compiler")
        with self.assertRaises(LitecastError) as refused:
            results("int4")
        self.assertEqual(refused.exception.kind, "wrong-argument")

    def test_sparse_weights_are_estimated_dense_as_int8(self):
        def numbers(name):
            file = ROOT / "tests/sparse_weights" / f"{name}.tflite"
            report = estimator.estimate(file, precision="int8", targets=["ethos-u55-128", "cortex-a76-rpi5", "cortex-m7-tflm"])
            return [(one["target"], one["metric"], one.get("value")) for one in report["results"]]

        dense = numbers("dense")
        self.assertTrue(all(value is not None for _, _, value in dense), dense)
        for name in ("rows", "blocks", "halves"):
            self.assertEqual(numbers(name), dense, name)

    def test_a_report_of_the_last_version_is_compared_as_one_of_this_version(self):
        stored = json.loads((ROOT / "tests/stored_reports/version-1.json").read_text())
        self.assertEqual(stored["schema_version"], 1)
        known = [result for result in stored["results"] if "value" in result]
        compared = estimator.compare(stored, stored)["results"]
        changes = [result["change_percent"] for result in compared if result["before"] is not None]
        self.assertEqual(changes, [0] * len(known))
        # The latency of that version was the NPU's part where another metric was that of the whole network.
        whole = next(result["value"] for result in known if result["metric"] == "end_to_end_latency")
        read = [result["before"] for result in compared if result["metric"] == "latency"]
        self.assertIn(whole, read)
        self.assertIn(("cortex-m7-tflm", "file_flash", 1111), [(one["target"], one["metric"], one["before"]) for one in compared])
        # The NPU of a board had the id of the NPU, which is the compiler's now.
        board = next(result["value"] for result in known if result["metric"] == "board_latency")
        latencies = {one["target"]: one["before"] for one in compared if one["metric"] == "latency"}
        self.assertEqual((latencies["imx93/ethos-u65-256"], "ethos-u65-256" in latencies), (board, False))
        # The arena was its part for activations.
        arena = next(one for one in compared if one["target"] == "tflite-micro")
        whole = stored["fits"]["need"]["arena_bytes"]
        self.assertEqual((arena["before"], arena["evidence_before"]), (whole, "counted"))
        with self.assertRaises(LitecastError) as refused:
            estimator.compare(stored, {**stored, "schema_version": 3})
        self.assertEqual(refused.exception.kind, "wrong-report")

    def test_a_comparison_is_the_document_that_the_command_prints(self):
        case = json.loads((ROOT / "tests/cli/comparison.json").read_text())
        self.assertEqual(estimator.compare(case["before"], case["after"]), case["comparison"])

    def test_names_that_people_type_lead_to_targets(self):
        for choice, expected in (
            ("raspberry-pi-5", "did you mean cortex-a76-rpi5"),
            ({"board": "h743"}, "the board nucleo-h743zi"),
        ):
            with self.assertRaisesRegex(LitecastError, expected):
                estimator.estimate(KWS, targets=[choice])

    def test_sizes_of_no_open_dimension_are_refused(self):
        with self.assertRaises(LitecastError) as raised:
            estimator.estimate(KWS, dimensions={"typo": 3})
        self.assertEqual((raised.exception.kind, raised.exception.file), ("unmatched-dimension", KWS))
        [shared] = estimator.estimate_many([KWS], dimensions={"typo": 3})
        self.assertIn("unmatched-dimension", [doubt["code"] for doubt in shared["diagnostics"]])
        [own] = estimator.estimate_many([litecast.ModelFile(KWS, dimensions={"typo": 3})])
        self.assertEqual(own.kind, "unmatched-dimension")

    def test_a_dimension_of_0_is_a_size(self):
        report = estimator.estimate(bytes.fromhex(OPEN_ONNX), dimensions={"seq": 0})
        self.assertEqual(report["model"]["activation_bytes"], 0)
        self.assertEqual(report["tensors"][report["model"]["inputs"][0]]["shape"], [1, 0, 4])

    def test_a_release_is_part_of_a_target(self):
        st = "cortex-m7-stm32h747"
        choices = [f"{st}@7", {"target": st, "release": "7"}, {"board": "stm32h747i-disco", "release": "7"}, st]
        latencies = []
        for choice in choices:
            results = estimator.estimate(KWS, targets=[choice])["results"]
            latencies.append(next(result for result in results if result["metric"] == "latency"))
        older, named, on_board, newest = [latency["value"] for latency in latencies]
        self.assertEqual([older, older], [named, on_board])
        self.assertGreater(older, newest)
        self.assertIn("7.3", latencies[0]["device"])
        self.assertEqual(self.kind(estimator.estimate, KWS, targets=[f"{st}@6"]), "unknown-release")

    def test_a_failure_keeps_its_file(self):
        broken = litecast.ModelFile(b"no model", name="broken.tflite")
        _, missing, damaged = estimator.estimate_many([KWS, "/nowhere.tflite", broken])
        self.assertEqual((missing.file, missing.kind), ("/nowhere.tflite", "file-not-found"))
        self.assertEqual(damaged.file, "broken.tflite")

    def test_a_calibration_survives_json_and_finds_a_factor(self):
        reports = estimator.estimate_many(EXAMPLES)

        def on(report):
            return latency(report, "cortex-a72-rpi4")

        measurements = [{"report": report, "measured_ms": 2.5 * on(report)} for report in reports]
        calibration = json.loads(json.dumps(estimator.calibrate(measurements)))
        self.assertEqual(set(calibration), fields(types.Calibration))
        found = estimator.calibrated(calibration, reports[0])
        self.assertEqual(set(found), fields(types.Calibrated))
        print(f"{found['latency_ms']} ms on a device 2.5 times as slow, expected {2.5 * on(reports[0])}")
        self.assertAlmostEqual(found["latency_ms"] / (2.5 * on(reports[0])), 1, delta=0.02)
        with self.assertRaisesRegex(LitecastError, "at least 3"):
            estimator.calibrate(measurements[:2])
        with self.assertRaisesRegex(LitecastError, r"measurements\[0\].measured_ms"):
            estimator.calibrate([{"report": reports[0], "measured_ms": "2"}])

    def test_a_device_from_a_profile_is_that_of_the_command(self):
        profile = ROOT / "tests/profiles/litert-2.3.0_cnn-kws-s7-i43.txt"
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder, "my-board.json")
            arguments = [COMMAND, "calibrate", "my-board", KWS, str(profile)]
            subprocess.run(arguments, cwd=folder, check=True, capture_output=True)
            (theirs,) = command("--device", str(kept), EXAMPLES[0])
            expected = json.loads(kept.read_text())
        report = estimator.estimate(KWS)
        device = estimator.measure_device("my-board", report, profile.read_bytes(), profile_name=profile.name)
        self.assertEqual({**device, "networks": None}, {**expected, "networks": None})
        ours = estimator.estimate(EXAMPLES[0], targets=[{"measured_device": device}])
        self.assertEqual(ours["results"], theirs["results"])
        with self.assertRaises(LitecastError) as raised:
            estimator.measure_device("my-board", report, b"no profile")
        self.assertEqual(raised.exception.kind, "wrong-profile")

    def test_networks_to_measure_are_those_of_the_command(self):
        probes = estimator.probes()
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([COMMAND, "calibrate", "board", "--probes", folder], check=True, capture_output=True)
            theirs = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        self.assertEqual(probes, theirs)
        self.assertEqual(len(probes), 30)
        for name, contents in probes.items():
            self.assertGreater(estimator.analyze(contents)["model"]["macs"] + 1, 0, name)
        tools = estimator.measuring_tools()
        self.assertEqual(tools["ONNX Runtime"], "float32.onnx")
        commands = {estimator.measuring_command("a file.tflite", tool=tool, target="x") for tool in tools}
        self.assertEqual(len(commands), len(tools))
        self.assertTrue(all("a file.tflite'" in line for line in commands), commands)
        self.assertIn("--num_threads=4", estimator.measuring_command("a.tflite", threads=4))

    def test_what_to_measure_next_is_what_the_command_says(self):
        profile = ROOT / "tests/profiles/onnx-runtime-1.31.1_convolutions.json"
        model = ROOT / "tests/web/convolutions.onnx"
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "board.json"
            subprocess.run([COMMAND, "calibrate", kept, model, profile], check=True, capture_output=True)
            device = json.loads(kept.read_text())
            files = {name: contents for name, contents in estimator.probes().items() if name.endswith(".onnx")}
            for name, contents in files.items():
                (Path(folder) / name).write_bytes(contents)
            paths = [model, EXAMPLES[0], *(Path(folder) / name for name in files)]
            # Names are wrapped in a narrow terminal.
            wide = {**os.environ, "COLUMNS": "400"}
            said = subprocess.run([COMMAND, "calibrate", kept, "--next", *paths], check=True, capture_output=True, text=True, env=wide)
            reports = [estimator.estimate(path, targets=[device["base"]]) for path in paths]
        listed = estimator.next_measurements(device, reports)
        self.assertEqual(set(listed[0]), fields(types.NextMeasurement))
        # What is measured already is not in the list.
        self.assertEqual(sorted(one["network_idx"] for one in listed), list(range(1, len(paths))))
        places = [said.stdout.find(one["file"]) for one in listed]
        self.assertTrue(all(place > 0 for place in places) and places == sorted(places), (listed, said.stdout))
        self.assertIn("enable_profiling", listed[0]["command"])
        factors = [one["factor_of_all_after"] for one in listed]
        self.assertEqual(factors, sorted(factors))
        with self.assertRaises(LitecastError) as raised:
            estimator.next_measurements(device, [estimator.estimate(KWS, targets=["ethos-u55-128"])])
        self.assertEqual(raised.exception.kind, "no-base")

    def test_targets_and_boards_are_listed(self):
        targets = estimator.targets()
        default = [target["id"] for target in targets if target["is_default"]]
        of_a_report = {result["target"] for result in estimator.estimate(KWS)["results"]}
        # What is counted exactly has no entry: there is no error to list.
        self.assertEqual(of_a_report - set(default), {"tflite-micro"})
        for target in targets:
            self.assertEqual(set(target), fields(types.TargetInfo))
            report = estimator.estimate(KWS, targets=[target["id"]], detail="summary")
            self.assertEqual({result["target"] for result in report["results"]}, {target["id"]})
            self.assertEqual({*target["description"], "releases", "release_words", "max_threads"}, fields(types.Description))
            self.assertEqual(set(target["description"]["family"]), fields(types.Family))
        families = {target["description"]["family"]["id"] for target in targets}
        self.assertLessEqual({"ethos-u", "processors", "edge-tpu", "microcontrollers", "gpus"}, families)
        metrics = [metric["id"] for metric in estimator.metrics()]
        self.assertEqual(metrics[:2], ["latency", "npu_latency"])
        self.assertLessEqual({metric["metric"] for target in targets for metric in target["metrics"]}, set(metrics))
        boards = estimator.boards()
        self.assertGreaterEqual(len(boards["microcontrollers"]), 30)
        for board in boards["npus"]:
            estimator.estimate(KWS, targets=[{"board": board["id"]}], detail="summary")

    def test_a_frame_has_a_row_for_each_result(self):
        try:
            import pandas
        except ImportError:
            print(f"skipped (data-frames): {self.id()}: no pandas in {sys.executable}", file=sys.stderr)
            return
        reports = estimator.estimate_many([*EXAMPLES, litecast.ModelFile(b"", name="empty.tflite")])
        frame = litecast.to_frame(reports)
        n_results = sum(len(report["results"]) for report in reports[:-1])
        self.assertEqual(len(frame), n_results + 1)
        [failed] = frame[frame["error"].notna()].to_dict("records")
        expected = ("empty.tflite", reports[-1].kind, reports[-1].message)
        self.assertEqual(tuple(failed[name] for name in ("file", "error", "message")), expected)
        rows = frame[(frame["metric"] == "latency") & (frame["target"] == "ethos-u55-256")]
        values = rows.set_index("file")["value"]
        for report in reports[:-1]:
            self.assertEqual(values[report["file"]], latency(report, "ethos-u55-256"))
        self.assertIsInstance(litecast.to_frame(reports[0]), pandas.DataFrame)

    def test_other_threads_run_while_it_estimates(self):
        # The main thread counts while another estimates: with the lock held it would not before the end.
        contents = Path(EXAMPLES[0]).read_bytes()
        finished = []
        thread = threading.Thread(target=lambda: finished.append(estimator.estimate_many([contents] * 64)))
        thread.start()
        n_turns = 0
        while thread.is_alive():
            n_turns += 1
            thread.join(0.001)
        print(f"{n_turns} turns while 64 files were estimated")
        self.assertEqual(len(finished[0]), 64)
        self.assertGreater(n_turns, 5)


if __name__ == "__main__":
    unittest.main()
