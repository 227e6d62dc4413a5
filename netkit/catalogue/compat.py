"""Other exporters' names for what netkit exports, for dashboards people have: node_exporter's and dcgm-exporter's.

A row turns samples of one family into samples of another: name, labels, unit. Names and units are those of
node_exporter 1.11 (collectors infiniband, netclass, ethtool, pcidevice) and of dcgm-exporter's shipped field lists.
What netkit does not have on purpose, such as a gauge of the last XID, has no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from netkit.catalogue.metric_rows import gpu, link, pcie, pfc, rdma
from netkit.catalogue.metrics import Kind, Metric


class Dialect(StrEnum):
    """Whose names."""

    NODE_EXPORTER = "node_exporter"
    DCGM = "dcgm"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatLabel:
    """One label of theirs: the text of one of ours, or a part of it (`0000:3b:00.0` in four), after a prefix."""

    name: str
    source: str
    part: int | None = None
    prefix: str = ""

    def value(self, ours: Mapping[str, str]) -> str:
        """Return the label's value for a sample with these labels."""
        text = ours[self.source]
        return self.prefix + (text if self.part is None else _parts_of_address(text)[self.part])


def _parts_of_address(text: str) -> tuple[str, ...]:
    """Split a PCI address into segment, bus, device and function; texts of other forms give empty ones."""
    parts = text.replace(".", ":").split(":")
    return tuple(parts) if len(parts) == 4 else ("",) * 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompatRow:
    """One family of theirs: `factor` turns our unit into theirs; only samples whose labels match `when` count."""

    dialect: Dialect
    source: Metric
    name: str
    kind: Kind
    help: str
    labels: tuple[CompatLabel, ...]
    when: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    factor: float = 1.0

    def translate(self, labels: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return their label values for a sample with our label values; None for a sample that is not meant."""
        ours = dict(zip(self.source.labels, labels, strict=True))
        if any(ours[name] != value for name, value in self.when.items()):
            return None
        return tuple(label.value(ours) for label in self.labels)


_PORT = (CompatLabel(name="device", source="device"), CompatLabel(name="port", source="port"))
_NETDEV = (CompatLabel(name="device", source="netdev"),)
_SLOT = tuple(
    CompatLabel(name=name, source="pci_bus_id", part=part)
    for part, name in enumerate(("segment", "bus", "device", "function"))
)
_GPU = (
    CompatLabel(name="gpu", source="gpu"),
    CompatLabel(name="UUID", source="uuid"),
    CompatLabel(name="pci_bus_id", source="pci_bus_id"),
    CompatLabel(name="device", source="gpu", prefix="nvidia"),
)
_MEBIBYTE, _MEGA, _MICRO, _MILLI, _NANO = 1 / (1 << 20), 1e-6, 1e6, 1e3, 1e9


def _row(
    dialect: Dialect,
    source: Metric,
    name: str,
    labels: tuple[CompatLabel, ...],
    *,
    factor: float = 1.0,
    **when: str,
) -> CompatRow:
    return CompatRow(
        dialect=dialect,
        source=source,
        name=name,
        kind=source.kind,
        help=f"{name} of {dialect}, from {source.name}.",
        labels=labels,
        when=MappingProxyType(when),
        factor=factor,
    )


# The stems node_exporter has; those of other drivers only where the meaning is the same.
_NODE_STEMS = (
    *("excessive_buffer_overrun_errors", "link_downed", "link_error_recovery", "local_link_integrity_errors"),
    *("multicast_packets_received", "multicast_packets_transmitted", "port_constraint_errors_received"),
    *("port_constraint_errors_transmitted", "port_data_received_bytes", "port_data_transmitted_bytes"),
    *("port_discards_received", "port_discards_transmitted", "port_errors_received", "port_packets_received"),
    *("port_packets_transmitted", "port_transmit_wait", "unicast_packets_received", "unicast_packets_transmitted"),
    *("port_receive_remote_physical_errors", "port_receive_switch_relay_errors", "symbol_error", "vl15_dropped"),
    *("duplicate_requests_packets", "implied_nak_seq_errors", "local_ack_timeout_errors", "np_cnp_packets_sent"),
    *("np_ecn_marked_roce_packets_received", "out_of_buffer_drops", "out_of_sequence_packets_received"),
    *("packet_sequence_errors", "req_cqes_errors", "req_cqes_flush_errors", "req_remote_access_errors"),
    *("req_remote_invalid_request_errors", "resp_cqes_errors", "resp_cqes_flush_errors"),
    *("resp_local_length_errors", "resp_remote_access_errors", "rnr_nak_retry_packets_received"),
    *("roce_adp_retransmits", "roce_adp_retransmits_timeout", "roce_slow_restart_used", "roce_slow_restart_cnps"),
    *("roce_slow_restart", "rp_cnp_packets_handled", "rp_cnp_ignored_packets_received", "rx_atomic_requests"),
    *("rx_dct_connect_requests", "rx_read_requests", "rx_write_requests", "rx_icrc_encapsulated_errors"),
)


def _infiniband() -> Iterator[CompatRow]:
    for stem in _NODE_STEMS:
        yield _row(Dialect.NODE_EXPORTER, rdma.COUNTERS[stem], f"node_infiniband_{stem}_total", _PORT)
    for metric in (rdma.STATE, rdma.PHYSICAL_STATE, rdma.RATE, rdma.LIFESPAN):
        name = metric.name.replace("netkit_rdma_", "node_infiniband_")
        yield _row(Dialect.NODE_EXPORTER, metric, name, _PORT)
    about = ("device", "board_id", "firmware_version", "hca_type")
    info = tuple(CompatLabel(name=name, source=name) for name in about)
    yield _row(Dialect.NODE_EXPORTER, rdma.INFO, "node_infiniband_info", info)


def _network() -> Iterator[CompatRow]:
    for metric, name in (
        (link.UP, "node_network_carrier"),
        (link.SPEED, "node_network_speed_bytes"),
        (link.UPS, "node_network_carrier_up_changes_total"),
        (link.DOWNS, "node_network_carrier_down_changes_total"),
    ):
        yield _row(Dialect.NODE_EXPORTER, metric, name, _NETDEV)
    for metric in (pcie.SPEED, pcie.MAX_SPEED, pcie.WIDTH, pcie.MAX_WIDTH):
        name = metric.name.replace("netkit_pcie_", "node_pcidevice_")
        yield _row(Dialect.NODE_EXPORTER, metric, name, _SLOT)


def _pauses() -> Iterator[CompatRow]:
    """node_exporter puts direction and priority into the name, and keeps mlx5's microseconds."""
    measures = ((pfc.FRAMES, "", 1.0), (pfc.SECONDS, "_duration", _MICRO), (pfc.TRANSITIONS, "_transition", 1.0))
    for direction, way in (("received", "received"), ("sent", "transmitted")):
        for priority in map(str, range(8)):
            for metric, suffix, factor in measures:
                name = f"node_ethtool_{way}_prio{priority}_pause{suffix}"
                when = {"direction": direction, "priority": priority}
                yield _row(Dialect.NODE_EXPORTER, metric, name, _NETDEV, factor=factor, **when)


def _dcgm() -> Iterator[CompatRow]:
    for metric, name, factor, when in (
        (gpu.CLOCK, "SM_CLOCK", _MEGA, {}),
        (gpu.TEMPERATURE, "GPU_TEMP", 1.0, {"sensor": "chip"}),
        (gpu.TEMPERATURE, "MEMORY_TEMP", 1.0, {"sensor": "memory"}),
        (gpu.POWER, "POWER_USAGE", 1.0, {}),
        (gpu.ENERGY, "TOTAL_ENERGY_CONSUMPTION", _MILLI, {}),
        (gpu.REPLAYS, "PCIE_REPLAY_COUNTER", 1.0, {}),
        (gpu.UTILISATION, "GPU_UTIL", 100.0, {}),
        (gpu.MEMORY_USED, "FB_USED", _MEBIBYTE, {}),
        (gpu.MEMORY_TOTAL, "FB_TOTAL", _MEBIBYTE, {}),
        (gpu.ECC, "ECC_SBE_VOL_TOTAL", 1.0, {"kind": "corrected"}),
        (gpu.ECC, "ECC_DBE_VOL_TOTAL", 1.0, {"kind": "uncorrected"}),
        (gpu.REMAP_FAILED, "ROW_REMAP_FAILURE", 1.0, {}),
        (gpu.REMAP_PENDING, "ROW_REMAP_PENDING", 1.0, {}),
        (gpu.THROTTLE_TIME, "POWER_VIOLATION", _NANO, {"reason": "power"}),
        (gpu.THROTTLE_TIME, "THERMAL_VIOLATION", _NANO, {"reason": "thermal"}),
        *(
            (gpu.NVLINK_ERRORS, f"NVLINK_{kind.upper()}_ERROR_COUNT_TOTAL", 1.0, {"type": kind})
            for kind in ("crc_flit", "crc_data", "replay", "recovery")
        ),
    ):
        yield _row(Dialect.DCGM, metric, f"DCGM_FI_DEV_{name}", _GPU, factor=factor, **when)


@cache
def compat_rows(dialect: Dialect) -> tuple[CompatRow, ...]:
    """Return the rows of one dialect."""
    if dialect is Dialect.DCGM:
        return tuple(_dcgm())
    return (*_infiniband(), *_network(), *_pauses())


@cache
def by_source(dialect: Dialect) -> Mapping[Metric, tuple[CompatRow, ...]]:
    """Return the rows of one dialect by the family they are made from."""
    found: dict[Metric, list[CompatRow]] = {}
    for row in compat_rows(dialect):
        found.setdefault(row.source, []).append(row)
    return MappingProxyType({metric: tuple(rows) for metric, rows in found.items()})
