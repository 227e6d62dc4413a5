"""A synthetic fleet as OpenMetrics text: busy nodes, one of them with faults, for hours back in time.

Series are those the dashboards and rules read, named and labelled by the catalogue. Synthetic: shapes and rates are
made up, and nothing here was measured on hardware.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from netkit.catalogue.metrics import Kind, Metric
from netkit.catalogue.neighbours import GPU_CAPACITY, SCRAPE_SAMPLES, SCRAPE_SECONDS, UP
from netkit.catalogue.series import exported

HEALTHY_RATES: Mapping[str, float] = {
    "port_data_received_bytes_total": 18e9,
    "port_data_transmitted_bytes_total": 18e9,
    "port_packets_received_total": 4.5e6,
    "out_of_sequence_packets_received_total": 4.0,
    "np_ecn_marked_roce_packets_received_total": 900.0,
    "np_cnp_packets_sent_total": 300.0,
    "rp_cnp_packets_handled_total": 280.0,
    "phy_rx_corrected_bits_total": 60.0,
    "phy_rx_bits_total": 3e11,
    "pfc_pause_seconds_total": 0.02,
    "pfc_pause_frames_total": 40.0,
    "gpu_nvlink_bytes_total": 2e11,
    "nccl_probe_runs_total": 1 / 1800,
    "process_cpu_seconds_total": 0.004,
}
"""Growth a second of busy and healthy, by the end of the name; every other counter stands still."""
HEALTHY_VALUES: Mapping[str, float] = {
    "state_id": 4.0,
    "rate_bytes_per_second": 50e9,
    "port_expected": 1.0,
    "devices": 8.0,
    "devices_expected": 8.0,
    "collector_success": 1.0,
    "collector_duration_seconds": 0.012,
    "pairing_ok": 1.0,
    "current_link_width": 16.0,
    "max_link_width": 16.0,
    "link_transfers_per_second": 32e9,
    "utilisation_ratio": 0.97,
    "power_watts": 640.0,
    "power_limit_watts": 700.0,
    "bus_bandwidth_bytes_per_second": 370e9,
    "expected_bus_bandwidth_bytes_per_second": 400e9,
    "inspector_bus_bandwidth_bytes_per_second": 340e9,
    "module_temperature_celsius": 52.0,
    "smallest_detectable_slowdown_ratio": 0.045,
    "_info": 1.0,
    "priority_lossless": 1.0,
    "remap_failed": 0.0,
    "row_remap_pending": 0.0,
    "finding_slowdown_ratio": 0.31,
    "last_success_timestamp_seconds": 0.0,
    "process_resident_memory_bytes": 33e6,
}
FAULTS: Mapping[str, float] = {
    "pfc_pause_seconds_total": 0.55,
    "phy_rx_corrected_bits_total": 9_000.0,
    "phy_rx_pcs_symbol_errors_total": 0.4,
    "out_of_sequence_packets_received_total": 900.0,
    "local_ack_timeout_errors_total": 4.0,
    "priority_buffer_discards_total": 12.0,
    "pcie_outbound_stalled_seconds_total": 0.4,
    "link_down_events_total": 1 / 5400,
    "link_up_events_total": 1 / 5400,
    "pause_storm_events_total": 1 / 900,
    "symbol_error_total": 14.0,
    "gpu_throttle_seconds_total": 0.3,
    "gpu_xid_total": 1 / 7200,
    "gpu_nvlink_errors_total": 0.2,
    "rnr_nak_retry_packets_received_total": 0.02,
    "req_transport_retries_exceeded_total": 0.02,
    "port_discards_transmitted_total": 5.0,
    "out_of_buffer_drops_total": 3.0,
    "roce_slow_restart_total": 1.0,
    "packet_sequence_errors_total": 2.0,
    "rp_cnp_ignored_packets_received_total": 1.0,
    "link_error_recovery_total": 0.01,
    "link_downed_total": 0.001,
    "port_errors_received_total": 1.0,
    "local_link_integrity_errors_total": 0.001,
    "excessive_buffer_overrun_errors_total": 0.001,
    "global_pause_frames_total": 3.0,
    "aer_errors_total": 0.1,
    "collector_read_faults_total": 0.1,
    "collector_success": 0.0,
    "rdma_rate_bytes_per_second": 25e9,
    "current_link_width": 8.0,
    "row_remap_pending": 1.0,
    "link_down_reason_info": 1.0,
    "module_alarm": 1.0,
}
"""Growth a second, or value, on the faulty rail, or GPU, of the faulty node."""
_OF_LABELS = (
    ("result", "incomplete", 0.0),
    ("result", "corrupt", 0.0),
    ("class", "driver", 0.0),
    ("verdict", "slow", 1.0),
    ("verdict", "healthy", 0.0),
    ("verdict", "inconclusive", 0.0),
)
"""Labels that decide alone."""
_ONLY_ILL = ("link_down_reason_info", "module_alarm")
_ONLY_WELL = ("exporter_build_info",)
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "port": ("1",),
    "priority": ("3",),
    "direction": ("received", "sent"),
    "level": ("warning", "error"),
    "operation": ("read", "write"),
    "class": ("hardware", "driver", "application"),
    "type": ("crc_flit", "recovery"),
    "kind": ("nic",),
    "collector": ("rdma", "pfc", "ethtool", "gpu", "nccl"),
    "reason": ("thermal",),
    "verdict": ("healthy", "slow", "inconclusive"),
    "result": ("success", "incomplete", "corrupt"),
    "probe": ("nightly",),
    "collective": ("all_reduce",),
    "size": ("8G",),
    "flow_control": ("pfc",),
    "firmware_version": ("28.39.1002",),
    "path": ("PXB",),
    "transport": ("IB",),
}
_OF_OTHERS: Mapping[Metric, float] = {UP: 1.0, SCRAPE_SECONDS: 0.008, SCRAPE_SAMPLES: 1200.0, GPU_CAPACITY: 8.0}
_ONCE = ("probe", "verdict")
"""Areas only the first node reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How many nodes and rails, over which time, and which of them is ill."""

    nodes: int = 4
    rails: int = 8
    start: float
    end: float
    step: float = 30.0
    ill: int | None = 2
    """The node with faults, on its rail 5; None for a healthy fleet."""
    names: frozenset[str] = field(default_factory=frozenset)
    """Series to make; all that are exported when empty."""


def openmetrics(fleet: Fleet) -> Iterator[str]:
    """Yield the text, line by line, for `promtool tsdb create-blocks-from openmetrics`."""
    for row in rows_of(fleet):
        yield from _family(row, fleet)
    yield "# EOF\n"


def rows_of(fleet: Fleet) -> Iterator[Metric]:
    """Yield the families the fleet has, those of other programs last."""
    for row in (*exported().values(), *_OF_OTHERS):
        if not fleet.names or row.name in fleet.names:
            yield row


def _family(row: Metric, fleet: Fleet) -> Iterator[str]:
    family = row.name.removesuffix("_total") if row.kind is Kind.COUNTER else row.name
    series = list(series_of(row, fleet))
    if series:
        yield f"# TYPE {family} {row.kind}\n"
    for labels, rate, draw in series:
        inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
        yield from (f"{row.name}{{{inside}}} {value:.10g} {at:.0f}\n" for at, value in _values(row, rate, draw, fleet))


def series_of(row: Metric, fleet: Fleet) -> Iterator[tuple[dict[str, str], float, random.Random]]:
    """Yield labels, level (of a counter: growth a second) and source of chance of each series of a family."""
    node_only = any(word in row.name for word in _ONCE)
    for node in range(1 if node_only else fleet.nodes):
        rails = range(fleet.rails) if {"device", "gpu", "pci_bus_id"} & set(row.labels) else (None,)
        free = [name for name in row.labels if name in _CHOICES]
        for rail, values in product(rails, product(*(_CHOICES[name] for name in free))):
            labels = _labels(row, node, rail) | dict(zip(free, values, strict=True))
            ill = node == fleet.ill and rail in (None, 5)
            seed = f"{row.name}{sorted(labels.items())}"
            value = _level(row, ill, labels)
            if value is not None:
                yield labels, value, random.Random(seed)


def _labels(row: Metric, node: int, rail: int | None) -> dict[str, str]:
    job = "netkit" if row is not GPU_CAPACITY else "kube-state-metrics"
    labels = {"cluster": "c1", "job": job, "instance": f"n{node}:9879", "node_pool": "h100", "node": f"n{node}"}
    own = {
        "device": f"mlx5_{rail}",
        "netdev": f"eth{rail}",
        "gpu": f"{rail}",
        "uuid": f"GPU-{node}-{rail}",
        "pci_bus_id": f"0000:{rail or 0:x}1:00.0",
        "resource": "nvidia_com_gpu",
    }
    if rail is not None and "device" in row.labels:
        labels["rail"] = str(rail)
    return labels | {name: own.get(name, f"some-{name}") for name in row.labels if name not in _CHOICES}


def _level(row: Metric, ill: bool, labels: Mapping[str, str]) -> float | None:
    """Return growth a second or value; None for a series that is not there in this state."""
    if row in _OF_OTHERS:
        return _OF_OTHERS[row]
    if row.name.endswith(_ONLY_WELL if ill else _ONLY_ILL):
        return None
    for name, value, level in _OF_LABELS:
        if labels.get(name) == value:
            return level
    fault = _longest(row.name, FAULTS) if ill else None
    usual = _longest(row.name, HEALTHY_RATES if row.kind is Kind.COUNTER else HEALTHY_VALUES)
    still = 0.0 if row.kind is Kind.COUNTER else None
    return next((level for level in (fault, usual, still) if level is not None), None)


def _longest(name: str, table: Mapping[str, float]) -> float | None:
    found = [end for end in table if name.endswith(end)]
    return table[max(found, key=len)] if found else None


def _values(row: Metric, level: float, draw: random.Random, fleet: Fleet) -> Iterator[tuple[float, float]]:
    """Yield times and values: steady within a few percent, with the slow waves of jobs that come and go."""
    phase, total = draw.random(), 0.0
    if row.kind is Kind.COUNTER and not level:
        yield from ((at, 0.0) for at in _times(fleet))
        return
    if row.name.endswith("last_success_timestamp_seconds"):
        yield from ((at, at - at % 1800) for at in _times(fleet))
        return
    for at in _times(fleet):
        wave = 1 + 0.12 * math.sin(at / 1500 + 6.28 * phase) + draw.gauss(0, 0.02)
        if row.kind is Kind.COUNTER:
            total += max(0.0, level * wave) * fleet.step
            yield at, total
        else:
            moves = "ratio" in row.name or "watts" in row.name or row.name.endswith(("bandwidth_bytes_per_second",))
            yield at, min(level * wave, 1.0 if "utilisation" in row.name else math.inf) if moves else level


def _times(fleet: Fleet) -> Iterator[float]:
    count = int((fleet.end - fleet.start) / fleet.step)
    return (fleet.start + at * fleet.step for at in range(count + 1))
