"""Recording rules: what alerts and dashboards share, computed once.

Names follow Prometheus's own advice, `level:metric:operation`
(https://prometheus.io/docs/practices/rules/#recording-rules).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netkit.catalogue.fabric_profiles import ALL, WITH_PFC, Profile
from netkit.catalogue.metric_rows import ethtool, nccl, pfc, rdma
from netkit.catalogue.neighbours import ALERTS, UP
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
_NETKIT_UP = select(UP, {"job": "netkit"})
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

CORRECTED_BITS = Recording(
    name="netkit:phy_corrected_ber:ratio_rate15m",
    expression=(
        f"{rate(ethtool.COUNTERS['phy_rx_corrected_bits'], '15m')} / {rate(ethtool.COUNTERS['phy_rx_bits'], '15m')}"
    ),
    labels=("device", "netdev"),
    text="Bits FEC corrected, as a share of all received; on PAM4 links never 0.",
)
OCCUPANCY = Recording(
    name="netkit:pfc_pause:occupancy_rate5m",
    expression=rate(pfc.SECONDS, "5m"),
    labels=("device", "netdev", "direction", "priority"),
    text="Share of time paused by the peer (received) or pausing it (sent).",
    profiles=WITH_PFC,
)


def _congested_port(share: float, profiles: frozenset[Profile]) -> Recording:
    return Recording(
        name="netkit:fabric_port_congested:bool",
        expression=(
            "max by (cluster, job, instance, node_pool, node, rail, device)"
            f" ({select(OCCUPANCY, {'direction': 'received'})}) > bool {share:g}"
        ),
        labels=("device",),
        text=f"1 for a port the fabric pauses more than {share:.0%} of the time, 0 for the others.",
        profiles=profiles,
    )


_PAUSES_ALONE = frozenset({Profile.PFC_ONLY})
CONGESTED_WITHOUT_ECN = _congested_port(0.4, _PAUSES_ALONE)
"""Where pauses alone hold senders back, all-to-all traffic pauses a healthy port a third of the time."""
CONGESTED = _congested_port(0.2, WITH_PFC - _PAUSES_ALONE)
CONGESTED_5M = Recording(
    name="netkit:fabric_port_congested:ratio_rate5m",
    expression=f"avg by (cluster) (avg_over_time({CONGESTED.name}[5m]))",
    labels=(),
    text="Share of port-minutes congested, of five minutes.",
    profiles=WITH_PFC,
    fixed=FLEET,
)


def _congested(window: str) -> Recording:
    # Over the ratio of each moment, one series a cluster: three days of ten thousand ports would be read every time.
    return Recording(
        name=f"netkit:fabric_port_congested:ratio_rate{window}",
        expression=f"avg_over_time({CONGESTED_5M.name}[{window}])",
        labels=(),
        text=f"Share of port-minutes congested, of {window}.",
        profiles=WITH_PFC,
    )


CONGESTED_1H, CONGESTED_6H, CONGESTED_3D = map(_congested, ("1h", "6h", "3d"))
BUSBW = Recording(
    name="netkit:nccl_busbw:ratio_expected",
    expression=f"{nccl.BUSBW.name} / {nccl.EXPECTED.name}",
    labels=nccl.BUSBW.labels,
    text="Bus bandwidth of the last run, as a share of what the platform reaches.",
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

PORT_DOWN = Recording(
    name="netkit:rdma_port_down:bool",
    expression=(f"({rdma.STATE.name} != bool 4) * on (cluster, node, device, port) group_left () {rdma.EXPECTED.name}"),
    labels=_PORT,
    text="1 for an expected port that is not active, 0 for one that is.",
)
RESTARTED = Recording(
    name="netkit:rdma_port_restarted:bool",
    expression=(
        "sum by (cluster, job, instance, node_pool, node, rail, device, port)"
        f" (count_over_time({rdma.PORT_INFO.name}[15m]))"
        f" < bool on (cluster, node) group_left () sum by (cluster, node) (count_over_time({_NETKIT_UP}[15m]))"
    ),
    labels=_PORT,
    text="1 for a port that was missing in a scrape of the last fifteen minutes, as after a restart, 0 for the others.",
)

RECORDINGS: tuple[Recording, ...] = (
    *(CORRECTED_BITS, OUT_OF_SEQUENCE, OCCUPANCY, CONGESTED, CONGESTED_WITHOUT_ECN),
    *(CONGESTED_5M, CONGESTED_1H, CONGESTED_6H, CONGESTED_3D, BUSBW, PORT_DOWN, RESTARTED, FIRING),
)
"""In this order, for a rule sees what those before it in its group recorded."""
