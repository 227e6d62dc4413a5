"""Brings sources and topology together, who do not know each other: the device graph of a node, live or recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netkit.cli.snapshot import node_tree
from netkit.errors import SourceError
from netkit.model.missing import Missing
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.model.topology import Topology
    from netkit.sources.tree import Tree


def node_topology(recording: Path | None, sysfs: Path | None = None, procfs: Path | None = None) -> Topology:
    """Return the device graph of a recorded node, or of this one; SourceError when there is no GPU to place."""
    tree, now = node_tree(recording, sysfs, procfs)
    return topology_of_tree(tree, now, visible(str(recording)) if recording is not None else "this node")


def topology_of_tree(tree: Tree, now: float, source: str) -> Topology:
    """Return the device graph of whatever node the tree shows at time `now`; see `node_topology`."""
    from netkit.sources.snapshot import read_node
    from netkit.topology.node import topology_of_node

    node = read_node(tree, now)
    if isinstance(node.pci_devices, Missing):
        raise SourceError(f"no PCI devices on {source}", str(node.pci_devices))
    topology = topology_of_node(node.pci_devices, node.rdma_devices, source)
    if not topology.gpus:
        raise SourceError(f"no GPU on {source}", f"none among its {len(node.pci_devices)} PCI functions in sysfs")
    return topology
