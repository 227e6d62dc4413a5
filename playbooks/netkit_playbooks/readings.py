"""What a playbook weighs: one number for each signal or rule that was read, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from netkit.model.missing import Missing, Reason

_NOWHERE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A value in the signal's unit; of a rule, how many findings it has."""

    value: float
    where: Mapping[str, str] = field(default_factory=lambda: _NOWHERE)
    """Labels of the series that gave it, or the subject of a finding."""


Readings = Mapping[str, Reading | Missing]
"""By the name of the signal (`pause-sent`) or the id of the rule (`R15`); a name that is not there was not read."""


def unread(name: str) -> Missing:
    """Return what stands for something that nobody read."""
    return Missing(reason=Reason.ABSENT, where=name, detail="not read")
