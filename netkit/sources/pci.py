"""The PCI tree of a machine.

Linux: Documentation/ABI/testing/sysfs-bus-pci; the chain of bridges is where `/sys/bus/pci/devices/<address>`
leads: `/sys/devices/pci0000:3a/0000:3a:01.0/0000:3b:00.0`.
"""

from __future__ import annotations

import re

from netkit.errors import InputError
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress, PciDevice, PciLink
from netkit.model.text import visible
from netkit.sources.attributes import base_name, hexadecimal, malformed, natural, text
from netkit.sources.tree import Tree

DEVICES = "sys/bus/pci/devices"
_ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) GT/s(?: PCIe)?")
_UNKNOWN_WIDTH = 255
"""The kernel's PCIE_LNK_WIDTH_UNKNOWN."""


def read_pci_devices(tree: Tree, virtual_functions: bool = False) -> tuple[PciDevice, ...] | Missing:
    """Return every PCI function, in address order; virtual functions only when asked for."""
    names = tree.list(DEVICES)
    if isinstance(names, Missing):
        return names
    addresses = [address for name in names if (address := address_of(name))]
    wanted = (address for address in addresses if virtual_functions or not is_virtual_function(tree, address))
    read = (read_pci_device(tree, address) for address in wanted)
    return tuple(sorted((device for device in read if device), key=lambda device: device.address))


def read_pci_device(tree: Tree, address: PciAddress) -> PciDevice | None:
    """Return one function; None when it is gone or shows no class, vendor and device."""
    at = f"{DEVICES}/{address}"
    place = tree.link(at)
    codes = [hexadecimal(tree, f"{at}/{name}") for name in ("class", "vendor", "device")]
    class_code, vendor, device = (code if isinstance(code, int) else None for code in codes)
    if isinstance(place, Missing) or class_code is None or vendor is None or device is None:
        return None
    root, chain = parse_place(place)
    return PciDevice(
        address=address,
        root=root,
        chain=tuple(bridge for bridge in chain if bridge != address),
        class_code=class_code,
        vendor=vendor,
        device=device,
        subsystem_vendor=hexadecimal(tree, f"{at}/subsystem_vendor"),
        subsystem_device=hexadecimal(tree, f"{at}/subsystem_device"),
        numa_node=natural(tree, f"{at}/numa_node"),
        driver=base_name(tree, f"{at}/driver"),
        current_link=_link(tree, at, "current"),
        max_link=_link(tree, at, "max"),
    )


def is_virtual_function(tree: Tree, address: PciAddress) -> bool:
    """Tell whether the function is an SR-IOV slice; inside a virtual machine that cannot be seen."""
    return tree.exists(f"{DEVICES}/{address}/physfn")


def address_of(name: str) -> PciAddress | None:
    """Return the address a name spells in the kernel's own form, or None."""
    try:
        address = PciAddress.parse(name)
    except InputError:
        return None
    return address if str(address) == name else None


def address_behind(tree: Tree, path: str) -> PciAddress | Missing:
    """Return the nearest PCI function on the way to where `path` leads (a NIC's port may sit below it)."""
    place = tree.link(path)
    if isinstance(place, Missing):
        return place
    _, chain = parse_place(place)
    return chain[-1] if chain else Missing(reason=Reason.ABSENT, where=visible(path), detail="not below a PCI function")


def parse_place(place: str) -> tuple[str, tuple[PciAddress, ...]]:
    """Split a real path into the host bridge's name (empty where there is none) and the functions below it."""
    steps = place.split("/")
    root = next((step for step in steps if _ROOT.fullmatch(step)), "")
    return root, tuple(address for step in steps if (address := address_of(step)))


def parse_speed(shown: str, where: str) -> float | Missing:
    """`32.0 GT/s PCIe` → 32.0; `Unknown` is Missing (unsupported)."""
    match = _SPEED.fullmatch(shown)
    if match is not None and float(match[1]) > 0:
        return float(match[1])
    if shown.startswith("Unknown"):
        return Missing(reason=Reason.UNSUPPORTED, where=visible(where), detail=shown)
    return malformed(shown.encode(), where)


def _link(tree: Tree, at: str, which: str) -> PciLink:
    speed = text(tree, f"{at}/{which}_link_speed")
    width = natural(tree, f"{at}/{which}_link_width")
    if width in (0, _UNKNOWN_WIDTH):
        # Functions without a link of their own (virtual, integrated) show 0 or 255: no link has that many lanes.
        width = Missing(reason=Reason.UNSUPPORTED, where=f"{at}/{which}_link_width", detail=str(width))
    return PciLink(
        speed_gt_per_second=speed if isinstance(speed, Missing) else parse_speed(speed, f"{at}/{which}_link_speed"),
        width=width,
    )
