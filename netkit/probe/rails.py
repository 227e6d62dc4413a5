"""Which address of a host is which rail: said outright, by interface, by subnet, or the one ssh reached it at."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netkit.errors import ProbeError
from netkit.model.text import visible
from netkit.model.units import show_line_rate

_PACKET_HEADERS = 20 + 20 + 12
_FRAME_OVERHEAD = 8 + 14 + 4 + 12
_SHOWN = 5

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class RailChoice:
    """How rails map to addresses; the first that is set counts.

    `addresses` by member name; `interfaces` and `subnets` in rail order, the same on every host. With none set,
    the address ssh reached the host at is its one rail.
    """

    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    interfaces: tuple[str, ...] = ()
    subnets: tuple[Network, ...] = ()

    @property
    def named(self) -> bool:
        """Whether somebody said which address is which rail."""
        return bool(self.addresses or self.interfaces or self.subnets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One interface as its host describes it. MTU in bytes, speed in bytes per second; None where not known."""

    name: str
    addresses: tuple[str, ...]
    mtu: int | None
    speed: float | None

    def __str__(self) -> str:
        """What makes one NIC faster than another."""
        speed = "speed unknown" if self.speed is None else show_line_rate(self.speed)
        return f"MTU {self.mtu or 'unknown'}, {speed}"


def nics(hello: Mapping[str, Any]) -> tuple[Nic, ...]:
    """Read the interfaces out of an agent's hello; entries of another form are left out."""
    rows = hello.get("interfaces")
    return tuple(_nic(row) for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


def _nic(row: Mapping[str, Any]) -> Nic:
    mtu, speed, addresses = row.get("mtu"), row.get("speed_mbit"), row.get("addresses")
    return Nic(
        name=visible(str(row.get("name")), 64),
        addresses=tuple(filter(_is_address, addresses)) if isinstance(addresses, list) else (),
        mtu=mtu if isinstance(mtu, int) else None,
        speed=speed * 1e6 / 8 if isinstance(speed, int) else None,
    )


def _is_address(text: object) -> bool:
    try:
        ipaddress.ip_address(str(text))
    except ValueError:
        return False
    return True


def nic_of(hello: Mapping[str, Any], address: str) -> Nic | None:
    """Return the interface that holds an address; None for a second address of one, which agents do not list."""
    return next((nic for nic in nics(hello) if address in nic.addresses), None)


def differences(row: Mapping[str, Nic | None]) -> str | None:
    """Say how the hosts' NICs of one rail differ in MTU or speed; None when they are alike."""
    kinds: dict[str, list[str]] = {}
    for name, nic in row.items():
        if nic is not None:
            kinds.setdefault(str(nic), []).append(name)
    if len(kinds) < 2:
        return None
    rarest_first = sorted(kinds.items(), key=lambda item: len(item[1]))
    return "hosts differ: " + "; ".join(
        f"{kind} on {', '.join(names[:_SHOWN])}" + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        for kind, names in rarest_first
    )


def payload_rate(wire_rate: float, mtu: int) -> float:
    """Convert what a link is sold as to TCP payload: IPv4, TCP and timestamp headers; preamble, Ethernet, gap."""
    return wire_rate * (mtu - _PACKET_HEADERS) / (mtu + _FRAME_OVERHEAD)


def rail_addresses(choice: RailChoice, name: str, hello: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the address of each rail of one host, in rail order.

    Raises:
        ProbeError: the host has no such interface, or no address in a subnet.
    """
    if name in choice.addresses:
        return tuple(choice.addresses[name])
    found = nics(hello)
    if choice.interfaces:
        return tuple(_on_interface(found, name, interface) for interface in choice.interfaces)
    if choice.subnets:
        return tuple(_in_subnet(found, name, subnet) for subnet in choice.subnets)
    reached = hello.get("reached_at")
    if isinstance(reached, list) and len(reached) == 1 and _is_address(reached[0]):
        return (str(reached[0]),)
    raise ProbeError("choosing rails", f"{name} does not say at which address it was reached", _REMEDY)


_REMEDY = "name the rails with --interface or --subnet"


def _on_interface(found: Sequence[Nic], name: str, interface: str) -> str:
    for nic in found:
        if nic.name == interface and nic.addresses:
            return nic.addresses[0]
    has = ", ".join(nic.name for nic in found if nic.addresses) or "none"
    raise ProbeError("choosing rails", f"{name} has no interface {interface} with an address (it has: {has})", _REMEDY)


def _in_subnet(found: Sequence[Nic], name: str, subnet: Network) -> str:
    for nic in found:
        for address in nic.addresses:
            if ipaddress.ip_address(address) in subnet:
                return address
    has = ", ".join(address for nic in found for address in nic.addresses) or "none"
    raise ProbeError("choosing rails", f"{name} has no address in {subnet} (it has: {has})", _REMEDY)
