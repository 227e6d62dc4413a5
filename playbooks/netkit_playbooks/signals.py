"""Signals: numbers a playbook asks Prometheus for, each an expression over catalogued series and one way to fold it.

The raw series are asked, not the recording rules, so that a playbook runs wherever the exporter is scraped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from netkit.catalogue.metric_rows.exporter import COLLECTOR_SUCCESS
from netkit.catalogue.neighbours import UP
from netkit.catalogue.promql import SCRAPE_LABELS, Series, quoted, select

DEVICE_LABELS = ("device", "netdev", "port", "gpu", "pci_bus_id", "probe", "collector")
"""Labels that narrow a signal to what an alert is about, where its series carry them."""


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


class Scope(StrEnum):
    """Whose series."""

    NODE = "this node"
    OTHERS = "other nodes"
    FLEET = "all nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One number and how it comes about."""

    id: str
    text: str
    """What it says, with its unit."""
    series: Series
    equal: Mapping[str, str] = field(default_factory=dict)
    like: Mapping[str, str] = field(default_factory=dict)
    fold: Fold = Fold.VALUE
    window: str = "5m"
    per: Series | None = None
    """What it is divided by, folded alike."""
    per_equal: Mapping[str, str] = field(default_factory=dict)
    pick: Pick = Pick.LARGEST
    scope: Scope = Scope.NODE
    otherwise: float | None = None
    """The value where the node is scraped and has no such series, for series that are there only while something is
    wrong, or that are counted; None where their absence says nothing."""
    narrow: bool = True
    """Whether it is about the alert's own device, and not about its neighbours on the node too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is asked about: a node, and perhaps one device of it. All values come from outside."""

    node: str
    cluster: str = ""
    narrowed: Mapping[str, str] = field(default_factory=dict)


def expression(signal: Signal, place: Place) -> str:
    """Return the PromQL for a signal at a place; every outside value is quoted as a string."""
    numerator = _folded(signal, signal.series, signal.equal, place)
    if signal.per is not None:
        own = {"node", "instance", *signal.series.labels}
        shared = ", ".join(sorted(own & {"node", "instance", *signal.per.labels}))
        numerator = f"{numerator} / on ({shared}) {_folded(signal, signal.per, signal.per_equal, place)}"
    return signal.pick.format(numerator)


def covered(signal: Signal, place: Place) -> str:
    """Return the PromQL that is 1 where what would export the signal's series works, on the node asked about."""
    here = {"node": place.node} | ({"cluster": place.cluster} if place.cluster else {})
    collector = getattr(signal.series, "collector", "")
    if collector in ("prometheus", "kube-state-metrics", ""):
        return f"max({select(UP, {'job': 'netkit', **here})})"
    return f"max({select(COLLECTOR_SUCCESS, {'collector': collector, **here})})"


def _folded(signal: Signal, series: Series, equal: Mapping[str, str], place: Place) -> str:
    like = dict(signal.like) if series is signal.series else {}
    selector = select(series, {**equal, **_here(signal, series, place)}, like)
    if signal.scope is Scope.OTHERS:
        selector = _without(selector, place.node)
    if signal.fold in (Fold.RATE, Fold.INCREASE):
        return f"{signal.fold}({selector}[{signal.window}])"
    return f"time() - {selector}" if signal.fold is Fold.AGE else selector


def _here(signal: Signal, series: Series, place: Place) -> dict[str, str]:
    found = {"cluster": place.cluster} if place.cluster else {}
    if signal.scope is Scope.NODE:
        found["node"] = place.node
        labels = {*series.labels, *SCRAPE_LABELS} if signal.narrow else set()
        found |= {name: value for name, value in place.narrowed.items() if name in labels}
    return found


def _without(selector: str, node: str) -> str:
    other = f"node!={quoted(node)}"
    return f"{selector[:-1]},{other}}}" if selector.endswith("}") else f"{selector}{{{other}}}"
