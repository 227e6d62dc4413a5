"""Children that are nobody's, when the exporter is process 1 of a container: wait(2), pid_namespaces(7).

Whoever starts a child collects its status itself, so only what stays dead for a while belongs to nobody.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

GRACE_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Orphans:
    """Reaps the dead children that nobody waits for."""

    clock: Callable[[], float]
    _seen: tuple[int, float] = (0, 0.0)
    """The dead child looked at last, and since when."""

    def reap(self) -> int:
        """Reap the child that has been dead for `GRACE_SECONDS`, if there is one; return its number, 0 for none."""
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return 0
        if found is None:
            return 0
        dead = found.si_pid
        if dead != self._seen[0]:
            self._seen = (dead, self.clock())
            return 0
        if self.clock() - self._seen[1] < GRACE_SECONDS:
            return 0
        os.waitpid(dead, os.WNOHANG)
        return dead
