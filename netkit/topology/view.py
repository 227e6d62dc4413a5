"""Everything said of one node's topology, gathered once for every form it is shown in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netkit.catalogue.platforms import Platform
from netkit.model.pci import PciPath
from netkit.model.topology import DeviceMatrix, PairingReport, Topology
from netkit.topology.effective import NcclSettings
from netkit.topology.hca_filter import HcaFilter
from netkit.topology.merging import MergeLevel
from netkit.topology.nic_choice import GpuChoice, choose, choose_by_distance
from netkit.topology.pairing import Usage, Used, judge
from netkit.topology.paths import PathTable, matrix_of
from netkit.topology.platform_match import golden, identify


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyView:
    """Distances, choices and verdicts; `topology` and `choices` are absent where only distances are known."""

    matrix: DeviceMatrix
    pairing: PairingReport
    topology: Topology | None = None
    choices: tuple[GpuChoice, ...] = ()
    platform: Platform | None = None
    notes: tuple[str, ...] = ()


def view_of_topology(
    topology: Topology,
    *,
    settings: NcclSettings | None = None,
    hca: HcaFilter | None = None,
    merge: MergeLevel = MergeLevel.PORT,
    platform: Platform | None = None,
    used: Used | None = None,
) -> TopologyView:
    """Return the view of a device graph; `used` are the NICs a job was seen to use, None takes NCCL's choice."""
    paths = PathTable(topology)
    matrix = matrix_of(topology, paths)
    choices = choose(topology, settings, hca, merge, paths)
    known = platform or identify(matrix)
    return TopologyView(
        matrix=matrix,
        pairing=judge(matrix, _usage(choices, used), golden(matrix, known) if known else None),
        topology=topology,
        choices=choices,
        platform=known,
        notes=(*topology.notes, *_greedy(hca, topology)),
    )


def view_of_matrix(matrix: DeviceMatrix, *, platform: Platform | None = None, used: Used | None = None) -> TopologyView:
    """Return the view of distances alone, such as `nvidia-smi topo -m` prints."""
    usage = Usage(nics=choose_by_distance(matrix)) if used is None else Usage(nics=used, observed=True)
    notes = () if used is not None else ("the table has no bandwidths: chosen NICs are the nearest, shared in turn",)
    pairing = judge(matrix, usage, golden(matrix, platform) if platform else None)
    return TopologyView(matrix=matrix, pairing=pairing, platform=platform, notes=notes)


def _usage(choices: Sequence[GpuChoice], used: Used | None) -> Usage:
    """Return what is used, and what NCCL's own reasons explain; a job that was seen needs no explaining."""
    if used is not None:
        return Usage(nics=used, observed=True)
    return Usage(
        nics={choice.gpu: choice.chosen for choice in choices},
        relayed={
            choice.gpu: {name for one in choice.candidates if one.relay for name in one.members} for choice in choices
        },
        staged=frozenset(choice.gpu for choice in choices if _staged(choice)),
    )


def _staged(choice: GpuChoice) -> bool:
    near = [one for one in choice.candidates if one.physical.type <= PciPath.P2C]
    return bool(near) and not any(one.gdr for one in near)


def _greedy(hca: HcaFilter | None, topology: Topology) -> list[str]:
    if hca is None:
        return []
    return [
        f"NCCL_IB_HCA={name} also takes {', '.join(other for other in taken if other != name)}; ={name} takes it alone"
        for name, taken in hca.greedy(topology.nics).items()
    ]
