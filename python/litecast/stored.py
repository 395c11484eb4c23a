"""Reports that an older version of this package made → as this version makes them."""

import json
from typing import Any

from litecast import _native, arguments

#: As `REPORT_VERSION` of the crate.
_VERSION = 2


def current(report: Any, place: str) -> Any:
    """The report itself where it is of this version, or says no version."""
    version = arguments.mapping(report, place).get("schema_version", _VERSION)
    if version == _VERSION:
        return report
    return json.loads(_native.migrate(arguments.any_report(report, place)))
