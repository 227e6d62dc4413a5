"""`netkit demo`: the main job from nothing to verdict, on real kernel links of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from netkit.cli.output import OutputForm, talk
from netkit.cli.probing import FailOn, checked_wishes, probe
from netkit.errors import ExitStatus, ProbeError

_NODE, _RAIL, _SLOWDOWN = "n3", 1, 0.2
_MISPLACED_NODE, _MISPLACED_RAIL = "n6", 0
_MORE_TRIES = 2


def demo(
    report: Annotated[Path | None, typer.Option("--report", help="Also write the report as an HTML page.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which pairs are drawn.", min=0)] = 1,
    emulate: Annotated[
        bool, typer.Option("--emulate", help="No namespaces: loopback processes that limit their own rate.")
    ] = False,
) -> None:
    """What does netkit do? Builds a small cluster here, slows one rail, puts one NIC into a wrong slot, finds both.

    The rail is found by measuring real traffic, the NIC in the node's device tree, which in a lab is made up. Ends with
    status 0 when the probe named exactly these two, 3 when it did not; leaves nothing running.

    Example: netkit demo --report demo.html
    """
    from netkit.cli.lab_probe import lab_request, placement
    from netkit.lab import lifecycle
    from netkit.lab.faults import Fault, Place, Where
    from netkit.lab.shape import Transport, checked_shape
    from netkit.model.probe import Answer

    wishes = checked_wishes(
        seed=seed,
        line_rate=None,
        seconds=0.8,
        fail_on=FailOn.WARNING,
        output=OutputForm.TABLE,
        report=report,
        textfile=None,
    )
    name = f"demo-{os.getpid()}"
    shape = checked_shape(nodes=8, rails=2, leaves=2, rate=200e6 / 8, uplink_rate=None)
    transport = Transport.EMULATED if emulate else Transport.NAMESPACES
    talk(f"$ netkit lab up --name {name} --nodes 8 --rails 2 --rate 200mbit --leaves 2")
    try:
        # The lab ends by itself when this process does, however that happens.
        lifecycle.up(shape, name, transport, None if emulate else os.getpid())
        talk(f"$ netkit lab fault --name {name} --node {_NODE} --rail {_RAIL} --slowdown {_SLOWDOWN}")
        fault = Fault(where=Where(place=Place.NODE, node=_NODE, rail=_RAIL), slowdown=_SLOWDOWN)
        lifecycle.set_fault(name, fault)
        talk(f"$ netkit lab fault --name {name} --node {_MISPLACED_NODE} --rail {_MISPLACED_RAIL} --misplace")
        slot = Fault(where=Where(place=Place.SLOT, node=_MISPLACED_NODE, rail=_MISPLACED_RAIL))
        state = lifecycle.set_fault(name, slot)
        talk(f"$ netkit probe lab --name {name} --seed {seed}")
        request, launcher = lab_request(state, seed=seed)
        found = probe(request, launcher, wishes, placement(state))
        for _ in range(_MORE_TRIES):
            if found.verdict.answer is not Answer.INCONCLUSIVE:
                break
            talk("This machine was too busy with other work for an answer: probing again")
            found = probe(request, launcher, wishes, placement(state))
    finally:
        lifecycle.down(name)
    talk(f"$ netkit lab down --name {name}")
    named = [f"{finding.node} rail {finding.rail}" for finding in found.verdict.findings]
    named += [finding.node for finding in found.placement]
    injected = [f"{_NODE} rail {_RAIL}", _MISPLACED_NODE]
    if named != injected:
        raise ProbeError("demo", f"the probe named {named or 'nothing'}, not {injected}", "run it again")
    talk(f"The probe itself ends with status {ExitStatus.FINDINGS:d}: findings. Yours to try: netkit lab --help")
