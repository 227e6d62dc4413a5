"""Everything read from one node at one time: the only thing a judgement about a node sees."""

from __future__ import annotations

from dataclasses import dataclass

from netkit.model.ethernet import NetDev
from netkit.model.ethernet_link import EthernetLink
from netkit.model.gpu import Accelerators
from netkit.model.host import Host, KernelEvent
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress, PciDevice
from netkit.model.pci_capabilities import PciCapabilities, PciErrors
from netkit.model.process import ProcessTable
from netkit.model.rdma import RdmaDevice
from netkit.model.rdma_resources import RdmaLinks


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSnapshot:
    """One node at `taken_at` (seconds since 1970).

    A group that is `Missing` could not be read at all, which is not the same as an empty one: a driver that is
    still loading has no class folder, a machine without NICs has an empty one. A recording that holds only files has
    no netlink and no GPU answers: those groups are Missing (unsupported), "not recorded".
    """

    taken_at: float
    host: Host
    pci_devices: tuple[PciDevice, ...] | Missing
    pci_capabilities: tuple[PciCapabilities, ...]
    pci_errors: tuple[PciErrors, ...]
    rdma_devices: tuple[RdmaDevice, ...] | Missing
    netdevs: tuple[NetDev, ...] | Missing
    kernel_events: tuple[KernelEvent, ...] | Missing
    virtual_functions_skipped: int
    rdma_links: RdmaLinks | Missing
    """By RDMA netlink: ports with their interface, statistics, resources, queue pairs with their processes."""
    ethernet_links: tuple[EthernetLink, ...] | Missing
    """By ethtool and DCB netlink, of interfaces with a device behind them or an RDMA port on them."""
    accelerators: Accelerators
    processes: ProcessTable | Missing
    """Who has a GPU or a queue pair."""

    def pci_device(self, address: PciAddress) -> PciDevice | None:
        """Return the PCI function at `address`, if it was read."""
        devices = () if isinstance(self.pci_devices, Missing) else self.pci_devices
        return next((device for device in devices if device.address == address), None)

    def netdev(self, name: str) -> NetDev | None:
        """Return the interface of this name, if it was read."""
        found = () if isinstance(self.netdevs, Missing) else self.netdevs
        return next((netdev for netdev in found if netdev.name == name), None)

    def ethernet_link(self, interface: str) -> EthernetLink | None:
        """Return what the driver of this interface said, if it was asked."""
        found = () if isinstance(self.ethernet_links, Missing) else self.ethernet_links
        return next((link for link in found if link.interface == interface), None)
