"""Recording rules: what alerts and dashboards share, computed once.

Names follow Prometheus's own advice, `level:metric:operation`
(https://prometheus.io/docs/practices/rules/#recording-rules).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netkit.catalogue.fabric_profiles import ALL, Profile
from netkit.catalogue.metric_rows import rdma
from netkit.catalogue.neighbours import ALERTS
from netkit.catalogue.promql import rate, select


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recording:
    """One recording rule."""

    name: str
    expression: str
    labels: tuple[str, ...]
    """Those of the series it records, beside those of the scrape."""
    text: str
    """What it says, with its unit."""
    profiles: frozenset[Profile] = ALL
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Labels the rule itself sets."""


_PORT = ("device", "port")
FLEET = {"job": "netkit", "instance": "fleet"}
"""What aggregates over instances carry, so that the choices of a dashboard narrow every panel alike."""

OUT_OF_SEQUENCE = Recording(
    name="netkit:rdma_oos:ratio_rate5m",
    expression=(
        f"{rate(rdma.COUNTERS['out_of_sequence_packets_received'], '5m')}"
        f" / {rate(rdma.COUNTERS['port_packets_received'], '5m')}"
    ),
    labels=_PORT,
    text="Packets received out of sequence, as a share of all received.",
)

FIRING = Recording(
    name="netkit:alerts_firing:count",
    expression=(
        "count by (cluster, node, alertname, severity, component)"
        f" ({select(ALERTS, {'alertstate': 'firing'}, {'fabric_profile': '.+'})})"
    ),
    labels=("alertname", "severity", "component"),
    text="Alerts of netkit that fire, by node.",
    fixed=FLEET,
)

RECORDINGS: tuple[Recording, ...] = (OUT_OF_SEQUENCE, FIRING)
