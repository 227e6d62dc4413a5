"""Which RDMA ports the platform profile counts on, and how fast they should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from netkit.catalogue.platforms import Platform, platform
from netkit.model.missing import Missing
from netkit.model.pci import PciAddress
from netkit.sources.attributes import text
from netkit.sources.pci import address_behind
from netkit.sources.rdma import CLASS
from netkit.sources.tree import Tree

NOTHING: Mapping[str, float] = MappingProxyType({})


def named_platform(options: Mapping[str, str]) -> Platform | None:
    """Return the platform the options name, None when they name none; InputError for an unknown one."""
    name = options.get("platform", "")
    return platform(name) if name else None


def expected_devices(tree: Tree, devices: tuple[str, ...], profile: Platform | None) -> Mapping[str, float]:
    """Return the bytes per second each expected device's ports should carry, by device.

    By PCI address or name where the platform lists them; else the model of card there are most of, as far as there
    are no more of them than the platform has: the collective NICs of a node are all of one model.
    """
    if profile is None:
        return NOTHING
    listed = {nic for group in profile.groups for nic in group.nics}
    chosen = [name for name in devices if name in listed or _address(tree, name) in listed] if listed else []
    return dict.fromkeys(chosen or _commonest(tree, devices, profile.nics), profile.nic_rate)


def _address(tree: Tree, name: str) -> PciAddress | None:
    address = address_behind(tree, f"{CLASS}/{name}/device")
    return None if isinstance(address, Missing) else address


def _commonest(tree: Tree, devices: tuple[str, ...], most: int) -> list[str]:
    boards = {name: text(tree, f"{CLASS}/{name}/board_id") for name in devices}
    counted = Counter(board for board in boards.values() if isinstance(board, str))
    board, number = counted.most_common(1)[0] if counted else ("", 0)
    return [name for name, one in boards.items() if one == board] if 0 < number <= most else []
