"""The exporter's own processor time, memory, descriptors and threads; read seldom: it costs as much as a NIC."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence

from netkit.catalogue.metric_rows import process as rows
from netkit.sources.process import own_usage
from netkit_exporters.collecting import Collector, Machine, Reading, Sample


class _Self:
    key = "self"

    def read(self) -> Reading:
        return Reading(samples=tuple(_samples()))


class _Source:
    def __init__(self, _machine: Machine) -> None:
        self._self = _Self()

    def targets(self) -> Sequence[_Self]:
        return (self._self,)

    def close(self) -> None:
        """Nothing is held."""


def _samples() -> Iterator[Sample]:
    usage = own_usage()
    yield Sample(rows.CPU_SECONDS, (), usage.cpu_seconds)
    yield Sample(rows.RESIDENT_BYTES, (), usage.resident_bytes)
    yield Sample(rows.VIRTUAL_BYTES, (), usage.virtual_bytes)
    yield Sample(rows.OPEN_DESCRIPTORS, (), usage.open_descriptors)
    yield Sample(rows.THREADS, (), usage.threads)
    yield Sample(rows.STARTED_AT, (), usage.started_at)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        yield Sample(rows.MOST_DESCRIPTORS, (), soft)


COLLECTOR = Collector(
    id="process",
    question="What does the exporter itself cost this node?",
    open=_Source,
    metrics=rows.METRICS,
    interval_seconds=15.0,
)
