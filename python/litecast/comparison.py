"""Two reports → what differs, metric by metric."""

from typing import Any

from litecast import arguments, stored
from litecast.types import Comparison, Report

_FACTS = {
    "file_bytes": "bytes",
    "macs": "operations",
    "parameters": "elements",
    "weight_bytes": "bytes",
    "arena_bytes": "bytes",
    "activation_bytes": "bytes",
    "n_operators": "operators",
}


def compare_reports(before: Report, after: Report) -> Comparison:
    """Of reports of this version or an older one."""
    for report, place in ((before, "before"), (after, "after")):
        arguments.report(report, place)
    before, after = stored.current(before, "before"), stored.current(after, "after")
    facts = [
        {"fact": fact, "unit": unit, **_change(before["model"][fact], after["model"][fact])}
        for fact, unit in _FACTS.items()
    ]
    old, now = ({(one["target"], one["metric"]): one for one in report["results"]} for report in (before, after))
    results = [_result_change(old.get(key), now.get(key)) for key in {**old, **now}]
    return {"before": before["file"], "after": after["file"], "facts": facts, "results": results}


def _result_change(before: Any, after: Any) -> Any:
    either = before or after
    estimates = [result for result in (before, after) if result is not None and "value" in result]
    return {
        "target": either["target"],
        "metric": either["metric"],
        "device": either["device"],
        "unit": estimates[0]["unit"] if estimates else None,
        **_change(*(None if result is None else result.get("value") for result in (before, after))),
        "is_within_intervals": _overlap(estimates),
        **{
            f"{field}_{side}": result[field]
            for field in ("unavailable", "evidence", "estimated_as")
            for side, result in (("before", before), ("after", after))
            if result is not None and field in result
        },
        **_other_settings(before, after),
    }


def _other_settings(before: Any, after: Any) -> dict[str, Any]:
    """Those of each side with an estimate, where they differ."""
    if any(result is None or "value" not in result for result in (before, after)):
        return {}
    if before.get("settings", {}) == after.get("settings", {}):
        return {}
    sides = (("before", before), ("after", after))
    return {f"settings_{side}": result["settings"] for side, result in sides if "settings" in result}


def _change(before: float | None, after: float | None) -> dict[str, float | None]:
    is_known = before is not None and after is not None
    if not is_known:
        percent = None
    elif before != 0:
        percent = 100 * (after - before) / before
    else:
        percent = 0.0 if after == 0 else None
    return {
        "before": before,
        "after": after,
        "difference": after - before if is_known else None,
        "change_percent": percent,
    }


def _overlap(estimates: list[Any]) -> bool | None:
    """Whether two intervals share a point, so that the order of the two values is not sure; None where one has none."""
    if len(estimates) < 2 or any(estimate.get("lo") is None or estimate.get("hi") is None for estimate in estimates):
        return None
    first, second = estimates
    return first["lo"] <= second["hi"] and second["lo"] <= first["hi"]
