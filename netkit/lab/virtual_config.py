"""Configuration space of a made-up PCI Express function: the capabilities that decide how peers reach each other.

Layouts: PCI Express Base Specification 6.0, 7.5.3 (PCI Express), 7.7.11 (ACS), 7.8.9 (ATS), 7.9.3 (serial number).
"""

from __future__ import annotations

ENDPOINT, ROOT_PORT, UPSTREAM, DOWNSTREAM = 0, 4, 5, 6
"""Kinds of port, as the PCI Express capability numbers them."""
_AT = 0x40


def config_space(
    port_type: int,
    *,
    payload: int = 1,
    read_request: int = 5,
    acs: int | None = None,
    ats: int | None = None,
    serial: int = 0,
    size: int = 512,
) -> bytes:
    """Return `size` bytes with a PCI Express capability and the extended ones asked for.

    `payload` and `read_request` are codes: 128 bytes times two to their power. `acs` and `ats` are control words.
    """
    data = bytearray(size)
    data[6], data[0x34] = 0x10, _AT
    data[_AT : _AT + 2] = bytes((0x10, 0))
    data[_AT + 2 : _AT + 4] = (port_type << 4 | 2).to_bytes(2, "little")
    data[_AT + 4 : _AT + 8] = (2).to_bytes(4, "little")
    relaxed, extended_tag, no_snoop = 1 << 4, 1 << 8, 1 << 11
    control = payload << 5 | read_request << 12 | relaxed | extended_tag | no_snoop
    data[_AT + 8 : _AT + 10] = control.to_bytes(2, "little")
    extended = [(0x0003, serial.to_bytes(8, "little"))] if serial else []
    extended += [(0x000D, (0x5F).to_bytes(2, "little") + acs.to_bytes(2, "little"))] if acs is not None else []
    extended += [(0x000F, bytes(2) + ats.to_bytes(2, "little"))] if ats is not None else []
    for index, (kind, body) in enumerate(extended):
        at = 0x100 + 0x20 * index
        following = at + 0x20 if index + 1 < len(extended) else 0
        data[at : at + 4] = (kind | 1 << 16 | following << 20).to_bytes(4, "little")
        data[at + 4 : at + 4 + len(body)] = body
    return bytes(data)
