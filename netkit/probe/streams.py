"""Pairs of nodes that all send at once, over as many connections each as asked: what the slowest of them moves.

Whoever waits for a collective waits for its slowest pair, so that one is what a sweep tries to raise.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from netkit.errors import ProbeError
from netkit.model.text import visible
from netkit.probe.assembly import CONNECT_SECONDS, Assembly
from netkit.probe.launchers.roll_call import Order

WARMUP_SECONDS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Bytes per second of one measurement: of the slowest pair and rail, and of all on average."""

    slowest: float
    average: float


def measure_streams(gang: Assembly, pairs: Sequence[tuple[str, str]], connections: int, seconds: float) -> Moved:
    """Have the first of every pair send to the second on all rails at once.

    Raises:
        ProbeError: a pair did not measure.
        RanksLostError: a rank died or fell silent.
    """
    deadline = CONNECT_SECONDS + 2 * (WARMUP_SECONDS + seconds) + 8.0
    rails = range(gang.fabric.rails)
    orders = [
        order for pair in pairs for rail in rails for order in _orders(gang, pair, rail, connections, seconds, deadline)
    ]
    results = gang.ranks.carry_out(orders, deadline + 5.0)
    rates = []
    for sender, receiver in pairs:
        for rail in rails:
            told = results.get((gang.rank_of[receiver], _task(sender, receiver, rail)), {})
            if not isinstance(told.get("rate"), float):
                cause = visible(str(told.get("detail", "no answer")), 200)
                raise ProbeError("measuring", f"{sender} to {receiver}, rail {rail}: {cause}", "probe this gang first")
            rates.append(float(told["rate"]))
    return Moved(slowest=min(rates), average=fmean(rates))


def _task(sender: str, receiver: str, rail: int) -> str:
    return f"{sender} to {receiver} rail {rail}"


def _orders(
    gang: Assembly, pair: tuple[str, str], rail: int, connections: int, seconds: float, deadline: float
) -> Iterator[Order]:
    sender, receiver = pair
    token = secrets.token_hex(32)
    for own, other in ((sender, receiver), (receiver, sender)):
        command = {
            "command": "streams",
            "rail": rail,
            "sends": own == sender,
            "connections": connections,
            "peer": gang.endpoint(gang.rank_of[other], rail),
            "token": token,
            "warmup_s": WARMUP_SECONDS,
            "seconds": seconds,
            "connect_s": CONNECT_SECONDS,
            "deadline_s": deadline,
        }
        yield Order(rank=gang.rank_of[own], task=_task(sender, receiver, rail), command=command)
