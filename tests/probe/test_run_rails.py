"""Which address is which rail, from what a host says of its interfaces."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from netkit.errors import ProbeError
from netkit.probe.rails import RailChoice, differences, nic_of, nics, payload_rate, rail_addresses

HELLO: dict[str, Any] = {
    "interfaces": [
        {"name": "lo", "addresses": ["127.0.0.1", "::1"], "mtu": 65536, "speed_mbit": None},
        {"name": "eth0", "addresses": ["192.168.1.5"], "mtu": 1500, "speed_mbit": 1000},
        {"name": "eth2", "addresses": ["10.0.0.5"], "mtu": 9000, "speed_mbit": 100_000},
        {"name": "eth3", "addresses": ["10.1.0.5", "fd01::5"], "mtu": 9000, "speed_mbit": 100_000},
        {"name": "eth4", "addresses": [], "mtu": 9000, "speed_mbit": None},
    ],
    "reached_at": ["192.168.1.5"],
}
SUBNETS = tuple(ipaddress.ip_network(text) for text in ("fd01::/64", "10.0.0.0/16"))

CHOICES = {
    "said outright": (RailChoice(addresses={"n0": ("10.9.0.1",)}), ("10.9.0.1",)),
    "by interface, in the order asked": (RailChoice(interfaces=("eth3", "eth2")), ("10.1.0.5", "10.0.0.5")),
    "by subnet, in the order asked": (RailChoice(subnets=SUBNETS), ("fd01::5", "10.0.0.5")),
    "where ssh reached it": (RailChoice(), ("192.168.1.5",)),
}


@pytest.mark.parametrize(("choice", "addresses"), CHOICES.values(), ids=CHOICES.keys())
def test_rails_follow_the_choice(choice: RailChoice, addresses: tuple[str, ...]) -> None:
    """Rail order is the order of the choice, not of the host."""
    assert rail_addresses(choice, "n0", HELLO) == addresses


@pytest.mark.parametrize(
    ("choice", "hello", "said"),
    [
        (RailChoice(interfaces=("eth9",)), HELLO, "n0 has no interface eth9 .*eth0, eth2, eth3"),
        (RailChoice(interfaces=("eth4",)), HELLO, "no interface eth4 with an address"),
        (RailChoice(subnets=(ipaddress.ip_network("10.7.0.0/16"),)), HELLO, "no address in 10.7.0.0/16"),
        (RailChoice(), {"reached_at": []}, "--interface or --subnet"),
        (RailChoice(), {"reached_at": ["; reboot"]}, "--interface or --subnet"),
        (RailChoice(interfaces=("eth0",)), {"interfaces": "none"}, "it has: none"),
    ],
)
def test_a_host_without_the_rail_is_named(choice: RailChoice, hello: dict[str, Any], said: str) -> None:
    """The error says what the host has instead."""
    with pytest.raises(ProbeError, match=said):
        rail_addresses(choice, "n0", hello)


def test_what_a_host_says_of_itself_is_not_trusted() -> None:
    """Entries of another form, and addresses that are none, are left out or marked unknown."""
    found = nics({"interfaces": [3, {"name": "e\x1b[m", "addresses": ["x", 5, "10.0.0.1"], "mtu": "big"}]})
    assert [(nic.name, nic.addresses, nic.mtu, nic.speed) for nic in found] == [("e\\x1b[m", ("10.0.0.1",), None, None)]


def test_hosts_that_differ_are_told_apart() -> None:
    """The odd one out comes first; like NICs are no news."""
    alike = {name: nic_of(HELLO, "10.0.0.5") for name in ("n0", "n1")}
    assert differences(alike) is None
    assert differences({**alike, "n2": nic_of(HELLO, "192.168.1.5"), "n3": None}) == (
        "hosts differ: MTU 1500, 1 Gbit/s on n2; MTU 9000, 100 Gbit/s on n0, n1"
    )


@pytest.mark.parametrize(("mtu", "share"), [(1500, 0.9415), (9000, 0.9901)])
def test_payload_is_what_headers_leave(mtu: int, share: float) -> None:
    """Small frames spend more of the wire on headers."""
    assert payload_rate(1e9, mtu) / 1e9 == pytest.approx(share, abs=1e-4)
