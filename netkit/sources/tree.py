"""The files of a machine as readers see them: below `sys/`, `proc/`, or the kernel log `kmsg`, and never outside.

Every answer is a value or a `Missing` whose `detail` is the errno's name, so an answer can be written down and
given again (`netkit.sources.recording`). Bounded: no read waits for a writer, none returns more than asked.
Linux: path_resolution(7), open(2) O_PATH; Documentation/ABI/testing/dev-kmsg.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible

READ_LIMIT = 4096
"""One sysfs attribute fits in one page."""
LOG_LIMIT = 16 << 20
"""Bytes of a log looked through at most."""
KEPT_LIMIT = 1 << 18
"""Bytes of matching lines kept at most, the newest."""
ROOTS = MappingProxyType({"sys": Path("/sys"), "proc": Path("/proc"), "kmsg": Path("/dev/kmsg")})

# 95 has two names in C and Python picks the other one; the kernel's documents say EOPNOTSUPP.
ERRNO_NAMES = MappingProxyType({**errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP"})

_REASONS = MappingProxyType(
    {
        **dict.fromkeys(("ENOENT", "ENOTDIR", "ENODEV", "ENXIO", "ENODATA", "ENAMETOOLONG", "ESRCH"), Reason.ABSENT),
        **dict.fromkeys(("EACCES", "EPERM", "EXDEV"), Reason.DENIED),
        **dict.fromkeys(("EFBIG", "ELOOP", "EISDIR"), Reason.MALFORMED),
        **dict.fromkeys(("ETIMEDOUT", "EBUSY", "EAGAIN", "EIO", "EREMOTEIO", "EINTR"), Reason.TIMEOUT),
    }
)
# The kernel refuses a /dev/kmsg buffer smaller than one record (LOG_LINE_MAX plus its prefix).
_CHUNK = 1 << 16


class Tree(Protocol):
    """Five questions a reader may ask; paths look like `sys/class/net`."""

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        """Return a file's bytes; one longer than `limit` is Missing (EFBIG), never cut."""
        ...

    def list(self, path: str) -> tuple[str, ...] | Missing:
        """Return the names in a folder, sorted."""
        ...

    def link(self, path: str) -> str | Missing:
        """Return where a path really is, every symbolic link followed."""
        ...

    def exists(self, path: str) -> bool:
        """Tell whether something is at the path, readable or not."""
        ...

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        """Return the last `most` lines of a long file that match `keep`."""
        ...


def unreadable(path: str, code: str) -> Missing:
    """Name a failed call: EINVAL and whatever is not listed means the kernel has no such value to give."""
    return Missing(reason=_REASONS.get(code, Reason.UNSUPPORTED), where=visible(path), detail=code)


def code_of(fault: OSError) -> str:
    """Return the errno's name."""
    return ERRNO_NAMES.get(fault.errno or errno.EIO, "EIO")


def last_matching(data: bytes, keep: re.Pattern[bytes], most: int) -> bytes:
    """Return the last `most` lines of `data` that match `keep`, each ending in a newline, `KEPT_LIMIT` in all."""
    kept: list[bytes] = []
    left = KEPT_LIMIT
    for line in reversed(data.split(b"\n")):
        if not keep.search(line):
            continue
        left -= len(line) + 1
        if left < 0 or len(kept) == most:
            break
        kept.append(line + b"\n")
    return b"".join(reversed(kept))


class LiveTree:
    """This machine, or a copy of one: `roots` says where `sys`, `proc` and `kmsg` are.

    A path that answers EINVAL is not read again while the folder that holds it stays the same one, because each
    such read makes some firmware write to the kernel log; a device that is added again has a new folder.
    """

    def __init__(self, roots: Mapping[str, Path] = ROOTS) -> None:
        self._roots = {name: os.path.realpath(place) for name, place in roots.items()}
        self._refused: dict[str, tuple[int, int]] = {}

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | Missing:
        """Return a file's bytes; see `Tree.read`."""
        if path in self._refused and self._refused[path] == self._folder(path):
            return unreadable(path, "EINVAL")
        try:
            with self._place(path) as place:
                data = _contents(place, limit + 1)
        except OSError as fault:
            if fault.errno == errno.EINVAL:
                self._refused[path] = self._folder(path)
            return unreadable(path, code_of(fault))
        return data if len(data) <= limit else unreadable(path, "EFBIG")

    def open(self, path: str) -> int:
        """Return a descriptor of a regular file, for whoever reads it often and closes it; raise OSError."""
        with self._place(path) as place:
            return _opened(place)

    def list(self, path: str) -> tuple[str, ...] | Missing:
        """Return the names in a folder, sorted."""
        try:
            with self._place(path) as place:
                return tuple(sorted(os.listdir(_by_descriptor(place))))  # noqa: PTH208 - names, not Paths
        except OSError as fault:
            return unreadable(path, code_of(fault))

    def link(self, path: str) -> str | Missing:
        """Return where a path really is, in the same form."""
        try:
            with self._place(path) as place:
                real = _real(place)
        except OSError as fault:
            return unreadable(path, code_of(fault))
        name = path.partition("/")[0]
        return name + real.removeprefix(self._roots[name].rstrip("/"))

    def exists(self, path: str) -> bool:
        """Tell whether something is at the path."""
        try:
            with self._place(path):
                return True
        except OSError:
            return False

    def lines(self, path: str, keep: re.Pattern[bytes], most: int) -> bytes | Missing:
        """Return the last matching lines of a long file or of the kernel log."""
        try:
            with self._place(path) as place:
                data = _contents(place, LOG_LIMIT, device=path == "kmsg")
        except OSError as fault:
            return unreadable(path, code_of(fault))
        return last_matching(data, keep, most)

    @contextmanager
    def _place(self, path: str) -> Iterator[int]:
        """Open without touching the file, and only below its root: no race between the check and the use."""
        name, _, rest = path.partition("/")
        if name not in self._roots:
            raise OSError(errno.ENOENT, "no such root")
        if "\0" in rest or ".." in rest.split("/"):
            raise OSError(errno.EXDEV, "outside")
        root = self._roots[name]
        place = os.open(f"{root}/{rest}" if rest else root, os.O_PATH | os.O_CLOEXEC)
        try:
            real = _real(place)
            if real != root and not real.startswith(root.rstrip("/") + "/"):
                raise OSError(errno.EXDEV, "outside")
            yield place
        finally:
            os.close(place)

    def _folder(self, path: str) -> tuple[int, int]:
        """Return what tells one folder from the next of the same name (kernfs numbers are not used twice)."""
        try:
            with self._place(path.rpartition("/")[0]) as place:
                found = os.fstat(place)
        except OSError:
            return (0, 0)
        return (found.st_dev, found.st_ino)


def _by_descriptor(place: int) -> str:
    return f"/proc/self/fd/{place}"


def _real(place: int) -> str:
    return os.readlink(_by_descriptor(place))  # noqa: PTH115 - a Path would drop what a name may hold


def _contents(place: int, limit: int, device: bool = False) -> bytes:
    descriptor = _opened(place, device)
    try:
        return _drained(descriptor, limit)
    finally:
        os.close(descriptor)


def _opened(place: int, device: bool = False) -> int:
    mode = os.fstat(place).st_mode
    if not (stat.S_ISREG(mode) or (device and stat.S_ISCHR(mode))):
        raise OSError(errno.EISDIR, "not a regular file")
    return os.open(_by_descriptor(place), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)


def _drained(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    while left > 0:
        try:
            part = os.read(descriptor, min(max(left, READ_LIMIT * 2), _CHUNK))
        except BlockingIOError:
            break
        except BrokenPipeError:
            # Records of the kernel log were overwritten while it was read; the next read goes on after them.
            continue
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
