"""XIDs of a kernel log as counts, because a gauge of the last XID stays for ever and says nothing about now.

NVIDIA "Xid Errors". XID 79 and the driver's "has fallen off the bus" both mean that a GPU is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from netkit.model.gpu import XidCount
from netkit.model.host import KernelEvent, KernelEventKind
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress

FALLEN_OFF_THE_BUS = 79


def count_xids(events: Iterable[KernelEvent]) -> tuple[XidCount, ...]:
    """Count XIDs by GPU and code, in the order they first appeared; events must be oldest first."""
    counts: dict[tuple[str, int], XidCount] = {}
    for event in events:
        if event.kind is not KernelEventKind.XID or isinstance(event.code, Missing):
            continue
        key = (str(event.address), event.code)
        before = counts[key].count if key in counts else 0
        counts[key] = XidCount(
            address=event.address,
            code=event.code,
            count=before + 1,
            last_seconds_since_boot=event.seconds_since_boot,
        )
    return tuple(counts.values())


def lost_gpus(events: Iterable[KernelEvent]) -> frozenset[PciAddress]:
    """Return the GPUs the kernel says it lost in this boot."""
    return frozenset(
        event.address
        for event in events
        if isinstance(event.address, PciAddress)
        and (event.kind is KernelEventKind.GPU_LOST or event.code == FALLEN_OFF_THE_BUS)
    )
