"""Bridges, cables and addresses of a lab in fresh network namespaces, by rtnetlink(7).

Runs in the keeper. Every namespace gets a netlink socket of its own: a socket stays in the namespace it was opened in.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netkit.lab.effects import FABRIC, Device, settings
from netkit.lab.enter import CLONE_NEWNET, join
from netkit.lab.qdiscs import plant
from netkit.lab.routed import forward, join_leaves
from netkit.lab.shape import MTU_BYTES, Shape, Transport, leaf_name, port_name, spine_name

# What a container runtime or a kernel does not let us set is left as it is: only steadiness depends on it.
_SYSCTLS = (
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
    ("net/bridge/bridge-nf-call-iptables", "0"),
    ("net/ipv4/tcp_no_metrics_save", "1"),
    ("net/ipv4/tcp_slow_start_after_idle", "0"),
    # The one congestion control every kernel lets every namespace choose; the machine's may pace or probe by itself.
    ("net/ipv4/tcp_congestion_control", "reno"),
)


def build(shape: Shape, fabric_fd: int, node_fds: Sequence[int]) -> None:
    """Make every link of the lab, up, addressed and shaped. The caller's own network namespace changes."""
    routes = {name: _open(descriptor) for name, descriptor in zip(shape.node_names, node_fds, strict=True)}
    routes[FABRIC] = fabric = _open(fabric_fd)
    if shape.uplinks > 1:
        forward()
    try:
        for rail in range(shape.rails):
            _rail(shape, rail, fabric, node_fds)
        for node, name in enumerate(shape.node_names):
            _addresses(shape, node, routes[name])
        _shape_devices(shape, routes)
    finally:
        for route in routes.values():
            route.close()


def _open(descriptor: int) -> Any:
    from pyroute2 import IPRoute

    join(descriptor, CLONE_NEWNET)
    for key, value in _SYSCTLS:
        _try_sysctl(key, value)
    return IPRoute()


def _try_sysctl(key: str, value: str) -> None:
    try:
        descriptor = os.open(Path("/proc/sys") / key, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(descriptor, value.encode())
    except OSError:
        return
    finally:
        os.close(descriptor)


def _rail(shape: Shape, rail: int, fabric: Any, node_fds: Sequence[int]) -> None:
    if shape.uplinks > 1:
        join_leaves(shape, rail, fabric, node_fds)
        return
    cables = shape.cables(rail)
    for bridge in (*(leaf_name(rail, leaf) for leaf in range(shape.leaves)), *_spine(shape, rail)):
        fabric.link("add", ifname=bridge, kind="bridge", mtu=MTU_BYTES, br_stp_state=0, br_mcast_snooping=0, state="up")
    bridges = indexes(fabric)
    for node, descriptor in enumerate(node_fds):
        peer = {"ifname": f"rail{rail}", "net_ns_fd": descriptor, "mtu": MTU_BYTES}
        leaf = bridges[leaf_name(rail, shape.leaf_index(node))]
        _veth(fabric, port_name(node, rail), leaf, peer)
    for cable in cables:
        _veth(fabric, cable.device, bridges[cable.leaf], {"ifname": cable.far_device, "mtu": MTU_BYTES})
    found = indexes(fabric)
    for cable in cables:
        fabric.link("set", index=found[cable.far_device], master=bridges[cable.far_bridge], state="up")


def _spine(shape: Shape, rail: int) -> tuple[str, ...]:
    return (spine_name(rail),) if shape.leaves > 2 else ()


def _veth(route: Any, name: str, bridge: int, peer: dict[str, Any]) -> None:
    route.link("add", ifname=name, kind="veth", mtu=MTU_BYTES, master=bridge, state="up", peer=peer)


def _addresses(shape: Shape, node: int, route: Any) -> None:
    found = indexes(route)
    route.link("set", index=found["lo"], state="up")
    for rail in range(shape.rails):
        index = found[f"rail{rail}"]
        route.addr("add", index=index, address=shape.address(node, rail, Transport.NAMESPACES), prefixlen=16)
        route.link("set", index=index, state="up")


def _shape_devices(shape: Shape, routes: dict[str, Any]) -> None:
    found = {name: indexes(route) for name, route in routes.items()}
    for device, setting in settings(shape, ()).items():
        plant(routes[device.namespace], index_of(found, device), setting)


def indexes(route: Any) -> dict[str, int]:
    """Return the index of every device in a socket's namespace, by name."""
    return {link.get_attr("IFLA_IFNAME"): link["index"] for link in route.get_links()}


def index_of(found: dict[str, dict[str, int]], device: Device) -> int:
    """Return the index of a device in what `indexes` found in each namespace."""
    return found[device.namespace][device.name]
