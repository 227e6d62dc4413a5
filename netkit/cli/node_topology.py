"""Brings sources and topology together, who do not know each other: the device graph of a node, live or recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netkit.cli.snapshot import node_tree
from netkit.errors import SourceError
from netkit.model.missing import Missing
from netkit.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netkit.model.node import NodeSnapshot
    from netkit.model.topology import Topology
    from netkit.sources.tree import Tree
    from netkit.topology.pcitree import RdmaFunction


def node_topology(recording: Path | None, sysfs: Path | None = None, procfs: Path | None = None) -> Topology:
    """Return the device graph of a recorded node, or of this one; SourceError when there is no GPU to place."""
    tree, now = node_tree(recording, sysfs, procfs)
    return topology_of_tree(tree, now, visible(str(recording)) if recording is not None else "this node")


def topology_of_tree(tree: Tree, now: float, source: str) -> Topology:
    """Return the device graph of whatever node the tree shows at time `now`; see `node_topology`."""
    from netkit.sources.snapshot import read_node
    from netkit.topology.pcitree import topology_of

    node = read_node(tree, now)
    if isinstance(node.pci_devices, Missing):
        raise SourceError(f"no PCI devices on {source}", str(node.pci_devices))
    topology = topology_of(node.pci_devices, tuple(_rdma_functions(node)), source)
    if not topology.gpus:
        raise SourceError(f"no GPU on {source}", f"none among its {len(node.pci_devices)} PCI functions in sysfs")
    return topology


def _rdma_functions(node: NodeSnapshot) -> Iterator[RdmaFunction]:
    from netkit.topology.pcitree import RdmaFunction

    devices = () if isinstance(node.rdma_devices, Missing) else node.rdma_devices
    for device in devices:
        if isinstance(device.address, Missing) or isinstance(device.ports, Missing):
            continue
        guid = None if isinstance(device.node_guid, Missing) else device.node_guid
        for port in device.ports:
            rate = port.rate.bytes_per_second
            yield RdmaFunction(address=device.address, name=device.name, port=port.number, rate=rate, guid=guid)
