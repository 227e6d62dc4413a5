"""Scenes that need a process of their own, mostly in a network namespace of its own; each prints what it saw."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from netkit.model.missing import Missing
from netkit.sources.netlink.kernel import Channel, LiveKernel
from netkit.sources.netlink.links import InterfaceList, host_nics, read_ethernet_links, read_interfaces
from netkit.sources.netlink.module_eeprom import read_module

CYCLES = 10_000
NOBODY = 65534
_RTMGRP_LINK = 1
_SOL_NETLINK, _ADD_MEMBERSHIP = 270, 1


def pair(name: str, peer: str) -> None:
    from pyroute2 import IPRoute

    with IPRoute() as route:
        route.link("add", ifname=name, kind="veth", peer={"ifname": peer})


def listed(kernel: LiveKernel) -> InterfaceList:
    found = read_interfaces(kernel)
    assert isinstance(found, InterfaceList), found
    return found


def overrun() -> dict[str, object]:
    with LiveKernel(receive_buffer_bytes=2048) as kernel:
        listed(kernel)
        opened: socket.socket = kernel._sockets[Channel.ROUTE]
        opened.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, _RTMGRP_LINK)
        for number in range(20):
            pair(f"a{number}", f"b{number}")
        names = sorted(interface.name for interface in listed(kernel).interfaces)
        return {"troubles": dict(kernel.troubles), "listed": names, "there": sorted(dict(_names()))}


def _names() -> list[tuple[str, int]]:
    return [(name, index) for index, name in socket.if_nameindex()]


def renamed() -> dict[str, object]:
    from pyroute2 import IPRoute

    for name, peer in (("kept0", "kept1"), ("gone0", "gone1"), ("old0", "old1")):
        pair(peer, name)
    with LiveKernel() as kernel, IPRoute() as route:
        before = listed(kernel)
        numbers = dict(_names())
        route.link("del", index=numbers["gone0"])
        route.link("set", index=numbers["old0"], ifname="new0")
        pair("old0", "other")
        links = read_ethernet_links(kernel, before.interfaces)
    names = [interface.name for interface in before.interfaces]
    return {"listed": names, "read": [link.interface for link in links]}


def churn() -> dict[str, object]:
    """List sixty links while another process adds and removes two more."""
    for number in range(30):
        pair(f"kept{number}", f"peer{number}")
    kept = {name for name, _ in _names()}
    child = os.fork()
    if child == 0:
        _add_and_remove()
    try:
        with LiveKernel() as kernel:
            lists = [listed(kernel) for _ in range(100)]
            troubles = dict(kernel.troubles)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    whole = [{interface.name for interface in found.interfaces} for found in lists if not found.partial]
    lost = sorted(name for name in kept if not all(name in names for names in whole))
    return {"interrupted": troubles.get("interrupted", 0), "whole": len(whole), "lost": lost}


def _add_and_remove() -> NoReturn:
    from pyroute2 import IPRoute

    with IPRoute() as route:
        while True:
            route.link("add", ifname="new", kind="veth", peer={"ifname": "other"})
            route.link("del", ifname="new")


def no_host_nic() -> dict[str, object]:
    pair("a", "b")
    with LiveKernel() as kernel:
        found = host_nics(listed(kernel))
    assert isinstance(found, Missing), found
    return {"reason": found.reason, "detail": found.detail}


def denied() -> dict[str, object]:
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    with LiveKernel() as kernel:
        found = read_module(kernel, "lo")
    assert isinstance(found, Missing), found
    return {"reason": found.reason, "detail": found.detail}


def descriptors() -> dict[str, object]:
    def count() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    before = count()
    for _ in range(CYCLES):
        with LiveKernel() as kernel:
            listed(kernel)
    return {"before": before, "after": count(), "cycles": CYCLES}


SCENES: dict[str, Callable[[], dict[str, object]]] = {
    "overrun": overrun,
    "renamed": renamed,
    "churn": churn,
    "no host nic": no_host_nic,
    "denied": denied,
    "descriptors": descriptors,
}

if __name__ == "__main__":
    print(json.dumps(SCENES[sys.argv[1]]()))
