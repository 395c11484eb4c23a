"""Reports → a table of pandas."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from litecast import arguments, stored
from litecast.errors import LitecastError
from litecast.types import Report

if TYPE_CHECKING:
    import pandas

#: Columns in their order.
_OF_RESULT = (
    *("target", "device", "metric", "value", "unit", "lo", "hi", "interval_percent", "expected_error_percent"),
    *("error_against", "scope", "evidence", "estimated_as", "reason"),
)
_COLUMNS = ("file", *_OF_RESULT, "unavailable", "error", "message")


def to_frame(reports: Report | Iterable[Report | LitecastError]) -> "pandas.DataFrame":
    """A row for each file, target and metric; for a file without a report, one with its ``error`` and ``message``.

    Needs pandas: ``pip install litecast[pandas]``.
    """
    try:
        import pandas
    except ImportError as error:
        raise LitecastError("no-pandas", "to_frame() needs pandas: pip install litecast[pandas]") from error
    listed = [reports] if isinstance(reports, Mapping) else arguments.listed(reports, "reports")
    rows = [row for report in listed for row in _rows(report)]
    return pandas.DataFrame(rows, columns=list(_COLUMNS))


def _rows(report: Any) -> list[dict[str, Any]]:
    if isinstance(report, LitecastError):
        return [{"file": report.file, "error": report.kind, "message": report.message}]
    given = stored.current(report, "reports")
    return [{"file": given["file"], **result, **_of_provenance(result)} for result in given["results"]]


def _of_provenance(result: Any) -> dict[str, Any]:
    """Level and scope of an estimate, and what its error was measured against: a tool, or a word of the report's schema."""
    provenance = result.get("provenance")
    if provenance is None:
        return {}
    against = provenance.get("reference")
    if against is None and provenance["kind"] in ("compiler rules", "learned from compiler estimate"):
        against = f"{provenance['tool']} {provenance['version']}"
    return {
        "interval_percent": provenance.get("interval_percent"),
        "error_against": against,
        "scope": provenance.get("scope"),
    }
