"""How much a counter counted between two readings: resets, wraps and full counters told apart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.counter import Counter, Overflow
from netkit.model.missing import Missing, Reason


class Change(StrEnum):
    """What happened to a counter between two readings."""

    GREW = "grew"
    WRAPPED = "wrapped"
    RESET = "reset"
    FILLED = "filled"
    """It reached its largest value: the amount is a lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """How much a counter counted, in the unit of its form; never negative."""

    amount: int
    change: Change


def delta(before: Counter, after: Counter) -> Delta | Missing:
    """Return what was counted between two readings of one counter of one device.

    A value that went down is a reset, unless the counter is documented to wrap at 32 bits and the way round is the
    short one. A counter that was full before and is still full says nothing.
    """
    for reading in (before, after):
        if isinstance(reading.raw, Missing):
            return reading.raw
    old, new = before.raw, after.raw
    assert isinstance(old, int)
    assert isinstance(new, int)
    if before.saturated and new == old:
        return Missing(reason=Reason.STALE, where=after.name, detail=f"stuck at {new} ({after.form.bits} bits)")
    amount, change = _counted(old, new, after)
    return Delta(amount=amount * after.form.factor, change=change)


def _counted(old: int, new: int, after: Counter) -> tuple[int, Change]:
    if new >= old:
        return new - old, Change.FILLED if after.saturated else Change.GREW
    form = after.form
    if form.overflow is Overflow.WRAPS and form.bits == 32:
        around = new + 2**32 - old
        if 0 <= around < 2**31:
            return around, Change.WRAPPED
    return new, Change.RESET
