"""One all-reduce over the whole gang on every rail at once: the symptom a training job sees."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netkit.model.probe import GangReading
from netkit.probe import answers
from netkit.probe.assembly import CONNECT_SECONDS, Assembly
from netkit.probe.launchers.roll_call import Order

SECONDS = 0.6
ITERATIONS = 3
TRIAL_BYTES = 1024 * 1024
_SLOWEST = 1e6
"""Bytes per second assumed of a rail whose trial gave no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce:
    """What every rail moved, and the rails on which no processor was idle meanwhile."""

    readings: tuple[GangReading, ...]
    busy: tuple[int, ...]

    @property
    def warning(self) -> str | None:
        """Say that the processors may have been the limit."""
        if not self.busy:
            return None
        rails = f"rail{'s' * (len(self.busy) > 1)} {', '.join(map(str, self.busy))}"
        return f"{rails}: no processor was idle during the all-reduce: links may carry more busbw"


def all_reduce(gang: Assembly) -> AllReduce:
    """Run it for about `SECONDS`; the size follows from the line rate, or from a short trial where none is known."""
    count = len(gang.names)
    if count < 2:
        return AllReduce(readings=(), busy=())
    moved = 2 * (count - 1) / count
    sizes = {rail: max(8 * count, int((rate or _SLOWEST) * SECONDS / moved)) for rail, rate in _expected(gang).items()}
    return _ring(gang, sizes, ITERATIONS)


def _expected(gang: Assembly) -> dict[int, float | None]:
    rails = range(gang.fabric.rails)
    if gang.fabric.line_rate is not None:
        return dict.fromkeys(rails, gang.fabric.line_rate)
    trial = _ring(gang, dict.fromkeys(rails, TRIAL_BYTES), iterations=1)
    return {reading.rail: reading.busbw for reading in trial.readings}


def _ring(gang: Assembly, sizes: Mapping[int, int], iterations: int) -> AllReduce:
    orders = [order for rail, size in sizes.items() for order in _orders(gang, rail, size, iterations)]
    results = gang.ranks.carry_out(orders, 30.0)
    own = {rail: [results.get((rank, f"ring.{rail}")) for rank in range(len(gang.names))] for rail in sizes}
    readings = tuple(answers.gang_reading(rail, gang.names, told) for rail, told in own.items())
    busy = [reading.rail for reading in readings if reading.busbw is not None and answers.busy(own[reading.rail])]
    return AllReduce(readings=readings, busy=tuple(busy))


def _orders(gang: Assembly, rail: int, size: int, iterations: int) -> Sequence[Order]:
    token = secrets.token_hex(32)
    count = len(gang.names)
    return [
        Order(
            rank=rank,
            task=f"ring.{rail}",
            command={
                "command": "ring",
                "rail": rail,
                "rank": rank,
                "ranks": count,
                "peer": gang.endpoint((rank + 1) % count, rail),
                "token": token,
                "bytes": size,
                "warmup": 1,
                "iterations": iterations,
                "connect_s": CONNECT_SECONDS,
                "deadline_s": 25.0,
                **gang.paced(gang.names[rank], gang.names[(rank + 1) % count], rail),
            },
        )
        for rank in range(count)
    ]
