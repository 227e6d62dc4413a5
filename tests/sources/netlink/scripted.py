"""A netlink socket that answers from a script, and the bytes of made-up answers (all synthetic)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any, cast

from netkit.sources.netlink.kernel import LiveKernel
from netkit.sources.netlink.messages import Flag, Kind, Message, encode

DUMPED = 77
Step = bytes | OSError
Script = Callable[[int], list[Step]]
"""What is received after a question with this sequence number."""


class ScriptedSocket:
    """Answers each question with the next steps of the script."""

    def __init__(self, script: Script, opened: list[ScriptedSocket]) -> None:
        self._script = script
        self._ahead: Iterator[Step] = iter(())
        self.closed = False
        opened.append(self)

    def send(self, data: bytes) -> int:
        (sequence,) = struct.unpack_from("=I", data, 8)
        self._ahead = iter(self._script(sequence))
        return len(data)

    def recvmsg(self, _size: int) -> tuple[bytes, list[Any], int, tuple[int, int]]:
        step = next(self._ahead, TimeoutError())
        if isinstance(step, OSError):
            raise step
        return step, [], 0, (0, 0)

    def settimeout(self, _seconds: float) -> None:
        assert not self.closed

    def close(self) -> None:
        self.closed = True


def scripted_kernel(script: Script) -> tuple[LiveKernel, list[ScriptedSocket]]:
    """Return a kernel whose every socket follows the script, and the list of the sockets it opened."""
    opened: list[ScriptedSocket] = []
    kernel = LiveKernel(open_socket=lambda _protocol, _size: cast("socket.socket", ScriptedSocket(script, opened)))
    return kernel, opened


def part(sequence: int, body: bytes, flags: int = Flag.MULTI) -> bytes:
    return encode(Message(kind=DUMPED, flags=flags, sequence=sequence, body=body))


def done(sequence: int, flags: int = Flag.MULTI) -> bytes:
    return encode(Message(kind=Kind.DONE, flags=flags, sequence=sequence, body=struct.pack("=i", 0)))


def error(sequence: int, code: int) -> bytes:
    body = struct.pack("=i", -code) + bytes(16)
    return encode(Message(kind=Kind.ERROR, flags=Flag.CAPPED, sequence=sequence, body=body))
