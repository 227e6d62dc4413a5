"""The statistics only a driver names (`ethtool -S`), by ioctl(SIOCETHTOOL). Reading needs no privilege.

Linux: include/uapi/linux/ethtool.h (ETHTOOL_GSSET_INFO, GSTRINGS, GSTATS), net/ethtool/ioctl.c. Names appear and go
away at run time (mlx5 names a priority's pauses only while PFC is on for it), so the count is told to the kernel,
which then answers "none" instead of writing past the buffer, and names are read again.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from collections.abc import Callable

from netkit.model.counter import Counter, CounterForm
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.netlink.attributes import text
from netkit.sources.netlink.kernel import refused
from netkit.sources.tree import code_of

_SIOCETHTOOL = 0x8946
_GSSET_INFO, _GSTRINGS, _GSTATS = 0x37, 0x1B, 0x1D
_STATISTICS_SET = 1
_NAME_BYTES = 32
_INTERFACE_NAME_BYTES = 16
_ATTEMPTS = 3
_SPARE = 64
"""Room for values beyond the names, for kernels that ignore the count they are told."""
MOST = 1 << 16

Ioctl = Callable[[str, bytes], bytes]
"""Send one ethtool command with its buffer about an interface; return the buffer as the kernel left it."""


def read_driver_statistics(interface: str, ioctl: Ioctl | None = None) -> tuple[Counter, ...] | Missing:
    """Return every statistic in the driver's order; Missing where there are none or they changed during each try."""
    where = f"ethtool -S of {visible(interface)}"
    try:
        return _read(interface, where, ioctl or ethtool_ioctl)
    except OSError as fault:
        return refused(where, code_of(fault))


def _read(interface: str, where: str, ioctl: Ioctl) -> tuple[Counter, ...] | Missing:
    for _ in range(_ATTEMPTS):
        count = parse_count(ioctl(interface, struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _STATISTICS_SET, 0)))
        if count == 0:
            return Missing(reason=Reason.UNSUPPORTED, where=where, detail="the driver has none")
        names = parse_names(ioctl(interface, _buffer(_GSTRINGS, _STATISTICS_SET, count, _NAME_BYTES)))
        values = parse_values(ioctl(interface, _buffer(_GSTATS, None, count, 8)))
        if len(names) == len(values) == count:
            return tuple(
                Counter(name=name, raw=value, form=CounterForm()) for name, value in zip(names, values, strict=True)
            )
    return Missing(reason=Reason.STALE, where=where, detail="the names changed while they were read")


def _buffer(command: int, string_set: int | None, count: int, item_bytes: int) -> bytes:
    sets = [] if string_set is None else [string_set]
    numbers = [command, *sets, count]
    return struct.pack(f"={len(numbers)}I", *numbers) + bytes((count + _SPARE) * item_bytes)


def parse_count(answer: bytes) -> int:
    """Read `struct ethtool_sset_info`: how many names there are, 0 where the mask came back empty."""
    _, _, mask, count = struct.unpack_from("=IIQI", answer)
    return min(count, MOST) if mask else 0


def parse_names(answer: bytes) -> tuple[str, ...]:
    """Read `struct ethtool_gstrings`; a count larger than the buffer is cut to it."""
    (count,) = struct.unpack_from("=I", answer, 8)
    names = answer[12:]
    most = min(count, len(names) // _NAME_BYTES)
    return tuple(text(names[at * _NAME_BYTES : (at + 1) * _NAME_BYTES]).strip() for at in range(most))


def parse_values(answer: bytes) -> tuple[int, ...]:
    """Read `struct ethtool_stats`; a count larger than the buffer is cut to it."""
    (count,) = struct.unpack_from("=I", answer, 4)
    return struct.unpack_from(f"={min(count, (len(answer) - 8) // 8)}Q", answer, 8)


def ethtool_ioctl(interface: str, buffer: bytes) -> bytes:
    """Ask this machine; raise OSError for an interface that is not there or a driver that has no statistics."""
    name = interface.encode("utf-8", "surrogateescape")[: _INTERFACE_NAME_BYTES - 1]
    room = ctypes.create_string_buffer(buffer, len(buffer))
    request = struct.pack(f"{_INTERFACE_NAME_BYTES}sP16x", name, ctypes.addressof(room))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        fcntl.ioctl(opened, _SIOCETHTOOL, request)
    return room.raw
