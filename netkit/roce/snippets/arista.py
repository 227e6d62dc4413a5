"""Arista EOS: EOS user manual, "Quality of Service" and "Priority Flow Control"; Broadcom's RoCE deployment guide."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.roce.fabric_intent import FabricIntent
from netkit.roce.sizes import DETECTION_MS, MARK_PERCENT, RESTORATION_MS, Sizes
from netkit.roce.snippet import Dialect


def emit(intent: FabricIntent, sizes: Sizes) -> str:
    """Return the lines of a configuration session."""
    return "".join(f"{line}\n" for line in (*_everywhere(intent), *_ports(intent, sizes)))


def _everywhere(intent: FabricIntent) -> Iterator[str]:
    for priority, dscps in intent.by_priority.items():
        yield f"qos map dscp {' '.join(map(str, dscps))} to traffic-class {priority}"
    detection, restoration = DETECTION_MS / 1000, RESTORATION_MS / 1000
    yield f"priority-flow-control pause watchdog default timeout {detection:g}"
    yield f"priority-flow-control pause watchdog default recovery-time {restoration:g}"
    yield "priority-flow-control pause watchdog action drop"


def _ports(intent: FabricIntent, sizes: Sizes) -> Iterator[str]:
    low, high = (size.bytes // 1000 for size in (sizes.mark_from, sizes.mark_all_from))
    for port in intent.switch_ports:
        yield f"interface {port}"
        yield f"   mtu {intent.mtu_bytes}"
        yield "   qos trust dscp"
        yield "   priority-flow-control on"
        for priority in intent.lossless_priorities:
            yield f"   priority-flow-control priority {priority} no-drop"
        for priority in intent.lossless_priorities:
            yield f"   uc-tx-queue {priority}"
            yield (
                f"      random-detect ecn minimum-threshold {low} kbytes maximum-threshold {high} kbytes "
                f"max-mark-probability {MARK_PERCENT}"
            )
        yield f"   uc-tx-queue {intent.cnp_priority}"
        yield "      priority strict"


def _unstated(_intent: FabricIntent) -> tuple[str, ...]:
    return (
        "headroom of a no-drop priority: the platform's own; compare it with the bytes computed",
        "whether the platform's queues are called tx-queue or uc-tx-queue, and the queue of each traffic class",
    )


DIALECT = Dialect(
    id="arista",
    title="Arista EOS",
    source='the EOS user manual, "Quality of Service"',
    emit=emit,
    unstated=_unstated,
)
