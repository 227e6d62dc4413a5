"""A machine made up in memory: files and links by name, resolved the way the kernel resolves them.

For machines nobody can record; links are given as in sysfs, relative to the folder that holds them.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping

from netkit.model.missing import Missing
from netkit.sources.tree import READ_LIMIT, code_of, last_matching, unreadable

_MOST_HOPS = 40
"""The kernel's MAXSYMLINKS."""


class MemoryTree:
    """Files map a path to bytes or to the errno a read gives; `links` map a path to a relative target."""

    def __init__(self, files: Mapping[str, bytes | int], links: Mapping[str, str] | None = None) -> None:
        self._files = dict(files)
        self._links = dict(links or {})
        self._folders: dict[str, set[str]] = {}
        for path in (*self._files, *self._links):
            self._enter(path)

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        """Return a file's bytes; see `Tree.read`."""
        try:
            data = self._contents(path)
        except OSError as fault:
            return unreadable(path, code_of(fault))
        return data if len(data) <= limit else unreadable(path, "EFBIG")

    def list(self, path: str) -> tuple[str, ...] | Missing:
        """Return the names in a folder, sorted."""
        try:
            place = self._resolve(path)
        except OSError as fault:
            return unreadable(path, code_of(fault))
        if place not in self._folders:
            return unreadable(path, "ENOTDIR")
        return tuple(sorted(self._folders[place]))

    def link(self, path: str) -> str | Missing:
        """Return where a path really is."""
        try:
            return self._resolve(path)
        except OSError as fault:
            return unreadable(path, code_of(fault))

    def exists(self, path: str) -> bool:
        """Tell whether something is at the path."""
        return not isinstance(self.link(path), Missing)

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        """Return the last matching lines of a long file."""
        try:
            return last_matching(self._contents(path), keep, most)
        except OSError as fault:
            return unreadable(path, code_of(fault))

    def _enter(self, path: str) -> None:
        while "/" in path:
            path, _, name = path.rpartition("/")
            self._folders.setdefault(path, set()).add(name)

    def _contents(self, path: str) -> bytes:
        found = self._files.get(self._resolve(path), errno.EISDIR)
        if isinstance(found, int):
            raise OSError(found, "as given")
        return found

    def _resolve(self, path: str) -> str:
        ahead = path.split("/")[::-1]
        place: list[str] = []
        hops = 0
        while ahead:
            step = ahead.pop()
            if step == "..":
                place = place[:-1]
                continue
            place.append(step)
            target = self._links.get("/".join(place))
            if target is not None:
                hops += 1
                place = place[:-1]
                ahead.extend(target.split("/")[::-1])
            _refuse(not place and not ahead, errno.EXDEV)
            _refuse(hops > _MOST_HOPS, errno.ELOOP)
        found = "/".join(place)
        _refuse(found not in self._files and found not in self._folders, errno.ENOENT)
        return found


def _refuse(when: bool, code: int) -> None:
    if when:
        raise OSError(code, "refused")
