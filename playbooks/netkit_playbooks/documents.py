"""JSON of netkit's own commands, turned into readings: signals from `netkit.signals/1`, rules from `netkit.check/1`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from netkit.model.check import Outcome
from netkit.model.missing import Missing, Reason
from netkit_playbooks.readings import Reading, Readings

SIGNALS_SCHEMA = "netkit.signals/1"
_CHECK_SCHEMA = "netkit.check/1"


def render_signals(readings: Readings) -> dict[str, Any]:
    """Return readings of signals as plain dicts."""
    return {"schema": SIGNALS_SCHEMA, "readings": {name: plain(one) for name, one in readings.items()}}


def lines_of(readings: Readings) -> Iterator[str]:
    """Give readings as lines to read: name, value and where it comes from."""
    width = max(map(len, readings))
    for name, one in readings.items():
        if isinstance(one, Missing):
            yield f"{name:{width}}  not seen: {one.detail or one.reason}"
        else:
            where = " ".join(f"{label}={value}" for label, value in one.where.items())
            yield f"{name:{width}}  {one.value:g}  {where}".rstrip()


def plain(one: Reading | Missing) -> dict[str, Any]:
    """Return one reading as a dict: its value and where, or why there is none."""
    if isinstance(one, Missing):
        return {"missing": one.reason.value, "where": one.where, "detail": one.detail}
    return {"value": one.value, "where": dict(one.where)}


def readings_of(text: str) -> Readings:
    """Return the readings in what a command printed; none where it printed something else."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    reader = _READERS.get(document.get("schema", "")) if isinstance(document, dict) else None
    return reader(document) if reader else {}


def _of_signals(document: Mapping[str, Any]) -> Readings:
    return {name: _read(one) for name, one in document["readings"].items()}


def _read(one: Mapping[str, Any]) -> Reading | Missing:
    if "missing" in one:
        return Missing(reason=Reason(one["missing"]), where=one["where"], detail=one["detail"])
    return Reading(value=float(one["value"]), where=one["where"])


def _of_check(document: Mapping[str, Any]) -> Readings:
    found: dict[str, Reading | Missing] = {}
    results = document["results"]
    for rule in dict.fromkeys(result["rule"] for result in results):
        found[rule] = _judged(rule, [result for result in results if result["rule"] == rule])
    return found


def _judged(rule: str, results: list[Mapping[str, Any]]) -> Reading | Missing:
    """Findings count; where nothing was found and something could not be looked at, nothing is said."""
    by_outcome = {outcome: [one for one in results if one["outcome"] == outcome] for outcome in Outcome}
    if wrong := by_outcome[Outcome.FINDING]:
        where = {"subject": wrong[0]["subject"], "summary": wrong[0]["summary"]}
        return Reading(value=float(len(wrong)), where=where)
    blind = by_outcome[Outcome.INCOMPLETE] or (() if by_outcome[Outcome.OK] else by_outcome[Outcome.NOT_APPLICABLE])
    if blind:
        return Missing(reason=Reason.ABSENT, where=rule, detail=blind[0]["summary"])
    return Reading(value=0.0)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Readings]] = MappingProxyType(
    {SIGNALS_SCHEMA: _of_signals, _CHECK_SCHEMA: _of_check}
)
