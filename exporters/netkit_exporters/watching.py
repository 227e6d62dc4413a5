"""What is known of collectors and their targets: every target is read by itself, and never twice at once.

A collector is a roll call (which targets are there?) and then one reading a target. What was read stands until it is
three intervals old. A reading that outlasts its deadline makes its target hung: it is left alone until it comes back,
and costs nobody else anything.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from netkit.catalogue.metrics import Metric
from netkit.model.missing import Missing, Reason
from netkit.model.text import visible
from netkit_exporters.collecting import Collector, Machine, Reading, Source, State, Target
from netkit_exporters.exposition import NOTHING, Claims, Drop, Writer, Written

INTERVALS_UNTIL_STALE = 3

_WORST_FIRST = (State.HUNG, State.ERROR, State.STALE, State.OK)
_GOOD = frozenset((State.OK, State.NO_DATA))
_QUIET = frozenset((Reason.ABSENT, Reason.UNSUPPORTED, Reason.DENIED))
"""Why a whole collector may have nothing to read without anything being broken."""

Say = Callable[[str, str], None]
"""Tells the log a line; the first text names what it is about, so that repetitions can be counted."""


class Clock(Protocol):
    """Seconds that never jump."""

    def __call__(self) -> float:
        """Return the monotonic second."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class Attempt:
    """A thing that is done again and again, of which the last time and the running one are remembered."""

    clock: Clock
    deadline_seconds: float
    claimed: bool = False
    """Set from being asked for until it is done, so that it neither waits twice nor runs twice."""
    started_at: float | None = None
    """Set while it runs."""
    succeeded_at: float | None = None
    seconds: float = 0.0
    """How long it took last."""
    error: str = ""

    def claim(self) -> bool:
        """Ask for it; False when it was asked for and is not done."""
        free, self.claimed = not self.claimed, True
        return free

    def is_hung(self, now: float) -> bool:
        """Tell whether it runs for longer than it may."""
        return self.started_at is not None and now - self.started_at > self.deadline_seconds

    def guarded(self, act: Callable[[], str], say: Say, subject: str) -> None:
        """Do it once; `act` returns what went wrong, if anything. What it raises is kept as one line, not passed on."""
        self.started_at = begun = self.clock()
        try:
            error = act()
        except Exception as fault:  # noqa: BLE001 - the wrapper of all collectors: one that breaks costs only itself
            error = visible(f"{type(fault).__name__}: {fault}", 500)
        if error:
            say(subject, f"{subject}: {error}")
        else:
            self.succeeded_at = self.clock()
        self.error, self.seconds, self.started_at = error, self.clock() - begun, None
        self.claimed = False


@dataclass(slots=True, kw_only=True, eq=False)
class Watched:
    """One target: its reading as text, and how reading it went."""

    subject: str
    target: Target
    writer: Writer
    attempt: Attempt
    on_drop: Callable[[Mapping[tuple[Metric, Drop], int], str], None]
    on_faults: Callable[[tuple[Missing, ...]], None]
    say: Say
    written: Written = NOTHING
    read_at: float | None = None
    """When what is written was read."""
    outcome: State = State.NO_DATA

    def run(self) -> None:
        """Read it now."""
        self.attempt.guarded(self._read, self.say, self.subject)

    def state(self, now: float, stale_after: float) -> State:
        """Return how it stands."""
        if self.attempt.is_hung(now):
            return State.HUNG
        if self.attempt.error and self.outcome in _GOOD:
            return State.ERROR
        return State.STALE if self.outcome in _GOOD and self.is_stale(now, stale_after) else self.outcome

    def is_stale(self, now: float, stale_after: float) -> bool:
        """Tell whether what was read is too old to be shown."""
        return self.read_at is not None and now - self.read_at > stale_after

    def _read(self) -> str:
        reading = self.target.read()
        if reading.faults:
            self.on_faults(tuple(reading.faults))
        self.outcome = reading.state
        if reading.state in _GOOD or reading.samples:
            self._keep(reading)
        if reading.state in _GOOD:
            return ""
        return "; ".join(str(fault) for fault in reading.faults[:3]) or f"{reading.state}, without a reason"

    def _keep(self, reading: Reading) -> None:
        self.written, self.read_at = self.writer.write(reading.samples), self.attempt.clock()
        if self.written.dropped:
            self.on_drop(self.written.dropped, self.subject)


class Watch:
    """One collector: who its targets are, and what is known of each."""

    def __init__(self, collector: Collector, machine: Machine, claims: Claims, clock: Clock, say: Say) -> None:
        self.collector = collector
        self.roll_call = Attempt(clock=clock, deadline_seconds=collector.deadline_seconds)
        self.watched: dict[str, Watched] = {}
        self.faults: Counter[Reason] = Counter()
        self.dropped: Counter[Drop] = Counter()
        self.nothing: Missing | None = None
        """Why there is nothing to read, when the collector said so."""
        self._machine = machine
        self._claims = claims
        self._clock = clock
        self._say = say
        self._source: Source | None = None
        self._counting = threading.Lock()
        self._add: Callable[[list[Watched]], None] = lambda _jobs: None

    def due(self, add: Callable[[list[Watched]], None]) -> bool:
        """Ask for a new round whose readings go to `add`; False while the last roll call waits or runs."""
        self._add = add
        return self.roll_call.claim()

    def run(self) -> None:
        """Call the roll and ask for a reading of everybody who is not being read still."""
        self.roll_call.guarded(self._call, self._say, self.collector.id)

    def close(self) -> None:
        """Let the collector go; may hang."""
        if self._source is not None:
            self._source.close()

    def state(self, now: float, stale_after: float) -> State:
        """Return the worst that is true of it or of one of its targets."""
        if self.roll_call.is_hung(now):
            return State.HUNG
        if self.roll_call.error:
            return State.ERROR
        states = {watched.state(now, stale_after) for watched in self.targets()}
        return next((state for state in _WORST_FIRST if state in states), State.NO_DATA)

    def is_under_way(self, now: float) -> bool:
        """Tell whether something is being read that may still end in time."""
        attempts = (self.roll_call, *(watched.attempt for watched in self.targets()))
        return any(one.started_at is not None and not one.is_hung(now) for one in attempts)

    def targets(self) -> tuple[Watched, ...]:
        """Return the targets as they are known now."""
        return tuple(self.watched.values())

    def seconds(self, now: float) -> float:
        """Return how long the last round took, what still runs included."""
        attempts = (self.roll_call, *(watched.attempt for watched in self.targets()))
        return sum(one.seconds if one.started_at is None else now - one.started_at for one in attempts)

    def succeeded_at(self) -> float | None:
        """Return when all of it was last read well."""
        times = [self.roll_call.succeeded_at, *(watched.attempt.succeeded_at for watched in self.targets())]
        known = [when for when in times if when is not None]
        return min(known) if len(known) == len(times) else None

    def _call(self) -> str:
        if self._source is None:
            self._source = self.collector.open(self._machine)
        targets = self._source.targets()
        self.nothing = targets if isinstance(targets, Missing) else None
        if isinstance(targets, Missing):
            return self._refused(targets)
        self._reconcile({target.key: target for target in targets})
        self._add([watched for watched in self.targets() if watched.attempt.claim()])
        return ""

    def _refused(self, why: Missing) -> str:
        """Count it, unless the machine just has no such thing; what is quiet and denied still gets its hint."""
        if why.reason is Reason.ABSENT:
            return ""
        self._count_faults((why,))
        if why.reason not in _QUIET:
            return str(why)
        self._say(self.collector.id, f"{self.collector.id}: {why}")
        return ""

    def _reconcile(self, present: Mapping[str, Target]) -> None:
        """Follow the roll call; a target that is still being read keeps its place until it comes back."""
        kept = dict(self._still(present))
        for key, target in present.items():
            if key not in kept:
                kept[key] = self._new(key, target)
        self.watched = kept

    def _still(self, present: Mapping[str, Target]) -> Iterator[tuple[str, Watched]]:
        for key, watched in self.watched.items():
            if watched.attempt.claimed or present.get(key) is watched.target:
                yield key, watched
            else:
                watched.writer.close()

    def _new(self, key: str, target: Target) -> Watched:
        return Watched(
            subject=f"{self.collector.id} {visible(key, 200)}",
            target=target,
            writer=Writer(self._claims),
            attempt=Attempt(clock=self._clock, deadline_seconds=self.collector.deadline_seconds),
            on_drop=self._count_dropped,
            on_faults=self._count_faults,
            say=self._say,
        )

    def _count_faults(self, faults: tuple[Missing, ...]) -> None:
        with self._counting:
            self.faults.update(fault.reason for fault in faults)

    def _count_dropped(self, dropped: Mapping[tuple[Metric, Drop], int], subject: str) -> None:
        for (metric, why), count in dropped.items():
            with self._counting:
                self.dropped[why] += count
            self._say(f"{why} {metric.name}", f"{subject}: {count} samples of {metric.name} dropped: {why}")
