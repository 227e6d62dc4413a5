"""Children that are nobody's, when the exporter is process 1 of a container: wait(2), pid_namespaces(7), proc(5).

Whoever starts a child collects its status itself, so only what stays dead for a while belongs to nobody.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

GRACE_SECONDS = 3.0


@dataclass(slots=True, kw_only=True)
class Orphans:
    """Reaps the dead children that nobody waits for."""

    clock: Callable[[], float]
    _dead_since: dict[int, float] = field(default_factory=dict)

    def reap(self) -> tuple[int, ...]:
        """Reap whoever has been dead for `GRACE_SECONDS`; return their numbers."""
        now = self.clock()
        self._dead_since = {child: self._dead_since.get(child, now) for child in _dead_children()}
        old = tuple(child for child, since in self._dead_since.items() if now - since >= GRACE_SECONDS)
        for child in old:
            os.waitpid(child, os.WNOHANG)
        return old


def _dead_children() -> Iterator[int]:
    for listed in Path("/proc/self/task").glob("*/children"):
        for child in map(int, listed.read_text().split()):
            try:
                found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                continue  # its owner was quicker
            if found is not None:
                yield child
