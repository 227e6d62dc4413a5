"""How wide counters are, by the catalogue, and what happened between two readings of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.catalogue.counter import hardware_rows, port_rows
from netkit.model.counter import Counter, CounterForm, Overflow
from netkit.model.missing import Missing, Reason

UNKNOWN_FORM = CounterForm()
_PACKETS = CounterForm(unit="packets", bits=64, overflow=Overflow.WRAPS)
_BYTES = CounterForm(unit="bytes", bits=64, overflow=Overflow.WRAPS)


def port_form(name: str) -> CounterForm:
    """Return the form of a file under `counters/`."""
    row = port_rows().get(name)
    return row.form if row else UNKNOWN_FORM


def hw_form(name: str, driver: str | Missing) -> CounterForm:
    """Return the form of a file under `hw_counters/`; the same name has other widths in other drivers."""
    row = hardware_rows(driver).get(name) if isinstance(driver, str) else None
    return row.form if row else UNKNOWN_FORM


def netdev_form(name: str) -> CounterForm:
    """Return the form of a file under `statistics/`: 64 bits in every driver."""
    return _BYTES if name.endswith("_bytes") else _PACKETS


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
