"""Where labs leave word of themselves: one JSON file a lab, in a directory only this user can write.

The directory is `$XDG_RUNTIME_DIR/netkit` (XDG Base Directory Specification), else `/run/netkit` for root, else
`netkit-UID` under the folder for temporary files. A file is replaced whole, under the lock of its lab.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netkit.errors import SourceError

_SUFFIX = ".lab.json"


def directory() -> Path:
    """Return the state directory, made if need be; raise SourceError if it is not this user's alone."""
    place = _place()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.lstat()
    except OSError as fault:
        raise SourceError("cannot keep lab state", str(place), fault.errno) from fault
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
    if not mine:
        raise SourceError("cannot keep lab state", f"{place} is not a directory only this user can write")
    return place


def _place() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_absolute():
        return Path(runtime) / "netkit"
    if os.geteuid() == 0:
        return Path("/run/netkit")
    return Path(tempfile.gettempdir()) / f"netkit-{os.geteuid()}"


def names() -> tuple[str, ...]:
    """Return the names of all labs that left a state file, sorted."""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in directory().glob(f"*{_SUFFIX}")))


def path_of(name: str) -> Path:
    """Return where the state of a lab is written."""
    return directory() / f"{name}{_SUFFIX}"


def read(name: str) -> str | None:
    """Return the state text of a lab, or None if there is none."""
    path = path_of(name)
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise SourceError("cannot read lab state", str(path), fault.errno) from fault


def write(name: str, text: str) -> None:
    """Replace the state text of a lab; after a failure the old text is intact."""
    path = path_of(name)
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as fault:
        temporary.unlink(missing_ok=True)
        raise SourceError("cannot write lab state", str(path), fault.errno) from fault


def remove(name: str) -> None:
    """Remove the state and the lock of a lab; the caller holds the lock."""
    for path in (path_of(name), directory() / f"{name}.lock"):
        path.unlink(missing_ok=True)


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock of one lab, waiting for whoever has it."""
    path = directory() / f"{name}.lock"
    descriptor = _lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(path: Path) -> int:
    # `remove` unlinks the lock file: a lock won on an unlinked file excludes nobody, so try again on the new one.
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            if path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)
