"""What could not be read, and why: never zero, never healthy, not an exception."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a value is missing."""

    ABSENT = "absent"
    UNSUPPORTED = "unsupported"
    DENIED = "denied"
    MALFORMED = "malformed"
    TIMEOUT = "timeout"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A value that was asked for and not obtained."""

    reason: Reason
    where: str
    detail: str = ""

    def __str__(self) -> str:
        """One phrase for a report: reason, place, detail."""
        return f"{self.reason} at {self.where}" + (f": {self.detail}" if self.detail else "")
