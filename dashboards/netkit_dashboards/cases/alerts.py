"""Unit cases of alerts, generated from the rows: what fires, what is just below, what happens around it.

Each case is a promtool test group (https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/).
A quiet phase, a firing phase, a quiet phase again; how long each is follows from the windows in the expression, from
`for` and from `keep_firing_for`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from netkit.catalogue.alerts import HOUR, MINUTE, Alert, Supply
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.promql import SCRAPE_LABELS
from netkit.catalogue.rules import RECORDINGS
from netkit_dashboards.lint.expression import selectors

GUARD = "NetkitSourceMetricAbsent"
GUARD_HOLD = 15 * MINUTE
MOST_REACH = 7 * HOUR
"""Of longer windows (three days) the history that is there is averaged: what holds for seven hours holds."""
_EXAMPLES = {
    "cluster": "c1",
    "job": "netkit",
    "instance": "n1:9879",
    "node_pool": "h100",
    "node": "n1",
    "rail": "0",
    "device": "mlx5_0",
    "port": "1",
    "netdev": "eth0",
    "priority": "3",
    "gpu": "0",
    "pci_bus_id": "0000:1a:00.0",
}
_STRANGERS = {"pod": "exporter-x7", "namespace": "monitoring", "container": "exporter", "endpoint": "metrics"}
_RECORDED = {rule.name: rule for rule in RECORDINGS}


class Case(StrEnum):
    """What is asked of every alert."""

    FIRES = "fires"
    BELOW = "silent just below"
    RESOLVES = "resolves"
    ABSENT = "source absent"
    RESET = "counter reset"
    LABELS = "exact labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of the phases, all multiples of `step`."""

    step: int
    quiet: int
    firing: int
    after: int

    @property
    def end_of_firing(self) -> int:
        """When the condition was last true."""
        return self.quiet + self.firing - self.step

    @property
    def end(self) -> int:
        """The last moment of the case."""
        return self.quiet + self.firing + self.after - self.step


@cache
def window(expression: str) -> float:
    """Return the longest look back of an expression, through what was recorded."""
    found = (
        (one.range_seconds or 0.0) + (window(_RECORDED[one.name].expression) if one.name in _RECORDED else 0.0)
        for one in selectors(expression)
    )
    return max(found, default=0.0)


def timing(alert: Alert, profile: Profile) -> Timing:
    """Return phases long enough for the windows of the alert."""
    reach = min(window(alert.expression(profile)), MOST_REACH)
    step = 30 if reach <= HOUR else 120

    def whole(seconds: float) -> int:
        return math.ceil(seconds / step) * step

    slack = 6 * step
    return Timing(
        step=step,
        quiet=whole(min(reach, HOUR) + slack),
        firing=whole(reach + alert.hold + slack),
        after=whole(reach + alert.keep + slack),
    )


def labels_of(supply: Supply, node: int = 1) -> dict[str, str]:
    """Return the labels of a series: those the scrape adds, then its own, then those the case asks for."""
    own = set(supply.series.labels)
    scraped = [name for name in SCRAPE_LABELS if name != "rail" or own & {"device", "rail"}]
    listed = {name: _EXAMPLES.get(name, f"some-{name}") for name in (*scraped, *supply.series.labels)}
    return {**listed, "node": f"n{node}", "instance": f"n{node}:9879", **supply.labels}


def expected_labels(alert: Alert, profile: Profile) -> dict[str, str]:
    """Return the labels the alert must have, no more and no less."""
    carried = labels_of(alert.trial[0]) if alert.trial else {}
    fixed = {name: text for name, text in alert.labels(profile).items() if name != "rail"}
    return {**{name: carried[name] for name in alert.identity if name in carried}, **fixed}


def _number(value: float) -> str:
    return f"{value:.12f}".rstrip("0").rstrip(".")


class _Tape:
    """Values of one series in promtool's notation, phase by phase."""

    def __init__(self, grows: bool, step: int) -> None:
        self._grows = grows
        self._step = step
        self._total = 1000.0
        self._there = False
        self._parts: list[str] = []

    def phase(self, value: float, seconds: int) -> None:
        """Add a phase of this value, of a counter of this growth a second."""
        count = seconds // self._step
        if math.isnan(value):
            self._parts += (["stale"] if self._there else []) + ["_"] * (count - self._there)
        elif self._grows:
            each = value * self._step
            self._parts.append(f"{_number(self._total + each)}+{_number(each)}x{count - 1}")
            self._total += each * count
        else:
            self._parts.append(f"{_number(value)}+0x{count - 1}".replace("+0x", "x"))
        self._there = not math.isnan(value)

    def reset(self) -> None:
        """Begin at nothing again."""
        self._total = 0.0

    def __str__(self) -> str:
        return " ".join(self._parts)


def _series(supply: Supply, labels: Mapping[str, str], tape: _Tape) -> dict[str, str]:
    inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return {"series": f"{supply.series.name}{{{inside}}}", "values": str(tape)}


def _played(supply: Supply, when: Timing, values: tuple[float, float, float], *, reset: bool = False) -> _Tape:
    tape = _Tape(supply.grows, when.step)
    for value, seconds in zip(values, (when.quiet, when.firing, when.after), strict=True):
        tape.phase(value, seconds)
        if reset:
            tape.reset()
    return tape


def _inputs(
    alert: Alert,
    when: Timing,
    phases: Callable[[Supply], tuple[float, float, float]],
    *,
    reset: bool = False,
    strangers: Mapping[str, str] | None = None,
) -> Iterator[dict[str, str]]:
    for supply in alert.trial:
        tape = _played(supply, when, phases(supply), reset=reset)
        yield _series(supply, labels_of(supply) | dict(strangers or {}), tape)
        for peer in range(2, 2 + supply.peers):
            steady = _played(supply, when, (supply.quiet,) * 3, reset=reset)
            yield _series(supply, labels_of(supply, peer), steady)


def _asked(name: str, at: int, firing: Mapping[str, str] | None) -> dict[str, Any]:
    alerts = [] if firing is None else [{"exp_labels": dict(firing)}]
    return {"eval_time": f"{at}s", "alertname": name, "exp_alerts": alerts}


def group(alert: Alert, case: Case, profile: Profile) -> dict[str, Any]:
    """Return the promtool test group of a case, on a fabric."""
    when = timing(alert, profile)
    inputs, asked = _CASES[case](alert, when, expected_labels(alert, profile), _scale(alert, profile))
    return {"interval": f"{when.step}s", "input_series": list(inputs), "alert_rule_test": asked}


def _scale(alert: Alert, profile: Profile) -> float:
    """How much higher a fabric's threshold is than the one the row's values stand around."""
    limit = alert.limit_of(profile)
    return limit / alert.limit if limit and alert.limit else 1.0


Built = tuple[Iterator[dict[str, str]], list[dict[str, Any]]]


def _wave(scale: float) -> Callable[[Supply], tuple[float, float, float]]:
    return lambda supply: (supply.quiet * scale, supply.firing * scale, supply.quiet * scale)


def _fires(alert: Alert, when: Timing, labels: dict[str, str], scale: float) -> Built:
    asked = [_asked(alert.name, when.end_of_firing, labels)]
    if alert.hold > 4 * when.step:
        asked.append(_asked(alert.name, when.quiet + alert.hold - 2 * when.step, None))
    return _inputs(alert, when, _wave(scale)), asked


def _below(alert: Alert, when: Timing, labels: dict[str, str], scale: float) -> Built:
    times = (when.quiet, when.end_of_firing, when.end)
    asked = [_asked(alert.name, at, labels if alert.always else None) for at in times]
    return _inputs(alert, when, lambda supply: (supply.quiet * scale,) * 3), asked


def _resolves(alert: Alert, when: Timing, labels: dict[str, str], scale: float) -> Built:
    asked = [
        _asked(alert.name, when.end_of_firing, labels),
        _asked(alert.name, when.end, labels if alert.always else None),
    ]
    if alert.keep:
        asked.append(_asked(alert.name, when.end_of_firing + alert.keep // 2, labels))
    return _inputs(alert, when, _wave(scale)), asked


def _absent(alert: Alert, when: Timing, labels: dict[str, str], _scale: float) -> Built:
    speaks = labels if alert.absent or alert.always else None
    late = when.end + GUARD_HOLD
    guard = {"severity": "critical", "component": "netkit", "fabric_profile": labels["fabric_profile"]}
    return iter(()), [_asked(alert.name, late, speaks), _asked(GUARD, late, guard)]


def _reset(alert: Alert, when: Timing, labels: dict[str, str], scale: float) -> Built:
    times = (when.quiet + when.step, when.quiet + 5 * MINUTE // when.step * when.step, when.end_of_firing, when.end)
    asked = [_asked(alert.name, at, labels if alert.always else None) for at in times]
    return _inputs(alert, when, lambda supply: (supply.quiet * scale,) * 3, reset=True), asked


def _labels(alert: Alert, when: Timing, labels: dict[str, str], scale: float) -> Built:
    inputs = _inputs(alert, when, _wave(scale), strangers=_STRANGERS)
    return inputs, [_asked(alert.name, when.end_of_firing, labels)]


_CASES: Mapping[Case, Callable[[Alert, Timing, dict[str, str], float], Built]] = {
    Case.FIRES: _fires,
    Case.BELOW: _below,
    Case.RESOLVES: _resolves,
    Case.ABSENT: _absent,
    Case.RESET: _reset,
    Case.LABELS: _labels,
}
