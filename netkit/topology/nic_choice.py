"""Which NICs NCCL will use for each GPU, and why.

NVIDIA NCCL, src/graph/topo.cc, ncclTopoGetLocalNetType: the widest path wins, the nearer one among equals; the NICs so
found are shared among the GPUs they are local to, starting at the GPU's index with its bits mirrored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from netkit.errors import InputError
from netkit.model.pci import PciPath
from netkit.model.text import visible
from netkit.model.topology import DeviceMatrix, Gpu, Nic, Path, Topology
from netkit.model.units import show_rate
from netkit.topology.effective import EffectivePaths, NcclSettings, starting_rail
from netkit.topology.hca_filter import HcaFilter
from netkit.topology.merging import MergeLevel, merged
from netkit.topology.paths import PathTable

_OLD_LEVELS = (PciPath.LOC, PciPath.PIX, PciPath.PXB, PciPath.PHB, PciPath.SYS, PciPath.SYS)
_LEVELS = {kind.name: kind for kind in PciPath if kind <= PciPath.SYS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One NIC as one GPU sees it."""

    name: str
    members: tuple[str, ...]
    physical: Path
    effective: Path
    gdr: bool
    relay: str | None
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuChoice:
    """The NICs of one GPU in the order its channels use them, and every NIC that stood for choice."""

    gpu: str
    chosen: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    excluded: tuple[str, ...]
    why: tuple[str, ...]


def parse_gdr_level(text: str) -> PciPath:
    """Read NCCL_NET_GDR_LEVEL: a path type up to SYS, or the old numbers 0 to 5; InputError for anything else."""
    given = text.strip()
    if given.isascii() and given.isdigit():
        return _OLD_LEVELS[min(int(given[:4]), len(_OLD_LEVELS) - 1)]
    if given.upper() not in _LEVELS:
        raise InputError(f"GDR level {visible(text)!r}", ", ".join(_LEVELS))
    return _LEVELS[given.upper()]


def choose(
    topology: Topology,
    settings: NcclSettings | None = None,
    hca: HcaFilter | None = None,
    merge: MergeLevel = MergeLevel.PORT,
    paths: PathTable | None = None,
) -> tuple[GpuChoice, ...]:
    """Return NCCL's choice for every GPU; `chosen` names physical ports, also where they were merged.

    `paths` are those of `topology`, where somebody has searched them already.
    """
    wanted = settings or NcclSettings()
    allowed = tuple(nic for nic in topology.nics if hca is None or hca.passes(nic))
    excluded = tuple(nic.name for nic in topology.nics if nic not in allowed)
    graph = merged(replace(topology, nics=allowed), merge)
    # Merging changes the graph, and with it every path.
    reusable = paths if all(len(nic.members) == 1 for nic in graph.nics) else None
    effective = EffectivePaths(graph, wanted, reusable)
    return tuple(_choice(effective, gpu, excluded, topology) for gpu in graph.gpus)


def choose_by_distance(matrix: DeviceMatrix) -> dict[str, tuple[str, ...]]:
    """Return the NICs each GPU would use if all paths of one type were equally wide; empty where distances are hidden.

    A table of distances holds no bandwidths, so this is NCCL's second criterion, and its sharing, alone.
    """
    if matrix.hidden is not None or not matrix.nics:
        return {}
    return {gpu.id: _near_by_turns(matrix, gpu.id, number) for number, gpu in enumerate(matrix.gpus)}


def _near_by_turns(matrix: DeviceMatrix, gpu: str, index: int) -> tuple[str, ...]:
    best = min(matrix.reach[gpu, nic.name].path for nic in matrix.nics)
    near = [nic.name for nic in matrix.nics if matrix.reach[gpu, nic.name].path is best]
    closest = min(matrix.reach[other.id, near[0]].path for other in matrix.gpus)
    sharing = sum(matrix.reach[other.id, near[0]].path is closest for other in matrix.gpus)
    first, count = starting_rail(index, len(near), sharing)
    return tuple(near[(first + turn) % len(near)] for turn in range(count))


def _choice(paths: EffectivePaths, gpu: Gpu, excluded: tuple[str, ...], topology: Topology) -> GpuChoice:
    used = paths.nics_by_channel(gpu)
    candidates = tuple(_candidate(paths, gpu, nic, nic in used) for nic in paths.nics)
    return GpuChoice(
        gpu=gpu.id,
        chosen=tuple(dict.fromkeys(member for nic in used for member in nic.members)),
        candidates=candidates,
        excluded=excluded,
        why=tuple(_reasons(paths, gpu, used, candidates, topology)),
    )


def _candidate(paths: EffectivePaths, gpu: Gpu, nic: Nic, chosen: bool) -> Candidate:
    relay = paths.relay.get((gpu.key, nic.key))
    return Candidate(
        name=nic.name,
        members=nic.members,
        physical=paths.physical(gpu, nic),
        effective=paths.out[gpu.key, nic.key],
        gdr=paths.gdr_works(gpu, nic),
        relay=relay.id if relay is not None else None,
        chosen=chosen,
    )


def _reasons(
    paths: EffectivePaths, gpu: Gpu, used: list[Nic], candidates: tuple[Candidate, ...], topology: Topology
) -> list[str]:
    if not used:
        return ["no NIC can be reached from this GPU" if topology.nics else "this node has no NIC"]
    local = paths.local_nics(gpu)
    first = paths.out[gpu.key, used[0].key]
    reasons = [f"widest path {show_rate(first.bandwidth)}, then nearest ({first.type.name}): {_names(local)}"]
    sharing = paths.local_gpus(local[0])
    if len(local) > 1:
        reasons.append(
            f"{len(local)} such NICs for {len(sharing)} GPUs: gpu index {gpu.index} with its bits mirrored "
            f"starts at {used[0].name}"
        )
    reasons += [
        f"{one.name}: GPUDirect RDMA is off, so {one.physical.type.name} is used as {one.effective.type.name}"
        for one in candidates
        if one.chosen and not one.gdr and one.effective.type is not one.physical.type
    ]
    return reasons + _passed_over(candidates)


def _passed_over(candidates: tuple[Candidate, ...]) -> list[str]:
    """Say why a physically nearer NIC was not taken: the question people ask."""
    chosen = [one for one in candidates if one.chosen]
    nearest_chosen = min(one.physical.type for one in chosen)
    widest = max(one.effective.bandwidth for one in chosen)
    return [
        f"{one.name} is nearer ({one.physical.type.name}) but narrower: {show_rate(one.effective.bandwidth)}"
        for one in candidates
        if not one.chosen and one.physical.type < nearest_chosen and one.effective.bandwidth < widest
    ]


def _names(nics: list[Nic]) -> str:
    return ", ".join(nic.name for nic in nics)
