"""Other exporters' series under netkit's names, as recording rules: the same alerts and dashboards on what is there.

For nodes without netkit-exporter; each rule leaves out nodes that have it. Names as in node_exporter's infiniband
collector, yuuki/rdma_exporter 0.7 and the counters dcgm-exporter knows. What these do not give has no rule: its alerts
stay silent, and the generated page of alerts says what each needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from netkit.catalogue.counter import tables
from netkit.catalogue.metric_rows import exporter, gpu, pfc, rdma
from netkit.catalogue.metrics import Metric

_UNCOVERED = f"unless on (cluster, node) {exporter.BUILD_INFO.name}"
_MICROSECONDS = "1e6"


class Other(StrEnum):
    """Exporters whose names are mapped."""

    NODE_EXPORTER = "node_exporter"
    RDMA_EXPORTER = "rdma_exporter"
    DCGM_EXPORTER = "dcgm-exporter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """One row, and the other exporter's series it is made of."""

    row: Metric
    source: str
    divided_by: str = ""
    renamed: tuple[tuple[str, str], ...] = ()
    """Labels, as theirs and as ours."""
    reworded: tuple[tuple[str, str, str], ...] = ()
    """Label, their value, our value."""
    constant: tuple[tuple[str, str], ...] = ()
    """Labels netkit has and they do not; the rule sets them."""

    @property
    def expression(self) -> str:
        """The recording rule's expression."""
        text = f"{self.source} / {self.divided_by}" if self.divided_by else self.source
        for theirs, ours in self.renamed:
            text = f'label_replace({text}, "{ours}", "$1", "{theirs}", "(.+)")'
        for label, theirs, ours in self.reworded:
            text = f'label_replace({text}, "{label}", "{ours}", "{label}", "{theirs}")'
        return f"{text} {_UNCOVERED}"


_WAYS = (("direction", "rx", "received"), ("direction", "tx", "sent"))
_GPU = (("UUID", "uuid"),)


def mapped(other: Other) -> tuple[Mapped, ...]:
    """Return what is mapped from an exporter."""
    return tuple(_MAPPED[other]())


def _node_exporter() -> Iterator[Mapped]:
    table = next(one for one in tables() if one.id == "pma")
    mlx5 = next(one for one in tables() if one.id == "mlx5")
    for stem in dict.fromkeys(row.stem for row in (*table.port, *mlx5.hardware)):
        yield Mapped(row=rdma.COUNTERS[stem], source=f"node_infiniband_{stem}_total")
    yield Mapped(row=rdma.STATE, source="node_infiniband_state_id")
    yield Mapped(row=rdma.RATE, source="node_infiniband_rate_bytes_per_second")
    yield Mapped(row=rdma.PORT_INFO, source="0 * node_infiniband_state_id + 1")


def _rdma_exporter() -> Iterator[Mapped]:
    mlx5 = next(one for one in tables() if one.id == "mlx5")
    for row in mlx5.hardware:
        yield Mapped(row=rdma.COUNTERS[row.stem], source=f"rdma_{row.name}_total")
    yield Mapped(row=pfc.FRAMES, source="rdma_roce_pfc_pause_frames_total", reworded=_WAYS)
    yield Mapped(
        row=pfc.SECONDS,
        source="rdma_roce_pfc_pause_duration_total",
        divided_by=_MICROSECONDS,
        reworded=_WAYS,
    )
    yield Mapped(
        row=pfc.STORMS,
        source="rdma_netdev_pause_storm_events_total",
        renamed=(("severity", "level"),),
        constant=(("direction", "sent"),),
    )


def _dcgm_exporter() -> Iterator[Mapped]:
    gauges = (
        (gpu.UTILISATION, "DCGM_FI_DEV_GPU_UTIL", "100"),
        (gpu.POWER, "DCGM_FI_DEV_POWER_USAGE", ""),
        (gpu.REMAP_FAILED, "DCGM_FI_DEV_ROW_REMAP_FAILURE", ""),
        (gpu.INFO, "0 * DCGM_FI_DEV_GPU_TEMP + 1", ""),
    )
    for row, source, divisor in gauges:
        yield Mapped(row=row, source=source, divided_by=divisor, renamed=_GPU)
    yield Mapped(
        row=gpu.THROTTLE_TIME,
        source="DCGM_FI_DEV_THERMAL_VIOLATION",
        divided_by=_MICROSECONDS,
        renamed=_GPU,
        constant=(("reason", "thermal"),),
    )
    for kind, source in (("crc_flit", "CRC_FLIT_ERROR"), ("recovery", "RECOVERY_ERROR"), ("replay", "REPLAY_ERROR")):
        yield Mapped(
            row=gpu.NVLINK_ERRORS,
            source=f"DCGM_FI_DEV_NVLINK_{source}_COUNT_TOTAL",
            renamed=_GPU,
            constant=(("type", kind),),
        )


_MAPPED = {
    Other.NODE_EXPORTER: _node_exporter,
    Other.RDMA_EXPORTER: _rdma_exporter,
    Other.DCGM_EXPORTER: _dcgm_exporter,
}
