"""Counters that move, read again and again at little cost: kept descriptors for files, ethtool and GPUs now and then.

`/sys/class/infiniband/<device>/ports/<n>/{counters,hw_counters}` as in `netkit.sources.rdma`; of mlx5 the counter that
refreshes the driver's cache is read first. Statistics only a driver names (`ethtool -S`) are searched as they come for
the few that are wanted; GPUs, which cost a driver call each and only show a level, are asked every few readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from netkit.model.gpu import GpuInventory
from netkit.model.missing import Missing
from netkit.model.pulse import PortPulse, Pulse
from netkit.sources.accelerators import read_nvidia
from netkit.sources.attributes import parse_integer
from netkit.sources.counters import hw_form, port_form
from netkit.sources.kept_files import KeptFiles, Sheet
from netkit.sources.netlink.driver_statistics import question
from netkit.sources.node_sources import NodeSources
from netkit.sources.rdma import CLASS

_FIRST = "rx_write_requests"
_STATE = "state"
_UP = (b"4:", b"5:")
"""ACTIVE and ACTIVE_DEFER, as the class prints port states."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One file: whose counter it is, and what turns its number into base units."""

    port: str
    counter: str
    factor: int


class PulseReader:
    """Reads what moves on one node; `first` says which ports and counters there are."""

    def __init__(self, sources: NodeSources, first: Pulse, every: int = 5) -> None:
        self._sources = sources
        self._first = first
        self._every = every
        self._turn = 0
        self._busy: Mapping[str, float | None] = first.busy
        self._wanted = {port.name: {name.encode() for name in port.counters} for port in first.ports}
        self._files = KeptFiles(sources.tree)
        found = [row for port in first.ports for row in _files_of(port, sources)]
        self._lines = [line for _, line in found]
        self._sheet = Sheet(self._files, [path for path, _ in found])
        self._active = {port.name: port.active for port in first.ports}
        self._values: dict[str, dict[str, int]] = {port.name: {} for port in first.ports}

    def read(self, now: float) -> Pulse:
        """Return the pulse at `now` seconds."""
        for place in self._sheet.read():
            self._take(self._lines[place], self._sheet.answers[place])
        if self._turn % self._every == 0:
            self._ask_gpus()
        self._turn += 1
        return Pulse(taken_at=now, ports=tuple(map(self._port, self._first.ports)), busy=self._busy)

    def _take(self, line: _Line, answer: bytes | Missing | None) -> None:
        if line.counter == _STATE:
            self._active[line.port] = isinstance(answer, bytes) and answer.startswith(_UP)
            return
        number = parse_integer(answer, line.counter) if isinstance(answer, bytes) else None
        if isinstance(number, int):
            self._values[line.port][line.counter] = number * line.factor
        else:
            self._values[line.port].pop(line.counter, None)

    def _port(self, port: PortPulse) -> PortPulse:
        counters = {**self._driver_statistics(port), **self._values[port.name]}
        return replace(port, active=self._active[port.name], counters=counters)

    def _driver_statistics(self, port: PortPulse) -> dict[str, int]:
        if self._sources.kernel is None or port.interface is None:
            return {}
        answer = self._sources.kernel.ask(question(port.interface))
        if isinstance(answer, Missing):
            return {}
        wanted = self._wanted[port.name]
        rows = (body.partition(b": ") for body in answer.bodies)
        return {name.decode(): int(value) for name, _, value in rows if name in wanted and value.isdigit()}

    def _ask_gpus(self) -> None:
        inventory = None if self._sources.drivers is None else read_nvidia(self._sources.drivers)
        if isinstance(inventory, GpuInventory):
            self._busy = {f"gpu{gpu.index}": _level(gpu.utilisation.compute) for gpu in inventory.gpus}

    def close(self) -> None:
        """Close every descriptor."""
        self._files.close()


def _level(value: float | Missing) -> float | None:
    return None if isinstance(value, Missing) else value


def _files_of(port: PortPulse, sources: NodeSources) -> Iterable[tuple[str, _Line]]:
    device, _, number = port.name.partition("/")
    at = f"{CLASS}/{device}/ports/{number or 1}"
    yield f"{at}/{_STATE}", _Line(port.name, _STATE, 1)
    names = sources.tree.list(f"{at}/counters")
    for name in () if isinstance(names, Missing) else names:
        if name in port.counters:
            yield f"{at}/counters/{name}", _Line(port.name, name, port_form(name).factor)
    names = sources.tree.list(f"{at}/hw_counters")
    in_order = sorted(() if isinstance(names, Missing) else names, key=lambda name: (name != _FIRST, name))
    for name in in_order:
        if name in port.counters or name == _FIRST:
            yield f"{at}/hw_counters/{name}", _Line(port.name, name, hw_form(name, port.driver or "").factor)
