"""The faults, by name: what each does to the first NIC or GPU of the node it strikes.

What a driver counts: Linux Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst; port files:
Documentation/ABI/stable/sysfs-class-infiniband. Rates are what such a fault shows on a 400 Gb/s port under load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from benchmarks.drills.exporter import HANGS
from benchmarks.drills.fault import Fault, File, benchmark_log, probe_document
from benchmarks.drills.node import Node, port, remove

_DEVICE, _INTERFACE = "mlx5_0", "rail0"
_NET = f"sys/class/net/{_INTERFACE}"
_GPU = "0000:13:00"
_DAY = 24 * 3600.0
_MICRO = 1e6
_HEALTHY_BUSBW = 460.0
"""GB/s of an all-reduce over two nodes of eight H100."""


def _counter(name: str, device: str = _DEVICE) -> str:
    return port(device, f"counters/{name}")


def _hardware(name: str, device: str = _DEVICE) -> str:
    return port(device, f"hw_counters/{name}")


def _statistic(name: str, interface: str = _INTERFACE) -> str:
    return f"ethtool/{interface}/{name}"


def _pci(name: str) -> str:
    return f"{_NET}/device/{name}"


def _paused(way: str, share: float, interface: str = _INTERFACE) -> dict[str, float]:
    """Pauses of the lossless priority for this share of time; a frame asks for a few microseconds."""
    return {
        _statistic(f"{way}_prio3_pause", interface): share * 2e5,
        _statistic(f"{way}_prio3_pause_duration", interface): share * _MICRO,
    }


def _probe(name: str, text: str, *findings: Mapping[str, object], age: float = 0.0, **about: Any) -> Fault:
    """A benchmark that ran well until now, and what netkit's own probe of the same name found since."""
    healthy, result = (File(name=f"{name}.log", text=one) for one in (benchmark_log(_HEALTHY_BUSBW), text))
    found, nothing = (File(name=f"{name}.json", text=probe_document(name, *said)) for said in (findings, ()))
    return Fault(results=(replace(result, age=age), found), healthy_results=(healthy, nothing), **about)


def _slow(kind: str, **where: object) -> Mapping[str, object]:
    return {"id": f"slow-{kind}", "class": kind, "slowdown": 0.4, "severity": "warning", **where}


def _misplace(node: Node) -> None:
    _rebuild(node, (0,))


def _put_back(node: Node) -> None:
    _rebuild(node, ())


def _rebuild(node: Node, misplaced: tuple[int, ...]) -> None:
    node.misplaced = misplaced
    remove(node.place / "sys")
    node.lay_out_files()


def _hang(node: Node) -> None:
    (node.place / "ethtool" / HANGS).touch()


def _answer(node: Node) -> None:
    (node.place / "ethtool" / HANGS).unlink()


_DOWN = {
    port(_DEVICE, "state"): "1: DOWN",
    f"{_NET}/carrier": "0",
    f"{_NET}/operstate": "down",
}

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "cable-out": Fault(
            values={**_DOWN, port(_DEVICE, "phys_state"): "2: Polling"},
            log=(f"mlx5_core {_GPU}.0 {_INTERFACE}: Link down",),
        ),
        "switched-off": Fault(
            values={**_DOWN, port(_DEVICE, "phys_state"): "3: Disabled", f"{_NET}/flags": "0x1002"},
        ),
        "device-gone": Fault(absent=(f"sys/class/infiniband/{_DEVICE}",)),
        "flapping": Fault(
            grows={
                f"{_NET}/carrier_down_count": 0.2,
                f"{_NET}/carrier_up_count": 0.2,
                _counter("link_downed"): 0.2,
                _statistic("link_down_events_phy"): 0.2,
            }
        ),
        "half-speed": Fault(values={port(_DEVICE, "rate"): "200 Gb/sec (2X NDR)", f"{_NET}/speed": "200000"}),
        "bad-cable": Fault(
            grows={
                _counter("symbol_error"): 80.0,
                _counter("link_error_recovery"): 0.5,
                _counter("local_link_integrity_errors"): 0.3,
                _counter("port_rcv_errors"): 60.0,
            }
        ),
        "broken-fibre": Fault(
            grows={
                _statistic("rx_symbol_err_phy"): 80.0,
                _statistic("rx_pcs_symbol_err_phy"): 20.0,
                _statistic("rx_corrected_bits_phy"): 4e6,
                _statistic("rx_crc_errors_phy"): 40.0,
            }
        ),
        "weak-light": Fault(grows={_statistic("rx_corrected_bits_phy"): 2e5}),
        "lossy-path": Fault(
            grows={
                _hardware("out_of_sequence"): 6e4,
                _hardware("packet_seq_err"): 6e4,
            }
        ),
        "lost-acknowledgements": Fault(
            grows={
                _hardware("local_ack_timeout_err"): 40.0,
                _hardware("roce_slow_restart_trans"): 80.0,
                _hardware("roce_adp_retrans"): 80.0,
            }
        ),
        "receiver-not-ready": Fault(grows={_hardware("rnr_nak_retry_err"): 0.5, _hardware("req_cqe_error"): 0.5}),
        "dead-peer": Fault(
            grows={
                _hardware("req_transport_retries_exceeded"): 0.5,
                _hardware("req_cqe_error"): 0.5,
                _hardware("local_ack_timeout_err"): 0.4,
            }
        ),
        "port-congested": Fault(
            grows={
                _counter("port_xmit_discards"): 900.0,
                _counter("port_xmit_wait"): 1e7,
                _statistic("tx_discards_phy"): 900.0,
            }
        ),
        "starved-receiver": Fault(
            grows={
                _hardware("out_of_buffer"): 50.0,
                _statistic("rx_out_of_buffer"): 50.0,
            }
        ),
        "storm": Fault(
            grows={
                _statistic("tx_pause_storm_warning_events"): 0.5,
                _statistic("tx_pause_storm_error_events"): 0.2,
                **_paused("tx", 0.97),
            }
        ),
        "paused-by-fabric": Fault(grows={**_paused("rx", 0.5), _counter("port_xmit_wait"): 1e7}),
        "behind-a-storm": Fault(grows={**_paused("rx", 0.97), _counter("port_xmit_wait"): 1e8}),
        "pcie-stalls": Fault(
            grows={
                _statistic("outbound_pci_stalled_wr_events"): 0.8,
                _statistic("outbound_pci_stalled_rd_events"): 0.3,
                _statistic("outbound_pci_buffer_overflow"): 20.0,
                **_paused("tx", 0.3),
            }
        ),
        "wrong-priority": Fault(
            grows={_statistic("rx_prio5_pause"): 400.0, _statistic("rx_prio5_pause_duration"): 4000.0}
        ),
        "no-headroom": Fault(
            grows={
                _statistic("rx_prio3_buf_discard"): 40.0,
                _statistic("rx_discards_phy"): 40.0,
                **_paused("tx", 0.03),
            }
        ),
        "global-pause": Fault(
            grows={_statistic("rx_global_pause"): 300.0, _statistic("rx_global_pause_duration"): 3000.0}
        ),
        "notification-off": Fault(
            grows={_hardware("np_ecn_marked_roce_packets"): 5000.0, _hardware("np_cnp_sent"): 0.0},
            values={f"{_NET}/ecn/roce_np/enable/3": "0"},
        ),
        "reaction-off": Fault(grows={_hardware("rp_cnp_ignored"): 60.0}, values={f"{_NET}/ecn/roce_rp/enable/3": "0"}),
        "incast": Fault(grows={**_paused("rx", 0.6), **_paused("rx", 0.6, "rail1"), _counter("port_xmit_wait"): 1e7}),
        "few-lanes": Fault(values={_pci("current_link_width"): "8"}),
        "gpu-off-the-bus": Fault(
            log=(f"NVRM: Xid (PCI:{_GPU}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",)
        ),
        "spare-rows-used-up": Fault(
            nvml={"remapped_rows": [2, 9, 0, 1], "ecc_uncorrected": 9},
            log=(f"NVRM: Xid (PCI:{_GPU}): 64, pid=0, name=<unknown>, Row Remapper: failed to remap",),
        ),
        "nvlink-errors": Fault(
            grows={"nvml/0/nvlink_crc_flit_errors": 30.0, "nvml/0/nvlink_replay_errors": 5.0},
        ),
        "hot-gpu": Fault(
            grows={"nvml/0/throttle_thermal_nanoseconds": 6e8},
            nvml={"temperature": 91, "throttle": 0x40, "clock_graphics": 1100},
        ),
        "misplaced-nic": Fault(begins=_misplace, ends=_put_back),
        "slow-collective": _probe("slow", benchmark_log(330.0), _slow("rail", node="n3", rail=2)),
        "collapsed-collective": _probe("collapsed", benchmark_log(60.0), _slow("leaf", node="leaf-1")),
        "socket-transport": _probe(
            "sockets",
            benchmark_log(12.0, transport="Socket"),
            values={**_DOWN, port(_DEVICE, "phys_state"): "2: Polling"},
        ),
        "slow-link": _probe(
            "nightly",
            benchmark_log(440.0),
            _slow("rail", node="slow-link", rail=0),
            grows={_statistic("rx_pcs_symbol_err_phy"): 30.0, _statistic("rx_corrected_bits_phy"): 4e6},
        ),
        "probe-breaks-off": _probe("breaks-off", benchmark_log(_HEALTHY_BUSBW, cut=True), repeats=True),
        "probe-stopped": _probe("stopped", benchmark_log(_HEALTHY_BUSBW), age=_DAY),
        "storm-by-pcie": Fault(
            grows={
                _statistic("tx_pause_storm_warning_events"): 0.5,
                _statistic("tx_pause_storm_error_events"): 0.2,
                _statistic("outbound_pci_stalled_wr_events"): 0.9,
                **_paused("tx", 0.8),
            }
        ),
        "pausing-without-buffers": Fault(
            grows={
                _hardware("out_of_buffer"): 50.0,
                _statistic("rx_out_of_buffer"): 50.0,
                **_paused("tx", 0.2),
            }
        ),
        "lossy-wire": Fault(
            grows={
                _hardware("out_of_sequence"): 6e4,
                _hardware("packet_seq_err"): 3e4,
                _statistic("rx_pcs_symbol_err_phy"): 20.0,
                _statistic("rx_corrected_bits_phy"): 4e6,
                _statistic("rx_crc_errors_phy"): 40.0,
            }
        ),
        "congested-path": Fault(
            grows={
                _hardware("out_of_sequence"): 3e4,
                _hardware("packet_seq_err"): 1e4,
                _hardware("np_ecn_marked_roce_packets"): 5e4,
                _hardware("np_cnp_sent"): 1e4,
                **_paused("rx", 0.25),
            }
        ),
        "spraying": Fault(grows={_hardware("out_of_sequence"): 6e4}),
        "program-crashed": Fault(
            log=(f"NVRM: Xid (PCI:{_GPU}): 45, pid=20000, name=python3, Ch 00000008",) * 8,
        ),
        "storm-with-drops": Fault(
            grows={
                _statistic("tx_pause_storm_warning_events"): 0.5,
                _statistic("tx_pause_storm_error_events"): 0.2,
                _statistic("rx_prio3_buf_discard"): 400.0,
                _statistic("rx_discards_phy"): 400.0,
                **_paused("tx", 0.6),
            }
        ),
        "hot-node": Fault(
            grows={f"nvml/{gpu}/throttle_thermal_nanoseconds": 5e8 for gpu in range(2)},
            nvml={"temperature": 92, "throttle": 0x40, "clock_graphics": 1050},
        ),
        "slow-pcie": Fault(values={_pci("current_link_speed"): "16.0 GT/s PCIe"}),
        "nvlink-down": Fault(
            grows={"nvml/0/nvlink_crc_flit_errors": 30.0, "nvml/0/nvlink_recovery_errors": 1.0},
            nvml={"links": [1] * 15 + [0] * 3},
        ),
        "driver-hangs": Fault(begins=_hang, ends=_answer),
        "driver-unloaded": Fault(absent=("sys/class/infiniband",)),
    }
)
