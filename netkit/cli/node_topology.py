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
    tree, _ = node_tree(recording, sysfs, procfs)
    return topology_of_tree(tree, visible(str(recording)) if recording is not None else "this node")


def topology_of_tree(tree: Tree, source: str) -> Topology:
    """Return the device graph of whatever node the tree shows; see `node_topology`."""
    from netkit.sources.pci import read_pci_devices
    from netkit.sources.rdma import read_rdma_devices
    from netkit.topology.node import topology_of_node

    # Not read_node: pairing is asked for often and needs neither its time nor its imports.
    devices = read_pci_devices(tree, False)
    if isinstance(devices, Missing):
        raise SourceError(f"no PCI devices on {source}", str(devices))
    topology = topology_of_node(devices, read_rdma_devices(tree, False), source)
    if not topology.gpus:
        raise SourceError(f"no GPU on {source}", f"none among its {len(devices)} PCI functions in sysfs")
    return topology
