"""What the active faults do: the setting of every device of a lab, and the pace of an emulated one.

Pure. Every device's setting follows from the shape and the list of faults alone, so setting and clearing a fault are
the same computation, and an emulated lab paces itself by the same arithmetic. Where two cuts meet on one device the
deeper one holds; losses and delays likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import Cable, Shape, Transport, leaf_name, leaf_place, node_index, payload_rate, port_name
from netkit.model.probe import Direction

FABRIC = "fabric"
_QUEUE_SECONDS = 0.05
# The lower bound holds several senders' largest segments (64 KiB each), the upper keeps memory and delay in check.
_QUEUE_BOUNDS = (512 * 1024, 8 * 1024 * 1024)


class End(StrEnum):
    """Which address of a packet a lane goes by."""

    SOURCE = "source"
    DESTINATION = "destination"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Traffic of one address with a queue of its own; `rate` in bytes per second, None: the whole device's."""

    end: End
    address: str
    rate: float | None


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Device:
    """A network device of the lab: the namespace it is in (a node's name, or `fabric`) and its name there."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What one device should be set to.

    `rate` is bytes per second sent by the device, None when unshaped; `queue` the bytes that may wait for it. The queue
    follows from the healthy rate, so that a cut and its end leave it alone.
    """

    rate: float | None
    queue: int
    up: bool = True
    loss: float = 0.0
    delay: float = 0.0
    lanes: tuple[Lane, ...] = ()


_Touch: TypeAlias = tuple[Device, float | None, str | None]


def port_devices(node: int, rail: int) -> tuple[Device, Device]:
    """Return the two ends of a node's cable: the node's (it sends), then the leaf's (the node receives)."""
    return Device(namespace=f"n{node}", name=f"rail{rail}"), Device(namespace=FABRIC, name=port_name(node, rail))


def settings(shape: Shape, faults: Iterable[Fault]) -> dict[Device, Setting]:
    """Return what every device of the lab should be set to while these faults are active."""
    wanted = dict(_healthy(shape))
    for fault in faults:
        for device, healthy_rate, address in _touched(shape, fault):
            wanted[device] = _with_fault(wanted[device], fault, healthy_rate, address)
    return wanted


def changed(before: Mapping[Device, Setting], after: Mapping[Device, Setting]) -> dict[Device, tuple[Setting, Setting]]:
    """Return the devices whose setting differs, with the old and the new one."""
    return {device: (before[device], new) for device, new in after.items() if before[device] != new}


def _healthy(shape: Shape) -> Iterator[tuple[Device, Setting]]:
    for rail in range(shape.rails):
        for node in range(shape.nodes):
            for device in port_devices(node, rail):
                yield device, _healthy_setting(shape.rate)
        for cable in shape.cables(rail):
            far = (cable.far_bridge, End.SOURCE) if cable.far_is_leaf else (cable.leaf, End.DESTINATION)
            for name, (leaf, end) in {cable.device: (cable.leaf, End.SOURCE), cable.far_device: far}.items():
                setting = replace(_healthy_setting(shape.uplink_rate), lanes=_fair_lanes(shape, leaf, end))
                yield Device(namespace=FABRIC, name=name), setting


def _fair_lanes(shape: Shape, leaf: str, end: End) -> tuple[Lane, ...]:
    """Return one lane for each node of a leaf, so that its nodes share an uplink evenly, as switch queues do."""
    if shape.uplink_rate is None:
        return ()
    ports = _ports(shape, Where(place=Place.LEAF, leaf=leaf))
    return tuple(Lane(end=end, address=shape.address(*port, Transport.NAMESPACES), rate=None) for port in ports)


def _healthy_setting(rate: float | None) -> Setting:
    smallest, largest = _QUEUE_BOUNDS
    return Setting(rate=rate, queue=min(max(smallest, int((rate or 0) * _QUEUE_SECONDS)), largest))


def _with_fault(setting: Setting, fault: Fault, healthy_rate: float | None, address: str | None) -> Setting:
    """Lay one fault over a setting; the deeper cut holds."""
    cut = None if fault.slowdown is None or healthy_rate is None else healthy_rate * (1 - fault.slowdown)
    if address is not None:
        return setting if cut is None else _with_cap(setting, address, cut)
    return replace(
        setting,
        rate=setting.rate if cut is None or setting.rate is None else min(setting.rate, cut),
        up=setting.up and not fault.down,
        loss=max(setting.loss, fault.loss or 0.0),
        delay=max(setting.delay, fault.delay or 0.0),
    )


def _touched(shape: Shape, fault: Fault) -> Iterator[_Touch]:
    """Yield each device the fault touches, its healthy rate there, and for a pair the address it is held to."""
    where = fault.where
    if where.place is Place.UPLINK:
        yield from _touched_uplink(shape, fault)
    elif where.place is Place.PAIR:
        yield from _touched_pair(shape, where)
    else:
        for node, rail in _ports(shape, where):
            yield from ((device, shape.rate, None) for device in _sides(port_devices(node, rail), fault))


def _sides(ends: tuple[Device, Device], fault: Fault) -> Sequence[Device]:
    # A pulled cable is seen by the node as lost carrier, which takes only the leaf's end.
    if fault.down:
        return ends[1:]
    chosen = {Direction.TX: ends[:1], Direction.RX: ends[1:], Direction.BOTH: ends}
    return chosen[fault.direction]


def _ports(shape: Shape, where: Where) -> Iterator[tuple[int, int]]:
    if where.leaf is not None:
        rail, leaf = leaf_place(shape, where.leaf)
        yield from ((node, rail) for node in range(shape.nodes) if shape.leaf_index(node) == leaf)
    elif where.node is not None:
        yield from ((node_index(shape, where.node), rail) for rail in _rails(shape, where))


def _rails(shape: Shape, where: Where) -> range:
    return range(shape.rails) if where.rail is None else range(where.rail, where.rail + 1)


def _touched_pair(shape: Shape, where: Where) -> Iterator[_Touch]:
    assert where.node is not None
    assert where.peer is not None
    first, second = node_index(shape, where.node), node_index(shape, where.peer)
    for rail in _rails(shape, where):
        for sender, receiver in ((first, second), (second, first)):
            address = shape.address(receiver, rail, Transport.NAMESPACES)
            yield port_devices(sender, rail)[0], shape.rate, address


def _touched_uplink(shape: Shape, fault: Fault) -> Iterator[_Touch]:
    assert fault.where.leaf is not None
    rail, leaf = leaf_place(shape, fault.where.leaf)
    load = None if shape.rate is None else shape.rate * shape.offered_flows(leaf)
    healthy = None if load is None or shape.uplink_rate is None else min(load, shape.uplink_rate)
    for cable in shape.cables(rail):
        for device in _sides(_cable_ends(cable, fault.where.leaf), fault) if fault.where.leaf in _leaves(cable) else ():
            yield device, healthy, None


def _leaves(cable: Cable) -> tuple[str, ...]:
    return (cable.leaf, cable.far_bridge) if cable.far_is_leaf else (cable.leaf,)


def _cable_ends(cable: Cable, leaf: str) -> tuple[Device, Device]:
    """Return the end that sends away from `leaf`, then the end that sends towards it."""
    names = (cable.device, cable.far_device) if leaf == cable.leaf else (cable.far_device, cable.device)
    away, towards = (Device(namespace=FABRIC, name=name) for name in names)
    return away, towards


def _with_cap(setting: Setting, address: str, cap: float) -> Setting:
    lanes = {lane.address: lane for lane in setting.lanes}
    old = lanes[address].rate if address in lanes else None
    rate = cap if old is None else min(cap, old)
    lanes[address] = Lane(end=End.DESTINATION, address=address, rate=rate)
    return replace(setting, lanes=tuple(lanes[key] for key in sorted(lanes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Payload bytes per second one port may send and receive; None where nothing limits it, 0 where it is down."""

    sent: float | None
    received: float | None


def port_pace(wanted: Mapping[Device, Setting], node: int, rail: int) -> Pace:
    """Return what the two ends of one port allow."""
    own, leafs = (wanted[device] for device in port_devices(node, rail))
    if not (own.up and leafs.up):
        return Pace(sent=0.0, received=0.0)
    return Pace(sent=_payload(own.rate), received=_payload(leafs.rate))


def pair_pace(shape: Shape, wanted: Mapping[Device, Setting], sender: int, receiver: int, rail: int) -> float | None:
    """Return the payload rate from one port to another when every node of both leaves is sending at once."""
    own = wanted[port_devices(sender, rail)[0]]
    address = shape.address(receiver, rail, Transport.NAMESPACES)
    limits = [
        port_pace(wanted, sender, rail).sent,
        port_pace(wanted, receiver, rail).received,
        *(_payload(lane.rate) for lane in own.lanes if lane.address == address),
        *_path_shares(shape, wanted, (shape.leaf_index(sender), shape.leaf_index(receiver)), rail),
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def _path_shares(
    shape: Shape, wanted: Mapping[Device, Setting], leaves: tuple[int, int], rail: int
) -> Iterator[float | None]:
    """Yield the share of one flow in each cable between two leaves, and 0 for a cable that is down."""
    if leaves[0] == leaves[1]:
        return
    for cable in shape.cables(rail):
        for leaf, away in zip(leaves, (True, False), strict=True):
            name = leaf_name(rail, leaf)
            if name not in _leaves(cable):
                continue
            ends = _cable_ends(cable, name)
            sending, *_ = ends if away else ends[::-1]
            if not all(wanted[end].up for end in ends):
                yield 0.0
            elif (rate := wanted[sending].rate) is not None:
                yield _payload(rate / shape.offered_flows(leaf))


def _payload(rate: float | None) -> float | None:
    return None if rate is None else payload_rate(rate)
