"""Brings lab and probe together, who do not know each other: the agents of a probe run inside the nodes of a lab."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from netkit.lab.shape import Transport
from netkit.model.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netkit.lab.state import LabState
    from netkit.model.probe import PlacementFinding
    from netkit.probe.launchers.session import Launcher
    from netkit.probe.request import ProbeRequest


def lab_request(
    state: LabState,
    *,
    seed: int,
    seconds: float = 0.8,
    wire_rate: float | None = None,
    python: str | None = None,
) -> tuple[ProbeRequest, Launcher]:
    """Return what to probe and how to reach it; `seconds` is measured time a direction, `wire_rate` bytes/s."""
    from netkit.probe.launchers import local, netns
    from netkit.probe.launchers.session import Member
    from netkit.probe.rails import RailChoice
    from netkit.probe.request import ProbeRequest

    emulated = state.transport is Transport.EMULATED
    members = tuple(
        Member(name=node, python=python or sys.executable, options=tuple(state.enter(node)))
        for node in state.fabric.nodes
    )
    request = ProbeRequest(
        name=state.name,
        transport=str(state.transport),
        members=members,
        rails=RailChoice(addresses=state.addresses),
        leaf_of=state.leaf_of,
        line_rate=state.fabric.line_rate,
        wire_rate=wire_rate,
        pacing=state.pair_pacing if emulated else None,
        seed=seed,
        seconds=seconds,
    )
    return request, local.LAUNCHER if emulated else netns.LAUNCHER


def placement(state: LabState) -> Iterator[PlacementFinding]:
    """Judge the GPU-NIC pairing of every node's made-up machine; nodes that are right yield nothing."""
    from netkit.cli.node_topology import topology_of_tree
    from netkit.model.probe import PlacementFinding
    from netkit.topology.view import view_of_topology

    for node in state.fabric.nodes:
        found = view_of_topology(topology_of_tree(state.machine(node).tree, node)).pairing.findings
        if found:
            yield PlacementFinding(
                node=node,
                gpus=tuple(finding.subject for finding in found),
                severity=max((finding.severity for finding in found), key=list(Severity).index),
                summary=f"{node}: {found[0].summary}",
                evidence=(
                    *(f"{finding.subject}: {line}" for finding in found for line in finding.evidence),
                    "read from the node's device tree, which in a lab is made up",
                ),
                next=(
                    *dict.fromkeys(step for finding in found for step in finding.next),
                    f"netkit lab snapshot {node} -o {node}.jsonl; netkit topo --snapshot {node}.jsonl",
                ),
            )
