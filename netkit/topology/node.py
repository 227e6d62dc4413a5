"""The device graph of one node from what was read of it: PCI functions and the RDMA ports on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciDevice
from netkit.model.rdma import RdmaDevice
from netkit.model.topology import Topology
from netkit.topology.pcitree import RdmaFunction, topology_of

_NETWORK_CLASS = 0x02
_RDMA_DRIVERS = frozenset({"mlx5_core", "ionic", "efa", "hns3"})


def topology_of_node(devices: Sequence[PciDevice], rdma: Sequence[RdmaDevice] | Missing, source: str) -> Topology:
    """Return the graph of GPUs and RDMA ports; RDMA devices of no PCI function (Soft-RoCE) have no place in it.

    Where the RDMA class could not be read, functions whose driver carries RDMA stand in, without rates.
    """
    functions = _presumed(devices) if isinstance(rdma, Missing) else _functions(rdma)
    return topology_of(devices, tuple(functions), source)


def carries_rdma(device: PciDevice) -> bool:
    """Tell by its driver whether a network function can be an RDMA device."""
    return device.class_code >> 16 == _NETWORK_CLASS and device.driver in _RDMA_DRIVERS


def _presumed(devices: Sequence[PciDevice]) -> Iterator[RdmaFunction]:
    rate = Missing(reason=Reason.ABSENT, where="sys/class/infiniband", detail="the RDMA class was not read")
    for device in devices:
        if carries_rdma(device):
            yield RdmaFunction(address=device.address, name=f"nic at {device.address}", rate=rate)


def _functions(devices: Sequence[RdmaDevice]) -> Iterator[RdmaFunction]:
    for device in devices:
        if isinstance(device.address, Missing) or isinstance(device.ports, Missing):
            continue
        guid = None if isinstance(device.node_guid, Missing) else device.node_guid
        for port in device.ports:
            rate = port.rate.bytes_per_second
            yield RdmaFunction(address=device.address, name=device.name, port=port.number, rate=rate, guid=guid)
