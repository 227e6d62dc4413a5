"""The memory of a made-up optical module: OSFP, eight lanes, every value where a healthy one has it. Synthetic.

Addresses: OIF CMIS 5.2, sections 8.2 (lower memory), 8.4 (page 00h), 8.5 (01h), 8.6 (02h) and 8.10 (11h).
"""

from __future__ import annotations

from netkit.lab.virtual_layout import VirtualNic

_HALF = 128
_OSFP, _READY, _CELSIUS = 0x19, 3, 256
_LANES = 8


def module_page(nic: VirtualNic, page: int, *, lower: bool) -> bytes:
    """Return 128 bytes: the lower memory, or an upper page."""
    data = bytearray(_HALF)
    values = _lower() if lower else _UPPER[page](nic) if page in _UPPER else {}
    for at, value in values.items():
        data[at % _HALF : at % _HALF + len(value)] = value
    return bytes(data)


def _lower() -> dict[int, bytes]:
    return {0: bytes([_OSFP]), 3: bytes([_READY << 1]), 14: _word(45 * _CELSIUS), 16: _word(33_000), 85: bytes([2])}


def _identity(nic: VirtualNic) -> dict[int, bytes]:
    words = {129: "SYNTHETIC", 148: "VIRTUAL-800G-DR8", 164: "A1", 166: f"VIRTUAL{nic.host:03d}{nic.index:02d}"}
    return {128: bytes([_OSFP]), **{at: text.ljust(2 if at == 164 else 16).encode() for at, text in words.items()}}


def _advertising(_nic: VirtualNic) -> dict[int, bytes]:
    return {160: bytes([1 << 3])}


def _limits(_nic: VirtualNic) -> dict[int, bytes]:
    celsius = b"".join((value * _CELSIUS).to_bytes(2, "big", signed=True) for value in (80, -10, 75, 0))
    light = b"".join(map(_word, (35_481, 1_412, 31_622, 2_238)))
    return {128: celsius, 176: light, 192: light}


def _lanes(_nic: VirtualNic) -> dict[int, bytes]:
    sent, bias, received = 15_000, 20_000, 12_000
    return {154: _word(sent) * _LANES, 170: _word(bias) * _LANES, 186: _word(received) * _LANES}


def _word(value: int) -> bytes:
    return value.to_bytes(2, "big")


_UPPER = {0x00: _identity, 0x01: _advertising, 0x02: _limits, 0x11: _lanes}
