"""The process that owns a lab: `python -m netkit.lab.keeper STATE_FILE`.

Makes the namespaces and links, then only holds them open: when it ends, however it ends, the kernel takes everything
away. Standard input brings one JSON line (the lab, and optionally the process to live for); standard output answers one
JSON line (`keeper` or `error`). Then a line `keep` must come: end of file instead means that whoever asked is gone.
STATE_FILE in the command line is how `netkit lab down` recognises a keeper whose state was lost.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netkit.errors import ProbeError
from netkit.lab.links import build
from netkit.lab.namespaces import become_able, new_network
from netkit.lab.processes import end, members
from netkit.lab.shape import Shape
from netkit.lab.state import Keeper, from_json, start_time


def main() -> int:
    """Build the lab described on standard input and hold it until told to end."""
    request = json.loads(sys.stdin.readline())
    state = from_json(request["lab"]["name"], json.dumps(request["lab"]))
    # Opened before the user namespace changes what this process may see.
    owner = _watch(request["owner"])
    try:
        keeper = _made(state.shape)
    except ProbeError as fault:
        _answer({"error": [fault.phase, fault.cause, fault.remedy]})
        return 3
    _answer({"keeper": asdict(keeper)})
    if sys.stdin.readline() != "keep\n":
        return 0
    _let_go_of_terminal()
    return _hold(keeper, owner, Path(sys.argv[1]))


def _made(shape: Shape) -> Keeper:
    """Make namespaces and links; raise ProbeError with the kernel's answer if it refuses."""
    from pyroute2.netlink.exceptions import NetlinkError

    started = start_time(os.getpid())
    assert started is not None
    try:
        become_able()
        fabric = new_network()
        nodes = tuple(new_network() for _ in range(shape.nodes))
        build(shape, fabric, nodes)
    except NetlinkError as fault:
        raise ProbeError("lab up", f"the kernel refused a link of the lab: {fault}", _REMEDY) from fault
    except OSError as fault:
        raise ProbeError("lab up", f"the kernel refused a namespace of the lab: {fault.strerror}", _REMEDY) from fault
    return Keeper(
        pid=os.getpid(),
        started=started,
        fabric_fd=fabric,
        node_fds=nodes,
        inodes=tuple(os.fstat(descriptor).st_ino for descriptor in (fabric, *nodes)),
    )


_REMEDY = "try a smaller lab, or `netkit lab up --emulate`"


def _answer(message: dict[str, Any]) -> None:
    try:
        print(json.dumps(message), flush=True)
    except BrokenPipeError:
        # Whoever asked is gone; what was built goes with this process.
        os._exit(3)


def _watch(pid: int | None) -> int | None:
    """Return a descriptor that becomes readable when the process ends; one that has ended ends the lab too."""
    if pid is None:
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise SystemExit(3) from None


def _let_go_of_terminal() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _hold(keeper: Keeper, owner: int | None, state_file: Path) -> int:
    if owner is None:
        while True:
            signal.pause()
    poller = select.poll()
    poller.register(owner, select.POLLIN)
    poller.poll()
    end(lambda: members(keeper.inodes))
    state_file.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
