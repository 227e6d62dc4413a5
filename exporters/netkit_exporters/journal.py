"""The log on standard error: one line a record, and a line that repeats is counted instead of written.

The first line of a subject is written at once; what follows within five minutes is counted, and the next line says how
many there were. A reader of the log that went away, or a full disk, costs lines and nothing else.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from netkit.model.text import visible

REPEAT_SECONDS = 300.0
MOST_SUBJECTS = 2048
"""Subjects remembered at most; when there are more, all are forgotten and may speak again."""


@dataclass(slots=True, kw_only=True)
class Journal:
    """Where the exporter says what happens."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic
    dropped: int = 0
    """Lines that could not be written."""
    _told: dict[str, tuple[float, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, subject: str, line: str) -> None:
        """Write a line, unless its subject spoke less than five minutes ago."""
        with self._lock:
            now = self.clock()
            told_at, held_back = self._told.get(subject, (now - REPEAT_SECONDS, 0))
            if now - told_at < REPEAT_SECONDS:
                self._told[subject] = (told_at, held_back + 1)
                return
            if len(self._told) >= MOST_SUBJECTS:
                self._told.clear()
            self._told[subject] = (now, 0)
        self.tell(line + (f" ({held_back} more of these since)" if held_back else ""))

    def tell(self, line: str) -> None:
        """Write a line that is never held back."""
        try:
            self.stream.write(f"netkit-exporter: {visible(line, 2000)}\n")
            self.stream.flush()
        except (OSError, ValueError):
            self.dropped += 1
