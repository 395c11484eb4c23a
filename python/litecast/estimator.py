"""The estimator: models → reports."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from litecast import _native, arguments, stored
from litecast.arguments import File, ModelFile, Options
from litecast.comparison import compare_reports
from litecast.errors import LitecastError
from litecast.types import (
    Accelerators,
    Boards,
    Calibrated,
    Calibration,
    Comparison,
    Device,
    LeftOperator,
    MetricWords,
    Model,
    NextMeasurement,
    Predictor,
    Report,
    Target,
    TargetInfo,
)

__all__ = ["LiteCast", "ModelFile", "load"]

#: Models that are held at a time: so many, or as few as have so many bytes.
_MAX_CHUNK_FILES = 64
_MAX_CHUNK_BYTES = 64 * 1024**2

#: Lists of targets that are kept: a program has a handful.
_MAX_TARGET_LISTS = 64


def load(predictor: Predictor | Literal["shipped"] | None = "shipped") -> "LiteCast":
    """An estimator.

    ``predictor`` is a trained network of your own: the folder that LiteCast's trainer exports, or its two files. Reports
    then name it. No target of this version asks one, so ``"shipped"`` has none, as ``None`` has.
    """
    if predictor is None or (isinstance(predictor, str) and predictor == "shipped"):
        return LiteCast(_native.Engine())
    return LiteCast(_native.Engine(arguments.predictor_files(predictor)))


class LiteCast:
    """Makes reports. Threads may share one: the interpreter's lock is released while it estimates.

    Every method raises :class:`LitecastError`. A model is a path, the bytes of a ``.tflite`` or ``.onnx`` file, or a
    graph without weights as a dict.
    """

    def __init__(self, engine: _native.Engine) -> None:
        self._engine = engine
        self._chosen = lru_cache(_MAX_TARGET_LISTS)(_native.Targets)

    @property
    def version(self) -> str:
        """Of this package."""
        return _native.VERSION

    def estimate(
        self,
        model: Model | ModelFile,
        *,
        name: str | None = None,
        batch: int = 1,
        threads: int = 1,
        dimensions: Mapping[str, int] | None = None,
        targets: Iterable[Target] | None = None,
        app_ram_kib: int = 0,
        app_flash_kib: int = 0,
        detail: Literal["full", "summary"] = "full",
        precision: Literal["auto", "int8", "as-is"] = "auto",
    ) -> Report:
        """Everything there is to say about a model: the document that ``litecast predict --json`` prints.

        ``name`` is reported as ``file``. ``batch`` is the number of inputs at a time, ``threads`` that of processors.
        ``dimensions`` are sizes that the file leaves open; other names are refused. ``targets`` are ids or dicts with a configuration;
        fewer take less time. ``app_ram_kib`` and ``app_flash_kib`` are what the application on a microcontroller
        keeps for itself. ``detail="summary"`` leaves out what describes single operators, for a search.
        ``precision`` is that of a float network: ``"auto"`` is int8 on NPUs that run integers alone and its own
        elsewhere, ``"int8"`` and ``"as-is"`` (its own) hold everywhere.
        """
        options = Options.of(name, batch, threads, dimensions, app_ram_kib, app_flash_kib, detail, precision)
        return self._one(model, targets, options, is_learned=True)

    def analyze(
        self,
        model: Model | ModelFile,
        *,
        name: str | None = None,
        batch: int = 1,
        threads: int = 1,
        dimensions: Mapping[str, int] | None = None,
        targets: Iterable[Target] | None = None,
        app_ram_kib: int = 0,
        app_flash_kib: int = 0,
        detail: Literal["full", "summary"] = "full",
        precision: Literal["auto", "int8", "as-is"] = "auto",
    ) -> Report:
        """As :meth:`estimate`, without the predictor that :func:`load` was given."""
        options = Options.of(name, batch, threads, dimensions, app_ram_kib, app_flash_kib, detail, precision)
        return self._one(model, targets, options, is_learned=False)

    def estimate_many(
        self,
        models: Iterable[Model | ModelFile],
        *,
        batch: int = 1,
        threads: int = 1,
        dimensions: Mapping[str, int] | None = None,
        targets: Iterable[Target] | None = None,
        app_ram_kib: int = 0,
        app_flash_kib: int = 0,
        detail: Literal["full", "summary"] = "full",
        precision: Literal["auto", "int8", "as-is"] = "auto",
    ) -> list[Report | LitecastError]:
        """As :meth:`estimate` of each model, in their order.

        Where a model has no report, what :meth:`estimate` raises stands in its place.
        """
        options = Options.of(None, batch, threads, dimensions, app_ram_kib, app_flash_kib, detail, precision)
        chosen = self._choose(targets)
        reports: list[Report | LitecastError] = []
        for chunk in _chunks(_files(arguments.listed(models, "models"), options)):
            files = [file for file in chunk if isinstance(file, File)]
            entries = iter(self._engine.estimate_many(files, chosen, True, options.is_summary))
            reports += [
                _entry(next(entries), file.name) if isinstance(file, File) else file for file in chunk
            ]
        return reports

    def estimate_changed(
        self,
        model: Model | ModelFile,
        changes: Mapping[str, Any],
        *,
        name: str | None = None,
        batch: int = 1,
        threads: int = 1,
        dimensions: Mapping[str, int] | None = None,
        targets: Iterable[Target] | None = None,
        app_ram_kib: int = 0,
        app_flash_kib: int = 0,
        detail: Literal["full", "summary"] = "full",
        precision: Literal["auto", "int8", "as-is"] = "auto",
    ) -> Report:
        """As :meth:`estimate`, of the network that ``changes`` make of the model.

        ``resolution`` and ``width`` are factors, ``channels`` is ``{"from": 32, "to": 24}``, ``int8`` quantises, and
        ``low_memory_order`` puts the operators in the order with the lowest peak that is found.
        """
        options = Options.of(name, batch, threads, dimensions, app_ram_kib, app_flash_kib, detail, precision)
        file = options.file(model, "model")
        document = arguments.changes(changes)
        chosen = self._choose(targets)
        return _parsed(self._engine.estimate_changed(file, document, chosen, options.is_summary), file.name)

    def left_out(
        self,
        model: Model | ModelFile,
        targets: Iterable[Target],
        changes: Mapping[str, Any] | None = None,
        *,
        batch: int = 1,
        dimensions: Mapping[str, int] | None = None,
    ) -> list[list[LeftOperator]]:
        """For each target the operators that it leaves to a processor, in topological order, with the reason.

        Of the network that ``changes`` (as in :meth:`estimate_changed`) make of the model.
        """
        options = Options.of(None, batch, 1, dimensions, 0, 0, "full", "auto")
        file = options.file(model, "model")
        document = arguments.changes({} if changes is None else changes)
        chosen = self._chosen(arguments.choices(targets))
        return _parsed(_native.left_out(file, document, chosen), file.name)

    def accelerators(self, vela_ini: str | None = None) -> Accelerators:
        """The Ethos-U that ``targets`` may name, and the sections of a ``vela.ini`` (its text), or those Vela knows."""
        ini = None if vela_ini is None else arguments.text(vela_ini, "vela_ini")
        return json.loads(_native.accelerators(ini))

    def compare(self, before: Report, after: Report) -> Comparison:
        """What differs between two reports, for example of two versions of a model."""
        with arguments.reading("reports"):
            return compare_reports(before, after)

    def calibrate(self, measurements: Iterable[Mapping[str, Any]]) -> Calibration:
        """Fits a device of your own to at least three measured networks.

        Each is ``{"measured_ms": 12.3, "report": report}``, or with ``estimates_ms``, latencies by target id, in the
        place of the report. The result is a plain dict: ``json`` keeps it, :meth:`calibrated` takes it back.
        """
        given = enumerate(arguments.listed(measurements, "measurements"))
        fitted = (_measurement(measurement, f"measurements[{idx}]") for idx, measurement in given)
        return json.loads(_native.fit_calibration(arguments.measurements(fitted)))

    def measure_device(
        self,
        name: str,
        report: Report,
        profile: bytes | str,
        *,
        profile_name: str = "profile",
        threads: int = 1,
        clock_mhz: float | None = None,
        like: str | None = None,
        device: Device | None = None,
    ) -> Device:
        """Makes a device of your own from a model's report and what a benchmark tool printed of the model on it.

        ``profile`` is the output of the tool: ONNX Runtime's profile, LiteRT's ``benchmark_model``, TensorFlow Lite
        Micro's profiler, Vela, ExecuTorch, ncnn, MNN or ST Edge AI, or a table with a head. ``device`` is what was
        measured before. ``like`` is the target that the device resembles, or a family of targets, such as ``"phones-and-boards"`` for
        an NPU; the report has to be on those. ``targets=[{"measured_device": device}]`` estimates on the result, a plain dict.
        """
        printed = arguments.printed(profile, "profile")
        n_threads = arguments.count(threads, "threads")
        known = None if device is None else arguments.device(device, "device")
        of_model = arguments.full_report(report, "report")
        base = None if like is None else arguments.text(like, "like")
        names = arguments.text(name, "name"), arguments.text(profile_name, "profile_name")
        clock = None if clock_mhz is None else arguments.number(clock_mhz, "clock_mhz")
        return json.loads(_native.add_measurement(names[0], n_threads, of_model, printed, names[1], clock, base, known))

    def next_measurements(self, device: Device, reports: Iterable[Report]) -> list[NextMeasurement]:
        """What to measure next on a device, first the network that narrows the intervals of all most.

        ``reports`` are of networks that could be measured, with operators and an estimate on the device's ``base``: of
        models of your own, whose intervals count, and of :meth:`probes`. Those that are measured are not in the list.
        """
        texts = arguments.full_reports(reports, "reports")
        return json.loads(_native.next_measurements(arguments.device(device, "device"), texts))

    def measuring_command(self, file: str, *, tool: str = "", threads: int = 1, target: str = "") -> str:
        """The line for a shell that measures a file so that :meth:`measure_device` reads what it prints.

        ``tool`` is as a device names it, such as ``"ONNX Runtime"``; without one, ``benchmark_model`` of TensorFlow Lite and
        LiteRT. ``target`` is the accelerator that Vela compiles for.
        """
        words = arguments.text(tool, "tool"), arguments.text(file, "file"), arguments.text(target, "target")
        return _native.measuring_command(words[0], words[1], arguments.count(threads, "threads"), words[2])

    def measuring_tools(self) -> dict[str, str]:
        """The tools that :meth:`measuring_command` knows, each with the end of the names of the probes that it takes."""
        return dict(_native.measuring_tools())

    def probes(self) -> dict[str, bytes]:
        """Small networks to measure on a device, by the names of their files: TFLite in float32 and in int8, and ONNX.

        Each spends most of its time in one class of kernels, so that few measurements tell all of them.
        """
        return {name: contents for name, _, contents in _native.probes()}

    def calibrated(self, calibration: Calibration, network: Report | Mapping[str, float]) -> Calibrated:
        """The latency on a calibrated device, of a report or of estimated latencies in ms by target id."""
        kept = arguments.calibration(calibration)
        estimates = arguments.latencies(_latencies(network, "network"), "network")
        return json.loads(_native.apply_calibration(kept, estimates))

    def targets(self) -> list[TargetInfo]:
        """What can be estimated on: first the targets of every report, then those that ``targets`` may name."""
        registered, known = (json.loads(listed) for listed in self._engine.targets())
        ids = {info["id"] for info in registered}
        of_all = [{**info, "is_default": True} for info in registered]
        return of_all + [{**info, "is_default": False} for info in known if info["id"] not in ids]

    def metrics(self) -> list[MetricWords]:
        """Every metric in the order in which reports are read: first what a person decides on."""
        return [
            {"id": id, "unit": unit, "label": label, "meaning": meaning}
            for id, unit, label, meaning in _native.metrics()
        ]

    def boards(self) -> Boards:
        """Boards with their memories, clocks and sources."""
        return json.loads(_native.boards())

    def _one(self, model: Any, targets: Any, options: Options, *, is_learned: bool) -> Report:
        file = options.file(model, "model")
        chosen = self._choose(targets)
        [entry] = self._engine.estimate_many([file], chosen, is_learned, options.is_summary)
        return _parsed(entry, file.name)

    def _choose(self, targets: Any) -> _native.Targets | None:
        return None if targets is None else self._chosen(arguments.choices(targets))


def _files(models: Iterable[Any], options: Options) -> Iterator[File | LitecastError]:
    """A file that cannot be read keeps no other from its report; an argument that is wrong does."""
    for idx, model in enumerate(models):
        try:
            yield options.file(model, f"models[{idx}]", is_of_list=True)
        except LitecastError as error:
            if error.kind == "wrong-argument":
                raise
            yield error


def _chunks(files: Iterable[File | LitecastError]) -> Iterator[list[File | LitecastError]]:
    chunk: list[File | LitecastError] = []
    n_bytes = 0
    for file in files:
        file_bytes = len(file.bytes) if isinstance(file, File) else 0
        if chunk and (len(chunk) == _MAX_CHUNK_FILES or n_bytes + file_bytes > _MAX_CHUNK_BYTES):
            yield chunk
            chunk, n_bytes = [], 0
        chunk.append(file)
        n_bytes += file_bytes
    if chunk:
        yield chunk


def _entry(entry: str | tuple[str, str], file: str) -> Any:
    return json.loads(entry) if isinstance(entry, str) else LitecastError(*entry, file)


def _parsed(entry: str | tuple[str, str], file: str) -> Any:
    found = _entry(entry, file)
    if isinstance(found, LitecastError):
        raise found
    return found


def _measurement(measurement: Any, place: str) -> dict[str, Any]:
    with arguments.reading(place):
        given = arguments.mapping(measurement, place)
        network = given.get("estimates_ms", given.get("report"))
        measured = given.get("measured_ms")
    measured_ms = arguments.number(measured, f"{place}.measured_ms")
    return {"estimates_ms": _latencies(network, place), "measured_ms": measured_ms}


def _latencies(network: Any, place: str) -> dict[str, float]:
    """Estimated latencies by target id, of a report or as they are."""
    with arguments.reading(place):
        return _read_latencies(network, place)


def _read_latencies(network: Any, place: str) -> dict[str, float]:
    given = arguments.mapping(network, place)
    if isinstance(given.get("results"), list):
        results = stored.current(arguments.report(given, place), place)["results"]
        latencies = (result for result in results if result["metric"] == "latency" and "value" in result)
        return {result["target"]: result["value"] for result in latencies}
    return {arguments.text(target, place): arguments.number(ms, f"{place}.{target}") for target, ms in given.items()}
