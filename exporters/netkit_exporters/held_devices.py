"""What a device plugin's name for a device says: a GPU's UUID or a PCI address. Nothing is guessed from other forms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from netkit.model.text import visible
from netkit.sources.attributes import names
from netkit.sources.pci import DEVICES, address_of
from netkit.sources.podresources import HeldDevice
from netkit.sources.tree import Tree

KEPT_SECONDS = 60.0
"""How long the kubelet's last answer stands in for one that does not come."""
_GPU = re.compile(r"((?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:::[0-9]{1,4})?")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a plugin's name for a device says; empty texts where it says nothing."""

    uuid: str = ""
    device: str = ""
    pci_bus_id: str = ""


def identify(tree: Tree, held: HeldDevice) -> Identity:
    """Read the name a plugin gave: a GPU's UUID, time slices cut off, or a PCI address. Nothing is guessed."""
    if match := _GPU.fullmatch(held.device):
        return Identity(uuid=match[1])
    address = address_of(held.device)
    if address is None:
        return Identity()
    rdma = names(tree, f"{DEVICES}/{address}/infiniband")
    return Identity(device=visible(rdma[0]) if rdma else "", pci_bus_id=str(address))
