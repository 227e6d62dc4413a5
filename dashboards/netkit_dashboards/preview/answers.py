"""The targets of a panel, asked: variables replaced as Grafana does, answers with their legends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netkit.sources.prometheus import Answer, Prometheus
from netkit_dashboards.durations import shown

_POINTS = 200
"""Points of a line; more than a panel has pixels shows nothing more."""
_SCRAPE_SECONDS = 15
_STEPS = (15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
_DURATION = re.compile(r"(\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time a page shows, seconds since 1970."""

    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series with the name its legend gives it."""

    name: str
    letter: str
    answer: Answer


def seconds(duration: str) -> int:
    """Return a duration such as `6h` or `now-6h` in seconds."""
    return sum(int(count) * _SECONDS[unit] for count, unit in _DURATION.findall(duration))


def step_of(panel: Mapping[str, Any], span: Span) -> int:
    """Return the seconds between points: a round number, not below the panel's own least."""
    least = max(seconds(panel.get("interval", "")), (span.end - span.start) / _POINTS)
    return next((step for step in _STEPS if step >= least), _STEPS[-1])


def asked(expression: str, variables: Mapping[str, str], step: float, span: Span) -> str:
    """Return the expression with every variable replaced; strings of variables hold regular expressions already."""
    window = max(step + _SCRAPE_SECONDS, 4 * _SCRAPE_SECONDS)
    builtin = {
        "__rate_interval": shown(window),
        "__interval": shown(step),
        "__range": shown(span.end - span.start),
    }
    values = {**builtin, **variables}
    return re.sub(r"\$\{?(\w+)\}?", lambda found: values.get(found[1], found[0]), expression)


def lines(source: Prometheus, panel: Mapping[str, Any], variables: Mapping[str, str], span: Span) -> list[Line]:
    """Ask every target of a panel; SourceError when one is not answered."""
    step = step_of(panel, span)
    found: list[Line] = []
    for target in panel.get("targets", []):
        expression = asked(target["expr"], variables, step, span)
        if target["instant"]:
            answers: Sequence[Answer] = source.instant(expression, span.end)
        else:
            # Points end with the span: a step of an hour shows the last hour, not the one before the first.
            points = (span.end - span.start) // step
            answers = source.over(expression, span.end - points * step, span.end, step)
        found += [Line(name=legend(target, one), letter=target["refId"], answer=one) for one in answers]
    return found


def legend(target: Mapping[str, Any], answer: Answer) -> str:
    """Return the name of a series: its legend with labels filled in, or all its labels."""
    form = target["legendFormat"]
    if form and form != "__auto":
        return re.sub(r"\{\{ *(\w+) *\}\}", lambda found: answer.labels.get(found[1], ""), form).strip()
    listed = [f'{name}="{value}"' for name, value in answer.labels.items() if name != "__name__"]
    return f"{{{', '.join(listed)}}}" if listed else answer.labels.get("__name__", "value")
