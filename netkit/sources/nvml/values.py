"""Numbers and texts of NVML's plain answer: return codes named, blanks kept out, every value within its bounds.

nvml.h: nvmlReturn_t, NVML_VALUE_NOT_AVAILABLE. DCGM's blanks (dcgm_structs.h, DCGM_INT64_BLANK and neighbours) have
been seen as temperatures, so no blank passes as a value.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible

Plain = dict[str, Any]

NO_BINDINGS = -1
OUT_OF_TIME = -2
STOPPED = -3
GONE = -4
HELD = -5
LEFT_BEHIND = -6
NOT_REACHED = -7
GPU_IS_LOST = 15

_CODES = MappingProxyType(
    {
        NO_BINDINGS: (Reason.ABSENT, "nvidia-ml-py or the library named is not here"),
        OUT_OF_TIME: (Reason.TIMEOUT, "no answer in time"),
        STOPPED: (Reason.TIMEOUT, "the process in the driver ended without an answer"),
        GONE: (Reason.ABSENT, "no longer listed by the driver"),
        HELD: (Reason.STALE, "released on request, not read"),
        LEFT_BEHIND: (Reason.TIMEOUT, "an earlier process cannot be ended and is still in the driver"),
        NOT_REACHED: (Reason.TIMEOUT, "this round ran out of time before its turn"),
        3: (Reason.UNSUPPORTED, "not supported"),
        4: (Reason.DENIED, "no permission"),
        6: (Reason.ABSENT, "not found"),
        9: (Reason.ABSENT, "driver not loaded"),
        10: (Reason.TIMEOUT, "timeout in the driver"),
        12: (Reason.ABSENT, "no libnvidia-ml.so.1"),
        13: (Reason.UNSUPPORTED, "not in this driver's library"),
        GPU_IS_LOST: (Reason.ABSENT, "GPU is lost"),
        16: (Reason.ABSENT, "reset required"),
        18: (Reason.STALE, "library and driver versions differ"),
        21: (Reason.ABSENT, "no data"),
        25: (Reason.UNSUPPORTED, "structure version not known to this driver"),
    }
)
_BLANKS = (
    range(0x7FFFFFF0, 0x80000000),
    range(0xFFFFFFF0, 0x100000000),
    range(0x7FFFFFFFFFFFFFF0, 0x8000000000000000),
    range(0xFFFFFFFFFFFFFFF0, 0x10000000000000000),
)
_MOST_ENTRIES = 4096


def is_blank(number: float) -> bool:
    """Tell whether a number is one of NVML's or DCGM's marks for "no value", 32 or 64 bits wide."""
    return isinstance(number, int) and any(number in blanks for blanks in _BLANKS)


def failed(code: object, where: str) -> Missing:
    """Name a return code of NVML or of the reader."""
    known = _CODES.get(code) if isinstance(code, int) else None
    reason, words = known or (Reason.ABSENT, "failed")
    return Missing(reason=reason, where=where, detail=f"{words} (NVML {code})" if _is_nvml(code) else words)


def _is_nvml(code: object) -> bool:
    return isinstance(code, int) and code >= 0


def entries(value: object) -> list[Any]:
    """Return a list, none for anything else, cut at a length no machine reaches."""
    return value[:_MOST_ENTRIES] if isinstance(value, list) else []


class Fields:
    """The fields of one device, each asked for with the scale and the largest value that can be true."""

    def __init__(self, device: Plain) -> None:
        self._fields: Plain = device["fields"]
        self._errors = device.get("errors") or {}

    def raw(self, name: str, *path: str | int) -> object:
        """Return what stands at a place inside a field, or why there is none."""
        if name not in self._fields:
            return failed(self._errors.get(name) if isinstance(self._errors, dict) else None, f"nvml {name}")
        found: object = self._fields[name]
        for step in path:
            if isinstance(step, int) and isinstance(found, list) and step < len(found):
                found = found[step]
            elif isinstance(step, str) and isinstance(found, dict):
                found = found.get(step)
            else:
                return Missing(reason=Reason.MALFORMED, where=f"nvml {name}", detail="unexpected form")
        return found

    def number(self, name: str, *path: str | int, most: float = 2.0**63) -> int | Missing:
        """Return a whole number; blanks and what exceeds `most` are Missing."""
        found = self.raw(name, *path)
        if isinstance(found, Missing):
            return found
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= most or is_blank(found):
            return Missing(reason=Reason.UNSUPPORTED, where=f"nvml {name}", detail=f"no value: {str(found)[:40]}")
        return found

    def scaled(self, name: str, *path: str | int, most: float, times: float = 1.0, per: float = 1.0) -> float | Missing:
        """Return a number in base units."""
        found = self.number(name, *path, most=most)
        return found if isinstance(found, Missing) else found * times / per

    def hertz(self, name: str) -> int | Missing:
        """Return a clock NVML gives in MHz."""
        found = self.number(name, most=20_000)
        return found if isinstance(found, Missing) else found * 1_000_000

    def flag(self, name: str, *path: str | int) -> bool | Missing:
        """Return a 0 or 1."""
        found = self.number(name, *path, most=1)
        return found if isinstance(found, Missing) else bool(found)

    def text(self, name: str) -> str | Missing:
        """Return a text, safe to show."""
        found = self.raw(name)
        return visible(found, 256) if isinstance(found, str) else _missing(found, name)

    def entries(self, name: str) -> list[Any] | Missing:
        """Return a list."""
        found = self.raw(name)
        return entries(found) if isinstance(found, list) else _missing(found, name)


def _missing(found: object, name: str) -> Missing:
    malformed = Missing(reason=Reason.MALFORMED, where=f"nvml {name}", detail="unexpected form")
    return found if isinstance(found, Missing) else malformed
