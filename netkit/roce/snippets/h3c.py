"""H3C Comware: "RDMA Technical Reference" for S6805 to S9850, PFC commands of S9825 and S9855."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.qos import PRIORITIES
from netkit.roce.sizes import MARK_PERCENT, Sizes
from netkit.roce.snippet import Dialect

_GROUPS = ("be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7")
"""Names of queue 0 to 7 in `qos wfq`."""


def emit(intent: FabricIntent, _sizes: Sizes) -> str:
    """Return the lines of a configuration."""
    return "".join(f"{line}\n" for line in (*_everywhere(intent), *_ports(intent)))


def _everywhere(intent: FabricIntent) -> Iterator[str]:
    yield "qos map-table dscp-dot1p"
    yield from (f" import {dscp} export {priority}" for dscp, priority in intent.stated.items())
    # Out of the box 802.1p 0, 1 and 2 reach local precedence 2, 0 and 1.
    yield "qos map-table dot1p-lp"
    yield from (f" import {priority} export {priority}" for priority in PRIORITIES)
    yield "priority-flow-control deadlock precision high"
    for priority in intent.lossless_priorities:
        yield f"priority-flow-control deadlock cos {priority} interval 10"


def _ports(intent: FabricIntent) -> Iterator[str]:
    lossless = ",".join(map(str, intent.lossless_priorities))
    for port in intent.switch_ports:
        yield f"interface {port}"
        yield " qos trust dscp"
        yield " priority-flow-control enable"
        yield f" priority-flow-control no-drop dot1p {lossless}"
        yield " priority-flow-control deadlock enable"
        for priority in intent.lossless_priorities:
            yield f" qos wred queue {priority} ecn"
        yield " qos wfq byte-count"
        yield f" qos wfq {_GROUPS[intent.cnp_priority]} group sp"


def _unstated(intent: FabricIntent) -> tuple[str, ...]:
    return (
        "bytes of a cell: headroom (priority-flow-control dot1p P headroom) and ECN thresholds are counted in them",
        f"the mark probability: {MARK_PERCENT}% belongs into qos wred queue Q low-limit L high-limit H",
        "the time one interval of deadlock detection stands for at this precision",
        f"MTU {intent.mtu_bytes}: the jumbo frame setting of the model",
    )


DIALECT = Dialect(
    id="h3c",
    title="H3C Comware",
    source="H3C's RDMA Technical Reference and PFC commands",
    emit=emit,
    unstated=_unstated,
    comment="#",
)
