"""The files of a folder into which other programs put results: the newest ones, of bounded size, each with its time.

Whoever writes there may be in the middle of it; what a file holds is for a parser to judge.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from netkit.model.missing import Missing
from netkit.model.text import visible
from netkit.sources.tree import code_of, unreadable

MOST_FILES = 200
LONGEST_FILE = 16 << 20
"""Bytes; a longer file is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """One file; `written` is in seconds since 1970."""

    path: Path
    written: float
    size: int

    @property
    def name(self) -> str:
        """The file's name, safe to show."""
        return visible(self.path.name, 128)

    def text(self) -> str | Missing:
        """Return what it holds, bytes that are no UTF-8 as replacement characters."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as opened:
                data = opened.read(LONGEST_FILE + 1)
        except OSError as fault:
            return unreadable(str(self.path), code_of(fault))
        return data.decode(errors="replace") if len(data) <= LONGEST_FILE else unreadable(str(self.path), "EFBIG")


def newest(folder: Path) -> tuple[ResultFile, ...] | Missing:
    """Return the newest regular files of a folder, newest first; links are not followed."""
    try:
        entries = [(entry, entry.stat(follow_symlinks=False)) for entry in os.scandir(folder)]
    except OSError as fault:
        return unreadable(str(folder), code_of(fault))
    regular = [(entry, found) for entry, found in entries if stat.S_ISREG(found.st_mode)]
    regular.sort(key=lambda one: one[1].st_mtime, reverse=True)
    return tuple(
        ResultFile(path=Path(entry.path), written=found.st_mtime, size=found.st_size)
        for entry, found in regular[:MOST_FILES]
    )
