"""Make, hold and enter Linux namespaces, without root where the kernel allows it.

Defined by unshare(2), setns(2) and user_namespaces(7).
Python 3.11 has neither call, so both go through the C library. A process that enters a user namespace must have one
thread only; every caller here is a freshly started process.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from netkit.errors import ProbeError
from netkit.lab.enter import CLONE_NEWNET, CLONE_NEWUSER, join

_LIBC = ctypes.CDLL(None, use_errno=True)
_REMEDY = "run as root, allow user namespaces, or use `netkit lab up --emulate`, which needs neither"


def unshare(flags: int) -> None:
    """Move this process into new namespaces; raise OSError with the kernel's answer."""
    if _LIBC.unshare(flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def become_able() -> None:
    """Give this process the right to make network namespaces, by a user namespace of its own where it is not root.

    Raises:
        ProbeError: neither works; says what was tried and what the kernel answered.
    """
    try:
        unshare(CLONE_NEWNET)
    except OSError as plain:
        try:
            _own_user_namespace()
        except OSError as nested:
            cause = (
                f"the kernel answered {_code(plain)} to a new network namespace "
                f"and {_code(nested)} to a new user and network namespace"
            )
            raise ProbeError("lab up", cause, _REMEDY) from nested


def _own_user_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNET)
    # Without CAP_SETGID in the parent, gid_map may only be written once setgroups is given up.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")


def new_network() -> int:
    """Move this process into a new network namespace and return a descriptor that keeps it alive."""
    unshare(CLONE_NEWNET)
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def enter_user_namespace_of(pid: int) -> None:
    """Join the user namespace of a process, unless already in it."""
    path = Path(f"/proc/{pid}/ns/user")
    if path.stat().st_ino != Path("/proc/self/ns/user").stat().st_ino:
        _join(path, CLONE_NEWUSER)


def enter_network(pid: int, descriptor: int) -> None:
    """Join the network namespace that a process holds open as `descriptor`."""
    _join(Path(f"/proc/{pid}/fd/{descriptor}"), CLONE_NEWNET)


def _join(path: Path, kind: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        join(descriptor, kind)
    finally:
        os.close(descriptor)


def _code(fault: OSError) -> str:
    return errno.errorcode.get(fault.errno or 0, str(fault.errno))
