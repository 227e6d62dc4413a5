"""Pairs of nodes, each on all of its rails at once, both directions; whether a link or a processor set a rate."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netkit.model.probe import Group, Reading, Round
from netkit.probe import answers
from netkit.probe.assembly import CONNECT_SECONDS, Assembly
from netkit.probe.launchers.roll_call import Order, Task
from netkit.probe.launchers.session import Fields

# A rate this close to what the processors alone can move was set by them, not by a link.
CPU_CEILING_SHARE = 0.7
LINE_RATE_REACHED = 0.95
WARMUP_SECONDS = 0.25
WARMUP_BYTES = 1024 * 1024
ITERATIONS = 20
# A pair that had to wait for a processor is measured again: other programs come and go, a slow link stays.
ATTEMPTS = 3


@dataclass(slots=True, kw_only=True)
class _Pair:
    """One pair on one rail in one round, and what its two ends told so far."""

    group: Group
    rail: int
    round: int
    results: dict[str, Fields] = field(default_factory=dict)

    @property
    def task(self) -> str:
        return f"round {self.round} {':'.join(self.group.nodes)} rail {self.rail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMeasurement:
    """Measures the pairs of one round after another; `take` gets each reading as soon as it is known."""

    gang: Assembly
    ceilings: Mapping[str, float]
    """Bytes per second each node's processors can move on one rail."""
    take: Callable[[Reading], None]

    def measure(self, planned: Round) -> None:
        """Take one reading a pair and rail; those that had to wait for a processor once more."""
        pairs = [
            _Pair(group=group, rail=rail, round=planned.number) for group in planned.groups for rail in group.rails
        ]
        for attempts_left in reversed(range(ATTEMPTS)):
            again = self._measure_at_once(pairs, repeatable=attempts_left > 0)
            pairs = [replace(pair, results={}) for pair in again]
            if not pairs:
                return

    def _measure_at_once(self, pairs: Sequence[_Pair], *, repeatable: bool) -> list[_Pair]:
        """Take a reading as soon as both of its ends have told; return the pairs to be repeated."""
        waiting = {pair.task: pair for pair in pairs}
        again: list[_Pair] = []

        def finish(pair: _Pair) -> None:
            reading = self._reading(pair)
            if repeatable and reading.cpu_bound and not self.gang.request.loopback:
                again.append(pair)
            else:
                self.take(reading)

        def on_result(task: Task, result: Fields) -> None:
            pair = waiting[task[1]]
            pair.results[self.gang.names[task[0]]] = result
            if len(pair.results) == 2:
                finish(waiting.pop(task[1]))

        orders = [order for pair in pairs for order in self._orders(pair)]
        self.gang.ranks.carry_out(orders, self._deadline_seconds + 5.0, on_result)
        for pair in list(waiting.values()):
            finish(pair)
        return again

    @property
    def _deadline_seconds(self) -> float:
        # Both directions, each with a warm-up and a measurement that may take longer than planned on a slow link.
        return 2 * (CONNECT_SECONDS + 4 * WARMUP_SECONDS + 2 * self.gang.request.seconds) + 4.0

    def _orders(self, pair: _Pair) -> Iterator[Order]:
        token = secrets.token_hex(32)
        first, second = pair.group.nodes
        for own, other in ((first, second), (second, first)):
            command = {
                "command": "pair",
                "rail": pair.rail,
                "first": own == first,
                "peer": self.gang.endpoint(self.gang.rank_of[other], pair.rail),
                "token": token,
                "warmup_s": WARMUP_SECONDS,
                "warmup_bytes": WARMUP_BYTES,
                "seconds": self.gang.request.seconds,
                "iterations": ITERATIONS,
                "connect_s": CONNECT_SECONDS,
                "deadline_s": self._deadline_seconds,
                **self.gang.paced(own, other, pair.rail),
            }
            yield Order(rank=self.gang.rank_of[own], task=pair.task, command=command)

    def _reading(self, pair: _Pair) -> Reading:
        first, second = (pair.results.get(node) for node in pair.group.nodes)
        bare = Reading(round=pair.round, rail=pair.rail, nodes=pair.group.nodes, distance=pair.group.distance)
        reading = answers.pair_reading(bare, first, second)
        if reading.rate is None:
            return reading
        starved = self._below_line_rate(reading.rate) and answers.starved(first, second)
        return replace(reading, cpu_bound=starved or self._above_ceiling(reading))

    def _above_ceiling(self, reading: Reading) -> bool:
        """Tell whether the processors, not a link, set this rate. Where there is no link, they always do."""
        if self.gang.request.loopback or reading.rate is None:
            return self.gang.request.loopback
        known = [self.ceilings[node] for node in reading.nodes if node in self.ceilings]
        high = bool(known) and reading.rate >= CPU_CEILING_SHARE * min(known)
        return high and self.gang.request.pacing is None and self._below_line_rate(reading.rate)

    def _below_line_rate(self, rate: float) -> bool:
        """Tell whether something held this rate down; a port that moves what it should is clean whoever is busy."""
        line_rate = self.gang.fabric.line_rate
        return line_rate is None or rate < LINE_RATE_REACHED * line_rate
