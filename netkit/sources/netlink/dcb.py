"""Data center bridging by rtnetlink: RTM_GETDCB with DCB_CMD_IEEE_GET. Reading needs no privilege.

Linux: include/uapi/linux/dcbnl.h, net/dcb/dcbnl.c; the order of the C structures' bytes is the machine's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum
from types import MappingProxyType
from typing import TypeVar

from netkit.model.missing import Missing, Reason
from netkit.model.qos import (
    AppPriority,
    AppSelector,
    Dcb,
    PriorityFlowControl,
    ReceiveBuffers,
    TransmissionSelection,
    Trust,
)
from netkit.model.text import visible
from netkit.sources.netlink.attributes import Attributes, MalformedError, fixed, parse, text_attribute
from netkit.sources.netlink.kernel import Channel, Kernel, Question, refused

RTM_GETDCB = 78
_HEADER = struct.Struct("=BBH")
HEADER_BYTES = _HEADER.size
_PRIORITIES = 8


class Command(IntEnum):
    """DCB_CMD_*."""

    IEEE_GET = 21
    GDCBX = 22


class Attr(IntEnum):
    """DCB_ATTR_* at the top of a message."""

    IFNAME = 1
    IEEE = 13
    DCBX = 14


class Ieee(IntEnum):
    """DCB_ATTR_IEEE_* inside DCB_ATTR_IEEE."""

    ETS = 1
    PFC = 2
    APP_TABLE = 3
    MAXRATE = 7
    BUFFER = 10
    APP_TRUST_TABLE = 11


_APP = 1
_PCP_APP = 2
"""DCB_ATTR_DCB_APP: the entries IEEE 802.1Q does not define, since Linux 6.2."""
_ETS = struct.Struct("=3B8s8s8s8s8s8s8s")
# The compiler puts two bytes before `delay` and four before the first 64-bit count.
_PFC = struct.Struct("=3BxH2x8Q8Q")
_APP_ENTRY = struct.Struct("=BBH")
_MAXRATE = struct.Struct("=8Q")
_BUFFER = struct.Struct("=8B8II")
_ALGORITHMS = MappingProxyType({0: "strict", 1: "credit-based", 2: "ets", 255: "vendor"})
_SELECTORS = MappingProxyType(
    {
        1: AppSelector.ETHERTYPE,
        2: AppSelector.STREAM_PORT,
        3: AppSelector.DATAGRAM_PORT,
        4: AppSelector.ANY_PORT,
        5: AppSelector.DSCP,
        255: AppSelector.PCP,
    }
)
_TRUST = MappingProxyType({5: Trust.DSCP, 255: Trust.PCP})
_DCBX = MappingProxyType({0x01: "host", 0x02: "firmware", 0x04: "cee", 0x08: "ieee", 0x10: "static"})
_BITS = 8
_KILOBITS = 1000 / _BITS
_T = TypeVar("_T")


def question(command: Command, interface: str) -> Question:
    """Ask about one interface."""
    body = _HEADER.pack(0, command, 0) + text_attribute(Attr.IFNAME, interface)
    where = f"dcb {command.name.lower()} of {visible(interface)}"
    return Question(channel=Channel.ROUTE, command=RTM_GETDCB, body=body, where=where)


def read_dcb(kernel: Kernel, interface: str) -> Dcb | Missing:
    """Return what an interface's driver says; Missing when the interface has no data center bridging at all."""
    table = _table(kernel, interface)
    if isinstance(table, Missing):
        return table
    return Dcb(
        interface=visible(interface),
        flow_control=_read(table, Ieee.PFC, interface, parse_flow_control),
        selection=_read(table, Ieee.ETS, interface, parse_selection),
        app_priorities=_read(table, Ieee.APP_TABLE, interface, parse_app_table),
        trust=_read(table, Ieee.APP_TRUST_TABLE, interface, parse_trust),
        max_rate_bytes_per_second=_read(table, Ieee.MAXRATE, interface, parse_max_rate),
        buffers=_read(table, Ieee.BUFFER, interface, parse_buffers),
        negotiated_by=_negotiated_by(kernel, interface),
    )


def _table(kernel: Kernel, interface: str) -> Attributes | Missing:
    found = _attributes(kernel, question(Command.IEEE_GET, interface))
    if isinstance(found, Missing):
        return found
    where = f"dcb of {visible(interface)}"
    try:
        inside = found.group(Attr.IEEE)
    except MalformedError as fault:
        return refused(where, "EBADMSG", str(fault))
    return inside or Missing(reason=Reason.UNSUPPORTED, where=where, detail="no IEEE attributes")


def _attributes(kernel: Kernel, asked: Question) -> Attributes | Missing:
    answer = kernel.ask(asked)
    if isinstance(answer, Missing):
        return answer
    body = answer.bodies[0] if answer.bodies else b""
    try:
        return parse(body[_HEADER.size :])
    except MalformedError as fault:
        return refused(asked.where, "EBADMSG", str(fault))


def _read(table: Attributes, kind: Ieee, interface: str, read: Callable[[bytes], _T]) -> _T | Missing:
    where = f"dcb {kind.name.lower()} of {visible(interface)}"
    value = table.raw(kind)
    if value is None:
        return Missing(reason=Reason.UNSUPPORTED, where=where, detail="the driver does not say")
    try:
        return read(value)
    except MalformedError as fault:
        return refused(where, "EBADMSG", str(fault))


def parse_flow_control(value: bytes) -> PriorityFlowControl:
    """Read `struct ieee_pfc`."""
    classes, enabled, bypass, delay, *counts = fixed(_PFC, value)
    return PriorityFlowControl(
        classes_supported=classes,
        enabled=tuple(bool(enabled >> priority & 1) for priority in range(_PRIORITIES)),
        bypasses_macsec=bool(bypass),
        delay_bits=delay,
        requests=tuple(counts[:_PRIORITIES]),
        indications=tuple(counts[_PRIORITIES:]),
    )


def parse_selection(value: bytes) -> TransmissionSelection:
    """Read `struct ieee_ets`; what the switch recommended is left out."""
    if len(value) < _ETS.size:
        raise MalformedError(f"ETS in {len(value)} bytes")
    willing, classes, shaper, sent, _, algorithms, of_priority, *_ = _ETS.unpack_from(value)
    return TransmissionSelection(
        willing=bool(willing),
        classes_supported=classes,
        credit_shaper=bool(shaper),
        bandwidth_percent=tuple(sent),
        algorithm=tuple(_ALGORITHMS.get(code, str(code)) for code in algorithms),
        class_of_priority=tuple(of_priority),
    )


def parse_app_table(value: bytes) -> tuple[AppPriority, ...]:
    """Read the application table, both kinds of entries."""
    listed = parse(value)
    return tuple(_app(entry) for kind in (_APP, _PCP_APP) for entry in listed.every(kind))


def _app(entry: bytes) -> AppPriority:
    code, priority, protocol = fixed(_APP_ENTRY, entry)
    unknown = Missing(reason=Reason.UNSUPPORTED, where="dcb application table", detail=f"selector {code}")
    selector = _SELECTORS.get(code, unknown)
    # IEEE 802.1Q: ethertype 0 is the priority of everything without an entry.
    if selector is AppSelector.ETHERTYPE and protocol == 0:
        selector = AppSelector.DEFAULT
    return AppPriority(selector=selector, protocol=protocol, priority=priority)


def parse_trust(value: bytes) -> tuple[Trust, ...]:
    """Read the trusted selectors, the first one wins."""
    codes = (code for inner in parse(value).found for code in inner[1][:1])
    return tuple(_TRUST[code] for code in codes if code in _TRUST)


def parse_max_rate(value: bytes) -> tuple[float, ...]:
    """Read `struct ieee_maxrate`, which is in kilobits per second."""
    return tuple(rate * _KILOBITS for rate in fixed(_MAXRATE, value))


def parse_buffers(value: bytes) -> ReceiveBuffers:
    """Read `struct dcbnl_buffer`."""
    found = fixed(_BUFFER, value)
    return ReceiveBuffers(
        buffer_of_priority=found[:_PRIORITIES],
        size_bytes=found[_PRIORITIES : 2 * _PRIORITIES],
        total_bytes=found[2 * _PRIORITIES],
    )


def _negotiated_by(kernel: Kernel, interface: str) -> tuple[str, ...] | Missing:
    where = f"dcbx of {visible(interface)}"
    found = _attributes(kernel, question(Command.GDCBX, interface))
    if isinstance(found, Missing):
        return found
    try:
        mode = found.number(Attr.DCBX)
    except MalformedError as fault:
        return refused(where, "EBADMSG", str(fault))
    if mode is None:
        return Missing(reason=Reason.UNSUPPORTED, where=where)
    return tuple(word for bit, word in _DCBX.items() if mode & bit)
