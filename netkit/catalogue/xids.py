"""What an XID of NVIDIA's driver is about: the hardware, the driver, or the program that ran.

NVIDIA "Xid Errors", the table of codes. Codes of programs must not page anybody: a crashing job reports them by the
thousand.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class XidClass(StrEnum):
    """Whom an XID is for."""

    HARDWARE = "hardware"
    DRIVER = "driver"
    APPLICATION = "application"


_CODES = MappingProxyType(
    {
        XidClass.APPLICATION: (13, 31, 43, 45, 68, 69, 137),
        XidClass.HARDWARE: (
            *(48, 54, 56, 58, 61, 62, 63, 64, 71, 74, 79, 92, 94, 95, 109),
            *(119, 120, 121, 140, 143, *range(144, 151)),
        ),
    }
)


def xid_class(code: int) -> XidClass:
    """Return the class of a code; one not listed is the driver's, which is looked into without paging."""
    return next((kind for kind, codes in _CODES.items() if code in codes), XidClass.DRIVER)
