"""The memory of a module: 128 bytes that are always there, and pages of 128 bytes above them.

SFF-8636 rev 2.11 section 6, OIF CMIS 5.2 section 8: bytes 0 to 127 are the lower memory, bytes 128 to 255 the page
chosen. Numbers are big-endian in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netkit.model.missing import Missing, Reason
from netkit.model.optics import Limits
from netkit.model.text import visible

HALF = 128
TENTH_OF_MICROWATT = 1e-7
HUNDRED_MICROVOLTS = 1e-4
TWO_MICROAMPERES = 2e-6
FORMS: Mapping[int, str] = {
    0x0C: "QSFP",
    0x0D: "QSFP+",
    0x11: "QSFP28",
    0x18: "QSFP-DD",
    0x19: "OSFP",
    0x1B: "DSFP",
    0x1E: "QSFP+ with CMIS",
    0x1F: "SFP-DD with CMIS",
}
"""Byte 0; SFF-8024 lists them all."""


@dataclass(frozen=True, slots=True)
class ModuleMemory:
    """What was read: each page exactly 128 bytes; `upper` holds the pages that were there."""

    lower: bytes
    upper: Mapping[int, bytes]

    def byte(self, at: int, page: int = 0) -> int | None:
        """Return one byte at its address in the specification; None where that page was not read."""
        found = self.block(at, 1, page)
        return None if found is None else found[0]

    def block(self, at: int, length: int, page: int = 0) -> bytes | None:
        """Return some bytes, all from one half; None where that page was not read, or not to its end."""
        half = self.lower if at < HALF else self.upper.get(page, b"")
        start = at % HALF
        found = half[start : start + length]
        return found if len(found) == length else None

    def unsigned(self, at: int, page: int = 0) -> int | None:
        """Return a 16-bit number."""
        found = self.block(at, 2, page)
        return None if found is None else int.from_bytes(found, "big")

    def celsius(self, at: int, page: int = 0) -> float | None:
        """Return a temperature: signed, in 1/256 degree."""
        found = self.block(at, 2, page)
        return None if found is None else int.from_bytes(found, "big", signed=True) / 256

    def words(self, at: int, length: int, page: int = 0) -> str:
        """Return ASCII padded with spaces; empty where it was not read."""
        found = self.block(at, length, page) or b""
        return visible(found.decode("ascii", "backslashreplace").strip(" \0"))

    def bit(self, at: int, bit: int, page: int = 0) -> bool | Missing:
        """Return one flag."""
        found = self.byte(at, page)
        return unread(at, page) if found is None else bool(found >> bit & 1)

    def limits(self, at: int, page: int, factor: float) -> Limits | Missing:
        """Return four limits in a row: high alarm, low alarm, high warning, low warning. All zero means none."""
        found = [self.unsigned(place, page) for place in range(at, at + 8, 2)]
        return _limits([None if value is None else value * factor for value in found], at, page)

    def celsius_limits(self, at: int, page: int) -> Limits | Missing:
        """Return four temperature limits in the same order."""
        return _limits([self.celsius(place, page) for place in range(at, at + 8, 2)], at, page)


def _limits(values: list[float | None], at: int, page: int) -> Limits | Missing:
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not any(known):
        return unread(at, page)
    return Limits(high_alarm=known[0], low_alarm=known[1], high_warning=known[2], low_warning=known[3])


def scaled(value: int | None, factor: float, at: int, page: int = 0) -> float | Missing:
    """Return a measurement in base units."""
    return unread(at, page) if value is None else value * factor


def unread(at: int, page: int = 0) -> Missing:
    """Say that a byte was not in what the module gave."""
    return Missing(reason=Reason.ABSENT, where=f"module page {page:02x}h byte {at}", detail="not given by the module")


def unmeasured(what: str) -> Missing:
    """Say that a module has no sensor for this."""
    return Missing(reason=Reason.UNSUPPORTED, where=f"module {what}", detail="the module does not measure it")
