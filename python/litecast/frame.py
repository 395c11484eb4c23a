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
    *("target", "device", "metric", "value", "unit", "lo", "hi", "expected_error_percent", "evidence", "estimated_as"),
    "reason",
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
    return [{"file": given["file"], **result} for result in given["results"]]
