"""Interfaces and RoCE ports as host advice walks them, and names that may stand in a path or a command."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from netkit.doctor.contract import Member
from netkit.doctor.nic_ports import NicPort
from netkit.doctor.roce import chain_of
from netkit.model.qos import Dcb
from netkit.roce.qos import HostQos
from netkit.tuning.contract import Blank, Facts, said

LOST_AT_REBOOT = "lost at reboot and driver reload; a NIC operator or lldpad may set it back"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,14}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RocePort:
    """A RoCE port with hardware behind it, its own interface, and what that does with traffic."""

    port: NicPort
    interface: str
    qos: HostQos
    bridging: Dcb | None


def roce_ports(facts: Facts) -> Iterator[RocePort]:
    """Yield the training ports whose QoS could be read; others are not advised about."""
    for port in facts.context.ports:
        qos = facts.context.qos[port.name]
        if port.roce and port.hardware and isinstance(qos, HostQos) and safe(qos.interface):
            link = facts.snapshot.ethernet_link(qos.interface)
            dcb = link.bridging if link is not None and isinstance(link.bridging, Dcb) else None
            yield RocePort(port=port, interface=qos.interface, qos=qos, bridging=dcb)


def safe(interface: str) -> bool:
    """Tell whether a name is one netkit puts into a path or an argument list: never an option, never a way up."""
    return _NAME.fullmatch(interface) is not None and interface not in {".", ".."}


def unsafe_names(facts: Facts) -> Iterator[Blank]:
    """Yield the interfaces whose names are not."""
    for port in facts.context.ports:
        name = port.netdev.name if port.netdev is not None else None
        if name is not None and not safe(name):
            yield Blank(subject=name, why="netkit puts no interface of this name into a command")


def lossless_priority(facts: Facts) -> int | None:
    """Return the priority most ports of the gang mean to be lossless; None where none means any."""
    votes: Counter[int] = Counter(meant for member in facts.fellows or (facts.member,) for meant in _meant(member))
    return min(votes, key=lambda one: (-votes[one], one)) if votes else None


def _meant(member: Member) -> Iterator[int]:
    for port in member.context.ports:
        if port.roce and port.hardware:
            meant = chain_of(member.context, port).priority
            if meant is not None:
                yield meant


def blamed(facts: Facts, *rules: str, gang: str = "") -> Iterator[tuple[RocePort, tuple[str, ...]]]:
    """Yield the ports these rules found something at, with the evidence; J05 blames every port of its node."""
    everywhere = [one for one in facts.findings("J05") if gang and one.summary.startswith(gang)]
    found = facts.findings(*rules)
    for one in roce_ports(facts):
        here = [result for result in found if result.subject in {one.port.name, one.interface}]
        if here or everywhere:
            yield one, said((*here, *everywhere))
