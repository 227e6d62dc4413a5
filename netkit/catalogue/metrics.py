"""What the exporter exports, as rows: name, kind, unit, labels and help are written once and read by everyone.

Names follow node_exporter's stems under `netkit_`; units are base units (bytes, seconds, ratios). The rows of one
area stand in `netkit/catalogue/metric_rows/<area>.py`, named as the collector that fills them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How a series behaves, in the words of the exposition format."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """One family of series; a row is a single object, so two rows are equal only when they are the same row."""

    name: str
    """As exposed, `_total` of counters included: `netkit_rdma_port_data_received_bytes_total`."""
    kind: Kind
    help: str
    """One sentence with unit and direction."""
    collector: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    """`bytes`, `seconds`, `celsius`, `ratio`…; empty where a count has none."""
    privilege: str = ""
    """What a process needs beyond being started: a capability, a namespace, a socket; empty for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """What the rows of one area share; labels of a row come after those of the area."""

    collector: str
    prefix: str
    labels: tuple[str, ...] = ()
    privilege: str = ""

    def gauge(self, name: str, text: str, *labels: str, unit: str = "") -> Metric:
        """Return a row for what goes up and down."""
        return self._row(Kind.GAUGE, name, text, labels, unit)

    def counter(self, name: str, text: str, *labels: str, unit: str = "") -> Metric:
        """Return a row for what only grows; `name` ends in `_total`."""
        return self._row(Kind.COUNTER, name, text, labels, unit)

    def _row(self, kind: Kind, name: str, text: str, labels: tuple[str, ...], unit: str) -> Metric:
        return Metric(
            name=f"netkit_{self.prefix}{name}",
            kind=kind,
            help=text,
            collector=self.collector,
            labels=(*self.labels, *labels),
            unit=unit,
            privilege=self.privilege,
        )
