"""Take a running lab's devices from one set of faults to another: `python -m netkit.lab.apply`.

Its own short-lived process, because only a process with one thread may enter a user namespace. Standard input brings
two JSON lines, the lab before and after; standard output answers nothing, or one JSON line saying why nothing changed.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable
from itertools import groupby
from typing import Any

from netkit.errors import ProbeError
from netkit.lab.effects import FABRIC, Device, Setting, changed, settings
from netkit.lab.links import indexes
from netkit.lab.namespaces import enter_network, enter_user_namespace_of
from netkit.lab.qdiscs import change
from netkit.lab.state import Keeper, LabState, from_json

Changes = dict[Device, tuple[Setting, Setting]]


def main() -> int:
    """Apply the difference; on a refusal put back what was already changed and say so."""
    before, after = (from_json("lab", sys.stdin.readline()) for _ in range(2))
    try:
        apply(before, after)
    except ProbeError as fault:
        print(json.dumps([fault.phase, fault.cause, fault.remedy]))
        return 3
    return 0


def apply(before: LabState, after: LabState) -> None:
    """Change every device whose setting differs. Raise ProbeError if the kernel refuses; then nothing has changed."""
    assert before.keeper is not None
    changes = changed(settings(before.shape, before.faults), settings(after.shape, after.faults))
    done: Changes = {}
    try:
        enter_user_namespace_of(before.keeper.pid)
        _each(before, changes, lambda device, old, new: done.update({device: (old, new)}))
    except OSError as fault:
        _each(before, {device: (new, old) for device, (old, new) in done.items()}, lambda *_: None)
        raise _refused(fault, changes) from fault


def _each(state: LabState, changes: Changes, changed_one: Callable[[Device, Setting, Setting], None]) -> None:
    from pyroute2 import IPRoute

    assert state.keeper is not None
    for namespace, devices in groupby(sorted(changes), key=lambda device: device.namespace):
        enter_network(state.keeper.pid, _descriptor(state, state.keeper, namespace))
        with IPRoute() as route:
            found = indexes(route)
            for device in devices:
                old, new = changes[device]
                _change_one(route, found[device.name], old, new)
                changed_one(device, old, new)


def _change_one(route: Any, index: int, old: Setting, new: Setting) -> None:
    """Change one device; pyroute2's error becomes the OSError it stands for."""
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        change(route, index, old, new)
    except NetlinkError as fault:
        raise OSError(fault.code, str(fault)) from fault


def _descriptor(state: LabState, keeper: Keeper, namespace: str) -> int:
    if namespace == FABRIC:
        return keeper.fabric_fd
    return keeper.node_fds[state.shape.node_names.index(namespace)]


def _refused(fault: OSError, changes: Changes) -> ProbeError:
    wants_netem = any(new.loss or new.delay for _, new in changes.values())
    if wants_netem and fault.errno in (errno.ENOENT, errno.EOPNOTSUPP):
        cause = "this kernel has no sch_netem, which --loss and --delay need"
        return ProbeError("lab fault", cause, "load it (modprobe sch_netem) or use --slowdown; nothing was changed")
    cause = f"the kernel refused: {fault.strerror or fault}"
    return ProbeError("lab fault", cause, "nothing was changed; see whether the lab is up: netkit lab status")


if __name__ == "__main__":
    sys.exit(main())
