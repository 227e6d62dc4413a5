"""Generic netlink: the small header of every message, and the number a family was given at boot.

Linux: include/uapi/linux/genetlink.h, Documentation/userspace-api/netlink/specs/nlctrl.yaml.
"""

from __future__ import annotations

import struct

from netkit.sources.netlink.attributes import MalformedError, parse, text_attribute

_HEADER = struct.Struct("=BBH")
_GET_FAMILY = 3
_VERSION = 1
_FAMILY_ID = 1
_FAMILY_NAME = 2


def generic_body(command: int, attributes: bytes) -> bytes:
    """Put the generic header before a message's attributes."""
    return _HEADER.pack(command, _VERSION, 0) + attributes


def attributes_of(body: bytes) -> bytes:
    """Return what follows the generic header."""
    if len(body) < _HEADER.size:
        raise MalformedError(f"a generic header in {len(body)} bytes")
    return body[_HEADER.size :]


def family_question_body(name: str) -> bytes:
    """Ask the control family for the number of another one."""
    return generic_body(_GET_FAMILY, text_attribute(_FAMILY_NAME, name))


def family_of(body: bytes) -> int:
    """Return the number of the family the control family described."""
    found = parse(attributes_of(body)).number(_FAMILY_ID)
    if found is None:
        raise MalformedError("a family without a number")
    return found
