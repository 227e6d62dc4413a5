"""Faults a lab can carry: on which part, in which direction, how bad; and which of them a given lab accepts.

Pure. Everything active in a lab is one tuple of faults; `netkit.lab.effects` says what follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from netkit.errors import InputError
from netkit.lab.shape import MACHINE_NICS, Shape, Transport, leaf_place, node_index, rail_index
from netkit.model.probe import Direction
from netkit.model.text import visible
from netkit.model.units import show_percent

MAX_DELAY_SECONDS = 2.0


class Place(StrEnum):
    """What kind of part a fault sits on."""

    NODE = "node"
    LEAF = "leaf"
    UPLINK = "uplink"
    PAIR = "pair"
    SLOT = "slot"
    """Where the NIC of a rail sits in the node's made-up device tree; no link of the lab changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The part a fault sits on. `rail` None means every rail; `peer` is set for a pair, `leaf` for leaf and uplink."""

    place: Place
    node: str | None = None
    peer: str | None = None
    leaf: str | None = None
    rail: int | None = None

    def __str__(self) -> str:
        """The part in the words of the command line."""
        if self.leaf is not None:
            return f"{self.place} {self.leaf}"
        name = f"{self.node}:{self.peer}" if self.peer else str(self.node)
        rail = "every rail" if self.rail is None else f"rail {self.rail}"
        return f"{self.place} {name} {rail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. `slowdown` and `loss` are fractions, `delay` seconds; what is None is untouched."""

    where: Where
    direction: Direction = Direction.BOTH
    slowdown: float | None = None
    loss: float | None = None
    delay: float | None = None
    down: bool = False

    def __str__(self) -> str:
        """One phrase for `lab status`."""
        if self.where.place is Place.SLOT:
            return f"{self.where}: NIC in a slot of the other socket"
        effects = [
            f"slowdown {show_percent(self.slowdown)}" if self.slowdown else "",
            f"loss {show_percent(self.loss)}" if self.loss else "",
            f"delay {self.delay * 1e3:g} ms" if self.delay else "",
            "down" if self.down else "",
        ]
        side = "" if self.direction is Direction.BOTH else f" ({self.direction})"
        return f"{self.where}: {', '.join(filter(None, effects))}{side}"


def checked_fault(shape: Shape, fault: Fault, transport: Transport) -> Fault:
    """Return the fault if this lab can carry it; raise InputError otherwise."""
    checked_where(shape, fault.where)
    if fault.where.place is Place.SLOT:
        return _checked_slot(fault)
    if fault.slowdown is None and fault.loss is None and fault.delay is None and not fault.down:
        raise InputError("a fault without an effect", "one of --slowdown, --down, --loss, --delay, or --clear")
    if fault.slowdown is not None and shape.rate is None:
        raise InputError("--slowdown in an unshaped lab", "a lab brought up with --rate, such as --rate 200mbit")
    if fault.down and fault.direction is not Direction.BOTH:
        raise InputError("--down with --direction", "--down alone: a link is down both ways")
    if fault.where.place is Place.PAIR and (fault.loss or fault.delay or fault.down):
        raise InputError("--pair with --loss, --delay or --down", "--pair with --slowdown")
    if fault.where.place is Place.PAIR and fault.direction is not Direction.BOTH:
        raise InputError("--pair with --direction", "--pair alone: both directions between the two")
    if fault.delay is not None and fault.delay > MAX_DELAY_SECONDS:
        raise InputError(f"--delay {fault.delay:g}s", f"up to {MAX_DELAY_SECONDS:g}s")
    if transport is Transport.EMULATED and (fault.loss or fault.delay):
        raise InputError("--loss or --delay in an emulated lab", "--slowdown or --down; packets need real links")
    return fault


def _checked_slot(fault: Fault) -> Fault:
    if fault.where.rail is None:
        raise InputError("--misplace without --rail", "--node N --rail R --misplace: one NIC at a time")
    if fault.where.rail >= MACHINE_NICS:
        raise InputError(f"--misplace with --rail {fault.where.rail}", f"a rail below {MACHINE_NICS}, a NIC each")
    if fault.slowdown or fault.loss or fault.delay or fault.down:
        raise InputError("--misplace with another effect", "two faults, one after the other")
    return fault


def checked_where(shape: Shape, where: Where) -> Where:
    """Return the selector if it names parts of this lab; raise InputError otherwise."""
    for name in (where.node, where.peer):
        if name is not None:
            node_index(shape, name)
    if where.node is not None and where.node == where.peer:
        raise InputError(f"--pair {where.node}:{where.peer}", "two different nodes")
    if where.rail is not None:
        rail_index(shape, where.rail)
    if where.leaf is not None:
        leaf_place(shape, where.leaf)
    if where.place is Place.UPLINK and shape.leaves == 1:
        raise InputError(f"--uplink {where.leaf}", "a lab with two or more leaves; this one has one per rail")
    return where


def parse_pair(text: str) -> tuple[str, str]:
    """`n1:n5` → (`n1`, `n5`). Raise InputError for any other form."""
    first, colon, second = text.partition(":")
    if not (first and colon and second):
        raise InputError(f"--pair {visible(text)!r}", "two nodes as A:B, such as n1:n5")
    return first, second


def same_part(one: Where, other: Where) -> bool:
    """Tell whether two selectors name the same part; a pair has no order."""
    key = ({one.node, one.peer}, one.place, one.leaf, one.rail)
    return key == ({other.node, other.peer}, other.place, other.leaf, other.rail)


def with_fault(faults: Sequence[Fault], new: Fault) -> tuple[Fault, ...]:
    """Return the list with `new` in it, in place of an older fault on the same part and direction."""
    kept = (old for old in faults if not (same_part(old.where, new.where) and old.direction is new.direction))
    return (*kept, new)


def without_faults(faults: Sequence[Fault], where: Where | None, direction: Direction | None) -> tuple[Fault, ...]:
    """Return the list without the faults on one part (None: on any), in one direction (None: in any)."""
    return tuple(
        fault
        for fault in faults
        if not (
            (where is None or same_part(fault.where, where)) and (direction is None or fault.direction is direction)
        )
    )
