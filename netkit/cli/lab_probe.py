"""Brings lab and probe together, who do not know each other: the agents of a probe run inside the nodes of a lab."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from netkit.lab.shape import Transport

if TYPE_CHECKING:
    from netkit.lab.state import LabState
    from netkit.probe.launchers.session import Launcher
    from netkit.probe.run import ProbeRequest


def lab_request(
    state: LabState, *, seed: int, seconds: float = 0.8, wire_rate: float | None = None
) -> tuple[ProbeRequest, Launcher]:
    """Return what to probe and how to reach it; `seconds` is measured time a direction, `wire_rate` bytes/s."""
    from netkit.probe.launchers import local, netns
    from netkit.probe.launchers.session import Member
    from netkit.probe.rails import RailChoice
    from netkit.probe.run import ProbeRequest

    emulated = state.transport is Transport.EMULATED
    members = tuple(
        Member(name=node, python=sys.executable, options=tuple(state.enter(node))) for node in state.fabric.nodes
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
