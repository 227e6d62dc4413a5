"""Path type and bandwidth between vertices, as NCCL computes them, and the words nvidia-smi uses.

NVIDIA NCCL, src/graph/paths.cc, ncclTopoSetPaths: breadth first from each device; a way is replaced only by a wider
one that is not longer than the step allows; two switches make PXB, the CPU makes PHB, another socket SYS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from netkit.model.pci import PciPath
from netkit.model.topology import (
    DeviceMatrix,
    Gpu,
    GpuEnd,
    Link,
    LinkKind,
    Nic,
    NicEnd,
    Path,
    Reach,
    Topology,
    VertexKind,
)
from netkit.topology.constants import LOCAL_BANDWIDTH

_TYPE_OF = {
    LinkKind.LOC: PciPath.LOC,
    LinkKind.NVL: PciPath.NVL,
    LinkKind.C2C: PciPath.C2C,
    LinkKind.PCI: PciPath.PIX,
    LinkKind.SYS: PciPath.SYS,
    LinkKind.NET: PciPath.LOC,
}
DISCONNECTED = Path(type=PciPath.DIS, bandwidth=0.0)
FLAT = (
    "no PCIe switch is visible: every GPU and NIC hangs directly under a CPU, as hypervisors show it; "
    "which of them share a switch cannot be told from here"
)
ALIKE = (
    "every GPU is equally far from every NIC, with no PCIe switch in common: the real switches are hidden, "
    "or the platform has none"
)


def paths_to(topology: Topology, base: str) -> dict[str, Path]:
    """Return the path to `base` from every vertex that can reach it."""
    found = {base: Path(type=PciPath.LOC, bandwidth=LOCAL_BANDWIDTH)}
    frontier = [base]
    while frontier:
        following: dict[str, None] = {}
        for here in frontier:
            for link in topology.links[here]:
                if _widen(topology, base, found, here, link):
                    following[link.target] = None
        frontier = list(following)
    return found


def _widen(topology: Topology, base: str, found: dict[str, Path], here: str, link: Link) -> bool:
    """Extend the path of `here` over `link`, when that gives the far end a wider one."""
    so_far, kinds = found[here], topology.kinds
    bandwidth = min(so_far.bandwidth, link.bandwidth)
    known = found.get(link.target)
    through_gpu = here != base and kinds[here] is VertexKind.GPU
    if through_gpu and not _may_relay(kinds, link, so_far):
        return False
    if known is not None and not (len(known.links) > len(so_far.links) and known.bandwidth < bandwidth):
        return False
    back = next((up for up in topology.links[link.target] if up.target == here and up.kind is link.kind), None)
    if back is None:
        return False
    step = _step_type(kinds, here, link)
    if through_gpu and so_far.type is PciPath.NVL and step is PciPath.NVL:
        step = PciPath.NVB
    found[link.target] = Path(
        type=max(so_far.type, step),
        bandwidth=bandwidth,
        links=(back, *so_far.links),
    )
    return True


def _may_relay(kinds: Mapping[str, VertexKind], link: Link, so_far: Path) -> bool:
    """Another GPU may be passed once, over NVLink, towards a third GPU."""
    return link.kind is LinkKind.NVL and kinds[link.target] is VertexKind.GPU and len(so_far.links) <= 1


def _step_type(kinds: Mapping[str, VertexKind], here: str, link: Link) -> PciPath:
    ends = {kinds[here], kinds[link.target]}
    if link.kind is LinkKind.PCI and VertexKind.CPU in ends:
        return PciPath.PHB
    if ends == {VertexKind.SWITCH}:
        return PciPath.PXB
    return _TYPE_OF[link.kind]


class PathTable:
    """Every path between the GPUs, NICs and CPUs of one node; each target is searched once, when first asked for."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._to: dict[str, dict[str, Path]] = {}
        self._local_cpus: dict[str, str | None] = {}

    def between(self, source: str, target: str) -> Path:
        """Return the path from one vertex to another; type DIS where there is none."""
        if target not in self._to:
            self._to[target] = paths_to(self._topology, target)
        return self._to[target].get(source, DISCONNECTED)

    def local_cpu(self, device: str) -> str | None:
        """Return the CPU the fewest hops away from `device`."""
        if device not in self._local_cpus:
            self._local_cpus[device] = self._find_local_cpu(device)
        return self._local_cpus[device]

    def _find_local_cpu(self, device: str) -> str | None:
        reached = [(len(self.between(device, cpu.key).links), cpu.key) for cpu in self._topology.cpus]
        hops = [(count, key) for count, key in reached if count > 0]
        return min(hops, key=lambda one: one[0])[1] if hops else None


def physical_paths(table: PathTable, gpu: Gpu, nics: Sequence[Nic]) -> dict[str, Path]:
    """Return the ways slots and cables give to each NIC, by its key, whatever drivers and settings make of them.

    A way to the CPU by C2C and on by PCIe is P2C to the widest NICs, as NCCL has it since 2.29, and PHB to others.
    """
    found = {nic.key: table.between(gpu.key, nic.key) for nic in nics}
    widest = max((path.bandwidth for path in found.values()), default=0.0)
    return {
        key: replace(path, type=PciPath.P2C) if path.bandwidth == widest and _coherent(path) else path
        for key, path in found.items()
    }


def _coherent(path: Path) -> bool:
    return path.type is PciPath.PHB and any(link.kind is LinkKind.C2C for link in path.links)


def _reach(path: Path, gpu: Gpu, nic: Nic) -> Reach:
    known = path.bandwidth if 0 < path.bandwidth < LOCAL_BANDWIDTH else None
    return Reach(path=path.type, label=smi_label(path.type, gpu, nic), bandwidth=known)


def smi_label(kind: PciPath, gpu: Gpu, nic: Nic) -> str:
    """Return nvidia-smi's word: NODE where two host bridges of one NUMA node are known to be crossed."""
    if kind is PciPath.PHB and gpu.root is not None and nic.root is not None and gpu.root != nic.root:
        return "NODE"
    return smi_name(kind)


def matrix_of(topology: Topology, paths: PathTable | None = None) -> DeviceMatrix:
    """Return the physical distances between every GPU and NIC of a graph; `paths` saves searching them again."""
    table = paths or PathTable(topology)
    ways = {gpu.id: physical_paths(table, gpu, topology.nics) for gpu in topology.gpus}
    reach = {
        (gpu.id, nic.name): _reach(ways[gpu.id][nic.key], gpu, nic) for gpu in topology.gpus for nic in topology.nics
    }
    return DeviceMatrix(
        source=topology.source,
        gpus=tuple(GpuEnd(id=gpu.id, address=gpu.address, numa=gpu.numa) for gpu in topology.gpus),
        nics=tuple(NicEnd(name=nic.name, address=nic.address, rate=nic.rate) for nic in topology.nics),
        reach=reach,
        peers=_peers(topology, table),
        hidden=_hidden(topology, reach),
        problems=topology.problems,
        partial=topology.partial,
    )


def _peers(topology: Topology, table: PathTable) -> dict[tuple[str, str], str]:
    names = {}
    for one in topology.gpus:
        for other in topology.gpus:
            path = table.between(one.key, other.key)
            lanes = [link.lanes for link in path.links if link.kind is LinkKind.NVL]
            names[one.id, other.id] = f"NV{min(lanes)}" if lanes else smi_name(path.type)
    return names


def smi_name(kind: PciPath) -> str:
    """Return nvidia-smi's word for a path type; it has none for coherent links."""
    return {PciPath.LOC: "X", PciPath.DIS: "-", PciPath.C2C: "PHB", PciPath.P2C: "NODE"}.get(kind, kind.name)


def _hidden(topology: Topology, reach: Mapping[tuple[str, str], Reach]) -> str | None:
    """Say why distances mean nothing: no switch at all, or many devices and one and the same long way between all."""
    if not topology.gpus or not topology.nics:
        return None
    coherent = any(link.kind is LinkKind.C2C for row in topology.links.values() for link in row)
    bridged = any(gpu.bridged for gpu in topology.gpus) or any(nic.bridged for nic in topology.nics)
    if not coherent and not bridged:
        return FLAT
    kinds = {one.path for one in reach.values()}
    alike = len(topology.nics) > 1 and len(topology.gpus) > 1 and len(kinds) == 1
    return ALIKE if alike and min(kinds) > PciPath.PXN else None
