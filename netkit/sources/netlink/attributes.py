"""Netlink attributes: type, length, value, nested to any depth.

Linux: include/uapi/linux/netlink.h (struct nlattr), Documentation/userspace-api/netlink/intro.rst. Strict where
pyroute2 is forgiving: an attribute that says it is longer than what holds it is an error, not shortened to fit, and
a number of a strange width is an error, not whatever bytes come next.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from netkit.model.text import visible

NESTED = 0x8000
_TYPE_MASK = 0x3FFF
_HEADER = struct.Struct("=HH")
_WIDTHS = {1: "=B", 2: "=H", 4: "=I", 8: "=Q"}
_MOST = 65536
"""Attributes in one message at most; the kernel's largest dump message holds a tenth of that."""


class MalformedError(ValueError):
    """Bytes that are no message of the kernel's."""


def aligned(length: int) -> int:
    """Round up to the four bytes netlink aligns to."""
    return (length + 3) & ~3


def attribute(kind: int, value: bytes = b"") -> bytes:
    """Encode one attribute; no value makes a flag."""
    length = _HEADER.size + len(value)
    return _HEADER.pack(length, kind) + value + bytes(aligned(length) - length)


def text_attribute(kind: int, value: str) -> bytes:
    """Encode a name as the kernel wants it: with a zero byte at its end."""
    return attribute(kind, value.encode("utf-8", "surrogateescape") + b"\0")


def number_attribute(kind: int, value: int, width: int = 4) -> bytes:
    """Encode a number of one, two, four or eight bytes."""
    return attribute(kind, struct.pack(_WIDTHS[width], value))


def nested_attribute(kind: int, *inner: bytes) -> bytes:
    """Encode a group of attributes."""
    return attribute(kind | NESTED, b"".join(inner))


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of a message or of a group, in the kernel's order."""

    found: tuple[tuple[int, bytes], ...]

    def raw(self, kind: int) -> bytes | None:
        """Return the first value of this kind."""
        return next((value for each, value in self.found if each == kind), None)

    def every(self, kind: int) -> Iterator[bytes]:
        """Yield every value of this kind."""
        return (value for each, value in self.found if each == kind)

    def number(self, kind: int) -> int | None:
        """Return an unsigned number of any width the kernel uses; raise MalformedError for another."""
        value = self.raw(kind)
        return None if value is None else number(value)

    def text(self, kind: int) -> str | None:
        """Return a name, safe to show, without the zero byte at its end."""
        value = self.raw(kind)
        return None if value is None else text(value)

    def group(self, kind: int) -> Attributes | None:
        """Return the attributes inside the first group of this kind."""
        value = self.raw(kind)
        return None if value is None else parse(value)

    def groups(self, kind: int) -> Iterator[Attributes]:
        """Yield the attributes inside every group of this kind."""
        return (parse(value) for value in self.every(kind))


def parse(data: bytes) -> Attributes:
    """Read a run of attributes; raise MalformedError when one does not fit."""
    return Attributes(tuple((kind & _TYPE_MASK, value) for kind, value in _each(data)))


def rewrite(data: bytes, change: Callable[[int, bytes], bytes | None]) -> bytes:
    """Return a run of attributes with every value changed, and without those that became None."""
    changed = ((kind, change(kind & _TYPE_MASK, value)) for kind, value in _each(data))
    return b"".join(attribute(kind, value) for kind, value in changed if value is not None)


def _each(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kinds with their flags."""
    at = count = 0
    # Fewer bytes than a header can only be padding of the message around.
    while len(data) - at >= _HEADER.size:
        length, kind = _HEADER.unpack_from(data, at)
        if length < _HEADER.size or length > len(data) - at or count == _MOST:
            raise MalformedError(f"attribute {kind & _TYPE_MASK} of {length} bytes in {len(data) - at}")
        yield kind, data[at + _HEADER.size : at + length]
        at += aligned(length)
        count += 1


def number(value: bytes) -> int:
    """Read an unsigned number in the machine's byte order."""
    if len(value) not in _WIDTHS:
        raise MalformedError(f"a number of {len(value)} bytes")
    (found,) = struct.unpack(_WIDTHS[len(value)], value)
    return int(found)


def numbers(value: bytes) -> tuple[int, ...]:
    """Read an array of 64-bit unsigned numbers."""
    if len(value) % 8:
        raise MalformedError(f"an array of 64-bit numbers in {len(value)} bytes")
    return struct.unpack(f"={len(value) // 8}Q", value)


def text(value: bytes) -> str:
    """Read a name up to its first zero byte."""
    return visible(value.split(b"\0", 1)[0].decode("utf-8", "surrogateescape"))


def fixed(layout: struct.Struct, value: bytes) -> tuple[int, ...]:
    """Read a kernel structure; newer kernels may append to it, none may shorten it."""
    if len(value) < layout.size:
        raise MalformedError(f"a structure of {layout.size} bytes in {len(value)}")
    return layout.unpack_from(value)
