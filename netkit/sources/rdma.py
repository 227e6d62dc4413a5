"""RDMA devices, ports and counters of a machine.

`/sys/class/infiniband/<device>/ports/<n>`: Linux Documentation/ABI/stable/sysfs-class-infiniband,
drivers/infiniband/core/sysfs.c. One file that fails costs its own value and no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from netkit.model.counter import CodedText, Counter
from netkit.model.missing import Missing, Reason
from netkit.model.pci import PciAddress
from netkit.model.rdma import LinkRate, RdmaDevice, RdmaPort
from netkit.model.text import visible
from netkit.sources.attributes import base_name, hexadecimal, integer, malformed, names, natural, text
from netkit.sources.counters import hw_form, port_form
from netkit.sources.gids import read_gid_table
from netkit.sources.pci import address_behind
from netkit.sources.tree import Tree

CLASS = "sys/class/infiniband"
MOST_COUNTERS = 512
"""hfi1 has more than 160 in one folder; a folder of thousands is not a folder of counters."""
_MOST_PORTS = 256
_LIFESPAN = "lifespan"
# Only a read of the first registered counter refreshes the cache of mlx5, and then all others are free.
_FIRST = "rx_write_requests"
_CODED = re.compile(r"([0-9]{1,9}):\s*(.*)")
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) Gb/sec\b.*")
_ReadPort = Callable[[Tree, str], tuple[Counter, ...] | Missing]
_ReadHardware = Callable[[Tree, str, str | Missing], tuple[Counter, ...] | Missing]
_NOT_READ = Missing(reason=Reason.ABSENT, where="counters", detail="not asked for")
_NO_HOST_NIC = "no host NIC is visible here: run in the host's network namespace (hostNetwork: true)"


def read_rdma_devices(tree: Tree, virtual_functions: bool = False) -> tuple[RdmaDevice, ...] | Missing:
    """Return every RDMA device; Missing when the class folder is not there, which is not "no devices"."""
    found = tree.list(CLASS)
    if isinstance(found, Missing):
        return found
    wanted = (name for name in found if virtual_functions or not is_virtual(tree, name))
    return tuple(read_rdma_device(tree, name) for name in wanted)


def is_virtual(tree: Tree, name: str) -> bool:
    """Tell whether an RDMA device belongs to an SR-IOV virtual function."""
    return tree.exists(f"{CLASS}/{name}/device/physfn")


def read_rdma_device(tree: Tree, name: str) -> RdmaDevice:
    """Return one device with its ports and all counters."""
    return _device(tree, name, read_port_counters, read_hw_counters)


def read_frame(tree: Tree, name: str) -> RdmaDevice:
    """Return one device without reading a counter: those are Missing."""
    return _device(tree, name, lambda *_: _NOT_READ, lambda *_: _NOT_READ)


def _device(tree: Tree, name: str, port_counters: _ReadPort, hw_counters: _ReadHardware) -> RdmaDevice:
    at = f"{CLASS}/{name}"
    address = address_behind(tree, f"{at}/device")
    driver = base_name(tree, f"{at}/device/driver")
    node_guid = text(tree, f"{at}/node_guid")
    return RdmaDevice(
        name=visible(name),
        identity=_identity(name, address, node_guid),
        address=address,
        driver=driver,
        node_guid=node_guid,
        system_image_guid=text(tree, f"{at}/sys_image_guid"),
        node_type=coded(tree, f"{at}/node_type"),
        hca_type=text(tree, f"{at}/hca_type"),
        board_id=text(tree, f"{at}/board_id"),
        firmware=text(tree, f"{at}/fw_ver"),
        description=text(tree, f"{at}/node_desc"),
        virtual_function=is_virtual(tree, name),
        ports=_ports(tree, at, driver, port_counters, hw_counters),
        hw_counters=hw_counters(tree, at, driver),
    )


def _identity(name: str, address: PciAddress | Missing, node_guid: str | Missing) -> str:
    """Name a device by slot and GUID: neither renumbering nor another card in the slot joins two devices' counters."""
    parts = [str(part) for part in (address, node_guid) if not isinstance(part, Missing)]
    return "/".join(parts) or visible(name)


def _ports(
    tree: Tree, at: str, driver: str | Missing, port_counters: _ReadPort, hw_counters: _ReadHardware
) -> tuple[RdmaPort, ...] | Missing:
    found = tree.list(f"{at}/ports")
    if isinstance(found, Missing):
        return found
    numbers = sorted(int(name) for name in found if re.fullmatch(r"[1-9][0-9]{0,2}", name))
    return tuple(_port(tree, at, number, driver, port_counters, hw_counters) for number in numbers[:_MOST_PORTS])


def _port(
    tree: Tree, device: str, number: int, driver: str | Missing, port_counters: _ReadPort, hw_counters: _ReadHardware
) -> RdmaPort:
    at = f"{device}/ports/{number}"
    lifespan = natural(tree, f"{at}/hw_counters/{_LIFESPAN}")
    return RdmaPort(
        number=number,
        state=coded(tree, f"{at}/state"),
        physical_state=coded(tree, f"{at}/phys_state"),
        link_layer=text(tree, f"{at}/link_layer"),
        rate=_rate(tree, f"{at}/rate"),
        lid=hexadecimal(tree, f"{at}/lid"),
        gid_table=read_gid_table(tree, at),
        netdev=_netdev(tree, device, number),
        counters=port_counters(tree, at),
        hw_counters=hw_counters(tree, at, driver),
        hw_lifespan_seconds=lifespan if isinstance(lifespan, Missing) else lifespan / 1000,
    )


def read_port_counters(tree: Tree, port: str) -> tuple[Counter, ...] | Missing:
    """Return the PMA counters of the port at `port`; most drivers have none."""
    found = tree.list(f"{port}/counters")
    if isinstance(found, Missing):
        return found
    at = f"{port}/counters"
    return tuple(
        Counter(name=visible(name), raw=integer(tree, f"{at}/{name}"), form=port_form(name))
        for name in found[:MOST_COUNTERS]
    )


def read_hw_counters(tree: Tree, owner: str, driver: str | Missing) -> tuple[Counter, ...] | Missing:
    """Return the driver's counters of a port or device, the one that refreshes the driver's cache first."""
    at = f"{owner}/hw_counters"
    found = tree.list(at)
    if isinstance(found, Missing):
        return found
    return tuple(
        Counter(name=visible(name), raw=integer(tree, f"{at}/{name}"), form=hw_form(name, driver))
        for name in in_reading_order(found)
    )


def hw_counter_names(tree: Tree, owner: str) -> tuple[str, ...]:
    """Return the names of a port's or device's own counters in the order to read them; none where it has none."""
    return in_reading_order(names(tree, f"{owner}/hw_counters"))


def in_reading_order(found: tuple[str, ...]) -> tuple[str, ...]:
    """Put the one that refreshes the driver's cache first."""
    in_order = sorted((name for name in found if name != _LIFESPAN), key=lambda name: (name != _FIRST, name))
    return tuple(in_order[:MOST_COUNTERS])


def coded(tree: Tree, path: str) -> CodedText:
    """Read `4: ACTIVE`; a text without a number is kept."""
    shown = text(tree, path)
    return CodedText(code=shown, text=shown) if isinstance(shown, Missing) else parse_coded(shown, path)


def parse_coded(shown: str, where: str) -> CodedText:
    """Split number and text; whatever follows the number is text."""
    match = _CODED.fullmatch(shown)
    if match is None:
        return CodedText(code=malformed(shown.encode(), where), text=shown)
    return CodedText(code=int(match[1]), text=match[2])


def _rate(tree: Tree, path: str) -> LinkRate:
    shown = text(tree, path)
    return LinkRate(bytes_per_second=shown, text=shown) if isinstance(shown, Missing) else parse_rate(shown, path)


def parse_rate(shown: str, where: str) -> LinkRate:
    """`400 Gb/sec (4X NDR)` → 50e9 bytes per second; the bracket may hold anything."""
    match = _RATE.fullmatch(shown)
    rate = float(match[1]) * 1e9 / 8 if match else malformed(shown.encode(), where)
    return LinkRate(bytes_per_second=rate, text=shown)


def _netdev(tree: Tree, device: str, number: int) -> str | Missing:
    """Name the interface of a port: the only one of the function, or the one with this port's number."""
    where = f"{device}/device/net"
    candidates = names(tree, where)
    if len(candidates) > 1:
        ports = {name: integer(tree, f"{where}/{name}/dev_port") for name in candidates}
        candidates = tuple(name for name, port in ports.items() if port == number - 1)[:1]
    if candidates:
        return visible(candidates[0])
    parent = text(tree, f"{device}/parent")
    return parent if isinstance(parent, str) else Missing(reason=Reason.ABSENT, where=where, detail=_NO_HOST_NIC)
