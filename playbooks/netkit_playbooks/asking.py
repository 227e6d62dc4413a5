"""Signals asked of a Prometheus, one query each; what has no answer is missing, with the reason."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from netkit.errors import SourceError
from netkit.model.missing import Missing, Reason
from netkit.sources.prometheus import Answer, Prometheus
from netkit_playbooks.readings import Reading, Readings
from netkit_playbooks.signals import Place, Scope, Signal, covered, expression

PATIENCE_SECONDS = 25.0
"""For all questions together: whoever is on call does not wait for a server that is stuck."""
_LATE = Missing(reason=Reason.TIMEOUT, where="prometheus", detail=f"no time left of {PATIENCE_SECONDS:g} s")
_SHOWN = ("node", "device", "netdev", "port", "priority", "gpu", "pci_bus_id", "operation", "reason", "alarm", "probe")


def ask(prometheus: Prometheus, signals: Iterable[Signal], place: Place, at: float) -> Readings:
    """Return what the series say of a place at a time; SourceError when nothing answers at all."""
    until = time.monotonic() + PATIENCE_SECONDS
    found = {
        signal.id: _ask(prometheus, signal, place, at) if time.monotonic() < until else _LATE for signal in signals
    }
    silent = [one for one in found.values() if isinstance(one, SourceError)]
    if found and len(silent) == len(found):
        raise silent[0]
    return {
        name: Missing(reason=Reason.ABSENT, where=name, detail=str(one)) if isinstance(one, SourceError) else one
        for name, one in found.items()
    }


def _ask(prometheus: Prometheus, signal: Signal, place: Place, at: float) -> Reading | Missing | SourceError:
    if signal.scope is Scope.NODE and not place.node:
        return Missing(reason=Reason.ABSENT, where="--node", detail="no node was named")
    try:
        answers = prometheus.instant(expression(signal, place), at)
        found = _reading(answers)
        if found is None and signal.otherwise is not None:
            looked = _reading(prometheus.instant(covered(signal, place), at))
            found = None if looked is None or looked.value != 1 else Reading(value=signal.otherwise)
    except SourceError as fault:
        return fault
    return found or Missing(reason=Reason.ABSENT, where=prometheus.where, detail=f"no series for {signal.id}")


def _reading(answers: tuple[Answer, ...]) -> Reading | None:
    for answer in answers:
        value = answer.points[-1][1] if answer.points else math.nan
        if math.isfinite(value):
            return Reading(value=value, where={name: answer.labels[name] for name in _SHOWN if name in answer.labels})
    return None
