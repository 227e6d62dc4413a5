"""What was found wrong: one severity scale for findings, checks and alerts."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters; the same words the alerts use."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    def at_least(self, other: Severity) -> bool:
        """Tell whether this severity is `other` or worse."""
        order = list(Severity)
        return order.index(self) >= order.index(other)
