"""`netkit plan`: what a probe of a gang would run, for how long, and what it could see, without running it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit
from netkit.errors import InputError
from netkit.model.units import parse_fraction, show_duration, show_percent

if TYPE_CHECKING:
    from netkit.probe.outlook import Outlook

_MOST_NODES = 131_072
_MOST_RAILS = 64


def plan(
    nodes: Annotated[int, typer.Option("--nodes", help="Nodes in the gang.", show_default=False)],
    rails: Annotated[int, typer.Option("--rails", help="Rails (NICs) per node.")] = 8,
    sigma: Annotated[
        str, typer.Option("--sigma", help="Relative standard deviation expected of one reading.")
    ] = "0.015",
    start: Annotated[float, typer.Option("--start", help="Seconds to start one round.")] = 60.0,
    seconds: Annotated[float, typer.Option("--seconds", help="Seconds measured per round.")] = 5.0,
    output: OutputOption = None,
) -> None:
    """How many rounds and minutes would a probe of this gang take, and how small a slowdown could it see?

    Example: netkit plan --nodes 1024 --rails 8
    """
    from netkit.probe.outlook import outlook

    _require(1 <= nodes <= _MOST_NODES, f"--nodes {nodes}", f"1 to {_MOST_NODES}")
    _require(1 <= rails <= _MOST_RAILS, f"--rails {rails}", f"1 to {_MOST_RAILS}")
    _require(0 <= start <= 86_400, f"--start {start:g}", "0 to 86400 seconds")
    _require(0 < seconds <= 86_400, f"--seconds {seconds:g}", "above 0, at most 86400 seconds")
    foreseen = outlook(nodes=nodes, rails=rails, sigma=parse_fraction(sigma), round_seconds=start + seconds)
    form = chosen_form(output)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        document = {
            "schema": "netkit.plan/1",
            "nodes": nodes,
            "rails": rails,
            "sigma": foreseen.sigma,
            "rounds_at_most": foreseen.rounds_at_most,
            "rounds": [{"kind": kind, "groups": groups, "when": when} for kind, groups, when in foreseen.rounds],
            "seconds_at_most": foreseen.seconds_at_most,
            "smallest_detectable_slowdown": foreseen.smallest_slowdown,
            "notes": list(foreseen.notes),
        }
        emit(json.dumps(document, indent=None if form is OutputForm.JSONL else 2))
        return
    _require(form in (OutputForm.TABLE, OutputForm.PLAIN), f"--output {form}", "table, plain, json or jsonl")
    emit("\n".join(_lines(nodes, rails, start + seconds, foreseen)))


def _lines(nodes: int, rails: int, round_seconds: float, foreseen: Outlook) -> list[str]:
    smallest = show_percent(foreseen.smallest_slowdown) if foreseen.smallest_slowdown else "none"
    total = f"{show_duration(foreseen.seconds_at_most)} at {show_duration(round_seconds)} a round"
    rounds = enumerate(foreseen.rounds, 1)
    return [
        f"{nodes} nodes x {rails} rails: at most {foreseen.rounds_at_most} rounds, {total}",
        *(f"  round {number}  {kind:8} {groups or '':>6}  {when}" for number, (kind, groups, when) in rounds),
        f"smallest slowdown of one rail it would see: {smallest} (if readings vary by {show_percent(foreseen.sigma)})",
        *(f"note: {note}" for note in foreseen.notes),
    ]


def _require(holds: bool, given: str, accepted: str) -> None:
    if not holds:
        raise InputError(given, accepted)
