"""The same small files read again and again: descriptors stay open, so that a reading costs one call and no path walk.

pread(2) at 0 makes sysfs produce the value anew. A device that went away answers ENODEV on descriptors that are still
open; the file is then opened once more, in case the device is back. A path that answers EINVAL is not read again, for
each such read makes some firmware write to the kernel log; whoever sees the device come back makes a new object.
"""

from __future__ import annotations

import errno
import os

from netkit.model.missing import Missing
from netkit.sources.tree import READ_LIMIT, LiveTree, Tree, code_of, unreadable

_GONE = (errno.ENODEV, errno.ENOENT, errno.ESTALE, errno.ENXIO)
_MOST_OPEN = 4096
"""Descriptors kept by one object; what is beyond is opened for each reading."""


class KeptFiles:
    """Reads files of a tree by path; of a recording it reads what was recorded."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._live = tree if isinstance(tree, LiveTree) else None
        self._open: dict[str, int] = {}
        self._refused: set[str] = set()

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
