"""Everything netkit's readers read from one node, in one record: files, netlink, accelerators' drivers."""

from __future__ import annotations

from collections.abc import Iterator

from netkit.model.ethernet_link import EthernetLink
from netkit.model.gpu import Accelerators
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.pci import PciDevice
from netkit.model.rdma_resources import RdmaLinks
from netkit.sources import netdev, rdma
from netkit.sources.accelerators import read_accelerators
from netkit.sources.drivers import Drivers
from netkit.sources.host import read_host
from netkit.sources.job_processes import read_processes
from netkit.sources.kernel_log import read_kernel_events
from netkit.sources.netlink.kernel import Kernel
from netkit.sources.netlink.links import Interface, read_ethernet_links, read_interfaces
from netkit.sources.netlink.nldev import read_rdma_links
from netkit.sources.pci import DEVICES, address_of, is_virtual_function, read_pci_devices
from netkit.sources.pci_config import read_pci_capabilities
from netkit.sources.pci_errors import read_pci_errors
from netkit.sources.tree import Tree

_BRIDGE_CLASSES = (0x0604, 0x0680)
_DATA_PATH_CLASSES = (0x02, 0x03, 0x12)
"""Network, display (GPU) and processing accelerators, by base class."""


_ONLY_FILES = "not recorded: only files were read"


def read_node(
    tree: Tree,
    now: float,
    *,
    kernel: Kernel | None = None,
    drivers: Drivers | None = None,
    virtual_functions: bool = False,
) -> NodeSnapshot:
    """Read one node; `now` is in seconds since 1970. Whatever fails is Missing in its place; nothing is raised.

    Without `kernel` or `drivers` (a recording of files only) their groups are Missing (unsupported), "not recorded".
    """
    devices = read_pci_devices(tree, virtual_functions)
    path = [] if isinstance(devices, Missing) else [device.address for device in devices if on_data_path(device)]
    rdma_links = _not_recorded("rdma netlink") if kernel is None else read_rdma_links(kernel, tree)
    accelerators = read_accelerators(tree, drivers)
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
        rdma_links=rdma_links,
        ethernet_links=_ethernet_links(tree, kernel, rdma_links, virtual_functions),
        accelerators=accelerators,
        processes=_not_recorded("processes")
        if kernel is None and drivers is None
        else read_processes(tree, _pids(accelerators, rdma_links)),
    )


def _pids(accelerators: Accelerators, found: RdmaLinks | Missing) -> Iterator[int]:
    for gpu in accelerators.gpus:
        yield from () if isinstance(gpu.processes, Missing) else (process.pid for process in gpu.processes)
    for link in () if isinstance(found, Missing) else found.links:
        pairs = () if isinstance(link.queue_pairs, Missing) else link.queue_pairs
        yield from (pair.process for pair in pairs if isinstance(pair.process, int))


def _not_recorded(where: str) -> Missing:
    return Missing(reason=Reason.UNSUPPORTED, where=where, detail=_ONLY_FILES)


def _ethernet_links(
    tree: Tree, kernel: Kernel | None, rdma_links: RdmaLinks | Missing, virtual_functions: bool
) -> tuple[EthernetLink, ...] | Missing:
    if kernel is None:
        return _not_recorded("ethtool netlink")
    found = read_interfaces(kernel)
    if isinstance(found, Missing):
        return found
    carries_rdma = _rdma_interfaces(rdma_links)
    wanted = (
        interface
        for interface in found.interfaces
        if interface.index in carries_rdma or _is_host_nic(tree, interface, virtual_functions)
    )
    return read_ethernet_links(kernel, wanted, modules=True)


def _rdma_interfaces(found: RdmaLinks | Missing) -> frozenset[int]:
    links = () if isinstance(found, Missing) else found.links
    ports = (port for link in links if not isinstance(link.ports, Missing) for port in link.ports)
    return frozenset(port.netdev_index for port in ports if not isinstance(port.netdev_index, Missing))


def _is_host_nic(tree: Tree, interface: Interface, virtual_functions: bool) -> bool:
    if interface.parent is None:
        return False
    address = address_of(interface.parent)
    return virtual_functions or address is None or not is_virtual_function(tree, address)


def on_data_path(device: PciDevice) -> bool:
    """Tell whether a function carries the traffic of collectives: NICs, GPUs, accelerators, the bridges to them."""
    return device.class_code >> 16 in _DATA_PATH_CLASSES or device.class_code >> 8 in _BRIDGE_CLASSES


def _virtual_functions(tree: Tree) -> int:
    found = tree.list(DEVICES)
    addresses = [] if isinstance(found, Missing) else [address for name in found if (address := address_of(name))]
    return sum(is_virtual_function(tree, address) for address in addresses)
