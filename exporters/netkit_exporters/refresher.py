"""When collectors are read, and the page that stands between one round and the next.

One thread keeps time: it starts rounds, notices who is held up, and sleeps. Ticks that come while a collector is still
being read are skipped, never queued. The first round begins at once; the phase of the following ones is chosen at
random, so that nodes that start together do not read together. Intervals are monotonic: a wall clock that jumps moves
nothing, and a process that was stopped for minutes reads once, not once for each tick it missed.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from netkit.catalogue.metric_rows import exporter as rows
from netkit_exporters.collecting import Collector, Machine, Sample
from netkit_exporters.exposition import NOTHING, Claims, Writer, Written
from netkit_exporters.page import Page, Pages
from netkit_exporters.runners import PATIENCE_SECONDS, Runners
from netkit_exporters.self_report import collector_samples
from netkit_exporters.watching import INTERVALS_UNTIL_STALE, Clock, Say, Watch

OWN_SECONDS = 1.0
"""Age of what is told about the collectors and the exporter itself at most; only a faster refresh notices."""
CLOSING_SECONDS = 1.0
"""How long collectors may take to let go when the exporter ends."""


@dataclass(slots=True, kw_only=True, eq=False)
class Schedule:
    """When one collector is due."""

    watch: Watch
    interval_seconds: float
    due_at: float

    @property
    def stale_after(self) -> float:
        """Age in seconds from which its samples are not served any more."""
        return INTERVALS_UNTIL_STALE * self.interval_seconds

    def next_after(self, now: float, phase: float) -> int:
        """Move on to the first tick after `now`; return how many were passed over."""
        passed = max(0, int((now - self.due_at) // self.interval_seconds))
        self.due_at += (passed + 1) * self.interval_seconds - phase
        return passed


@dataclass(slots=True, kw_only=True)
class Tally:
    """What is counted over the exporter's life."""

    refreshes: int = 0
    skipped: int = 0


@dataclass(slots=True, kw_only=True)
class Refresher:
    """Reads collectors in rounds and keeps the page that a scrape is answered with."""

    collectors: Sequence[Collector]
    machine: Machine
    interval_seconds: float
    say: Say
    extra: Callable[[], Iterable[Sample]] = tuple
    """Samples about the exporter itself, asked for whenever a page is made."""
    clock: Clock = time.monotonic
    draw: Callable[[], float] = random.random
    claims: Claims = field(default_factory=Claims)
    tally: Tally = field(default_factory=Tally)
    ready: threading.Event = field(default_factory=threading.Event)
    """Set once everything that is there was read, or is hung."""
    schedules: tuple[Schedule, ...] = ()
    _page: Page | None = None
    _pages: Pages = field(default_factory=Pages)
    _making: threading.Lock = field(default_factory=threading.Lock)
    _ending: threading.Event = field(default_factory=threading.Event)
    _runners: Runners = field(init=False)
    _own: Writer = field(init=False)
    _beat: Writer = field(init=False)
    _shifted: bool = False
    _report: Written = NOTHING
    _reported_at: float = 0.0

    def __post_init__(self) -> None:
        self._runners = Runners(self.clock, self._publish)
        self._own, self._beat = Writer(self.claims), Writer(self.claims)
        now = self.clock()
        self.schedules = tuple(
            Schedule(
                watch=Watch(collector, self.machine, self.claims, self.clock, self.say),
                interval_seconds=collector.interval_seconds or self.interval_seconds,
                due_at=now,
            )
            for collector in self.collectors
        )

    def start(self) -> None:
        """Begin reading, in threads that keep no process alive."""
        threading.Thread(target=self._keep_time, name="netkit-time", daemon=True).start()

    def page(self) -> Page:
        """Return what is known now; what has turned stale since the last round is not in it."""
        page = self._page
        if page is None or self.clock() > page.good_until:
            page = self._made()
        return page

    def settle(self, seconds: float) -> None:
        """Wait until nothing is being read any more, or until every reading that still runs is hung."""
        until = self.clock() + seconds
        self.ready.wait(seconds)
        while self.clock() < until and self._is_reading():
            time.sleep(PATIENCE_SECONDS)
        self._made()

    def stop(self) -> None:
        """Start no more rounds, and give collectors a moment to let go of what they hold."""
        self._ending.set()
        closing = [threading.Thread(target=one.watch.close, daemon=True) for one in self.schedules]
        for thread in closing:
            thread.start()
        until = self.clock() + CLOSING_SECONDS
        for thread in closing:
            thread.join(max(0.0, until - self.clock()))

    def _keep_time(self) -> None:
        while not self._ending.wait(self._pause()):
            self._tick()

    def _pause(self) -> float:
        """Return how long nothing will be due."""
        soonest = min((one.due_at for one in self.schedules), default=self.clock() + self.interval_seconds)
        until_due = max(0.0, soonest - self.clock())
        return min(until_due, PATIENCE_SECONDS) if self._runners.is_busy else until_due

    def _tick(self) -> None:
        now = self.clock()
        due = [one for one in self.schedules if one.due_at <= now]
        ready = [one.watch for one in due if one.watch.due(self._runners.add)]
        phase = 0.0 if self._shifted or not due else self.draw()
        self._shifted |= bool(due)
        self.tally.refreshes += bool(due)
        self.tally.skipped += len(due) - len(ready)
        for one in due:
            self.tally.skipped += one.next_after(now, phase * one.interval_seconds)
        self._go_on(ready)

    def _go_on(self, ready: Sequence[Watch]) -> None:
        try:
            left_behind = self._runners.relieve()
            if ready:
                self._runners.add(ready)
            elif left_behind:
                self._publish()
        except RuntimeError as fault:
            self.say("threads", f"no thread to read with: {fault}; the next tick tries again")

    def _is_reading(self) -> bool:
        """Tell whether something is being read, or waits to be, that is not hung."""
        now = self.clock()
        return self._runners.is_busy or any(one.watch.is_under_way(now) for one in self.schedules)

    def _publish(self) -> None:
        self._made()
        if not self._is_reading():
            self.ready.set()

    def _made(self) -> Page:
        with self._making:
            now = self.clock()
            parts: list[Written] = []
            good_until = float("inf")
            for one in self.schedules:
                for watched in one.watch.targets():
                    if watched.written.lines and not watched.is_stale(now, one.stale_after):
                        parts.append(watched.written)
                        good_until = min(good_until, (watched.read_at or now) + one.stale_after)
            if now - self._reported_at >= OWN_SECONDS or self._page is None:
                self._report, self._reported_at = self._own.write([*collector_samples(self, now), *self.extra()]), now
            parts += (self._report, self._beat.write([Sample(rows.REFRESHES, (), self.tally.refreshes)]))
            self._page = self._pages.make(parts, good_until)
            return self._page
