"""Files that may never answer: each question has a deadline, and a device that misses one is not asked again.

A sysfs read waits for firmware, and a thread inside it cannot be called back (proc(5): state D). So questions are asked
by another thread, which is left behind when it does not return; it ends with the process.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Generic, TypeVar

from netkit.model.missing import Missing
from netkit.sources.tree import READ_LIMIT, Tree, unreadable

PATIENCE_SECONDS = 2.0
_DEVICE = re.compile(r"sys/(?:class/[^/]+|bus/[^/]+/devices)/[^/]+|proc/[^/]+|[^/]+(?:/[^/]+){0,3}")
_T = TypeVar("_T")


@dataclass(slots=True)
class _Task(Generic[_T]):
    ask: Callable[[], _T]
    done: threading.Event = field(default_factory=threading.Event)
    answers: list[_T] = field(default_factory=list)
    """One answer; none where the question ended in a fault, which its thread reports."""

    def run(self) -> None:
        try:
            self.answers.append(self.ask())
        finally:
            self.done.set()


class PatientTree:
    """Asks another tree; what a device does not say in time is Missing (timeout), and so is all it is asked later."""

    def __init__(self, inner: Tree, seconds: float = PATIENCE_SECONDS) -> None:
        self._inner = inner
        self._seconds = seconds
        self._tasks: SimpleQueue[Callable[[], None]] | None = None
        self.hung: set[str] = set()
        """Folders of the devices that missed a deadline."""

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        """Return a file's bytes; see `Tree.read`."""
        late: bytes | Missing = unreadable(path, "ETIMEDOUT")
        return self._asked(path, lambda: self._inner.read(path, limit), late)

    def list(self, path: str) -> tuple[str, ...] | Missing:
        """Return the names in a folder, sorted."""
        late: tuple[str, ...] | Missing = unreadable(path, "ETIMEDOUT")
        return self._asked(path, lambda: self._inner.list(path), late)

    def link(self, path: str) -> str | Missing:
        """Return where a path really is."""
        late: str | Missing = unreadable(path, "ETIMEDOUT")
        return self._asked(path, lambda: self._inner.link(path), late)

    def exists(self, path: str) -> bool:
        """Tell whether something is at the path; not, as far as can be told, on a device that hangs."""
        return self._asked(path, lambda: self._inner.exists(path), False)

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        """Return the last matching lines of a long file."""
        late: bytes | Missing = unreadable(path, "ETIMEDOUT")
        return self._asked(path, lambda: self._inner.lines(path, keep, most), late)

    def _asked(self, path: str, ask: Callable[[], _T], otherwise: _T) -> _T:
        device = device_of(path)
        if device in self.hung:
            return otherwise
        task = _Task(ask)
        self._worker().put(task.run)
        if task.done.wait(self._seconds) and task.answers:
            return task.answers[0]
        # Whoever is in that read stays there; the next question has a thread of its own.
        self._tasks = None
        if task.done.is_set():
            raise RuntimeError(f"the reader of {path} failed")
        self.hung.add(device)
        return otherwise

    def _worker(self) -> SimpleQueue[Callable[[], None]]:
        if self._tasks is None:
            self._tasks = SimpleQueue()
            threading.Thread(target=_serve, args=(self._tasks,), name="patient-tree", daemon=True).start()
        return self._tasks


def device_of(path: str) -> str:
    """Return the folder of the device a path belongs to, the smallest thing that hangs alone."""
    match = _DEVICE.match(path)
    return match[0] if match else path


def _serve(tasks: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        tasks.get()()
