"""Jobs one after the other in one thread; a job that takes long keeps its thread, and another thread goes on.

Reading counters is thousands of short system calls, and threads that read at the same time mostly wait for each other's
interpreter lock. So siblings are read in turn, until one of them is slow: then it is left with its thread, which ends
when the job does. A thread cannot be ended from outside, but as a daemon it keeps no process alive.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

PATIENCE_SECONDS = 0.05
"""How long siblings wait for a job before they go on without it."""


class Job(Protocol):
    """Something to do that may take long or never end."""

    def run(self) -> None:
        """Do it; raises nothing."""
        ...


class Runners:
    """A queue of jobs and the thread that works it off."""

    def __init__(self, clock: Callable[[], float], on_pause: Callable[[], None]) -> None:
        self._clock = clock
        self._on_pause = on_pause
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._holder: threading.Thread | None = None
        self._since: float | None = None

    def add(self, jobs: Iterable[Job]) -> None:
        """Put jobs at the end of the queue."""
        with self._changed:
            self._waiting.extend(jobs)
            self._changed.notify_all()
        self.relieve()

    @property
    def is_busy(self) -> bool:
        """Tell whether jobs wait, or one runs that siblings would wait for."""
        return bool(self._waiting) or self._since is not None

    def relieve(self) -> bool:
        """Take the queue from a thread that is held up, give it to a fresh one; RuntimeError when none can be had.

        True when a job was left behind with its thread.
        """
        with self._changed:
            held_up = self._since is not None and self._clock() - self._since >= PATIENCE_SECONDS
            if held_up:
                self._holder = self._since = None
            if self._holder is None and self._waiting:
                fresh = threading.Thread(target=self._work, name="netkit-runner", daemon=True)
                self._holder = fresh
                self._start(fresh)
            return held_up

    def _start(self, thread: threading.Thread) -> None:
        try:
            thread.start()
        except RuntimeError:
            self._holder = None
            raise

    def _work(self) -> None:
        me = threading.current_thread()
        while (job := self._next(me)) is not None:
            job.run()
            self._finished(me)

    def _next(self, me: threading.Thread) -> Job | None:
        with self._changed:
            while self._holder is me and not self._waiting:
                self._changed.wait()
            if self._holder is not me:
                return None
            self._since = self._clock()
            return self._waiting.popleft()

    def _finished(self, me: threading.Thread) -> None:
        with self._changed:
            if self._holder is me:
                self._since = None
            paused = self._holder is not me or not self._waiting
        if paused:
            self._on_pause()
