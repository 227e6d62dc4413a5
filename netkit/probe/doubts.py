"""What makes a measurement say nothing about hardware: traffic of others on its rails, a machine that rebooted. Pure.

What others send at the same time makes a link look slow; it never makes one look fast. So a verdict of *slow* under
such traffic is none, and *healthy* stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from netkit.model.missing import Missing
from netkit.model.probe import Answer, ProbeReport, Verdict
from netkit.model.text import visible
from netkit.model.units import show_rate

# Of what a rail carries in this probe; a network that is idle but for heartbeats stays far below.
_BUSY_SHARE = 0.05
_MOST_NAMED = 5

Seen = Mapping[str, Any] | Missing
"""What `netkit.probe.pod_check` saw in one pod, or why it saw nothing."""


def others_traffic(
    names: Sequence[str], rails: Sequence[Sequence[str]], looks: Sequence[Sequence[Seen]], typical: float | None
) -> tuple[str, ...]:
    """Return the interfaces of rails that carried others' traffic while the probe sent nothing.

    `looks` are what was seen in all members before and after it, `typical` a healthy reading in bytes per second;
    without one there is nothing to hold traffic against.
    """
    if not typical:
        return ()
    found = [
        f"{name} {interface} carried {show_rate(rate)}"
        for look in looks
        for name, interfaces, seen in zip(names, rails, look, strict=True)
        for interface, rate in _rates(seen)
        if interface in interfaces and rate > _BUSY_SHARE * typical
    ]
    return tuple(dict.fromkeys(found))


def overrides(names: Sequence[str], seen: Sequence[Seen]) -> tuple[str, ...]:
    """Return the settings of communication libraries that pods bring along, and in which of them they differ."""
    by_setting: dict[str, dict[str, list[str]]] = {}
    for name, one in zip(names, seen, strict=False):
        settings = None if isinstance(one, Missing) else one.get("settings")
        for setting, value in (settings if isinstance(settings, dict) else {}).items():
            values = by_setting.setdefault(visible(str(setting), 64), {})
            values.setdefault(visible(str(value), 80), []).append(name)
    return tuple(_told(setting, values, len(names)) for setting, values in sorted(by_setting.items()))


def _told(setting: str, values: Mapping[str, Sequence[str]], count: int) -> str:
    if [len(named) for named in values.values()] == [count]:
        return f"every pod sets {setting}={next(iter(values))}"
    told = [f"{setting}={value} in {_some(named)}" for value, named in values.items()]
    unset = count - sum(map(len, values.values()))
    return f"pods differ: {'; '.join(told)}" + (f"; not set in {unset}" if unset else "")


def contended(verdict: Verdict, busy: Sequence[str]) -> Verdict:
    """Return a verdict that others' traffic on the rails does not distort."""
    if not busy or verdict.answer is not Answer.SLOW:
        return verdict
    return _none(verdict, f"the rails are not this probe's alone: {_some(busy)} while it was silent")


def rebooted(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Return the nodes whose boot ID has changed; one that nobody knows has not."""
    changed = (node for node, boot in before.items() if boot and after.get(node) and after[node] != boot)
    return tuple(sorted(changed))


def after_reboots(report: ProbeReport, nodes: Sequence[str]) -> ProbeReport:
    """Return a report that blames nothing when a machine under it was another one at its end."""
    if not nodes:
        return report
    why = f"{_some(nodes)} rebooted between the plan and the result: plan and probe again"
    return replace(report, verdict=_none(report.verdict, why))


def _none(verdict: Verdict, why: str) -> Verdict:
    """Return no verdict; what would have been said stays readable."""
    return replace(verdict, answer=Answer.INCONCLUSIVE, why=f"{why}; measured: {verdict.why}", findings=())


def _rates(seen: Seen) -> Iterator[tuple[str, float]]:
    """Yield interfaces with what they carried in their busier direction, bytes per second."""
    traffic = None if isinstance(seen, Missing) else seen.get("traffic")
    for interface, pair in (traffic if isinstance(traffic, dict) else {}).items():
        rates = [float(rate) for rate in pair if isinstance(rate, int | float)] if isinstance(pair, list) else []
        if rates:
            yield visible(str(interface), 64), max(rates)


def _some(things: Sequence[str]) -> str:
    more = f" and {len(things) - _MOST_NAMED} more" if len(things) > _MOST_NAMED else ""
    return ", ".join(things[:_MOST_NAMED]) + more
