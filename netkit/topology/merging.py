"""Ports of one NIC taken as one: NCCL's virtual NICs.

NVIDIA NCCL, src/graph/topo.cc, ncclTopoAutoMerge and ncclTopoGetPath: from NCCL_NET_MERGE_LEVEL=PORT (default) on,
ports of one function, and functions whose addresses differ in the last digit only, become one NIC of summed rate,
at most four at a time. The link width of separate functions is summed too, although they share one slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from types import MappingProxyType

from netkit.model.topology import Link, LinkKind, Nic, Topology, VertexKind

MOST_MEMBERS = 4


class MergeLevel(IntEnum):
    """How near two ports must be to become one; LOC keeps every port apart."""

    LOC = 0
    PORT = 1
    PIX = 4
    PXB = 5
    PHB = 8
    SYS = 9


def merged(topology: Topology, level: MergeLevel) -> Topology:
    """Return the topology with its ports merged as NCCL would at this level."""
    nic_of = {nic.key: _function(topology, nic) for nic in topology.nics}
    groups = _groups(topology, nic_of, level)
    if all(len(group) == 1 for group in groups):
        return topology
    kinds, links = dict(topology.kinds), dict(topology.links)
    nics = [group[0] if len(group) == 1 else _fuse(group, nic_of, kinds, links) for group in groups]
    return replace(
        topology,
        nics=tuple(nics),
        kinds=MappingProxyType(kinds),
        links=MappingProxyType(links),
    )


def _function(topology: Topology, nic: Nic) -> str:
    return next(link.target for link in topology.links[nic.key] if link.kind is LinkKind.NET)


def _groups(topology: Topology, nic_of: Mapping[str, str], level: MergeLevel) -> list[list[Nic]]:
    """Group greedily in device order, as NCCL does: each first free port takes the free ports near it."""
    groups: list[list[Nic]] = []
    free = list(topology.nics)
    while free:
        first = free.pop(0)
        near = [nic for nic in free if _distance(topology, nic_of, first, nic) <= level]
        group = [first, *near[: MOST_MEMBERS - 1]]
        groups.append(group)
        free = [nic for nic in free if nic not in group]
    return groups


def _distance(topology: Topology, nic_of: Mapping[str, str], one: Nic, other: Nic) -> MergeLevel:
    if nic_of[one.key] == nic_of[other.key] or _one_card(one, other):
        return MergeLevel.PORT
    above, beyond = (_chain(topology, nic_of[nic.key]) for nic in (one, other))
    if above[0] == beyond[0] and topology.kinds[above[0]] is VertexKind.SWITCH:
        return MergeLevel.PIX
    if above[-1] != beyond[-1]:
        return MergeLevel.SYS
    shared_switches = {key for key in above if topology.kinds[key] is VertexKind.SWITCH} & set(beyond)
    return MergeLevel.PXB if shared_switches else MergeLevel.PHB


def _one_card(one: Nic, other: Nic) -> bool:
    first, second = one.address, other.address
    if first is None or second is None:
        return False
    return (first.domain, first.bus, first.device) == (second.domain, second.bus, second.device)


def _chain(topology: Topology, function: str) -> list[str]:
    """Return what stands above a function, nearest first, ending at its CPU."""
    chain, here, seen = [], function, {function}
    while topology.kinds[here] is not VertexKind.CPU:
        ups = [link.target for link in topology.links[here] if link.kind is LinkKind.PCI and link.target not in seen]
        if not ups:
            break
        # The link up stands last in every row.
        here = ups[-1]
        seen.add(here)
        chain.append(here)
    return chain or [function]


def _fuse(
    group: Sequence[Nic],
    nic_of: Mapping[str, str],
    kinds: dict[str, VertexKind],
    links: dict[str, tuple[Link, ...]],
) -> Nic:
    name = "+".join(nic.name for nic in group)
    rates = [nic.rate for nic in group]
    rate = None if None in rates else sum(one for one in rates if one is not None)
    functions = list(dict.fromkeys(nic_of[nic.key] for nic in group))
    virtual, net = f"pci:{name}", f"net:{name}"
    up = [link for link in links[functions[0]] if link.kind is LinkKind.PCI][-1]
    width = sum(_uplink(links, function) for function in functions)
    speed = next(link.bandwidth for link in links[group[0].key]) if rate is None else rate
    kinds[virtual], kinds[net] = VertexKind.NIC, VertexKind.NET
    links[net] = (Link(source=net, target=virtual, kind=LinkKind.NET, bandwidth=speed),)
    links[virtual] = (
        Link(source=virtual, target=net, kind=LinkKind.NET, bandwidth=speed),
        Link(source=virtual, target=up.target, kind=LinkKind.PCI, bandwidth=width),
    )
    down = Link(source=up.target, target=virtual, kind=LinkKind.PCI, bandwidth=width)
    links[up.target] = (down, *links[up.target])
    gdr = all(nic.gdr is not False for nic in group)
    return replace(group[0], key=net, name=name, rate=rate, members=tuple(nic.name for nic in group), gdr=gdr)


def _uplink(links: Mapping[str, tuple[Link, ...]], function: str) -> float:
    return [link.bandwidth for link in links[function] if link.kind is LinkKind.PCI][-1]
