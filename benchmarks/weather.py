"""What happens to nodes of a fleet that is healthy and busy, minute by minute.

Jobs of half an hour to eight hours come and go, a third of them killed; senders meet at one receiver (incast); nodes
are rebooted in turn and drivers loaded again, sometimes one after the other; administrators clear counters; adaptive
routing delivers out of order everywhere; a killed job leaves Xid 45 on its GPUs and queue pairs whose peer has gone.
Synthetic: rates and frequencies are assumptions, written below, and nothing here was measured on hardware.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netkit.catalogue.fabric_profiles import Profile

DAY = 1440
"""Minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Climate:
    """What is usual on a fabric while jobs run."""

    paused: tuple[float, float] = (0.0, 0.0)
    """Share of time a busy port may not send, from one port to another."""
    all_to_all: tuple[float, float] = (0.0, 0.0)
    """The same, in jobs that send from everyone to everyone."""
    burst: tuple[float, float] = (0.0, 0.0)
    """The same, in the minutes of an incast."""
    marked: float = 0.0
    """Packets marked by ECN a second on a busy port."""


CLIMATES: Mapping[Profile, Climate] = {
    Profile.PFC_ONLY: Climate(paused=(0.02, 0.18), all_to_all=(0.2, 0.36), burst=(0.3, 0.95)),
    Profile.DCQCN_PFC: Climate(paused=(0.0, 0.04), all_to_all=(0.02, 0.1), burst=(0.2, 0.8), marked=900.0),
    Profile.ECN_ONLY: Climate(marked=2500.0),
    Profile.RTTCC: Climate(paused=(0.0, 0.04), all_to_all=(0.02, 0.08), burst=(0.2, 0.7)),
    Profile.INFINIBAND: Climate(),
}
REBOOTS, RELOADS, UPGRADES = 1 / 3, 1 / 2, 1 / 10
"""Share of days of a node with a restart of the machine, with one of drivers, and with both within an hour."""
KILLED, ALL_TO_ALL = 0.3, 0.2
"""Shares of jobs that are killed, and of those that send from everyone to everyone."""


class Node:
    """What happens to one node; lists hold one value a minute."""

    def __init__(self, days: int, rails: int, climate: Climate, draw: random.Random) -> None:
        self.minutes = days * DAY
        self.climate = climate
        self.answers = [True] * self.minutes
        self.there = [[True] * self.minutes for _ in range(rails)]
        """Whether the device of a rail is there: a driver that is loaded again is away for one or two scrapes."""
        self.up = [[True] * self.minutes for _ in range(rails)]
        self.busy = [0.0] * self.minutes
        self.all_to_all = [False] * self.minutes
        self.boots: set[int] = set()
        self.kills: set[int] = set()
        self.reloads: list[set[int]] = [set() for _ in range(rails)]
        self._jobs(draw)
        for day in range(days):
            self._restarts(day * DAY, draw)

    def _jobs(self, draw: random.Random) -> None:
        at = draw.randrange(60)
        while at < self.minutes:
            end = min(at + draw.randint(30, 480), self.minutes)
            everyone = draw.random() < ALL_TO_ALL
            self.busy[at:end] = [draw.uniform(0.5, 1.0)] * (end - at)
            self.all_to_all[at:end] = [everyone] * (end - at)
            if draw.random() < KILLED:
                self.kills.add(end)
            at = end + draw.randint(2, 15)

    def _restarts(self, start: int, draw: random.Random) -> None:
        at = start + draw.randrange(60, DAY - 120)
        if draw.random() < UPGRADES:
            self._reload(at, range(len(self.up)), draw)
            self._reboot(at + draw.randint(10, 40), draw)
        elif draw.random() < REBOOTS:
            self._reboot(at, draw)
        elif draw.random() < RELOADS:
            rails = range(len(self.up)) if draw.random() < 0.5 else [draw.randrange(len(self.up))]
            self._reload(at, rails, draw)

    def _reboot(self, at: int, draw: random.Random) -> None:
        back = at + draw.randint(5, 16)
        self._drain(at - 5, back + 5)
        _take(self.answers, at, back - at)
        self.boots.add(back)
        for rail in self.up:
            _take(rail, back, draw.randint(0, 1))

    def _reload(self, at: int, rails: Sequence[int], draw: random.Random) -> None:
        self._drain(at - 2, at + 6)
        for rail in rails:
            away = draw.randint(1, 2)
            self.reloads[rail].add(at + away)
            _take(self.there[rail], at, away)
            _take(self.up[rail], at + away, draw.randint(0, 1))

    def _drain(self, start: int, end: int) -> None:
        """Take jobs off; a drained node loses no queue pair."""
        start = max(start, 0)
        count = len(self.busy[start:end])
        self.busy[start:end] = [0.0] * count
        self.kills -= set(range(start, start + count))


def _take(minutes: list[bool], at: int, count: int) -> None:
    minutes[at : at + count] = [False] * len(minutes[at : at + count])
