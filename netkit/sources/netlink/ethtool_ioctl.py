"""Driver statistics by ioctl(SIOCETHTOOL), as the text lines of `ethtool -S`. Reading needs no privilege.

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

from netkit.sources.netlink.attributes import text

_SIOCETHTOOL = 0x8946
_GSSET_INFO, _GSTRINGS, GSTATS = 0x37, 0x1B, 0x1D
_STATISTICS_SET = 1
_NAME_BYTES = 32
_INTERFACE_NAME_BYTES = 16
_ATTEMPTS = 3
_SPARE = 64
"""Room for values beyond the names, for kernels that ignore the count they are told."""
MOST = 1 << 16

Ioctl = Callable[[str, bytes], bytes]
"""Send one ethtool command with its buffer about an interface; return the buffer as the kernel left it."""


class UnsettledError(Exception):
    """The names changed during every try to read them."""


def statistics_lines(interface: str, ioctl: Ioctl) -> tuple[str, ...]:
    """Return `name: value` for every statistic in the driver's order, nothing for a driver that has none.

    Raises:
        OSError: the kernel refuses.
        UnsettledError: no numbers rather than wrong ones.
    """
    for _ in range(_ATTEMPTS):
        count = parse_count(ioctl(interface, struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _STATISTICS_SET, 0)))
        if count == 0:
            return ()
        names = parse_names(ioctl(interface, _buffer(_GSTRINGS, _STATISTICS_SET, count, _NAME_BYTES)))
        values = parse_values(ioctl(interface, _buffer(GSTATS, None, count, 8)))
        if len(names) == len(values) == count:
            return tuple(f"{name}: {value}" for name, value in zip(names, values, strict=True))
    raise UnsettledError


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
