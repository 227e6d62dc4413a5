"""Run a probe: start the agents, measure round by round until there is a verdict, and stop every agent again.

Each group of a round is measured on all of its rails at once, and all groups of a round run at once. What cannot
be measured becomes a reading that says so; a rank that dies or hangs ends the probe inconclusive.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias

from netkit import __version__
from netkit.errors import ProbeError
from netkit.model.probe import (
    Answer,
    Distance,
    Fabric,
    GangReading,
    Group,
    ProbeReport,
    Reading,
    Round,
    RoundKind,
    Verdict,
)
from netkit.model.text import visible
from netkit.model.units import show_rate
from netkit.probe import answers
from netkit.probe.investigation import Investigation
from netkit.probe.launchers.roll_call import Order, RanksLostError, RollCall, Task
from netkit.probe.launchers.session import Fields, Launcher, Member
from netkit.probe.localise import Settings
from netkit.probe.rails import RailChoice, differences, nic_of, payload_rate, rail_addresses

# A rate this close to what the processors alone can move was set by them, not by a link.
CPU_CEILING_SHARE = 0.7
LINE_RATE_REACHED = 0.95
WARMUP_SECONDS = 0.25
WARMUP_BYTES = 1024 * 1024
ITERATIONS = 20
CALIBRATION_SECONDS = 0.3
CONNECT_SECONDS = 3.0
# A pair that had to wait for a processor is measured again: other programs come and go, a slow link stays.
ATTEMPTS = 3
RING_SECONDS = 0.6
RING_ITERATIONS = 3
RING_TRIAL_BYTES = 1024 * 1024
LIFETIME_SECONDS = 3600.0

Pacing: TypeAlias = Callable[[str, str, int], float | None]
"""Bytes per second from one node to another on a rail, for links that exist only on paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """What to probe. `seconds` is the measured time a direction; `pacing` is set in emulated labs only.

    `line_rate` is payload bytes per second of one port; `wire_rate`, what the link is sold as, replaces it once the
    hosts have told their MTU.

    `loopback` says that no network is between the members; `start_seconds` is how long agents may take to answer.
    """

    name: str
    transport: str
    members: tuple[Member, ...]
    rails: RailChoice
    leaf_of: Mapping[str, str] = field(default_factory=dict)
    line_rate: float | None = None
    wire_rate: float | None = None
    seed: int = 0
    seconds: float = 0.8
    settings: Settings = field(default_factory=Settings)
    pacing: Pacing | None = None
    loopback: bool = False
    start_seconds: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Every agent answers; the gang is known."""

    members: int
    rails: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDone:
    """A round is over after so many seconds."""

    round: Round
    seconds: float


Progress: TypeAlias = Callable[[Started | Round | Reading | GangReading | RoundDone], None]


def run_probe(request: ProbeRequest, launcher: Launcher, progress: Progress = lambda _event: None) -> ProbeReport:
    """Measure until a verdict; whatever happens, no agent is left running on this host when this returns.

    Raises:
        ProbeError: nothing could be started, or the hosts do not have the rails asked for.
    """
    clock = time.monotonic()
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    sessions = launcher.start(request.members, LIFETIME_SECONDS)
    gang = _Gang(request, RollCall(sessions, [member.name for member in request.members]), progress)
    try:
        verdict = _measure(gang)
        warnings = [*gang.warnings, *_damaged(request, sessions.rejected())]
    finally:
        sessions.stop()
    return ProbeReport(
        tool_version=__version__,
        name=request.name,
        transport=request.transport,
        started_at=started_at,
        seconds=time.monotonic() - clock,
        seed=request.seed,
        fabric=gang.fabric,
        rounds=tuple(gang.rounds),
        readings=tuple(gang.readings),
        gang_readings=tuple(gang.gang_readings),
        verdict=verdict,
        warnings=tuple(warnings),
    )


def _measure(gang: _Gang) -> Verdict:
    try:
        gang.assemble()
        return gang.investigate()
    except RanksLostError as lost:
        count = len(gang.request.members)
        what = f"{len(lost.losses)} of {count} ranks lost" if len(lost.losses) > 1 else "a rank was lost"
        return Verdict(
            answer=Answer.INCONCLUSIVE,
            why=f"{what}: {lost}",
            findings=(),
            smallest_detectable_slowdown=None,
        )


def _damaged(request: ProbeRequest, rejected: Mapping[int, int]) -> Iterator[str]:
    for rank, count in rejected.items():
        yield f"{request.members[rank].name}: {count} damaged or forged frames were dropped"


class _Gang:
    """The members while they are measured, and what they measured so far."""

    def __init__(self, request: ProbeRequest, ranks: RollCall, progress: Progress) -> None:
        self.request = request
        self.ranks = ranks
        self.progress = progress
        self.names = tuple(member.name for member in request.members)
        self.rank_of = {name: rank for rank, name in enumerate(self.names)}
        rails = max((len(row) for row in request.rails.addresses.values()), default=1)
        self.fabric = Fabric(nodes=self.names, rails=rails, leaf_of=request.leaf_of, line_rate=request.line_rate)
        self.addresses: list[tuple[str, ...]] = []
        self.ports: list[list[int]] = []
        self.ceilings: dict[str, float] = {}
        self.rounds: list[Round] = []
        self.readings: list[Reading] = []
        self.gang_readings: list[GangReading] = []
        self.busy: dict[int, bool] = {}
        self.warnings: list[str] = []

    def assemble(self) -> None:
        """Greet every rank, choose its rails and have them listen."""
        begun = time.monotonic()
        hellos = self.ranks.muster({"command": "hello"}, self.request.start_seconds)
        self.addresses = [
            rail_addresses(self.request.rails, name, hello) for name, hello in zip(self.names, hellos, strict=True)
        ]
        self.fabric = replace(self.fabric, rails=len(self.addresses[0]))
        self._read_nics(hellos)
        orders = [
            Order(rank=rank, task="open", command={"command": "open", "addresses": addresses})
            for rank, addresses in enumerate(self.addresses)
        ]
        opened = self.ranks.carry_out(orders, CONNECT_SECONDS + self.request.start_seconds)
        self.ports = [self._ports(opened, rank) for rank in range(len(self.names))]
        seconds = time.monotonic() - begun
        self.progress(Started(members=len(self.names), rails=self.fabric.rails, seconds=seconds))

    def _ports(self, opened: Mapping[Task, Fields], rank: int) -> list[int]:
        result = opened.get((rank, "open"), {})
        ports = result.get("ports")
        if not isinstance(ports, list) or len(ports) != self.fabric.rails:
            cause = visible(str(result.get("detail", "no answer")), 200)
            listed = ", ".join(self.addresses[rank])
            raise ProbeError("opening rails", f"{self.names[rank]} cannot listen on {listed}: {cause}", "check them")
        return [int(port) for port in ports]

    def _read_nics(self, hellos: Sequence[Fields]) -> None:
        """Learn the line rate's payload, and warn where hosts differ in what makes rates differ."""
        mtus = []
        for rail in range(self.fabric.rails):
            row = {
                name: nic_of(hello, addresses[rail])
                for name, hello, addresses in zip(self.names, hellos, self.addresses, strict=True)
            }
            mtus += [nic.mtu for nic in row.values() if nic and nic.mtu]
            if (difference := differences(row)) is not None:
                self.warnings.append(f"rail {rail}: {difference}")
        if self.request.wire_rate is not None:
            self.fabric = replace(self.fabric, line_rate=payload_rate(self.request.wire_rate, min(mtus, default=1500)))

    def investigate(self) -> Verdict:
        """Measure rounds until the investigation asks for no more."""
        investigation = Investigation(self.fabric, self.request.settings, seed=self.request.seed)
        while (planned := investigation.next_round()) is not None:
            begun = time.monotonic()
            self.rounds.append(planned)
            self.progress(planned)
            before = len(self.readings)
            if planned.kind is RoundKind.INTRA:
                self._look_inside(planned)
                self._run_rings()
            else:
                self._measure_pairs(planned)
            investigation.record(self.readings[before:])
            self.progress(RoundDone(round=planned, seconds=time.monotonic() - begun))
        verdict = investigation.verdict()
        return self._loopback_verdict(verdict) if self.request.loopback else verdict

    def _loopback_verdict(self, verdict: Verdict) -> Verdict:
        rates = sorted(reading.rate for reading in self.readings if len(reading.nodes) == 2 and reading.rate)
        moved = (
            f"one of {len(self.names)} agents side by side moves {show_rate(rates[len(rates) // 2])}" if rates else ""
        )
        why = "loopback only, no NIC was exercised: " + (moved or "nothing was measured")
        return replace(verdict, answer=Answer.INCONCLUSIVE, why=why, findings=(), smallest_detectable_slowdown=None)

    def _take(self, reading: Reading) -> None:
        self.readings.append(reading)
        self.progress(reading)

    def _look_inside(self, planned: Round) -> None:
        """Every node measures what its own processors can move on all rails at once."""
        command = {
            "command": "calibrate",
            "rails": self.fabric.rails,
            "seconds": CALIBRATION_SECONDS,
            "iterations": 8,
            "warmup_s": 0.1,
            "warmup_bytes": 0,
            "deadline_s": 20.0,
        }
        orders = [
            Order(rank=self.rank_of[name], task="calibrate", command={**command, "token": secrets.token_hex(32)})
            for group in planned.groups
            for name in group.nodes
        ]
        results = self.ranks.carry_out(orders, 25.0)
        for order in orders:
            self._note_ceilings(planned, self.names[order.rank], results.get((order.rank, order.task)))

    def _note_ceilings(self, planned: Round, name: str, result: Fields | None) -> None:
        rates = answers.ceilings(result, self.fabric.rails)
        for rail, rate in enumerate(rates):
            reading = Reading(round=planned.number, rail=rail, nodes=(name,), distance=Distance.INTRA)
            if rate is None:
                self._take(replace(reading, missing=answers.missing(result, f"{name} rail {rail}")))
            else:
                self._take(replace(reading, forward=rate, reverse=rate, cpu_bound=True))
        if known := [rate for rate in rates if rate is not None]:
            # The scheduler favours one thread or another for a moment; what a rail can count on is in the middle.
            self.ceilings[name] = statistics.median(known)

    def _run_rings(self) -> None:
        """One all-reduce over the whole gang on every rail at once: the symptom a training job sees."""
        count = len(self.names)
        if count < 2:
            return
        moved = 2 * (count - 1) / count
        sizes = dict.fromkeys(range(self.fabric.rails), RING_TRIAL_BYTES)
        rates: dict[int, float | None] = dict.fromkeys(sizes, self.fabric.line_rate)
        if self.fabric.line_rate is None:
            trial = self._ring(sizes, iterations=1)
            rates = {rail: reading.busbw for rail, reading in trial.items()}
        sizes = {rail: max(8 * count, int((rate or 1e6) * RING_SECONDS / moved)) for rail, rate in rates.items()}
        for reading in self._ring(sizes, iterations=RING_ITERATIONS).values():
            self.gang_readings.append(reading)
            self.progress(reading)
        if busy := [str(rail) for rail, taken in self.busy.items() if taken]:
            rails = f"rail{'s' * (len(busy) > 1)} {', '.join(busy)}"
            self.warnings.append(f"{rails}: no processor was idle during the all-reduce: links may carry more busbw")

    def _ring(self, sizes: Mapping[int, int], iterations: int) -> dict[int, GangReading]:
        orders = [
            self._ring_order(rank, rail, size, iterations, token)
            for rail, size in sizes.items()
            for token in (secrets.token_hex(32),)
            for rank in range(len(self.names))
        ]
        results = self.ranks.carry_out(orders, 30.0)
        return {rail: self._gang_reading(rail, results) for rail in sizes}

    def _gang_reading(self, rail: int, results: Mapping[Task, Fields]) -> GangReading:
        own = [results.get((rank, f"ring.{rail}")) for rank in range(len(self.names))]
        reading = answers.gang_reading(rail, self.names, own)
        self.busy[rail] = reading.busbw is not None and answers.busy(own)
        return reading

    def _ring_order(self, rank: int, rail: int, size: int, iterations: int, token: str) -> Order:
        following = (rank + 1) % len(self.names)
        command = {
            "command": "ring",
            "rail": rail,
            "rank": rank,
            "ranks": len(self.names),
            "peer": [self.addresses[following][rail], self.ports[following][rail]],
            "token": token,
            "bytes": size,
            "warmup": 1,
            "iterations": iterations,
            "connect_s": CONNECT_SECONDS,
            "deadline_s": 25.0,
            **self._paced(self.names[rank], self.names[following], rail),
        }
        return Order(rank=rank, task=f"ring.{rail}", command=command)

    def _paced(self, sender: str, receiver: str, rail: int) -> Fields:
        if self.request.pacing is None:
            return {}
        return {"tx_rate": self.request.pacing(sender, receiver, rail)}

    def _measure_pairs(self, planned: Round) -> None:
        """All pairs of a round on all their rails at once; those that had to wait for a processor once more."""
        pairs = [
            _Pair(group=group, rail=rail, round=planned.number) for group in planned.groups for rail in group.rails
        ]
        for attempts_left in reversed(range(ATTEMPTS)):
            readings = self._measure_at_once(pairs, repeatable=attempts_left > 0)
            pairs = [replace(pair, results={}) for pair, reading in readings if reading is None]
            if not pairs:
                return

    def _measure_at_once(self, pairs: Sequence[_Pair], *, repeatable: bool) -> list[tuple[_Pair, Reading | None]]:
        """Take a reading as soon as both of its ends have told; None stands for one to be repeated."""
        waiting = {pair.task: pair for pair in pairs}
        done: list[tuple[_Pair, Reading | None]] = []

        def finish(pair: _Pair) -> None:
            reading = self._reading(pair)
            if repeatable and reading.cpu_bound and not self.request.loopback:
                done.append((pair, None))
                return
            self._take(reading)
            done.append((pair, reading))

        def on_result(task: Task, result: Fields) -> None:
            pair = waiting[task[1]]
            pair.results[self.names[task[0]]] = result
            if len(pair.results) == 2:
                finish(waiting.pop(task[1]))

        orders = [order for pair in pairs for order in self._pair_orders(pair)]
        self.ranks.carry_out(orders, self._deadline_seconds + 5.0, on_result)
        for pair in list(waiting.values()):
            finish(pair)
        return done

    @property
    def _deadline_seconds(self) -> float:
        # Both directions, each with a warm-up and a measurement that may take longer than planned on a slow link.
        return 2 * (CONNECT_SECONDS + 4 * WARMUP_SECONDS + 2 * self.request.seconds) + 4.0

    def _pair_orders(self, pair: _Pair) -> Iterator[Order]:
        token = secrets.token_hex(32)
        first, second = pair.group.nodes
        for own, other in ((first, second), (second, first)):
            rank, peer = self.rank_of[own], self.rank_of[other]
            command = {
                "command": "pair",
                "rail": pair.rail,
                "first": own == first,
                "peer": [self.addresses[peer][pair.rail], self.ports[peer][pair.rail]],
                "token": token,
                "warmup_s": WARMUP_SECONDS,
                "warmup_bytes": WARMUP_BYTES,
                "seconds": self.request.seconds,
                "iterations": ITERATIONS,
                "connect_s": CONNECT_SECONDS,
                "deadline_s": self._deadline_seconds,
                **self._paced(own, other, pair.rail),
            }
            yield Order(rank=rank, task=pair.task, command=command)

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
        if self.request.loopback or reading.rate is None:
            return self.request.loopback
        known = [self.ceilings[node] for node in reading.nodes if node in self.ceilings]
        high = bool(known) and reading.rate >= CPU_CEILING_SHARE * min(known)
        return high and self.request.pacing is None and self._below_line_rate(reading.rate)

    def _below_line_rate(self, rate: float) -> bool:
        """Tell whether something held this rate down; a port that moves what it should is clean whoever is busy."""
        return self.fabric.line_rate is None or rate < LINE_RATE_REACHED * self.fabric.line_rate


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
