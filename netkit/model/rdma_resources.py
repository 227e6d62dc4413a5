"""What the kernel's RDMA core knows of devices, ports and the processes that use them.

Linux: include/uapi/rdma/rdma_netlink.h; queue pair types and states are InfiniBand Architecture 1.4, 10.2.4 and 10.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.counter import Counter
from netkit.model.missing import Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCount:
    """How many objects of one kind (`qp`, `mr`, `cq`, …) exist on a device."""

    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaPortLink:
    """One port and the network interface it sends through, as the kernel maps them."""

    number: int
    state: str | Missing
    physical_state: str | Missing
    netdev: str | Missing
    netdev_index: int | Missing
    lid: int | Missing
    subnet_manager_lid: int | Missing
    counters: tuple[Counter, ...] | Missing
    """The driver's counters, enabled optional ones among them."""
    counters_partial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePair:
    """One queue pair; `process` is a PID in the reader's PID namespace, Missing for the kernel's own."""

    number: int
    remote_number: int | Missing
    port: int | Missing
    kind: str
    state: str
    process: int | Missing
    owner: str | Missing
    """The process's name, or the kernel module's in brackets: `ib_write_bw`, `[ib_core]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaLink:
    """One RDMA device as RDMA netlink shows it."""

    name: str
    index: int
    protocol: str | Missing
    firmware: str | Missing
    node_guid: str | Missing
    system_image_guid: str | Missing
    node_type: int | Missing
    ports: tuple[RdmaPortLink, ...] | Missing
    resources: tuple[ResourceCount, ...] | Missing
    queue_pairs: tuple[QueuePair, ...] | Missing
    partial: bool
    """Objects kept changing while they were listed: some queue pairs or ports may be missing or twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaLinks:
    """Every RDMA device of a namespace; `partial` when the list kept changing or one entry of it was unreadable."""

    links: tuple[RdmaLink, ...]
    partial: bool
