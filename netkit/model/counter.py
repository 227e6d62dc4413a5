"""One counter of a device: what was read, how wide it is, and what happens when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netkit.model.missing import Missing


class Overflow(StrEnum):
    """What a counter does at its largest value."""

    WRAPS = "wraps"
    STICKS = "sticks"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterForm:
    """Width, unit and behaviour of a counter: `factor` turns what the kernel prints into `unit`."""

    unit: str = "events"
    bits: int | None = None
    overflow: Overflow = Overflow.UNKNOWN
    factor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A counter under the kernel's name; `raw` is what the kernel printed, `value` is in `form.unit`."""

    name: str
    raw: int | Missing
    form: CounterForm

    @property
    def value(self) -> int | Missing:
        """The count in base units (bytes where the kernel counts 4-byte words)."""
        return self.raw if isinstance(self.raw, Missing) else self.raw * self.form.factor

    @property
    def saturated(self) -> bool:
        """Whether the counter is full and stays there, so that it says nothing about now."""
        sticks = self.form.overflow is Overflow.STICKS and self.form.bits is not None
        return sticks and isinstance(self.raw, int) and self.raw >= 2 ** (self.form.bits or 0) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A named number that someone can set, as the kernel shows it now."""

    name: str
    value: int | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedText:
    """What the kernel prints as `4: ACTIVE`: a number programs compare, a text people read."""

    code: int | Missing
    text: str | Missing
