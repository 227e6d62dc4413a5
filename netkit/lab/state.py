"""What is known of a running lab: its shape, where its keeper is, its addresses, its active faults.

Standard library only, so that a probe can find a lab without loading netlink. The file form is `netkit.lab/1`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netkit.errors import InputError, SourceError
from netkit.lab import store
from netkit.lab.effects import Device, Setting, pair_pace, port_pace, settings
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import DEFAULT_NAME, Shape, Transport, checked_name, nearest, node_index, payload_rate
from netkit.model.probe import Direction, Fabric

if TYPE_CHECKING:
    from netkit.sources.node_sources import NodeSources

SCHEMA = "netkit.lab/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """The process that holds a lab's namespaces open.

    `started` is its start time in clock ticks since boot, so that another process with the same PID is not mistaken
    for it; `node_fds` are its descriptors of the nodes' network namespaces, `inodes` what stat(2) says of all of them.
    """

    pid: int
    started: int
    fabric_fd: int
    node_fds: tuple[int, ...]
    inodes: tuple[int, ...]

    @property
    def alive(self) -> bool:
        """Tell whether this very process still runs."""
        return start_time(self.pid) == self.started


@dataclass(frozen=True, kw_only=True)
class LabState:
    """One lab. `id` differs between two labs that had the same name; `keeper` is None when emulated."""

    name: str
    id: str
    shape: Shape
    transport: Transport
    faults: tuple[Fault, ...] = ()
    keeper: Keeper | None = None

    @property
    def alive(self) -> bool:
        """Tell whether the lab can carry traffic; a namespaces lab ends with its keeper."""
        return self.keeper.alive if self.keeper else self.transport is Transport.EMULATED

    @property
    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """IPv4 addresses by node name, one per rail."""
        return {
            name: tuple(self.shape.address(node, rail, self.transport) for rail in range(self.shape.rails))
            for node, name in enumerate(self.shape.node_names)
        }

    @property
    def leaf_of(self) -> Mapping[str, str]:
        """Leaf group by node name: `l0`, `l1`, …, the same on every rail."""
        return {name: f"l{self.shape.leaf_index(node)}" for node, name in enumerate(self.shape.node_names)}

    @property
    def fabric(self) -> Fabric:
        """What a probe plans by; the line rate is in payload bytes per second, None when unshaped."""
        rate = self.shape.rate
        return Fabric(
            nodes=self.shape.node_names,
            rails=self.shape.rails,
            leaf_of=self.leaf_of,
            line_rate=None if rate is None else payload_rate(rate),
        )

    @cached_property
    def _settings(self) -> Mapping[Device, Setting]:
        return settings(self.shape, self.faults)

    def pacing(self, node: str, rail: int) -> tuple[float | None, float | None]:
        """Return payload bytes per second that a port may send and receive; None: unlimited, 0: down."""
        pace = port_pace(self._settings, node_index(self.shape, node), rail)
        return pace.sent, pace.received

    def pair_pacing(self, sender: str, receiver: str, rail: int) -> float | None:
        """Return payload bytes per second from one node to another on a rail; None: unlimited, 0: no path."""
        first, second = node_index(self.shape, sender), node_index(self.shape, receiver)
        return pair_pace(self.shape, self._settings, first, second, rail)

    def machine(self, node: str) -> NodeSources:
        """Return what the node would be read from if it were a GPU node: synthetic, with its misplaced NICs."""
        from netkit.lab.virtual_node import virtual_sources

        node_index(self.shape, node)
        slots = (fault.where for fault in self.faults if fault.where.place is Place.SLOT)
        misplaced = {where.rail for where in slots if where.node == node and where.rail is not None}
        return virtual_sources(node, misplaced)

    def enter(self, node: str) -> list[str]:
        """Return the words to put before a command so that it runs inside `node`; none in an emulated lab."""
        index = node_index(self.shape, node)
        if self.keeper is None:
            return []
        script = Path(__file__).with_name("enter.py")
        keeper = self.keeper
        where = [str(keeper.pid), str(keeper.started), str(keeper.node_fds[index]), f"{self.name}:{self.id}"]
        return [sys.executable, "-I", "-S", str(script), *where, "--"]


def load(name: str | None = None) -> LabState:
    """Return the lab of this name, or without a name the one lab that is up.

    Raises:
        InputError: no such lab, or several and no name.
        SourceError: the lab's keeper is gone, or its state cannot be read.
    """
    chosen = checked_name(name) if name else _only_name()
    text = store.read(chosen)
    if text is None:
        known = store.names()
        listed = ", ".join(known) or "none: bring one up with `netkit lab up --nodes 8 --rails 2 --rate 200mbit`"
        raise InputError(f"lab {chosen!r}", f"a lab that is up, at present {listed}", nearest(chosen, known))
    state = from_json(chosen, text)
    if not state.alive:
        raise SourceError(
            f"lab {chosen!r} ended without `netkit lab down`", f"clear it: netkit lab down --name {chosen}"
        )
    return state


def _only_name() -> str:
    known = store.names()
    if len(known) > 1 and DEFAULT_NAME not in known:
        raise InputError("no lab name where several labs are up", f"--name with one of {', '.join(known)}")
    return known[0] if len(known) == 1 else DEFAULT_NAME


def save(state: LabState) -> None:
    """Write the state of a lab; the caller holds its lock."""
    store.write(state.name, json.dumps(as_json(state), indent=1) + "\n")


def as_json(state: LabState) -> dict[str, Any]:
    """Return the `netkit.lab/1` form of one lab."""
    shape = state.shape
    return {
        "schema": SCHEMA,
        "name": state.name,
        "id": state.id,
        "transport": str(state.transport),
        "alive": state.alive,
        "nodes": shape.nodes,
        "rails": shape.rails,
        "leaves": shape.leaves,
        "rate_bytes_per_second": shape.rate,
        "uplink_rate_bytes_per_second": shape.uplink_rate,
        "uplinks": shape.uplinks,
        "addresses": {name: list(row) for name, row in state.addresses.items()},
        "leaf_of": dict(state.leaf_of),
        "faults": [_fault_json(fault) for fault in state.faults],
        "keeper": asdict(state.keeper) if state.keeper else None,
    }


def from_json(name: str, text: str) -> LabState:
    """Read the `netkit.lab/1` form back; raise SourceError if it is not whole."""
    try:
        return _parsed(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise SourceError(f"state of lab {name!r} is damaged", f"clear it: netkit lab down --name {name}") from fault


def _parsed(data: Any) -> LabState:
    shape = Shape(
        nodes=int(data["nodes"]),
        rails=int(data["rails"]),
        leaves=int(data["leaves"]),
        rate=data["rate_bytes_per_second"],
        uplink_rate=data["uplink_rate_bytes_per_second"],
        uplinks=int(data.get("uplinks", 1)),
    )
    keeper = data["keeper"]
    state = LabState(
        name=checked_name(data["name"]),
        id=str(data["id"]),
        shape=shape,
        transport=Transport(data["transport"]),
        faults=tuple(_fault(row) for row in data["faults"]),
    )
    return replace(state, keeper=_keeper(keeper)) if keeper else state


def _keeper(data: Any) -> Keeper:
    return Keeper(
        pid=int(data["pid"]),
        started=int(data["started"]),
        fabric_fd=int(data["fabric_fd"]),
        node_fds=tuple(int(number) for number in data["node_fds"]),
        inodes=tuple(int(number) for number in data["inodes"]),
    )


def _fault_json(fault: Fault) -> dict[str, Any]:
    where = asdict(fault.where)
    effects = {
        "direction": str(fault.direction),
        "slowdown": fault.slowdown,
        "loss": fault.loss,
        "delay_seconds": fault.delay,
        "down": fault.down,
    }
    return {**where, "place": str(fault.where.place), **effects}


def _fault(data: Any) -> Fault:
    return Fault(
        where=Where(place=Place(data["place"]), **{key: data[key] for key in ("node", "peer", "leaf", "rail")}),
        direction=Direction(data["direction"]),
        slowdown=data["slowdown"],
        loss=data["loss"],
        delay=data["delay_seconds"],
        down=bool(data["down"]),
    )


def start_time(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot (proc(5), stat field 22); None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command name may itself hold spaces and parentheses.
    fields = stat.rpartition(b")")[2].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
