"""PromQL text out of rows, so that a name or label an expression uses is one that is exported.

https://prometheus.io/docs/prometheus/latest/querying/basics/; strings are quoted as Go's are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

SCRAPE_LABELS = ("cluster", "job", "instance", "node_pool", "node", "rail")
"""What the scrape adds by relabelling to every series; `rail` only where there is a device."""
_NOTHING: Mapping[str, str] = MappingProxyType({})
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\x00"})


class Series(Protocol):
    """A row of metrics, or a recording rule."""

    @property
    def name(self) -> str:
        """The name of the series."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Its own labels, those of the scrape left out."""
        ...


def quoted(value: str) -> str:
    """Return a value as a PromQL string, quotes included."""
    return f'"{value.translate(_ESCAPES)}"'


def literal(value: str) -> str:
    """Return a value as a regular expression (RE2) that matches it alone."""
    return re.sub(r"[^\w\s/:-]", lambda found: "\\" + found[0], value)


def any_of(values: Iterable[str]) -> str:
    """Return a regular expression (RE2) that matches each of the values and nothing else."""
    return "|".join(map(literal, values))


def select(series: Series, equal: Mapping[str, str] = _NOTHING, like: Mapping[str, str] = _NOTHING) -> str:
    """Return a selector; ValueError for a label the series does not have."""
    known = {*series.labels, *SCRAPE_LABELS}
    if unknown := {*equal, *like} - known:
        raise ValueError(f"{series.name} has no label {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    matchers = [f"{label}={quoted(value)}" for label, value in equal.items()]
    matchers += [f"{label}=~{quoted(value)}" for label, value in like.items()]
    return f"{series.name}{{{','.join(matchers)}}}" if matchers else series.name


def rate(series: Series, window: str, **equal: str) -> str:
    """Return the growth a second over a window such as `5m`."""
    return f"rate({select(series, equal)}[{window}])"


def increase(series: Series, window: str, **equal: str) -> str:
    """Return the growth over a window; not a whole number, for Prometheus extrapolates to the window's ends."""
    return f"increase({select(series, equal)}[{window}])"
