"""Scales of a chart: round numbers up the side, round times along the bottom."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_TIMES = (60, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
_TICKS = 4


def value_ticks(low: float, high: float) -> list[float]:
    """Return round values that cover the range."""
    spread = (high - low) or abs(high) or 1.0
    size = 10 ** math.floor(math.log10(spread / _TICKS))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor * _TICKS >= spread * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [at * step for at in range(first, max(last, first + 1) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten that cover the range."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first) // _TICKS)
    return [10.0**power for power in range(first, max(last, first + 1) + 1, every)]


def time_ticks(start: float, end: float, most: int) -> list[tuple[float, str]]:
    """Return round times in the range with what is written below them, in UTC."""
    step = next((one for one in _TIMES if (end - start) / one <= most), _TIMES[-1])
    form = "%m-%d" if step >= 86_400 else "%H:%M"
    first = math.ceil(start / step) * step
    times = [first + step * at for at in range(int((end - first) // step) + 1)]
    return [(at, datetime.fromtimestamp(at, UTC).strftime(form)) for at in times]
