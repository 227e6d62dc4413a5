"""Twelve minutes of a node's series, as OpenMetrics text: what its collectors read before and after, and between.

The collectors are netkit-exporter's own, over the files of a made-up node; only time is made up. Counters grow evenly
between the two readings, gauges hold what the second one gave.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from benchmarks.drills.exporter import machine_in
from benchmarks.drills.fault import Fault, Injection
from benchmarks.drills.node import WHOLE, Node
from netkit.catalogue.metric_rows.exporter import COLLECTOR_SUCCESS
from netkit.catalogue.metrics import Kind, Metric
from netkit.catalogue.promql import quoted
from netkit_exporters.collecting import Collector, Sample, Source
from netkit_exporters.discovery import chosen

SECONDS = 720
STEP = 30
READINGS = 4
"""How often a node that is struck is read: what is gone is believed the third time, and probes fail more than once."""
_JITTER = 0.1
_Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series: its value before and after."""

    metric: Metric
    labels: tuple[str, ...]
    before: float
    after: float

    def text(self, more: Mapping[str, str], end: float) -> Iterator[str]:
        """Yield its samples, oldest first; `more` is what a scrape adds."""
        named = {**dict(zip(self.metric.labels, self.labels, strict=True)), **more}
        head = f"{self.metric.name}{{{','.join(f'{name}={quoted(value)}' for name, value in named.items())}}}"
        for at in range(0, SECONDS + 1, STEP):
            share = at / SECONDS if self.metric.kind is Kind.COUNTER else 1.0
            value = self.before + (self.after - self.before) * share
            yield f"{head} {value:.6f} {end - SECONDS + at:.0f}\n"


@dataclass(slots=True)
class Recorder:
    """A node with its collectors open, for one fault after the other."""

    node: Node
    _sources: dict[str, tuple[Collector, Source]] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def on(cls, node: Node) -> Iterator[Self]:
        """A recorder whose collectors are closed in the end."""
        recorder = cls(node)
        recorder.open()
        try:
            yield recorder
        finally:
            recorder.close()

    def open(self) -> None:
        """Open the collectors anew: an exporter that starts."""
        self.close()
        told = {"nccl_results": str(self.node.place / "results")}
        options = told | ({"platform": "hgx-h100"} if self.node.devices == WHOLE else {})
        machine = machine_in(self.node.place, options)
        self._sources = {one.id: (one, one.open(machine)) for one in chosen(None, ())}

    def close(self) -> None:
        """Let go of files."""
        for _, source in self._sources.values():
            source.close()
        self._sources = {}

    def history(self, fault: Fault, wanted: Collection[str], draw: random.Random) -> list[Line]:
        """Return the series of the metrics wanted while a fault lasts; traffic varies from one call to the next."""
        self.open()
        injection = Injection(self.node, fault)
        injection.prepare()
        usual = dict(self.node.moves)
        self.node.moves = {path: rate * draw.lognormvariate(0.0, _JITTER) for path, rate in usual.items()}
        self.node.move(0)
        before = self._read(wanted)
        injection.begin()
        self.node.move(SECONDS)
        for _ in range(READINGS if fault != Fault() else 1):
            injection.go_on()
            after = self._read(wanted)
        injection.end()
        self.node.moves = usual
        return [
            Line(metric=one.metric, labels=one.labels, before=_number(before.get(key, one)), after=_number(one))
            for key, one in after.items()
        ]

    def _read(self, wanted: Collection[str]) -> dict[_Key, Sample]:
        found: dict[_Key, Sample] = {}
        for name, (collector, source) in self._sources.items():
            working = Sample(COLLECTOR_SUCCESS, (name,), 1.0)
            asked = any(metric.name in wanted for metric in collector.metrics)
            targets = source.targets() if asked else ()
            read = [one for target in targets for one in target.read().samples] if isinstance(targets, tuple) else []
            found |= {(one.metric.name, one.labels): one for one in (*read, working) if one.metric.name in wanted}
        return found


def _number(sample: Sample) -> float:
    return float(sample.value)
