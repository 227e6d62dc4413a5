"""Rates, losses and delays on one device, by the kernel's queueing disciplines.

Defined by tc-htb(8), tc-bfifo(8), tc-netem(8) and tc-u32(8).

A shaped device carries `htb` 1: with class 1:1 at the device's rate and class 1:10 below it for all traffic; the queue
under 1:10 is `bfifo` 10:, or `netem` 8010: while there is loss or delay. A lane adds class 1:1NN below 1:1 with a u32
filter on its address. htb lets a class borrow from 1:1 in turn with its siblings and go into debt for one segment, so
large segments pass whole and cost the processor little.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from netkit.lab.effects import End, Lane, Setting

_ROOT = 0x10000
_TOTAL = 0x10001
_DEFAULT_MINOR = 0x10
_LANE_MINOR = 0x100
_NETEM_MAJOR = 0x8000
_TC_H_ROOT = 0xFFFFFFFF
_ETH_P_IP = 0x0800
# Where the IPv4 header (RFC 791) holds the address.
_OFFSETS = MappingProxyType({End.SOURCE: 12, End.DESTINATION: 16})
# A class is owed little and borrows the rest, so that up to 256 lanes together never exceed 1:1.
_OWED_SHARE = 1024
_OWED_BURST_BYTES = 1600
_QUANTUM_BYTES = 60_000
_BURST_SECONDS = 0.02
_SMALLEST_BURST_BYTES = 2 * 9014
_NETEM_PACKETS = 10_000


def plant(route: Any, index: int, setting: Setting) -> None:
    """Give a new device its queueing disciplines; an unshaped one keeps the kernel's."""
    if setting.rate is None:
        return
    route.tc("add", "htb", index, _ROOT, default=_DEFAULT_MINOR)
    _set_total(route, index, setting.rate)
    _set_lane(route, index, _DEFAULT_MINOR, setting.rate)
    _set_queue(route, index, _DEFAULT_MINOR, setting)
    _change_lanes(route, index, replace(setting, lanes=()), setting)


def change(route: Any, index: int, old: Setting, new: Setting) -> None:
    """Take a device from one setting to another; what does not differ is not touched."""
    # netem first: it is the one step a kernel may refuse, and nothing is half done then.
    if (old.loss, old.delay) != (new.loss, new.delay):
        for minor in (_DEFAULT_MINOR, *(_minor(lane) for lane in old.lanes)):
            _set_queue(route, index, minor, new)
    if old.rate != new.rate and new.rate is not None:
        _set_total(route, index, new.rate)
        _set_lane(route, index, _DEFAULT_MINOR, new.rate)
    _change_lanes(route, index, old, new)
    if old.up != new.up:
        route.link("set", index=index, state="up" if new.up else "down")


def _change_lanes(route: Any, index: int, old: Setting, new: Setting) -> None:
    before, after = ({lane.address: lane for lane in setting.lanes} for setting in (old, new))
    for address, lane in before.items():
        if address not in after:
            _remove_lane(route, index, lane)
    for address, lane in after.items():
        rate = new.rate if lane.rate is None else lane.rate
        if rate is None or (address in before and (lane, new.rate) == (before[address], old.rate)):
            continue
        _set_lane(route, index, _minor(lane), rate)
        if address not in before:
            _set_queue(route, index, _minor(lane), new)
            _add_filter(route, index, lane)


def _remove_lane(route: Any, index: int, lane: Lane) -> None:
    # The filter is named without its kind, for which pyroute2 would want all of it again.
    which = socket.htons(_ETH_P_IP) | _minor(lane) << 16
    route.tc("del-filter", index=index, handle=0, parent=_ROOT, info=which)
    route.tc("del-class", index=index, handle=_ROOT | _minor(lane), parent=_TOTAL)


def _add_filter(route: Any, index: int, lane: Lane) -> None:
    key = f"0x{int(ipaddress.IPv4Address(lane.address)):08x}/0xffffffff+{_OFFSETS[lane.end]}"
    minor = _minor(lane)
    route.tc(
        "add-filter", "u32", index, 0, parent=_ROOT, prio=minor, protocol=_ETH_P_IP, target=_ROOT | minor, keys=[key]
    )


def _set_total(route: Any, index: int, rate: float) -> None:
    _set_class(route, index, _TOTAL, _ROOT, owed=rate, most=rate, owed_burst=_burst(rate))


def _set_lane(route: Any, index: int, minor: int, rate: float) -> None:
    owed = rate / _OWED_SHARE
    _set_class(route, index, _ROOT | minor, _TOTAL, owed=owed, most=rate, owed_burst=_OWED_BURST_BYTES)


def _set_class(
    route: Any, index: int, handle: int, parent: int, *, owed: float, most: float, owed_burst: float
) -> None:
    route.tc(
        "replace-class",
        "htb",
        index,
        handle,
        parent=parent,
        rate=int(owed),
        ceil=int(most),
        burst=owed_burst,
        cburst=_burst(most),
        quantum=_QUANTUM_BYTES,
    )


def _burst(rate: float) -> float:
    return max(rate * _BURST_SECONDS, _SMALLEST_BURST_BYTES)


def _set_queue(route: Any, index: int, minor: int, setting: Setting) -> None:
    parent = _TC_H_ROOT if setting.rate is None else _ROOT | minor
    if setting.loss or setting.delay:
        major = (_NETEM_MAJOR | minor) << 16
        delay_us, loss_percent = round(setting.delay * 1e6), setting.loss * 100
        route.tc(
            "replace", "netem", index, major, parent=parent, delay=delay_us, loss=loss_percent, limit=_NETEM_PACKETS
        )
    elif setting.rate is None:
        route.tc("del", index=index, handle=(_NETEM_MAJOR | minor) << 16, parent=parent)
    else:
        _allow_bfifo()
        route.tc("replace", "bfifo", index, minor << 16, parent=parent, limit=setting.queue)


def _allow_bfifo() -> None:
    # pyroute2 knows pfifo only; bfifo takes the same tc_fifo_qopt, counted in bytes.
    from pyroute2.netlink.rtnl.tcmsg import plugins, sched_pfifo

    plugins.setdefault("bfifo", sched_pfifo)


def _minor(lane: Lane) -> int:
    """Return the class number of a lane: one for each address of a rail, which numbers its nodes from 1."""
    return _LANE_MINOR + (int(ipaddress.IPv4Address(lane.address)) & 0xFFFF)
