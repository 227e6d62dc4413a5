"""The processes of a lab, found in /proc (proc(5)) and ended through pidfd_open(2), which never hits a reused PID."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 2.0


def members(inodes: Collection[int]) -> set[int]:
    """Return the processes, except this one, inside any of these network namespaces."""
    return {pid for pid in _pids() if pid != os.getpid() and _network(pid) in inodes}


def marked(mark: str) -> set[int]:
    """Return the processes that were started inside a lab with this mark (`name:id`)."""
    line = f"NETKIT_LAB={mark}".encode()
    return {pid for pid in _pids() if pid != os.getpid() and line in _words(pid, "environ")}


def keepers(state_file: Path) -> set[int]:
    """Return the processes that keep the lab of this state file."""
    words = [b"netkit.lab.keeper", os.fsencode(state_file)]
    return {pid for pid in _pids() if _words(pid, "cmdline")[-2:] == words}


def end(found: Callable[[], Collection[int]], grace_seconds: float = GRACE_SECONDS) -> None:
    """Ask every process that `found` returns to end, then kill what is left; new ones that appear are killed too."""
    _signal_all(found, signal.SIGTERM, grace_seconds)
    deadline = time.monotonic() + grace_seconds
    while found() and time.monotonic() < deadline:
        _signal_all(found, signal.SIGKILL, 0.2)


def reap(pid: int) -> None:
    """Take leave of an ended process if it was started by this very one."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _signal_all(found: Callable[[], Collection[int]], kind: signal.Signals, wait_seconds: float) -> None:
    descriptors = [descriptor for pid in found() if (descriptor := _handle(pid)) is not None]
    # Looked at again while the handles are open: a PID that was reused in between is no longer among them.
    still = found()
    deadline = time.monotonic() + wait_seconds
    for descriptor in descriptors:
        if _pid_of(descriptor) in still:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(descriptor, kind)
    for descriptor in descriptors:
        _wait_for(descriptor, deadline)
        os.close(descriptor)


def _handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _pid_of(descriptor: int) -> int | None:
    for line in Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    return None


def _wait_for(descriptor: int, deadline: float) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    poller.poll(max(0.0, deadline - time.monotonic()) * 1000)


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal())


def _network(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 - one of thousands of calls
    except OSError:
        return None


def _words(pid: int, file: str) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return []
