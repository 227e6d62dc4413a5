"""Sockets that listen, or one line that says why not and who is in the way."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

from netkit.errors import InputError
from netkit.model.text import visible
from netkit_exporters.options import Address
from netkit_exporters.web.server import BACKLOG

SEND_BUFFER_BYTES = 128 << 10
"""Of each accepted connection (socket(7): the kernel doubles it). Left to itself it grows to megabytes, and a client
who reads nothing would pass for one who has read everything."""
_LISTENING = "0A"
"""TCP_LISTEN of include/net/tcp_states.h, as /proc/net/tcp prints it."""


def listeners(addresses: Sequence[Address]) -> tuple[socket.socket, ...]:
    """Return a listening socket for each address; on InputError none of them is left open."""
    opened: list[socket.socket] = []
    try:
        for address in addresses:
            opened += _listening(address)
    except InputError:
        for one in opened:
            one.close()
        raise
    return tuple(opened)


def name_of(listener: socket.socket) -> str:
    """Return where a socket listens, with the port the kernel chose."""
    host, port, *_ = listener.getsockname()
    return str(Address(host=host, port=port))


def _listening(address: Address) -> Iterator[socket.socket]:
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except (OSError, UnicodeError) as fault:
        raise InputError(f"--listen {address}: {visible(str(fault))}", "an address of this machine") from fault
    for family, _, _, _, place in dict.fromkeys(found):
        yield _bound(address, family, place)


def _bound(address: Address, family: int, place: tuple[object, ...]) -> socket.socket:
    try:
        opened = socket.socket(family, socket.SOCK_STREAM)
    except OSError as fault:
        raise InputError(f"--listen {address}: {fault.strerror}", "an address of a family this kernel has") from fault
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(place)
        opened.listen(BACKLOG)
    except OSError as fault:
        opened.close()
        raise InputError(
            f"--listen {address}: {_why(fault, address.port)}", "a free address of this machine"
        ) from fault
    return opened


def _why(fault: OSError, port: int) -> str:
    if fault.errno != errno.EADDRINUSE:
        return fault.strerror or "cannot be used"
    return f"in use by {holder(port)}"


def holder(port: int) -> str:
    """Name the process that listens on a port, as far as this user may see it."""
    inodes = {f"socket:[{inode}]" for inode in _inodes_on(port)}
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            if any(str(link.readlink()) in inodes for link in folder.iterdir()):
                name = (folder.parent / "comm").read_text(errors="replace").strip()
                return f"{visible(name)} (process {folder.parent.name})"
        except OSError:
            continue  # gone meanwhile, or another user's
    return "another process"


def _inodes_on(port: int) -> Iterator[str]:
    """Give the socket numbers that listen there: proc(5), /proc/net/tcp."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in map(str.split, rows):
            if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port:
                yield row[9]
