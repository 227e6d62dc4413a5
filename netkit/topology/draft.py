"""The device graph while it is being built, with the steps NCCL takes before it looks for paths.

NVIDIA NCCL, src/graph/topo.cc: ncclTopoConnectNodes (parallel links add up, links stand widest first),
ncclTopoFlattenBcmSwitches, ncclTopoConnectCpus, ncclTopoSort (the link up comes last).
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from netkit.model.topology import Cpu, Gpu, Link, LinkKind, Nic, Topology, VertexKind
from netkit.topology.constants import inter_cpu_bandwidth

_PEX_GEN4 = 0x1000C0101000A000
_PEX_GEN5 = 0x1000C03010000000
_PEX_MASK = 0xFFFFFFFFFFFFF000
_PEX_LEVEL = 0x1000


class Draft:
    """A graph that still changes; `finish` turns it into a Topology."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.kinds: dict[str, VertexKind] = {}
        self.links: dict[str, list[Link]] = {}
        self.cpus: list[Cpu] = []
        self.gpus: list[Gpu] = []
        self.nics: list[Nic] = []
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.partial = False
        self._parent: dict[str, str] = {}
        self._pci_ids: dict[str, int] = {}

    def lacks(self, problem: str) -> None:
        """Note something that belongs to the graph and cannot be in it."""
        self.problems.append(problem)
        self.partial = True

    def add(self, key: str, kind: VertexKind) -> None:
        """Add a vertex."""
        self.kinds[key] = kind
        self.links.setdefault(key, [])

    def hang(self, key: str, kind: VertexKind, parent: str, bandwidth: float, pci_id: int = 0) -> None:
        """Add a vertex below `parent` in the PCIe tree; `pci_id` packs vendor, device and both subsystem ids."""
        self.add(key, kind)
        self._parent[key] = parent
        self._pci_ids[key] = pci_id
        self.join(key, parent, LinkKind.PCI, bandwidth)

    def join(self, one: str, other: str, kind: LinkKind, bandwidth: float, lanes: int = 0) -> None:
        """Connect two vertices in both directions."""
        self.connect(one, other, kind, bandwidth, lanes)
        self.connect(other, one, kind, bandwidth, lanes)

    def connect(self, source: str, target: str, kind: LinkKind, bandwidth: float, lanes: int = 0) -> None:
        """Connect two vertices in one direction; a parallel link of the same kind adds its bandwidth."""
        row = self.links[source]
        known = next((link for link in row if link.target == target and link.kind is kind), None)
        if known is None:
            row.append(Link(source=source, target=target, kind=kind, bandwidth=bandwidth, lanes=lanes))
        else:
            row[row.index(known)] = replace(known, bandwidth=known.bandwidth + bandwidth, lanes=known.lanes + lanes)

    def parent(self, key: str) -> str | None:
        """Return the vertex above `key` in the PCIe tree."""
        return self._parent.get(key)

    def cpu_above(self, key: str) -> str | None:
        """Return the CPU at the top of the PCIe tree that holds `key`."""
        here: str | None = key
        while here is not None and self.kinds[here] is not VertexKind.CPU:
            here = self._parent.get(here)
        return here

    def bridged(self, key: str) -> bool:
        """Tell whether a PCIe switch stands between `key` and its CPU."""
        above = self._parent.get(key)
        return above is not None and self.kinds[above] is VertexKind.SWITCH

    def finish(self) -> Topology:
        """Flatten, connect the CPUs, order the links, and freeze."""
        self._flatten_switches()
        self._connect_cpus()
        return Topology(
            source=self.source,
            kinds=MappingProxyType(dict(self.kinds)),
            cpus=tuple(self.cpus),
            gpus=tuple(sorted(self.gpus, key=lambda gpu: (gpu.index, gpu.key))),
            nics=tuple(sorted(self.nics, key=lambda nic: (nic.index, nic.key))),
            links=MappingProxyType({key: self._in_order(key, row) for key, row in self.links.items()}),
            problems=tuple(self.problems),
            notes=tuple(self.notes),
            partial=self.partial,
        )

    def _in_order(self, key: str, row: list[Link]) -> tuple[Link, ...]:
        up = self._parent.get(key)
        widest_first = sorted(row, key=lambda link: -link.bandwidth)
        return tuple(sorted(widest_first, key=lambda link: link.target == up and link.kind is LinkKind.PCI))

    def _connect_cpus(self) -> None:
        for one in self.cpus:
            for other in self.cpus:
                if one.key != other.key and _host(one.key) == _host(other.key):
                    self.connect(one.key, other.key, LinkKind.SYS, inter_cpu_bandwidth(one))

    def _flatten_switches(self) -> None:
        """Broadcom PEX switches show two levels that share one crossbar; NCCL folds the lower into the upper."""
        for upper in [key for key, kind in self.kinds.items() if kind is VertexKind.SWITCH]:
            generation = _pex_generation(self._pci_ids.get(upper, 0), level=0)
            if generation and upper in self.kinds:
                for lower in self._children(upper):
                    if _pex_generation(self._pci_ids.get(lower, 0), level=1) == generation:
                        self._fold(lower, upper)

    def _children(self, key: str) -> list[str]:
        switches = (child for child, above in self._parent.items() if above == key)
        return [child for child in switches if self.kinds.get(child) is VertexKind.SWITCH]

    def _fold(self, lower: str, upper: str) -> None:
        self.links[upper] = [link for link in self.links[upper] if link.target != lower]
        for link in self.links.pop(lower):
            if link.target == upper:
                continue
            self.links[upper].append(replace(link, source=upper))
            row = self.links[link.target]
            self.links[link.target] = [replace(back, target=upper) if back.target == lower else back for back in row]
        for child, above in self._parent.items():
            if above == lower:
                self._parent[child] = upper
        del self.kinds[lower], self._parent[lower]


def _pex_generation(pci_id: int, level: int) -> int:
    if pci_id & _PEX_MASK == _PEX_GEN4:
        return 4
    return 5 if pci_id & _PEX_MASK == _PEX_GEN5 | level * _PEX_LEVEL else 0


def _host(cpu_key: str) -> str:
    return cpu_key.removeprefix("cpu:").rpartition("/")[0]
