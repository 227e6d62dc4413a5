"""Series that no dashboard, alert or recording rule reads, and why they are exported all the same.

A series that is in no expression and not here is one somebody forgot: the linter of dashboards says so, as it does of a
mark that is no longer true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from netkit.catalogue.counter import tables
from netkit.catalogue.metric_rows import ethtool, rdma

_BY_HAND: Mapping[str, tuple[str, ...]] = {
    "the state of one node, read while looking for a cause": (
        *("netkit_dcb_trust_info", "netkit_dcb_negotiated_by_info", "netkit_dcb_dscp_priority"),
        *("netkit_dcb_priority_traffic_class", "netkit_dcb_class_bandwidth_ratio", "netkit_dcb_configuration_info"),
        *("netkit_dcb_class_max_rate_bytes_per_second", "netkit_dcb_receive_buffer_bytes"),
        *("netkit_dcb_priority_receive_buffer", "netkit_dcb_pfc_delay_bytes"),
        *("netkit_link_up", "netkit_link_enabled", "netkit_link_speed_bytes_per_second", "netkit_link_info"),
        *("netkit_phy_fec_info", "netkit_rdma_physical_state_id", "netkit_rdma_lifespan_seconds"),
        *("netkit_rdma_saturated", "netkit_rdma_width", "netkit_rdma_hw_events_total"),
        *("netkit_module_info", "netkit_module_supply_volts", "netkit_module_received_power_watts"),
        *("netkit_module_sent_power_watts", "netkit_module_bias_amperes", "netkit_module_signal_lost"),
        *("netkit_module_temperature_limit_celsius", "netkit_module_received_power_limit_watts"),
        *("netkit_topology_gpu_nic_distance", "netkit_topology_findings", "netkit_topology_platform_info"),
        *("netkit_gpu_lost", "netkit_gpu_nvlinks_up", "netkit_gpu_fabric_ready", "netkit_gpu_throttled"),
        *("netkit_gpu_xid_codes_total", "netkit_gpu_xid_last_since_boot_seconds", "netkit_pcie_aer_error_types_total"),
        "netkit_probe_timestamp_seconds",
    ),
    "on dashboards of GPUs everybody has; here so that one exporter is enough": (
        *("netkit_gpu_memory_total_bytes", "netkit_gpu_memory_used_bytes", "netkit_gpu_clock_hertz"),
        *("netkit_gpu_temperature_celsius", "netkit_gpu_pcie_replays_total", "netkit_gpu_ecc_errors_total"),
        *("netkit_gpu_energy_joules_total", "netkit_gpu_pcie_bytes_total"),
    ),
    "the same pause, counted another way": (
        *("netkit_pfc_pause_transitions_total", "netkit_pfc_resume_frames_total", "netkit_global_pause_seconds_total"),
        *("netkit_global_pause_transitions_total", "netkit_global_resume_frames_total"),
    ),
    "joined to other series by the reader, who knows their pods": (
        *("netkit_pod_device_info", "netkit_pod_rdma_queue_pairs", "netkit_pod_resources_readable"),
    ),
    "one job at one moment; a dashboard of jobs is not netkit's": (
        *("netkit_nccl_inspector_duration_seconds", "netkit_nccl_ras_communicators", "netkit_nccl_ras_ranks"),
        *("netkit_nccl_ras_timeouts", "netkit_nccl_ras_timestamp_seconds"),
    ),
    "Ascend alone, without a public threshold": (
        *("netkit_npu_link_up", "netkit_npu_link_speed_bytes_per_second", "netkit_npu_link_up_events_total"),
        *("netkit_npu_module_temperature_celsius", "netkit_npu_module_present", "netkit_npu_port_events_total"),
    ),
    "the exporter's own log, sums of which another series shows": (
        *("netkit_collector_last_success_timestamp_seconds", "netkit_collector_hung", "netkit_collector_state"),
        *("netkit_collector_target_state", "netkit_exporter_series", "netkit_exporter_refreshes_total"),
        *("netkit_exporter_log_lines_dropped_total", "netkit_http_requests_total", "netkit_http_connections"),
        *("netkit_web_config_last_reload_success", "netkit_web_config_last_reload_success_timestamp_seconds"),
        *("netkit_web_certificate_expiry_timestamp_seconds", "process_virtual_memory_bytes", "process_open_fds"),
        *("process_max_fds", "process_threads", "process_start_time_seconds"),
    ),
    "how much of what, beside the errors that are watched": (
        *("netkit_rdma_port_packets_transmitted_total", "netkit_rdma_unicast_packets_received_total"),
        *("netkit_rdma_unicast_packets_transmitted_total", "netkit_rdma_multicast_packets_received_total"),
        *("netkit_rdma_multicast_packets_transmitted_total", "netkit_rdma_rx_write_requests_total"),
        *("netkit_rdma_rx_read_requests_total", "netkit_rdma_rx_atomic_requests_total"),
        *("netkit_rdma_rx_dct_connect_requests_total", "netkit_priority_rx_bytes_total"),
        "netkit_priority_tx_bytes_total",
    ),
}
_OF_DRIVERS = "a driver's own counter, for diagnosis; alerts watch the stems that drivers share"
_DRIVERS = frozenset({"bnxt", "cxgb4", "efa", "erdma", "hns", "ionic", "irdma", "mlx4", "mlx5", "pma", "rxe"})
"""Tables whose counters are judged on a node (`netkit top`, `netkit check`) whether or not a rule reads them."""


@cache
def unused(read: frozenset[str]) -> Mapping[str, str]:
    """Return the reason of each mark by name; of drivers' counters, of those that are not `read` in an expression."""
    by_hand = {name: reason for reason, names in _BY_HAND.items() for name in names}
    counters = {name: _OF_DRIVERS for name in _counters() if name not in read and name not in by_hand}
    return MappingProxyType({**by_hand, **counters})


def _counters() -> Iterator[str]:
    for table in tables():
        if table.id in _DRIVERS:
            yield from (rdma.COUNTERS[row.stem].name for row in (*table.port, *table.hardware))
            yield from (ethtool.COUNTERS[row.stem].name for row in table.statistics)
