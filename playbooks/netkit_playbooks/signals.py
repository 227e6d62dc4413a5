"""Signals: numbers a playbook asks Prometheus for, each an expression over catalogued series and one way to fold it.

The raw series are asked, not the recording rules where they can be avoided, so that a playbook runs wherever the
exporter is scraped. Rows stand in `netkit_playbooks/signal_rows/<area>.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from netkit.catalogue.metric_rows.exporter import COLLECTOR_SUCCESS
from netkit.catalogue.promql import SCRAPE_LABELS, Series, quoted, select
from netkit.errors import InputError
from netkit.model.text import visible

DEVICE_LABELS = ("device", "netdev", "port", "gpu", "pci_bus_id", "probe")
"""Labels that narrow a signal to what an alert is about, where its series carry them."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Fold(StrEnum):
    """What is made of a series."""

    VALUE = "value"
    RATE = "rate"
    INCREASE = "increase"
    AGE = "age"
    """Seconds since the time that is its value."""


class Pick(StrEnum):
    """Which of many series counts."""

    LARGEST = "topk(1, {})"
    SMALLEST = "bottomk(1, {})"
    SUM = "sum({})"
    COUNT = "count({})"
    MEDIAN = "quantile(0.5, {})"
    FEWEST = "bottomk(1, sum by (node, device, netdev) ({}))"
    """The smallest of the sums by port."""


class Scope(StrEnum):
    """Whose series."""

    NODE = "this node"
    OTHERS = "other nodes"
    FLEET = "all nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A condition on another series with the same labels: only where that one has this value."""

    series: Series
    value: float
    equal: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One number and how it comes about."""

    id: str
    text: str
    """What it says, with its unit."""
    series: Series
    equal: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    like: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    unlike: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    fold: Fold = Fold.VALUE
    window: str = "5m"
    per: Series | None = None
    """What it is divided by, folded alike."""
    given: Given | None = None
    pick: Pick = Pick.LARGEST
    scope: Scope = Scope.NODE
    otherwise: float | None = None
    """The value where the collector works and there is no such series, for series that exist only while something is
    wrong, or that are counted; None where their absence says nothing."""
    narrow: bool = True
    """Whether it is about the alert's own device, and not about its neighbours on the node too."""


def rated(  # noqa: PLR0913 - a signal has that many sides
    id_: str,
    text: str,
    series: Series,
    *,
    window: str = "5m",
    equal: Mapping[str, str] = _NOTHING,
    per: Series | None = None,
    given: Given | None = None,
    pick: Pick = Pick.LARGEST,
    scope: Scope = Scope.NODE,
    narrow: bool = True,
) -> Signal:
    """Return a signal of growth a second."""
    return Signal(
        id=id_,
        text=text,
        series=series,
        equal=equal,
        fold=Fold.RATE,
        window=window,
        per=per,
        given=given,
        pick=pick,
        scope=scope,
        narrow=narrow,
    )


def grown(
    id_: str,
    text: str,
    series: Series,
    window: str,
    *,
    equal: Mapping[str, str] = _NOTHING,
    like: Mapping[str, str] = _NOTHING,
    pick: Pick = Pick.LARGEST,
    scope: Scope = Scope.NODE,
) -> Signal:
    """Return a signal of growth over a window."""
    return Signal(
        id=id_,
        text=text,
        series=series,
        equal=equal,
        like=like,
        fold=Fold.INCREASE,
        window=window,
        pick=pick,
        scope=scope,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is asked about: a node, and perhaps one device of it. All values come from outside."""

    node: str = ""
    """Empty for an alert about the fleet: signals of a node are missing then."""
    cluster: str = ""
    narrowed: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


def expression(signal: Signal, place: Place) -> str:
    """Return the PromQL for a signal at a place; every outside value is quoted as a string."""
    asked = _folded(signal, signal.series, signal.equal, place)
    if signal.per is not None:
        per = _folded(signal, signal.per, _NOTHING, place)
        asked = f"{asked} / on ({_shared(signal.series, signal.per)}) {per}"
    if signal.given is not None:
        selector = _selector(signal, signal.given.series, signal.given.equal, place)
        asked = f"{asked} and on ({_shared(signal.series, signal.given.series)}) {selector} == {signal.given.value:g}"
    return signal.pick.format(asked)


def covered(signal: Signal, place: Place) -> str:
    """Return the PromQL that is 1 where what would export the signal's series works, on the node asked about."""
    here = {"cluster": place.cluster} if place.cluster else {}
    if signal.scope is Scope.NODE:
        here["node"] = place.node
    collector = getattr(signal.series, "collector", "")
    if collector in ("prometheus", "kube-state-metrics", ""):
        # Whoever answers this question evaluates `vector(1)`; what it scrapes is what is asked about.
        return "vector(1)"
    return f"max({select(COLLECTOR_SUCCESS, {'collector': collector, **here})})"


def _folded(signal: Signal, series: Series, equal: Mapping[str, str], place: Place) -> str:
    selector = _selector(signal, series, equal, place)
    if signal.fold in (Fold.RATE, Fold.INCREASE):
        return f"{signal.fold}({selector}[{signal.window}])"
    return f"time() - {selector}" if signal.fold is Fold.AGE else selector


def _selector(signal: Signal, series: Series, equal: Mapping[str, str], place: Place) -> str:
    own = series is signal.series
    selector = select(series, {**equal, **_here(signal, series, place)}, signal.like if own else _NOTHING)
    others = {"node": place.node} if signal.scope is Scope.OTHERS and place.node else {}
    return _without(selector, {**others, **(signal.unlike if own else {})})


def _here(signal: Signal, series: Series, place: Place) -> dict[str, str]:
    found = {"cluster": place.cluster} if place.cluster else {}
    if signal.scope is Scope.NODE:
        found["node"] = place.node
        labels = {*series.labels, *SCRAPE_LABELS} if signal.narrow else set()
        found |= {name: value for name, value in place.narrowed.items() if name in labels}
    elif signal.scope is Scope.FLEET and "probe" in series.labels and "probe" in place.narrowed:
        found["probe"] = place.narrowed["probe"]  # what a probe blames stands on the node its results lie on
    return found


def _without(selector: str, unlike: Mapping[str, str]) -> str:
    matchers = ",".join(f"{label}!={quoted(value)}" for label, value in unlike.items())
    if not matchers:
        return selector
    return f"{selector[:-1]},{matchers}}}" if selector.endswith("}") else f"{selector}{{{matchers}}}"


def _shared(series: Series, other: Series) -> str:
    scraped = ("cluster", "node", "instance")
    return ", ".join((*scraped, *(label for label in series.labels if label in other.labels)))


@cache
def signals() -> Mapping[str, Signal]:
    """Return every signal, by id."""
    from netkit_playbooks import signal_rows

    modules = [import_module(f"{signal_rows.__name__}.{one.name}") for one in iter_modules(signal_rows.__path__)]
    return MappingProxyType({row.id: row for module in modules for row in module.SIGNALS})


def chosen(names: Sequence[str]) -> tuple[Signal, ...]:
    """Return the signals of these names, or all; InputError naming the nearest for one there is none of."""
    for name in names:
        if name not in signals():
            nearest = difflib.get_close_matches(name, signals(), n=1)
            raise InputError(f"signal {visible(name)!r}", "a signal of `netkit playbook signals`", *nearest)
    return tuple(signals()[name] for name in names or signals())
