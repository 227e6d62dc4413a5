"""RDMA devices, ports and GIDs as the kernel's InfiniBand class shows them.

Linux: Documentation/ABI/stable/sysfs-class-infiniband; the port states are InfiniBand Architecture 1.4, 14.2.5.6.
"""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.counter import CodedText, Counter
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Gid:
    """One filled slot of a port's GID table; empty slots are not listed."""

    index: int
    gid: str
    kind: str | Missing
    """`IB/RoCE v1` or `RoCE v2`."""
    netdev: str | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GidTable:
    """The filled slots among the first `slots_read` of `slots`; the rest was not looked at."""

    gids: tuple[Gid, ...]
    slots: int
    slots_read: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRate:
    """`400 Gb/sec (4X NDR)`: 50e9 bytes per second, and the whole text."""

    bytes_per_second: float | Missing
    text: str | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaPort:
    """One port: its link, its GIDs, and both groups of counters."""

    number: int
    state: CodedText
    physical_state: CodedText
    link_layer: str | Missing
    rate: LinkRate
    lid: int | Missing
    gid_table: GidTable | Missing
    netdev: str | Missing
    counters: tuple[Counter, ...] | Missing
    hw_counters: tuple[Counter, ...] | Missing
    hw_lifespan_seconds: float | Missing
    """How long the driver may answer from its cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaDevice:
    """One RDMA device; `identity` survives renumbering and renaming, `name` does not."""

    name: str
    identity: str
    address: PciAddress | Missing
    driver: str | Missing
    node_guid: str | Missing
    system_image_guid: str | Missing
    node_type: CodedText
    hca_type: str | Missing
    board_id: str | Missing
    firmware: str | Missing
    description: str | Missing
    virtual_function: bool
    ports: tuple[RdmaPort, ...] | Missing
    hw_counters: tuple[Counter, ...] | Missing
