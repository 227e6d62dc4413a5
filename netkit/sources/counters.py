"""How wide counters are, what they count, and what happened between two readings of one.

Widths: InfiniBand Architecture 1.4, 16.1.3.5 (PortCounters) and 16.1.4.11 (extended); Linux
drivers/infiniband/core/sysfs.c; the queue counters of drivers/infiniband/hw/mlx5/counters.c are 32 bits in firmware.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from netkit.model.counter import Counter, CounterForm, Overflow
from netkit.model.missing import Missing, Reason

WORD_BYTES = 4
"""`port_*_data` counts 32-bit words, whatever the number of lanes."""

_WORDS = CounterForm(unit="bytes", bits=64, overflow=Overflow.WRAPS, factor=WORD_BYTES)
_PACKETS = CounterForm(unit="packets", bits=64, overflow=Overflow.WRAPS)
_STICKY = {bits: CounterForm(bits=bits, overflow=Overflow.STICKS) for bits in (4, 8, 16)}

PORT_FORMS = MappingProxyType(
    {
        **dict.fromkeys(("port_xmit_data", "port_rcv_data"), _WORDS),
        **dict.fromkeys(("port_xmit_packets", "port_rcv_packets"), _PACKETS),
        **{f"{cast}_{way}_packets": _PACKETS for cast in ("unicast", "multicast") for way in ("xmit", "rcv")},
        "port_xmit_wait": CounterForm(unit="ticks", bits=32, overflow=Overflow.STICKS),
        "symbol_error": _STICKY[16],
        "port_rcv_errors": _STICKY[16],
        "port_rcv_remote_physical_errors": _STICKY[16],
        "port_rcv_switch_relay_errors": _STICKY[16],
        "port_xmit_discards": _STICKY[16],
        "VL15_dropped": _STICKY[16],
        "link_error_recovery": _STICKY[8],
        "link_downed": _STICKY[8],
        "port_xmit_constraint_errors": _STICKY[8],
        "port_rcv_constraint_errors": _STICKY[8],
        "local_link_integrity_errors": _STICKY[4],
        "excessive_buffer_overrun_errors": _STICKY[4],
    }
)

_QUEUE_32 = CounterForm(bits=32, overflow=Overflow.WRAPS)
_MLX5_QUEUE_NAMES = [
    "rx_write_requests",
    "rx_read_requests",
    "rx_atomic_requests",
    "rx_dct_connect",
    "out_of_buffer",
    "out_of_sequence",
    "duplicate_request",
    "rnr_nak_retry_err",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "resp_local_length_error",
    "resp_cqe_error",
    "req_cqe_error",
    "req_remote_invalid_request",
    "req_remote_access_errors",
    "resp_remote_access_errors",
    "resp_cqe_flush_error",
    "req_cqe_flush_error",
    "req_transport_retries_exceeded",
    "req_rnr_retries_exceeded",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
]
_HW_FORMS = MappingProxyType({"mlx5_core": dict.fromkeys(_MLX5_QUEUE_NAMES, _QUEUE_32)})

UNKNOWN_FORM = CounterForm()
_BYTES = CounterForm(unit="bytes", bits=64, overflow=Overflow.WRAPS)


def port_form(name: str) -> CounterForm:
    """Return the form of a file under `counters/`."""
    return PORT_FORMS.get(name, UNKNOWN_FORM)


def hw_form(name: str, driver: str | Missing) -> CounterForm:
    """Return the form of a file under `hw_counters/`; the same name has other widths in other drivers."""
    known = _HW_FORMS.get(driver) if isinstance(driver, str) else None
    return (known or {}).get(name, UNKNOWN_FORM)


def netdev_form(name: str) -> CounterForm:
    """Return the form of a file under `statistics/`: 64 bits in every driver."""
    return _BYTES if name.endswith("_bytes") else _PACKETS


class Change(StrEnum):
    """What happened to a counter between two readings."""

    GREW = "grew"
    WRAPPED = "wrapped"
    RESET = "reset"
    FILLED = "filled"
    """It reached its largest value: the amount is a lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """How much a counter counted, in the unit of its form; never negative."""

    amount: int
    change: Change


def delta(before: Counter, after: Counter) -> Delta | Missing:
    """Return what was counted between two readings of one counter of one device.

    A value that went down is a reset, unless the counter is documented to wrap at 32 bits and the way round is the
    short one. A counter that was full before and is still full says nothing.
    """
    for reading in (before, after):
        if isinstance(reading.raw, Missing):
            return reading.raw
    old, new = before.raw, after.raw
    assert isinstance(old, int)
    assert isinstance(new, int)
    if before.saturated and new == old:
        return Missing(reason=Reason.STALE, where=after.name, detail=f"stuck at {new} ({after.form.bits} bits)")
    amount, change = _counted(old, new, after)
    return Delta(amount=amount * after.form.factor, change=change)


def _counted(old: int, new: int, after: Counter) -> tuple[int, Change]:
    if new >= old:
        return new - old, Change.FILLED if after.saturated else Change.GREW
    form = after.form
    if form.overflow is Overflow.WRAPS and form.bits == 32:
        around = new + 2**32 - old
        if 0 <= around < 2**31:
            return around, Change.WRAPPED
    return new, Change.RESET
