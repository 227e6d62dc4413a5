"""Two clocks, because a machine that sleeps must not be wrong in either direction.

What one holds oneself runs out by a clock that goes on in suspend (CLOCK_BOOTTIME, clock_gettime(2)). What others hold
runs out by one that stands still meanwhile: whoever slept has not watched. Neither is a date: dates of other machines
are compared with nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

# Elsewhere than on Linux, CLOCK_MONOTONIC is what comes nearest.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Seconds by the clock of what is held, seconds by the clock of what is watched, and a way to let time pass."""

    held: Callable[[], float] = lambda: time.clock_gettime(_SINCE_BOOT)
    watched: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


CLOCK = Clock()
