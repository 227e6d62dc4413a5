"""Signals out of a scrape of one recorded node: text of the exporter, evaluated as far as one moment can say.

Exposition format 0.0.4, https://prometheus.io/docs/instrumenting/exposition_formats/. One moment has no growth and no
other nodes: signals of these are missing, and say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

from netkit.model.missing import Missing, Reason
from netkit_playbooks.readings import Reading, Readings
from netkit_playbooks.signals import Fold, Pick, Scope, Signal

_LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')
_ESCAPE = re.compile(r"\\(.)")
_SUCCESS = "netkit_collector_success"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of a scrape."""

    name: str
    labels: Mapping[str, str]
    value: float


def parse(text: str) -> tuple[Sample, ...]:
    """Return the samples of a scrape; lines of another form are left out."""
    return tuple(_samples(text.splitlines()))


def _samples(lines: Iterable[str]) -> Iterator[Sample]:
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or line.startswith("#"):
            continue
        labels = {name: _plain(value) for name, value in _LABEL.findall(match[2] or "")}
        try:
            yield Sample(name=match[1], labels=MappingProxyType(labels), value=float(match[3]))
        except ValueError:
            continue


def _plain(value: str) -> str:
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], value)


def evaluate(samples: Iterable[Sample], signals: Iterable[Signal], narrowed: Mapping[str, str]) -> Readings:
    """Return what one scrape says of signals."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    return {signal.id: _evaluate(by_name, signal, narrowed) for signal in signals}


def _evaluate(by_name: Mapping[str, list[Sample]], signal: Signal, narrowed: Mapping[str, str]) -> Reading | Missing:
    why = _beyond(signal)
    if why:
        return Missing(reason=Reason.UNSUPPORTED, where="recording", detail=why)
    found = [one for one in by_name.get(signal.series.name, ()) if _chosen(signal, one, narrowed)]
    if signal.per is not None:
        found = list(_divided(found, by_name.get(signal.per.name, ())))
    if found:
        return _PICKED[signal.pick](found)
    collector = getattr(signal.series, "collector", "")
    covered = any(one.labels.get("collector") == collector and one.value == 1 for one in by_name.get(_SUCCESS, ()))
    if covered and signal.otherwise is not None:
        return Reading(value=signal.otherwise)
    return Missing(reason=Reason.ABSENT, where="recording", detail=f"no series for {signal.id}")


def _beyond(signal: Signal) -> str:
    if signal.scope is not Scope.NODE:
        return "a recording knows one node"
    if signal.fold is not Fold.VALUE or signal.given is not None:
        return "one moment has no growth"
    return ""


def _chosen(signal: Signal, sample: Sample, narrowed: Mapping[str, str]) -> bool:
    equal = {**signal.equal, **({k: v for k, v in narrowed.items() if k in sample.labels} if signal.narrow else {})}
    return all(sample.labels.get(name) == value for name, value in equal.items()) and all(
        re.fullmatch(pattern, sample.labels.get(name, "")) for name, pattern in signal.like.items()
    )


def _divided(over: Iterable[Sample], under: Iterable[Sample]) -> Iterator[Sample]:
    bottoms = list(under)
    for one in over:
        for other in bottoms:
            shared = one.labels.keys() & other.labels.keys()
            if other.value and all(one.labels[name] == other.labels[name] for name in shared):
                yield Sample(name=one.name, labels=one.labels, value=one.value / other.value)
                break


def _at(one: Sample) -> Reading:
    return Reading(value=one.value, where=one.labels)


def _fewest(found: list[Sample]) -> Reading:
    sums: dict[str, float] = {}
    for one in found:
        port = one.labels.get("netdev", "")
        sums[port] = sums.get(port, 0.0) + one.value
    port, value = min(sums.items(), key=lambda item: item[1])
    return Reading(value=value, where={"netdev": port})


_PICKED: Mapping[Pick, Callable[[list[Sample]], Reading]] = MappingProxyType(
    {
        Pick.LARGEST: lambda found: _at(max(found, key=lambda one: one.value)),
        Pick.SMALLEST: lambda found: _at(min(found, key=lambda one: one.value)),
        Pick.SUM: lambda found: Reading(value=sum(one.value for one in found)),
        Pick.COUNT: lambda found: Reading(value=float(len(found))),
        Pick.MEDIAN: lambda found: Reading(value=median(one.value for one in found)),
        Pick.FEWEST: _fewest,
    }
)
