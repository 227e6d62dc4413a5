"""The same small files read again and again: descriptors stay open, so that a reading costs one call and no path walk.

pread(2) at 0 makes sysfs produce the value anew. A device that went away answers ENODEV on descriptors that are still
open; the file is then opened once more, in case the device is back. A path that answers EINVAL is not read again, for
each such read makes some firmware write to the kernel log; whoever sees the device come back makes a new object.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from itertools import repeat

from netkit.model.missing import Missing
from netkit.sources.tree import READ_LIMIT, LiveTree, Tree, code_of, unreadable

_GONE = (errno.ENODEV, errno.ENOENT, errno.ESTALE, errno.ENXIO)
_MOSTLY = 128
"""Bytes that nearly every counter fits into; a buffer of a page for each costs more than the reading."""
_MOST_OPEN = 4096
"""Descriptors kept by one object; what is beyond is opened for each reading."""


class KeptFiles:
    """Reads files of a tree by path; of a recording it reads what was recorded."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._live = tree if isinstance(tree, LiveTree) else None
        self._open: dict[str, int] = {}
        self._refused: set[str] = set()
        self.lost_sight = False
        """Whether something that was open went away, so that what is there now may be another device."""

    def descriptor(self, path: str) -> int:
        """Return the descriptor that is kept for a path, -1 for none."""
        return self._open.get(path, -1)

    def read(self, path: str) -> bytes | Missing:
        """Return the bytes of one file, at most a page of them."""
        if self._live is None:
            return self._tree.read(path)
        descriptor = self._open.get(path)
        try:
            if descriptor is not None:
                return os.pread(descriptor, READ_LIMIT, 0)
            return self._opened(path)
        except OSError as fault:
            return self._again(path, fault)

    def _opened(self, path: str) -> bytes:
        if path in self._refused:
            raise OSError(errno.EINVAL, "refused before")
        assert self._live is not None
        descriptor = self._live.open(path)
        if len(self._open) >= _MOST_OPEN:
            try:
                return os.pread(descriptor, READ_LIMIT, 0)
            finally:
                os.close(descriptor)
        self._open[path] = descriptor
        return os.pread(descriptor, READ_LIMIT, 0)

    def _again(self, path: str, fault: OSError) -> bytes | Missing:
        was_open = self._drop(path)
        if was_open and fault.errno in _GONE:
            self.lost_sight = True
            try:
                return self._opened(path)
            except OSError as second:
                self._drop(path)
                fault = second
        if fault.errno == errno.EINVAL:
            self._refused.add(path)
        return unreadable(path, code_of(fault))

    def _drop(self, path: str) -> bool:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is not None

    def close(self) -> None:
        """Close every descriptor."""
        for path in tuple(self._open):
            self._drop(path)


class Sheet:
    """Many files read in one go and in one order, and which of them say something else than last time.

    Most counters of a healthy device stand still, so the loop compares what it read and leaves the rest to the caller.
    """

    def __init__(self, files: KeptFiles, paths: Sequence[str]) -> None:
        self._files = files
        self._paths = paths
        self._descriptors = [-1] * len(paths)
        self.answers: list[bytes | Missing | None] = [None] * len(paths)
        """What each file said last."""

    def read(self) -> list[int]:
        """Read every file; return the places of those whose answer is new."""
        answers = self._read_all()
        if answers == self.answers:
            return []
        return [place for place, answer in enumerate(answers) if self._is_new(place, answer)]

    def _read_all(self) -> list[bytes | Missing]:
        """Read in one loop without a line of ours; a file that fails is read by path, and the loop goes on."""
        answers: list[bytes | Missing] = []
        while len(answers) < len(self._descriptors):
            rest = self._descriptors[len(answers) :]
            try:
                # What was read before an exception stays in the list: no file is read twice.
                answers.extend(map(os.pread, rest, repeat(_MOSTLY), repeat(0)))
            except OSError:
                answers.append(self._by_path(len(answers)))
        return answers

    def _is_new(self, place: int, answer: bytes | Missing) -> bool:
        """Note an answer, all of it if it is a long one; False when it is the one of last time."""
        if isinstance(answer, bytes) and len(answer) == _MOSTLY:
            answer = self._by_path(place)
        before, self.answers[place] = self.answers[place], answer
        return answer != before

    def _by_path(self, place: int) -> bytes | Missing:
        """Read a file that is long, not open, or whose descriptor answers no more."""
        answer = self._files.read(self._paths[place])
        self._descriptors[place] = self._files.descriptor(self._paths[place])
        return answer
