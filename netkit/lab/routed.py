"""Leaves that route instead of bridging, with several cables of equal cost between them.

Both leaves live in the fabric's namespace and are told apart by policy routing (ip-rule(8)): what comes in by a port of
a leaf is looked up in that leaf's table. Its own nodes are there one by one, everybody else behind a multipath route
over all uplinks. The kernel spreads connections by addresses and ports (fib_multipath_hash_policy 1, Linux
Documentation/networking/ip-sysctl.rst), with a seed of its own. Leaves answer ARP for whoever they route to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netkit.lab.shape import MTU_BYTES, Shape, Transport, leaf_name, port_name

_TABLE = 1000
_PREFERENCE = 100
_ONLINK = 4
"""RTNH_F_ONLINK of linux/rtnetlink.h: the gateway is on the link, whatever its address says."""
_FORWARDING = (
    ("ip_forward", "1"),
    ("fib_multipath_hash_policy", "1"),
    ("conf/all/rp_filter", "0"),
    ("conf/default/rp_filter", "0"),
    ("conf/all/send_redirects", "0"),
    ("conf/default/send_redirects", "0"),
    # Every device made from here on answers for what it routes to.
    ("conf/default/proxy_arp", "1"),
)
_IPV4 = Path("/proc/sys/net/ipv4")


def forward() -> None:
    """Make the network namespace this process is in a router; before it has any device."""
    for key, value in _FORWARDING:
        (_IPV4 / key).write_text(value, encoding="ascii")


def join_leaves(shape: Shape, rail: int, fabric: Any, node_fds: Sequence[int]) -> None:
    """Make the ports, uplinks, tables and rules of one rail."""
    # Without any address there is no local table, and the kernel takes every gateway for a broadcast address.
    fabric.link("set", index=fabric.link_lookup(ifname="lo")[0], state="up")
    for node, descriptor in enumerate(node_fds):
        own, far = _hardware(rail, node, 0), _hardware(rail, node, 1)
        peer = {"ifname": f"rail{rail}", "net_ns_fd": descriptor, "mtu": MTU_BYTES, "address": far}
        _veth(fabric, port_name(node, rail), own, peer)
        # A proxy answers up to 0.8 seconds late, unless told otherwise.
        (_IPV4 / "neigh" / port_name(node, rail) / "proxy_delay").write_text("0", encoding="ascii")
    for number, cable in enumerate(shape.cables(rail)):
        own, far = _hardware(rail, number, 2), _hardware(rail, number, 3)
        _veth(fabric, cable.device, own, {"ifname": cable.far_device, "mtu": MTU_BYTES, "address": far})
        fabric.link("set", index=fabric.link_lookup(ifname=cable.far_device)[0], state="up")
    for leaf in range(shape.leaves):
        _leaf(shape, rail, leaf, fabric)


def _veth(fabric: Any, name: str, address: str, peer: dict[str, Any]) -> None:
    fabric.link("add", ifname=name, kind="veth", mtu=MTU_BYTES, address=address, state="up", peer=peer)


def _leaf(shape: Shape, rail: int, leaf: int, fabric: Any) -> None:
    table = _TABLE + rail * shape.leaves + leaf
    ports = [node for node in range(shape.nodes) if shape.leaf_index(node) == leaf]
    for node in ports:
        index = fabric.link_lookup(ifname=port_name(node, rail))[0]
        address = shape.address(node, rail, Transport.NAMESPACES)
        fabric.route("add", dst=f"{address}/32", oif=index, table=table, scope="link")
        fabric.neigh("add", dst=address, lladdr=_hardware(rail, node, 1), ifindex=index, state="permanent")
        _rule(fabric, port_name(node, rail), table)
    hops = []
    for number, name in enumerate(_uplinks(shape, rail, leaf)):
        index = fabric.link_lookup(ifname=name)[0]
        gateway = f"169.254.{rail}.{number + 1}"
        # The address is nobody's: it only stands for the hardware address at the other end of the cable.
        far = _hardware(rail, number, 3 if leaf == 0 else 2)
        fabric.neigh("add", dst=gateway, lladdr=far, ifindex=index, state="permanent")
        hops.append({"oif": index, "gateway": gateway, "flags": _ONLINK})
        _rule(fabric, name, table)
    fabric.route("add", dst=f"10.{rail}.0.0/16", table=table, multipath=hops)


def _uplinks(shape: Shape, rail: int, leaf: int) -> list[str]:
    """Return the ends of the cables at this leaf."""
    near = leaf_name(rail, leaf)
    return [cable.device if cable.leaf == near else cable.far_device for cable in shape.cables(rail)]


def _rule(fabric: Any, device: str, table: int) -> None:
    fabric.rule("add", iifname=device, table=table, priority=_PREFERENCE)


def _hardware(rail: int, number: int, end: int) -> str:
    """Return a locally administered address: what it stands for is in its last four bytes."""
    return f"02:00:{rail:02x}:{number >> 8:02x}:{number & 255:02x}:{end:02x}"
