"""Numbers as nccl-tests prints them, and what a printed number can have been before it was rounded.

`getFloatStr` in NVIDIA nccl-tests `src/util.cu` prints two decimals, fewer where the column is too narrow, and an
exponent where even that does not fit; older versions choose the decimals by magnitude.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?(?:[eE][+-]?[0-9]{1,3})?")
_NO_NUMBER = re.compile(r"[+-]?(?:nan|inf|infinity|n/a|skip)", re.IGNORECASE)
# A soak log of many cycles repeats the same few thousand texts.
_TEXTS = 8192
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+")


class Interval(NamedTuple):
    """The values that print as one and the same text."""

    low: float
    high: float

    @property
    def empty(self) -> bool:
        """Whether no value is inside."""
        return self.low > self.high

    def meets(self, other: Interval, slack: float = 1e-6) -> bool:
        """Tell whether both can be the same value; `slack` is relative and covers the arithmetic."""
        return self.low <= other.high * (1 + slack) and other.low <= self.high * (1 + slack)

    def over(self, other: Interval) -> Interval:
        """Divide; the quotient of anything by what may be zero has no upper end."""
        return Interval(
            self.low / other.high if other.high > 0 else 0.0, self.high / other.low if other.low > 0 else float("inf")
        )

    def times(self, factor: float) -> Interval:
        """Scale by a factor of zero or more."""
        return Interval(self.low * factor, self.high * factor)

    def within(self, other: Interval) -> Interval:
        """Return the common part; empty when its `low` lies above its `high`."""
        return Interval(max(self.low, other.low), min(self.high, other.high))


ANY = Interval(0.0, float("inf"))
NONE = Interval(float("inf"), 0.0)


@lru_cache(maxsize=_TEXTS)
def is_number(text: str) -> bool:
    """Tell whether `text` is a finite number of zero or more, with a decimal point."""
    return _NUMBER.fullmatch(text) is not None


def is_no_number(text: str) -> bool:
    """Tell whether the benchmark itself says that it has no number here."""
    return _NO_NUMBER.fullmatch(text) is not None


def has_decimal_comma(text: str) -> bool:
    """Tell whether `text` is a number in a locale that netkit does not guess at."""
    return _DECIMAL_COMMA.fullmatch(text) is not None


@lru_cache(maxsize=_TEXTS)
def printed(text: str) -> Interval:
    """Return what can have been printed as `text`, which must satisfy `is_number`."""
    mantissa, _, exponent = text.lower().partition("e")
    point = mantissa.find(".")
    decimals = len(mantissa) - point - 1 if point >= 0 else 0
    half = 0.5 * 10.0 ** ((int(exponent) if exponent else 0) - decimals)
    value = float(text)
    return Interval(max(0.0, value - half), value + half)


def scaled(text: str, power: int) -> float:
    """Return the number times 10 to `power`, rounded once: `259.78` by 9 is exactly 259780000000.0."""
    return float(f"{text}e{power}") if "e" not in text and "E" not in text else float(text) * 10.0**power
