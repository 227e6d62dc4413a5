"""The shape of a lab: how many nodes, rails and leaves, what they are called, and how fast each link is.

Pure arithmetic on names and addresses. A node `n3` has one network device per rail (`rail0`, `rail1`, …); its other
end is port `n3r1` of leaf bridge `r1l0` in the fabric. Two leaves of a rail are joined by one cable; more than two
hang from a spine bridge `r1s`, one cable each. With several uplinks the two leaves are routers instead, and as many
cables of equal cost lie between them; which one a connection takes follows from its addresses and ports.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from netkit.errors import InputError
from netkit.model.text import visible
from netkit.model.units import show_line_rate

DEFAULT_NAME = "lab"
NODES = range(2, 257)
RAILS = range(1, 17)
UPLINKS = range(1, 9)
# GPUs, and NICs, of the made-up machine that every node carries; rail r is NIC r.
MACHINE_NICS = 8
# Below, one jumbo frame takes longer than a probe's patience; above, tbf and htb rates no longer fit 32 bits.
RATE_BOUNDS = (1e6 / 8, 32e9 / 8)
MTU_BYTES = 9000
# Ethernet header; a full-size frame carries MTU minus IPv4, TCP and timestamp headers.
_FRAME_BYTES = MTU_BYTES + 14
_PAYLOAD_BYTES = MTU_BYTES - 20 - 20 - 12
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,22}[a-z0-9])?")
_LEAF = re.compile(r"r([0-9]{1,2})l([0-9]{1,3})")


class Transport(StrEnum):
    """How a lab carries traffic; every output says which."""

    NAMESPACES = "namespaces"
    EMULATED = "emulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """One link between two bridges of a rail. `device` sits on the leaf, `far_device` on the other bridge."""

    leaf: str
    device: str
    far_bridge: str
    far_device: str
    far_is_leaf: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Counts and rates of a lab. Rates are bytes per second on the wire, both None where every link is unshaped."""

    nodes: int
    rails: int
    leaves: int
    rate: float | None
    uplink_rate: float | None
    uplinks: int = 1
    """Cables between the two leaves of a rail; with more than one the leaves route."""

    @property
    def node_names(self) -> tuple[str, ...]:
        """`n0`, `n1`, … in order."""
        return tuple(f"n{node}" for node in range(self.nodes))

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """Every leaf bridge of every rail, `r0l0` first."""
        return tuple(leaf_name(rail, leaf) for rail in range(self.rails) for leaf in range(self.leaves))

    def leaf_index(self, node: int) -> int:
        """Return which leaf of each rail serves this node; sizes differ by at most one."""
        return node * self.leaves // self.nodes

    def leaf_size(self, leaf: int) -> int:
        """Count the nodes under one leaf."""
        return sum(self.leaf_index(node) == leaf for node in range(self.nodes))

    def offered_flows(self, leaf: int) -> int:
        """Count the flows that can leave this leaf at once, one per node: its nodes, or fewer if the rest are fewer."""
        size = self.leaf_size(leaf)
        return min(size, self.nodes - size)

    def address(self, node: int, rail: int, transport: Transport) -> str:
        """Return the IPv4 address of one port: 10.rail.x.y, or 127.(rail + 1).x.y when emulated."""
        high, low = divmod(node + 1, 256)
        first, second = (10, rail) if transport is Transport.NAMESPACES else (127, rail + 1)
        return f"{first}.{second}.{high}.{low}"

    def cables(self, rail: int) -> tuple[Cable, ...]:
        """Return the links that join the leaves of one rail."""
        if self.leaves == 1:
            return ()
        if self.uplinks > 1:
            near, far = leaf_name(rail, 0), leaf_name(rail, 1)
            return tuple(
                Cable(leaf=near, device=f"{near}u{link}", far_bridge=far, far_device=f"{far}u{link}", far_is_leaf=True)
                for link in range(self.uplinks)
            )
        if self.leaves == 2:
            near, far = leaf_name(rail, 0), leaf_name(rail, 1)
            return (Cable(leaf=near, device=f"{near}u", far_bridge=far, far_device=f"{far}u", far_is_leaf=True),)
        leaves = [leaf_name(rail, leaf) for leaf in range(self.leaves)]
        return tuple(
            Cable(leaf=name, device=f"{name}u", far_bridge=spine_name(rail), far_device=f"{name}d", far_is_leaf=False)
            for name in leaves
        )


def leaf_name(rail: int, leaf: int) -> str:
    """Name the bridge that serves leaf `leaf` of `rail`."""
    return f"r{rail}l{leaf}"


def spine_name(rail: int) -> str:
    """Name the bridge above the leaves of `rail`."""
    return f"r{rail}s"


def port_name(node: int, rail: int) -> str:
    """Name the leaf's end of the cable to one node."""
    return f"n{node}r{rail}"


def payload_rate(wire_rate: float) -> float:
    """Convert bytes per second on the wire to bytes per second of TCP payload in full-size frames."""
    return wire_rate * _PAYLOAD_BYTES / _FRAME_BYTES


def checked_name(name: str) -> str:
    """Return `name` if it can name a lab; raise InputError otherwise."""
    if not _NAME.fullmatch(name):
        raise InputError(f"lab name {visible(name)!r}", "1 to 24 of a-z, 0-9 and -, not starting or ending with -")
    return name


def checked_shape(
    *,
    nodes: int,
    rails: int,
    leaves: int | None,
    rate: float | None,
    uplink_rate: float | None,
    uplinks: int = 1,
) -> Shape:
    """Return the shape if a lab can have it; raise InputError otherwise.

    `leaves` None means 2, or 1 below 4 nodes; `uplink_rate` None means enough for every node of the largest leaf,
    all uplinks of it together.
    """
    _within("--nodes", nodes, NODES)
    _within("--rails", rails, RAILS)
    chosen = leaves if leaves is not None else (2 if nodes >= 4 else 1)
    _within("--leaves", chosen, range(1, nodes + 1))
    _within("--uplinks", uplinks, UPLINKS)
    if uplinks > 1 and chosen != 2:
        raise InputError(f"--uplinks {uplinks} with {chosen} leaves", "several uplinks between 2 leaves: --leaves 2")
    if rate is None and uplink_rate is not None:
        raise InputError("--uplink-rate with --rate none", "an --uplink-rate only where --rate is given too")
    _rate_within("--rate", rate)
    if uplink_rate is None and rate is not None:
        uplink_rate = min(max(rate * -(-nodes // chosen) / uplinks, RATE_BOUNDS[0]), RATE_BOUNDS[1])
    _rate_within("--uplink-rate", uplink_rate)
    return Shape(nodes=nodes, rails=rails, leaves=chosen, rate=rate, uplink_rate=uplink_rate, uplinks=uplinks)


def node_index(shape: Shape, name: str) -> int:
    """Return the index of a node given by name; raise InputError naming the range and the nearest name."""
    return _index_of(name, shape.node_names, "node", f"n0 to n{shape.nodes - 1}")


def rail_index(shape: Shape, rail: int) -> int:
    """Return `rail` if this lab has it; raise InputError otherwise."""
    _within("--rail", rail, range(shape.rails))
    return rail


def leaf_place(shape: Shape, name: str) -> tuple[int, int]:
    """Return (rail, leaf) of a leaf given by name; raise InputError naming the range and the nearest name."""
    accepted = f"r0l0 to {shape.leaf_names[-1]} (rail 0 to {shape.rails - 1}, leaf 0 to {shape.leaves - 1})"
    _index_of(name, shape.leaf_names, "leaf", accepted)
    match = _LEAF.fullmatch(name)
    assert match is not None
    return int(match[1]), int(match[2])


def _index_of(name: str, names: tuple[str, ...], kind: str, accepted: str) -> int:
    if name not in names:
        raise InputError(f"{kind} {visible(name)!r}", accepted, nearest(name, names))
    return names.index(name)


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the known name most like `name`, or None when none is alike."""
    alike = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return alike[0] if alike else None


def _within(option: str, value: int, accepted: range) -> None:
    if value not in accepted:
        closest = min(max(value, accepted[0]), accepted[-1])
        raise InputError(f"{option} {value}", f"{accepted[0]} to {accepted[-1]}", str(closest))


def _rate_within(option: str, value: float | None) -> None:
    low, high = RATE_BOUNDS
    if value is not None and not low <= value <= high:
        shown = show_line_rate(value)
        raise InputError(f"{option} {shown}", f"{show_line_rate(low)} to {show_line_rate(high)}, or none for unshaped")
