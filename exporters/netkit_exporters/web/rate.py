"""A token bucket: how many requests may come at once, and how soon another one after that."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Bucket:
    """Holds `burst` tokens, at least one, and gets another each `interval_seconds`."""

    interval_seconds: float
    burst: int
    clock: Callable[[], float] = time.monotonic
    _tokens: float = field(init=False)
    _filled_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = self._most()
        self._filled_at = self.clock()

    def take(self) -> bool:
        """Take a token; False when there is none."""
        now = self.clock()
        self._tokens = min(self._most(), self._tokens + (now - self._filled_at) / self.interval_seconds)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _most(self) -> float:
        return float(max(1, self.burst))
