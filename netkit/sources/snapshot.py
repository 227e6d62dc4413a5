"""Everything netkit's file readers read from one node, in one record."""

from __future__ import annotations

from netkit.model.missing import Missing
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciDevice
from netkit.sources import netdev, rdma
from netkit.sources.host import read_host
from netkit.sources.kernel_log import read_kernel_events
from netkit.sources.pci import DEVICES, address_of, is_virtual_function, read_pci_devices
from netkit.sources.pci_config import read_pci_capabilities
from netkit.sources.pci_errors import read_pci_errors
from netkit.sources.tree import Tree

_BRIDGE_CLASSES = (0x0604, 0x0680)
_DATA_PATH_CLASSES = (0x02, 0x03, 0x12)
"""Network, display (GPU) and processing accelerators, by base class."""


def read_node(tree: Tree, now: float, virtual_functions: bool = False) -> NodeSnapshot:
    """Read one node; `now` is in seconds since 1970. Whatever fails is Missing in its place; nothing is raised."""
    devices = read_pci_devices(tree, virtual_functions)
    path = [] if isinstance(devices, Missing) else [device.address for device in devices if on_data_path(device)]
    return NodeSnapshot(
        taken_at=now,
        host=read_host(tree),
        pci_devices=devices,
        pci_capabilities=tuple(read_pci_capabilities(tree, address) for address in path),
        pci_errors=tuple(read_pci_errors(tree, address) for address in path),
        rdma_devices=rdma.read_rdma_devices(tree, virtual_functions),
        netdevs=netdev.read_netdevs(tree, virtual_functions),
        kernel_events=read_kernel_events(tree),
        virtual_functions_skipped=0 if virtual_functions else _virtual_functions(tree),
    )


def on_data_path(device: PciDevice) -> bool:
    """Tell whether a function carries the traffic of collectives: NICs, GPUs, accelerators, the bridges to them."""
    return device.class_code >> 16 in _DATA_PATH_CLASSES or device.class_code >> 8 in _BRIDGE_CLASSES


def _virtual_functions(tree: Tree) -> int:
    found = tree.list(DEVICES)
    addresses = [] if isinstance(found, Missing) else [address for name in found if (address := address_of(name))]
    return sum(is_virtual_function(tree, address) for address in addresses)
