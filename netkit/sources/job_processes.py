"""Who the processes on GPUs and queue pairs are: `/proc/<pid>/stat` and `/proc/<pid>/cgroup`, through a Tree.

Linux: proc_pid_stat(5), cgroups(7), Documentation/filesystems/proc.rst (`hidepid`). Read from files and not by psutil,
so that a recording answers too. Processes end while they are looked at: those are counted, and nothing is raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from netkit.model.missing import Missing, Reason
from netkit.model.process import Process, ProcessTable
from netkit.model.text import visible
from netkit.sources.tree import Tree

MOST_PROCESSES = 4096
_TICKS_PER_SECOND = 100
"""USER_HZ, which every Linux architecture shows to user space."""
_STAT = re.compile(rb"[0-9]+ \((.*)\) ([A-Za-z]) (.*)", re.DOTALL)
_START_TIME = 22 - 4
"""Field 22 of `stat`, counted from the one behind the state."""
_ENDED_STATES = frozenset({"Z", "X", "x"})
_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})")
_CONTAINER = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])")
_HIDDEN_MOUNT = re.compile(rb" - proc \S+ \S*hidepid=(?!0|off)")
_GROUP_BYTES = 1 << 16
# A kernel thread, at this number since the kernel starts it second; other PID namespaces have none.
_KERNEL_THREADS = ("proc/2/comm", b"kthreadd\n")


def read_processes(tree: Tree, pids: Iterable[int]) -> ProcessTable:
    """Return those of these processes that are there."""
    wanted = sorted(set(pids))[:MOST_PROCESSES]
    found = [_process(tree, pid) for pid in wanted]
    missing = [one for one in found if isinstance(one, Missing)]
    denied = sum(one.reason is Reason.DENIED for one in missing)
    return ProcessTable(
        processes=tuple(one for one in found if isinstance(one, Process)),
        ended=len(missing) - denied,
        denied=denied,
        hidden=_hidden(tree),
    )


def _hidden(tree: Tree) -> Missing | None:
    """Say what keeps other processes from being seen, if anything does."""
    mount = tree.lines("proc/self/mountinfo", _HIDDEN_MOUNT, 1)
    if isinstance(mount, bytes) and mount:
        detail = "/proc is mounted with hidepid: run as root, or in the group it names"
        return Missing(reason=Reason.DENIED, where="proc/self/mountinfo", detail=detail)
    path, expected = _KERNEL_THREADS
    name = tree.read(path)
    if name == expected:
        return None
    if isinstance(name, Missing) and name.reason is Reason.UNSUPPORTED:
        return name
    detail = "another PID namespace: processes of other containers have no numbers here (hostPID: true)"
    return Missing(reason=Reason.DENIED, where=path, detail=detail)


def _process(tree: Tree, pid: int) -> Process | Missing:
    where = f"proc/{pid}/stat"
    data = tree.read(where)
    if isinstance(data, Missing):
        return data
    match = _STAT.fullmatch(data)
    if match is None:
        return Missing(reason=Reason.MALFORMED, where=where)
    if match[2].decode() in _ENDED_STATES:
        return Missing(reason=Reason.ABSENT, where=where, detail="ended, waiting for its parent")
    group = _control_group(tree, pid)
    return Process(
        pid=pid,
        name=visible(match[1].decode(errors="surrogateescape")),
        started_seconds=_started(match[3].split(), where),
        control_group=group,
        pod=_named(group, _POD).replace("_", "-") if _named(group, _POD) else _outside(pid, "pod"),
        container=_named(group, _CONTAINER) or _outside(pid, "container"),
    )


def _started(fields: list[bytes], where: str) -> float | Missing:
    known = len(fields) > _START_TIME and re.fullmatch(rb"[0-9]{1,20}", fields[_START_TIME])
    if not known:
        return Missing(reason=Reason.MALFORMED, where=where, detail="no start time")
    return int(fields[_START_TIME]) / _TICKS_PER_SECOND


def _control_group(tree: Tree, pid: int) -> str | Missing:
    """Return the longest path: with version 1 each controller has its own, and only some name the container."""
    where = f"proc/{pid}/cgroup"
    data = tree.read(where, _GROUP_BYTES)
    if isinstance(data, Missing):
        return data
    paths = [
        line.split(":", 2)[2] for line in data.decode(errors="surrogateescape").splitlines() if line.count(":") > 1
    ]
    return visible(max(paths, key=len)) if paths else Missing(reason=Reason.MALFORMED, where=where)


def _named(group: str | Missing, pattern: re.Pattern[str]) -> str:
    found = pattern.search(group) if isinstance(group, str) else None
    return found[1] if found else ""


def _outside(pid: int, what: str) -> Missing:
    return Missing(reason=Reason.ABSENT, where=f"proc/{pid}/cgroup", detail=f"in no {what}")
