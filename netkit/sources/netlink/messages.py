"""Netlink messages: one header each, several in one datagram, errors and the end of a dump among them.

Linux: include/uapi/linux/netlink.h, Documentation/userspace-api/netlink/intro.rst.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from netkit.sources.netlink.attributes import MalformedError, aligned, parse

_HEADER = struct.Struct("=IHHII")
_CODE = struct.Struct("=i")
_MESSAGE_ATTRIBUTE = 1
_LARGEST_ERRNO = 4095


class Kind(IntEnum):
    """Message types below NLMSG_MIN_TYPE, the same in every protocol."""

    NOOP = 1
    ERROR = 2
    DONE = 3
    OVERRUN = 4


class Flag(IntFlag):
    """Flags of a message header."""

    REQUEST = 0x01
    MULTI = 0x02
    ACK = 0x04
    DUMP_INTR = 0x10
    DUMP = 0x300
    CAPPED = 0x100
    """In an error: the request is not repeated after the code."""
    ACK_TLVS = 0x200
    """In an error: attributes follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message without its header."""

    kind: int
    flags: int
    sequence: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The kernel's "no": errno as a positive number, and the sentence newer kernels add."""

    errno: int
    sentence: str = ""


def encode(message: Message) -> bytes:
    """Return the message as the kernel reads it."""
    length = _HEADER.size + len(message.body)
    return _HEADER.pack(length, message.kind, message.flags, message.sequence, 0) + message.body


def split(datagram: bytes) -> tuple[Message, ...]:
    """Return the messages of one datagram; raise MalformedError when one does not fit."""
    found: list[Message] = []
    at = 0
    while at < len(datagram):
        rest = len(datagram) - at
        if rest < _HEADER.size:
            raise MalformedError(f"a message header in {rest} bytes")
        length, kind, flags, sequence, _ = _HEADER.unpack_from(datagram, at)
        if length < _HEADER.size or length > rest:
            raise MalformedError(f"a message of {length} bytes in {rest}")
        body = datagram[at + _HEADER.size : at + length]
        found.append(Message(kind=kind, flags=flags, sequence=sequence, body=body))
        at += aligned(length)
    return tuple(found)


def refusal(message: Message) -> Refusal | None:
    """Return what an ERROR or DONE message refuses; None where its code is 0, which is success."""
    if len(message.body) < _CODE.size:
        if message.kind == Kind.DONE and not message.body:
            return None
        raise MalformedError(f"an error code in {len(message.body)} bytes")
    (code,) = _CODE.unpack_from(message.body)
    if code == 0:
        return None
    return Refusal(errno=-code if -_LARGEST_ERRNO <= code < 0 else errno.EPROTO, sentence=_sentence(message))


def _sentence(message: Message) -> str:
    if not message.flags & Flag.ACK_TLVS:
        return ""
    return parse(_after_code(message)).text(_MESSAGE_ATTRIBUTE) or ""


def _after_code(message: Message) -> bytes:
    """Skip the code and, in an error, the request or at least its header."""
    if message.kind == Kind.DONE:
        return message.body[_CODE.size :]
    at = _CODE.size
    if len(message.body) < at + _HEADER.size:
        raise MalformedError("an error without the header of its request")
    (asked,) = struct.unpack_from("=I", message.body, at)
    return message.body[at + (_HEADER.size if message.flags & Flag.CAPPED else aligned(asked)) :]
