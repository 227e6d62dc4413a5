"""Run a command inside one node of a lab: `python -I -S enter.py PID STARTED FD LAB -- COMMAND…`.

Imports nothing of netkit, so that a probe can start hundreds of agents quickly. PID is the lab's keeper, STARTED the
22nd field of /proc/PID/stat (proc(5)), FD the keeper's descriptor of the node's network namespace; the command finds
LAB in NETKIT_LAB, by which `netkit lab down` recognises it. Ends with status 3 if the node cannot be entered, 127 if
the command is not found, 126 if it cannot be started, and otherwise as the command ends.
"""

import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000


def main(arguments: list[str]) -> int:
    """Enter the node and become the command; return a status only when that fails."""
    pid, started, descriptor, lab, _, *command = arguments
    try:
        enter(pid, started, descriptor)
    except OSError as fault:
        print(f"netkit: cannot enter lab {lab.split(':')[0]}: {fault.strerror}; is it still up?", file=sys.stderr)
        return 3
    os.environ["NETKIT_LAB"] = lab
    try:
        os.execvp(command[0], command)  # noqa: S606 - there is no shell; the command is the caller's own
    except OSError as fault:
        print(f"netkit: cannot run {command[0]!r}: {fault.strerror}", file=sys.stderr)
        return 127 if isinstance(fault, FileNotFoundError) else 126


def enter(pid: str, started: str, descriptor: str) -> None:
    """Join the node's user and network namespaces, after making sure that PID is still the keeper."""
    network = os.open(f"/proc/{pid}/fd/{descriptor}", os.O_RDONLY)
    user = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib costs as much as all the rest
        if file.read().rpartition(b")")[2].split()[19].decode() != started:
            raise ProcessLookupError(3, "its keeper is gone")
    own = os.stat("/proc/self/ns/user")  # noqa: PTH116
    if os.fstat(user).st_ino != own.st_ino:
        join(user, CLONE_NEWUSER)
    join(network, CLONE_NEWNET)
    os.close(user)
    os.close(network)


def join(descriptor: int, kind: int) -> None:
    """setns(2), which Python has since 3.12 only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, kind) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
