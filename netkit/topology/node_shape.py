"""The shape of a node as expectations need it, taken from its topology: which NICs are used, and what they carry."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netkit.catalogue.bandwidth import BY_ARCHITECTURE, BY_CAPABILITY, PCIE_RAW, WIRE_SHARE
from netkit.catalogue.platforms import Platform
from netkit.errors import InputError
from netkit.model.topology import Link, LinkKind, Nic, Topology
from netkit.topology.constants import pcie_bandwidth
from netkit.topology.expect import NodeShape, Slot, slot_rate
from netkit.topology.nic_choice import GpuChoice


def shape_of_topology(topology: Topology, choices: Sequence[GpuChoice], platform: Platform | None) -> NodeShape:
    """Return the shape of a node as NCCL would use it; `platform` fills what the topology does not say.

    Raises:
        InputError: there is no GPU, or neither the topology nor a platform says which GPUs or how fast the NICs are.
    """
    if not topology.gpus:
        raise InputError(f"topology {topology.source} without a GPU", "a topology with GPUs")
    inferred: list[str] = []
    used = {name for choice in choices for name in choice.chosen}
    nics = [nic for nic in topology.nics if nic.name in used]
    cards: dict[str, list[Nic]] = {}
    for nic in nics:
        cards.setdefault(_card(nic), []).append(nic)
    slots = tuple(_slot(topology, ports, choices, platform, inferred) for ports in cards.values())
    model = _gpu_model(topology, platform, inferred)
    return NodeShape(
        name=topology.source,
        gpu_model=model,
        gpus=len(topology.gpus),
        slots=slots,
        assumptions=tuple(dict.fromkeys(inferred)),
    )


def _card(nic: Nic) -> str:
    """Functions of one device share one slot."""
    return nic.key if nic.address is None else str(nic.address).rpartition(".")[0]


def _slot(
    topology: Topology,
    ports: Sequence[Nic],
    choices: Sequence[GpuChoice],
    platform: Platform | None,
    inferred: list[str],
) -> Slot:
    wire = sum(_rate(nic, platform, inferred) for nic in ports) * WIRE_SHARE
    planned = max(_slot_plan(topology, nic) for nic in ports)
    return Slot(wire=wire, pcie=_payload(planned), path=_path(ports, choices))


def _rate(nic: Nic, platform: Platform | None, inferred: list[str]) -> float:
    if nic.rate is not None:
        return nic.rate
    if platform is None:
        raise InputError(f"NIC {nic.name} without a rate", "a topology with NIC rates, or --platform to lend them")
    inferred.append(f"NIC rates are those of {platform.id}: the topology does not give them")
    return platform.nic_rate


def _slot_plan(topology: Topology, nic: Nic) -> float:
    """Return NCCL's figure for the link between a NIC and what stands above it."""
    function = next(link.target for link in topology.links[nic.key] if link.kind is LinkKind.NET)
    return max((link.bandwidth for link in topology.links[function] if link.kind is LinkKind.PCI), default=0.0)


def _payload(planned: float) -> float:
    """Turn NCCL's flat figure (48 GB/s for 32 GT/s x16) into what the link can carry (57 GB/s)."""
    for gt_per_second in PCIE_RAW:
        sixteen = pcie_bandwidth(gt_per_second, 16)
        if planned <= sixteen:
            return slot_rate(gt_per_second, 16) * planned / sixteen
    return planned


def _path(ports: Sequence[Nic], choices: Sequence[GpuChoice]) -> float:
    """Return what the way from the GPUs that use a NIC can carry; a narrow uplink or another socket shows here."""
    names = {nic.name for nic in ports}
    ways = [
        candidate.effective.links
        for choice in choices
        for candidate in choice.candidates
        if candidate.chosen and names & set(candidate.members)
    ]
    return max((min(map(_carried, links), default=math.inf) for links in ways), default=math.inf)


def _carried(link: Link) -> float:
    if link.kind is LinkKind.NET:
        return math.inf
    return _payload(link.bandwidth) if link.kind is LinkKind.PCI else link.bandwidth


def _gpu_model(topology: Topology, platform: Platform | None, inferred: list[str]) -> str:
    gpu = topology.gpus[0]
    by_name = BY_ARCHITECTURE.get(gpu.architecture or "") or BY_CAPABILITY.get(gpu.compute_capability or 0)
    if by_name is not None:
        return by_name
    if platform is None:
        given = f"a topology that does not say which GPUs it holds ({topology.source})"
        raise InputError(given, "a topology with GPU capabilities, or --platform to name the machine")
    inferred.append(f"GPU model is that of {platform.id}")
    return platform.gpu_model
