"""A made-up GPU node for every node of a lab: its files, what its kernel and its GPUs' driver would say. Synthetic.

A healthy RoCE machine under a training job: DSCP trusted, PFC on priority 3, ECN on, RS-FEC, eight H100-like GPUs with
NVLink, one process on each that talks through the NIC of its number. Layout: `virtual_layout.py`.
"""

from __future__ import annotations

from collections.abc import Collection

from netkit.lab.virtual_drivers import virtual_drivers
from netkit.lab.virtual_files import virtual_files
from netkit.lab.virtual_kernel import VirtualKernel
from netkit.lab.virtual_layout import gpus, nics
from netkit.sources.memory_tree import MemoryTree
from netkit.sources.node_sources import NodeSources


def virtual_node(name: str, misplaced: Collection[int] = ()) -> MemoryTree:
    """Return the files of a node of this name whose NICs with the given indices sit in the wrong slot.

    Raises:
        InputError: there is no such NIC.
    """
    return virtual_files(name, gpus(), nics(name, misplaced))


def virtual_sources(name: str, misplaced: Collection[int] = ()) -> NodeSources:
    """Return everything the same node is read from: files, kernel, drivers.

    Raises:
        InputError: there is no such NIC.
    """
    cards, there = nics(name, misplaced), gpus()
    return NodeSources(
        tree=virtual_files(name, there, cards),
        kernel=VirtualKernel(cards, there),
        drivers=virtual_drivers(there, cards),
    )
