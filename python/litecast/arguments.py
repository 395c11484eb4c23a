"""Arguments as programs give them → what the extension takes, or an error that says what was expected and found."""

import json
import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from litecast import _native
from litecast.errors import LitecastError

_MAX_COUNT = 2**32 - 1
_MAX_BYTES = 2**64 - 1
_MAX_CHANNELS = 2**31 - 1

_GRAPH_FORMAT = "litecast-graph"

_KIB = 1024

#: As the engine's limits.
_MAX_GRAPH_CHARS = 16 << 20
_MAX_DEVICE_CHARS = 4 << 20
#: Longer than the report of any file.
_MAX_REPORT_CHARS = 128 << 20
#: Lists of targets and of measurements: three of four devices as long as the engine takes.
_MAX_LIST_CHARS = 16 << 20
#: Longest list in a call.
_MAX_ITEMS = 2**20
#: Targets of one call, several times as many as there are: each has a report of all operators.
_MAX_TARGETS = 512
#: Characters of what another library says that a message repeats.
_MAX_SHOWN = 100

#: Checks a value, whose place it names in errors.
Reader = Callable[[Any, str], Any]


@dataclass(frozen=True)
class ModelFile:
    """A model of a list, where its name, batch, threads or dimensions are not those of the whole call."""

    model: Any
    name: str | None = None
    batch: int | None = None
    threads: int | None = None
    dimensions: Mapping[str, int] | None = None


class File(NamedTuple):
    """A model as the extension takes it."""

    name: str
    bytes: bytes
    batch: int
    threads: int
    dimensions: list[tuple[str, int]]
    are_dimensions_shared: bool
    application_bytes: tuple[int, int]
    precision: str


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Reads objects of the caller, whose own code may raise anything, or which may change meanwhile."""
    try:
        yield
    except LitecastError:
        raise
    except Exception as error:
        raise wrong_argument(f"{place}: raised {type(error).__name__} while it was read") from error


class Options(NamedTuple):
    """What holds for all models of a call."""

    name: str | None
    batch: int
    threads: int
    dimensions: list[tuple[str, int]]
    application_bytes: tuple[int, int]
    precision: str
    is_summary: bool

    @classmethod
    @reading("options")
    def of(
        cls,
        name: Any,
        batch: Any,
        threads: Any,
        dimensions: Any,
        app_ram_kib: Any,
        app_flash_kib: Any,
        detail: Any,
        precision: Any,
    ) -> "Options":
        if detail not in ("full", "summary"):
            raise wrong_argument(f'detail: expected "full" or "summary", found {_in_words(detail)}')
        if precision not in ("auto", "int8", "as-is"):
            raise wrong_argument(f'precision: expected "auto", "int8" or "as-is", found {_in_words(precision)}')
        return cls(
            None if name is None else text(name, "name"),
            count(batch, "batch"),
            count(threads, "threads"),
            _sizes(dimensions, "dimensions"),
            (_kib(app_ram_kib, "app_ram_kib"), _kib(app_flash_kib, "app_flash_kib")),
            precision,
            detail == "summary",
        )

    def file(self, model: Any, place: str, *, is_of_list: bool = False) -> File:
        """A model that is given as it is, or as a :class:`ModelFile`.

        Of a list, some may not have all dimensions that sizes are given for in common.
        """
        with reading(place):
            return self._file(model, place, is_of_list)

    def _file(self, model: Any, place: str, is_of_list: bool) -> File:
        if not isinstance(model, ModelFile):
            model = ModelFile(model)
        given_name, contents = _contents(model.model, place)
        name = self.name if model.name is None else text(model.name, f"{place}.name")
        of_all = (self.batch, self.threads, self.dimensions)
        batch, threads, dimensions = (
            one if own is None else read(own, f"{place}.{field}")
            for one, own, read, field in zip(
                of_all,
                (model.batch, model.threads, model.dimensions),
                (count, count, _sizes),
                ("batch", "threads", "dimensions"),
            )
        )
        is_shared = is_of_list and model.dimensions is None
        return File(
            given_name if name is None else name,
            contents,
            batch,
            threads,
            dimensions,
            is_shared,
            self.application_bytes,
            self.precision,
        )


def wrong_argument(message: str) -> LitecastError:
    return LitecastError("wrong-argument", message)


def _too_large(place: str, expected: str) -> LitecastError:
    return LitecastError("too-large", f"{place}: expected {expected}, found more")


def text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise wrong_argument(f"{place}: expected a string, found {_in_words(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise wrong_argument(f"{place}: expected text that UTF-8 can hold, found other characters at {error.start}") from None
    return value


def mapping(value: Any, place: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise wrong_argument(f"{place}: expected a dict, found {_in_words(value)}")


def listed(value: Any, place: str, max_items: int = _MAX_ITEMS) -> Iterable[Any]:
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping))
    if is_list:
        return _items(value, place, max_items)
    raise wrong_argument(f"{place}: expected a list, found {_in_words(value)}")


def _items(value: Iterable[Any], place: str, max_items: int) -> Iterator[Any]:
    with reading(place):
        items = iter(value)
    for _ in range(max_items):
        with reading(place):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
    raise _too_large(place, f"at most {max_items} items")


def number(value: Any, place: str) -> float:
    # Numbers of NumPy are ones, too; True is none.
    if not isinstance(value, (bool, str)):
        try:
            return float(value)
        except Exception:
            pass
    raise wrong_argument(f"{place}: expected a number, found {_in_words(value)}")


def _finite(value: Any, place: str) -> float:
    found = number(value, place)
    if math.isfinite(found):
        return found
    raise wrong_argument(f"{place}: expected a finite number, found {found}")


def _natural(value: Any, place: str) -> int:
    return _whole(value, place, 0, _MAX_COUNT)


def _n_channels(value: Any, place: str) -> int:
    return _whole(value, place, 1, _MAX_CHANNELS)


def _switch(value: Any, place: str) -> bool:
    if isinstance(value, bool):
        return value
    raise wrong_argument(f"{place}: expected True or False, found {_in_words(value)}")


def _one_of(*known: str) -> Reader:
    expected = " or ".join(json.dumps(word) for word in known)

    def read(value: Any, place: str) -> str:
        if value in known:
            return str(value)
        raise wrong_argument(f"{place}: expected {expected}, found {_in_words(value)}")

    return read


def _channels(value: Any, place: str) -> dict[str, Any]:
    return _all_of(mapping(value, place), {"from": _n_channels, "to": _n_channels}, place)


def _device(value: Any, place: str) -> str:
    """A measured device, as a dict or as the text of its file."""
    return device(value, place) if isinstance(value, Mapping) else text(value, place)


#: What each field of a choice has to be.
_CHOICE: dict[str, Reader] = {
    "target": text,
    "board": text,
    "runtime": text,
    "release": text,
    "system_config": text,
    "memory_mode": text,
    "arena_cache_bytes": _natural,
    "optimise": _one_of("Performance", "Size"),
    "vela_ini": text,
    "clock_mhz": _finite,
    "off_chip_bytes_per_s": _finite,
    "host": text,
    "measured_on": text,
    "measured_ms": _finite,
    "measured_device": _device,
    "name": text,
    "device": text,
}

_CHANGES: dict[str, Reader] = {
    "resolution": _finite,
    "width": _finite,
    "channels": _channels,
    "int8": _switch,
    "low_memory_order": _switch,
}

_CALIBRATION: dict[str, Reader] = {
    "target": text,
    "center": _finite,
    "intercept": _finite,
    "slope": _finite,
    "n_measurements": _natural,
    "left_out_percent": _finite,
    "left_out_worst_factor": _finite,
}


def _known(given: Mapping[str, Any], readers: Mapping[str, Reader], place: str) -> dict[str, Any]:
    """The fields that are there, checked. A name that nothing reads is a typing error."""
    strange = next((name for name in given if name not in readers), None)
    if strange is not None:
        raise wrong_argument(f"{place}: unknown option {_in_words(strange)}, expected one of {', '.join(readers)}")
    return {name: readers[name](value, f"{place}.{name}") for name, value in given.items() if value is not None}


def _all_of(given: Mapping[str, Any], readers: Mapping[str, Reader], place: str) -> dict[str, Any]:
    """As :func:`_known`, of which none may be missing."""
    checked = {name: read(given.get(name), f"{place}.{name}") for name, read in readers.items()}
    return checked | _known(given, readers, place)


@reading("changes")
def changes(given: Any) -> str:
    """The changes of a network, as JSON."""
    return as_json(_known(mapping(given, "changes"), _CHANGES, "changes"), "changes", _MAX_LIST_CHARS)


@reading("calibration")
def calibration(given: Any) -> str:
    """What :meth:`LiteCast.calibrate` returned, as JSON."""
    kept = mapping(given, "calibration")
    # A program may keep words of its own beside them.
    read = _all_of({name: kept.get(name) for name in _CALIBRATION}, _CALIBRATION, "calibration")
    return as_json(read, "calibration", _MAX_LIST_CHARS)


def device(value: Any, place: str) -> str:
    """A measured device, as JSON."""
    return as_json(mapping(value, place), place, _MAX_DEVICE_CHARS)


def latencies(value: Mapping[str, float], place: str) -> str:
    """Latencies in ms by target id, as JSON."""
    return as_json(value, place, _MAX_LIST_CHARS)


def measurements(given: Iterable[Mapping[str, Any]]) -> str:
    """Checked measurements, as JSON."""
    return as_json(list(_within(given, "measurements")), "measurements", _MAX_LIST_CHARS)


def report(value: Any, place: str) -> Mapping[str, Any]:
    """A report of this package, by the parts that every one has."""
    given = mapping(value, place)
    results = given.get("results")
    if isinstance(results, list) and isinstance(given.get("model"), Mapping):
        if all(isinstance(result, Mapping) and {"target", "metric"} <= result.keys() for result in results):
            return given
    raise wrong_argument(f"{place}: expected a report of estimate() or analyze()")


def full_report(value: Any, place: str) -> str:
    """A report with its operators, as JSON."""
    given = report(value, place)
    if isinstance(given.get("operators"), list) and isinstance(given.get("tensors"), list):
        return any_report(given, place)
    raise wrong_argument(f'{place}: expected a report with its operators, found one of detail="summary"')


def full_reports(value: Any, place: str) -> list[str]:
    """A list of reports with their operators, each as JSON."""
    given = enumerate(listed(value, place))
    return list(_within((full_report(one, f"{place}[{idx}]") for idx, one in given), place))


def any_report(value: Any, place: str) -> str:
    """A report of any version, unchecked, as JSON."""
    return as_json(value, place, _MAX_REPORT_CHARS)


@reading("targets")
def choices(targets: Any) -> str:
    """A list of ids or dicts, as JSON."""
    given = enumerate(listed(targets, "targets", _MAX_TARGETS))
    chosen = list(_within((_choice(target, f"targets[{idx}]") for idx, target in given), "targets"))
    if not chosen:
        raise wrong_argument("targets: expected at least one target, found a list of 0")
    return as_json(chosen, "targets", _MAX_LIST_CHARS)


def _choice(target: Any, place: str) -> dict[str, Any]:
    if isinstance(target, str):
        return {"target": target}
    if isinstance(target, Mapping):
        return _known(target, _CHOICE, place)
    raise wrong_argument(f"{place}: expected the id of a target or a dict, found {_in_words(target)}")


def _within(values: Iterable[Any], place: str) -> Iterator[Any]:
    """The values of a list as long as they are short together, so that no more are made of a short one given again."""
    n_chars = 0
    for value in values:
        n_chars += _json_length(value, {})
        if n_chars > _MAX_LIST_CHARS:
            raise _too_large(place, f"a list of at most {_MAX_LIST_CHARS} characters as JSON")
        yield value


def as_json(value: Any, place: str, most: int) -> str:
    """Raises ``too-large`` for what has more than ``most`` characters, ``wrong-argument`` for what is no JSON."""
    too_long = _too_large(place, f"at most {most} characters as JSON")
    try:
        if _json_length(value, {}) > most:
            raise too_long
        written = json.dumps(value, allow_nan=False)
    except LitecastError:
        raise
    except Exception as error:
        raise wrong_argument(f"{place}: expected what JSON can hold ({str(error)[:_MAX_SHOWN]})") from error
    if len(written) > most:
        raise too_long
    return written


def _json_length(value: Any, lengths: dict[int, int]) -> int:
    """At least how long a value is as JSON.

    A list or dict that stands in many places, such as an alias of YAML, is read once: ``lengths`` has it by identity.
    """
    if isinstance(value, str):
        return len(value) + 2
    if not isinstance(value, (dict, list, tuple)):
        return 1
    known = lengths.get(id(value))
    if known is None:
        # A value inside of itself has no length; `json` says so.
        lengths[id(value)] = 0
        parts = dict.values(value) if isinstance(value, dict) else value
        names = sum(len(name) + 4 for name in value if isinstance(name, str)) if isinstance(value, dict) else 0
        known = 2 + names + sum(_json_length(part, lengths) + 1 for part in parts)
        lengths[id(value)] = known
    return known


@reading("predictor")
def predictor_files(predictor: Any) -> tuple[bytes, str]:
    """A bundle of one's own: a folder, or the two files."""
    if isinstance(predictor, (str, os.PathLike)):
        folder = os.fspath(predictor)
        files = (os.path.join(folder, "predictor.onnx"), os.path.join(folder, "manifest.json"))
    elif isinstance(predictor, Sequence) and len(predictor) == 2:
        files = tuple(predictor)
    else:
        raise wrong_argument(
            f"predictor: expected a folder, or predictor.onnx and manifest.json, found {_in_words(predictor)}"
        )
    network, manifest = (_contents(file, place)[1] for file, place in zip(files, ("predictor[0]", "predictor[1]")))
    try:
        return network, manifest.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LitecastError("predictor-manifest", f"predictor manifest: expected UTF-8 ({error})") from error


def _contents(model: Any, place: str) -> tuple[str, bytes]:
    """The name and the contents of a model, given as a path, as bytes or as a graph without weights."""
    if isinstance(model, bytes):
        return "", model
    if isinstance(model, (bytearray, memoryview)):
        return "", bytes(model)
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        name = os.fsencode(path).decode("utf-8", "replace")
        return name, _read(path, name)
    if isinstance(model, Mapping) and model.get("format") == _GRAPH_FORMAT:
        # The engine tells a graph by its first bytes, in which the format has to stand.
        return "", as_json({"format": _GRAPH_FORMAT, **model}, place, _MAX_GRAPH_CHARS).encode()
    raise wrong_argument(
        f"{place}: expected a path, the bytes of a model or a graph without weights, found {_in_words(model)}"
    )


def _read(path: str | bytes, name: str) -> bytes:
    """No more than the engine takes and a byte, by which it sees that there is more."""
    try:
        with open(path, "rb") as file:
            return file.read(_native.MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise LitecastError("file-not-found", str(error), name) from error
    except (OSError, ValueError) as error:
        raise LitecastError("file-unreadable", str(error), name) from error


def printed(value: Any, place: str) -> bytes:
    """What a tool printed, as text or as bytes."""
    if isinstance(value, str):
        return text(value, place).encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise wrong_argument(f"{place}: expected text or bytes, found {_in_words(value)}")


def count(value: Any, place: str) -> int:
    return _whole(value, place, 1, _MAX_COUNT)


def _kib(value: Any, place: str) -> int:
    return _KIB * _whole(value, place, 0, _MAX_BYTES // _KIB)


def _whole(value: Any, place: str, at_least: int, at_most: int) -> int:
    if not isinstance(value, bool):
        try:
            found = operator.index(value)
        except Exception:
            found = None
        if found is not None and at_least <= found <= at_most:
            return found
    raise wrong_argument(f"{place}: expected a whole number from {at_least} to {at_most}, found {_in_words(value)}")


def _sizes(dimensions: Any, place: str) -> list[tuple[str, int]]:
    if dimensions is None:
        return []
    given = mapping(dimensions, place)
    return [(text(name, place), _whole(size, f"{place}.{name}", 0, _MAX_COUNT)) for name, size in given.items()]


def _in_words(value: Any) -> str:
    """Short, whatever it is."""
    if isinstance(value, int) and value.bit_length() > 128:  # Python refuses to write the longest ones
        return f"a whole number of {value.bit_length()} bits"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)[:40]
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "…")
    return f"an object of type {type(value).__name__}"
