"""Network interfaces as the kernel's net class shows them.

Linux: Documentation/ABI/testing/sysfs-class-net, -net-statistics; Documentation/networking/bonding.rst. The RoCE
congestion settings under `ecn/` come with NVIDIA's out-of-tree mlx5 driver.
"""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.counter import Counter, Setting
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Bond:
    """How a bonding interface spreads traffic over its members."""

    mode: str | Missing
    hash_policy: str | Missing
    link_check: str | Missing
    active_member: str | Missing
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoceCongestion:
    """Congestion control of RoCE: who answers marks (notification point) and who slows down (reaction point)."""

    notification_priorities: tuple[Setting, ...]
    reaction_priorities: tuple[Setting, ...]
    notification: tuple[Setting, ...]
    reaction: tuple[Setting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetDev:
    """One network interface; address resolution settings and counters of physical interfaces only."""

    name: str
    identity: str
    address: PciAddress | Missing
    driver: str | Missing
    hardware_address: str | Missing
    index: int | Missing
    link_type: int | Missing
    """ARPHRD: 1 Ethernet, 32 InfiniBand, 772 loopback."""
    device_port: int | Missing
    mtu_bytes: int | Missing
    speed_bytes_per_second: float | Missing
    operational_state: str | Missing
    carrier: bool | Missing
    carrier_changes: int | Missing
    carrier_ups: int | Missing
    carrier_downs: int | Missing
    queue_length: int | Missing
    master: str | Missing
    bond: Bond | Missing
    rdma_devices: tuple[str, ...]
    congestion: RoceCongestion | Missing
    address_resolution: tuple[Setting, ...]
    """`arp_ignore`, `arp_announce`, `rp_filter` of this interface; the kernel uses the larger of these and `all`."""
    counters: tuple[Counter, ...]

    @property
    def physical(self) -> bool:
        """Whether a device of a bus stands behind this interface."""
        return not isinstance(self.driver, Missing)
