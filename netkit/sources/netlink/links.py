"""Every Ethernet link of this network namespace: who is there (rtnetlink RTM_GETLINK), then what each driver says.

Linux: include/uapi/linux/{rtnetlink,if_link}.h. Interfaces come and go between the list and the questions: one that
is gone, or whose name now belongs to another, is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from netkit.model.ethernet_link import EthernetLink
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit.sources.netlink import ethtool
from netkit.sources.netlink.attributes import MalformedError, parse
from netkit.sources.netlink.dcb import read_dcb
from netkit.sources.netlink.driver_statistics import read_driver_statistics
from netkit.sources.netlink.kernel import Channel, Kernel, Question, refused
from netkit.sources.netlink.module_eeprom import read_module
from netkit.sources.netlink.nldev import NO_HOST_NIC

_RTM_GETLINK = 18
_HEADER = struct.Struct("=BxHiII")
HEADER_BYTES = _HEADER.size
IFNAME = 3
PARENT_DEVICE = 56
_ARPHRD_LOOPBACK = 772


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One interface of the list; `parent` is the device of a bus behind it, None for a virtual one."""

    name: str
    index: int
    loopback: bool
    parent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceList:
    """All interfaces; `partial` when the list changed during every try to read it."""

    interfaces: tuple[Interface, ...]
    partial: bool


def read_interfaces(kernel: Kernel) -> InterfaceList | Missing:
    """Return every interface of this network namespace."""
    asked = Question(
        channel=Channel.ROUTE, command=_RTM_GETLINK, body=_HEADER.pack(0, 0, 0, 0, 0), dump=True, where="interfaces"
    )
    answer = kernel.ask(asked)
    if isinstance(answer, Missing):
        return answer
    try:
        found = tuple(map(_interface, answer.bodies))
    except MalformedError as fault:
        return refused(asked.where, "EBADMSG", str(fault))
    return InterfaceList(interfaces=found, partial=answer.partial)


def _interface(body: bytes) -> Interface:
    if len(body) < _HEADER.size:
        raise MalformedError(f"a link header in {len(body)} bytes")
    _, kind, index, _, _ = _HEADER.unpack_from(body)
    attributes = parse(body[_HEADER.size :])
    name = attributes.text(IFNAME)
    if not name:
        raise MalformedError(f"interface {index} without a name")
    return Interface(name=name, index=index, loopback=kind == _ARPHRD_LOOPBACK, parent=attributes.text(PARENT_DEVICE))


def host_nics(found: InterfaceList) -> tuple[Interface, ...] | Missing:
    """Return the interfaces with a device behind them; Missing (absent) in a namespace that shows none."""
    nics = tuple(interface for interface in found.interfaces if interface.parent is not None)
    return nics or Missing(reason=Reason.ABSENT, where="interfaces", detail=NO_HOST_NIC)


def read_ethernet_links(
    kernel: Kernel, interfaces: Iterable[Interface], modules: bool = False
) -> tuple[EthernetLink, ...]:
    """Return what the drivers of these interfaces say, without those that went away or were renamed meanwhile."""
    read = (read_ethernet_link(kernel, interface, modules) for interface in interfaces)
    return tuple(link for link in read if link)


def read_ethernet_link(kernel: Kernel, interface: Interface, module: bool = False) -> EthernetLink | None:
    """Return one link; None when its name does not lead to it any more, before or after the questions.

    A `module` is one slow transfer for each of its pages, for those with CAP_NET_ADMIN: asked for, or Missing.
    """
    name = interface.name
    if not _still_there(kernel, interface):
        return None
    link = EthernetLink(
        interface=name,
        index=interface.index,
        connector=ethtool.read_connector(kernel, name),
        mode=ethtool.read_mode(kernel, name),
        state=ethtool.read_state(kernel, name),
        pause=ethtool.read_pause(kernel, name),
        error_correction=ethtool.read_error_correction(kernel, name),
        statistics=ethtool.read_statistics(kernel, name),
        driver_statistics=read_driver_statistics(kernel, name),
        bridging=read_dcb(kernel, name),
        module=read_module(kernel, name) if module else _unasked(name),
    )
    return link if _still_there(kernel, interface) else None


def _unasked(name: str) -> Missing:
    return Missing(reason=Reason.ABSENT, where=f"module of {visible(name)}", detail="not asked")


def _still_there(kernel: Kernel, interface: Interface) -> bool:
    """A kernel without ethtool netlink (before 5.6) cannot say: then the name is taken for what it was."""
    index = ethtool.read_index(kernel, interface.name)
    return index == interface.index or (isinstance(index, Missing) and index.reason is not Reason.ABSENT)
