"""What each node's own processors can move, on all rails at once: no rate above that says anything about a link."""

from __future__ import annotations

import secrets
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import replace

from netkit.model.probe import Distance, Reading, Round
from netkit.probe import answers
from netkit.probe.assembly import Assembly
from netkit.probe.launchers.roll_call import Order
from netkit.probe.launchers.session import Fields

CALIBRATION_SECONDS = 0.3


def look_inside(gang: Assembly, planned: Round) -> Iterator[Reading]:
    """Measure every node of the round against itself; one reading a node and rail."""
    command = {
        "command": "calibrate",
        "rails": gang.fabric.rails,
        "seconds": CALIBRATION_SECONDS,
        "iterations": 8,
        "warmup_s": 0.1,
        "warmup_bytes": 0,
        "deadline_s": 20.0,
    }
    orders = [
        Order(rank=gang.rank_of[name], task="calibrate", command={**command, "token": secrets.token_hex(32)})
        for group in planned.groups
        for name in group.nodes
    ]
    results = gang.ranks.carry_out(orders, 25.0)
    for order in orders:
        result = results.get((order.rank, order.task))
        yield from _readings(gang.names[order.rank], planned, gang.fabric.rails, result)


def _readings(name: str, planned: Round, rails: int, result: Fields | None) -> Iterator[Reading]:
    for rail, rate in enumerate(answers.ceilings(result, rails)):
        reading = Reading(round=planned.number, rail=rail, nodes=(name,), distance=Distance.INTRA)
        if rate is None:
            yield replace(reading, missing=answers.missing(result, f"{name} rail {rail}"))
        else:
            yield replace(reading, forward=rate, reverse=rate, cpu_bound=True)


def ceilings(readings: Iterable[Reading]) -> dict[str, float]:
    """Return what one rail of each node can count on, bytes per second.

    The scheduler favours one thread or another for a moment; what a rail can count on is in the middle.
    """
    known: dict[str, list[float]] = {}
    for reading in readings:
        if len(reading.nodes) == 1 and reading.rate is not None:
            known.setdefault(reading.nodes[0], []).append(reading.rate)
    return {name: statistics.median(rates) for name, rates in known.items()}
