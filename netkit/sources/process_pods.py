"""Which pod a process belongs to: its control group names the pod's UID, the folder of pod logs names the pod.

proc(5) /proc/<pid>/cgroup; kubelet cgroup drivers (`kubepods-burstable-pod<uid>.slice`, `/kubepods/pod<uid>/`); the
kubelet keeps logs in `/var/log/pods/<namespace>_<name>_<uid>`. Needs hostPID to see processes of other pods.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from netkit.model.missing import Missing
from netkit.model.text import visible
from netkit.sources.tree import Tree

LOGS = Path("/var/log/pods")
_UID = re.compile(rb"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})")
_MIRROR_UID = re.compile(rb"pod([0-9a-f]{32})\b")
_FOLDER = re.compile(r"([a-z0-9.-]{1,63})_([a-z0-9.-]{1,253})_([0-9a-f-]{32,36})")
_MOST_PODS = 10_000


def pod_uid(tree: Tree, process: int) -> str | None:
    """Return the UID of the pod a process runs in; None for a process of no pod, or one that is gone."""
    data = tree.read(f"proc/{process}/cgroup", 1 << 16)
    return None if isinstance(data, Missing) else parse_pod_uid(data)


def parse_pod_uid(cgroup: bytes) -> str | None:
    """Find the UID in the text of a `cgroup` file; systemd writes it with underscores."""
    match = _UID.search(cgroup) or _MIRROR_UID.search(cgroup)
    return match[1].decode().replace("_", "-") if match else None


def pod_names(logs: Path = LOGS) -> dict[str, tuple[str, str]]:
    """Return namespace and name of the pods of this node by UID; empty where the folder cannot be read."""
    try:
        found = [entry.name for _, entry in zip(range(_MOST_PODS), os.scandir(logs), strict=False)]
    except OSError:
        return {}
    matches = (_FOLDER.fullmatch(name) for name in found)
    return {match[3]: (visible(match[1]), visible(match[2])) for match in matches if match}
