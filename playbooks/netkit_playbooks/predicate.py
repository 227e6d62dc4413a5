"""Conditions on readings, as playbooks write them: `pause-sent > 0.05`, `oos > 10 x oos-fleet`, `R15 found`.

    condition = name comparison number [ "x" name ]  |  rule ( "found" | "ok" )

A condition about something that was not read is neither true nor false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from netkit.errors import InputError
from netkit.model.missing import Missing
from netkit.model.text import visible
from netkit_playbooks.readings import Readings, unread

_NAME = r"[a-z][a-z0-9-]*"
_NUMBER = r"-?[0-9]+(?:[.][0-9]+)?(?:e-?[0-9]+)?"
_COMPARED = re.compile(rf"(?P<name>{_NAME}) (?P<sign>==|!=|<=|>=|<|>) (?P<number>{_NUMBER})(?: x (?P<other>{_NAME}))?")
_JUDGED = re.compile(r"(?P<rule>[A-Z][0-9]{2}) (?P<outcome>found|ok)")
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """One condition: a reading compared with a number, or with a multiple of another reading."""

    text: str
    """As written."""
    name: str
    sign: str
    number: float
    other: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What must have been read for an answer."""
        return (self.name, self.other) if self.other else (self.name,)

    def holds(self, readings: Readings) -> bool | Missing:
        """Tell whether it is so; Missing where something it needs was not read."""
        found = [readings.get(name) or unread(name) for name in self.names]
        values: list[float] = []
        for one in found:
            if isinstance(one, Missing):
                return one
            values.append(one.value)
        bound = self.number * values[1] if self.other else self.number
        return COMPARISONS[self.sign](values[0], bound)


def parse(text: str) -> Predicate:
    """Read a condition; InputError for anything else."""
    if match := _JUDGED.fullmatch(text):
        sign = ">" if match["outcome"] == "found" else "=="
        return Predicate(text=text, name=match["rule"], sign=sign, number=0.0)
    match = _COMPARED.fullmatch(text)
    if match is None:
        accepted = "a condition such as 'pause-sent > 0.05', 'a > 10 x b', 'R15 found' or 'R15 ok'"
        raise InputError(f"condition {visible(text)!r}", accepted)
    name, sign, number, other = match["name"], match["sign"], float(match["number"]), match["other"] or ""
    return Predicate(text=text, name=name, sign=sign, number=number, other=other)
