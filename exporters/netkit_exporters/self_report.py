"""How the collectors fare, as samples: what is true of each, and what was counted over the exporter's life."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from netkit.catalogue.metric_rows import exporter as rows
from netkit.model.missing import Reason
from netkit_exporters.collecting import Sample, State
from netkit_exporters.exposition import Drop

if TYPE_CHECKING:
    from netkit_exporters.refresher import Refresher, Schedule

_TOLD = frozenset((State.ERROR, State.HUNG, State.STALE))
_EVENTS = (Reason.DENIED, Reason.MALFORMED, Reason.TIMEOUT)
"""Reasons that are counted from 0 on; the others appear when they do, for they are facts of a machine."""


def collector_samples(refresher: Refresher, now: float) -> Iterator[Sample]:
    """Give the series of faults and states of every collector, and the counts of the exporter."""
    dropped: Counter[Drop] = Counter()
    series = 0
    for schedule in refresher.schedules:
        yield from _of_collector(schedule, now)
        dropped.update(dict(schedule.watch.dropped))  # a copy: readings go on meanwhile
        series += sum(len(watched.written.lines) for watched in schedule.watch.targets())
    for why in Drop:
        yield Sample(rows.SERIES_DROPPED, (why,), dropped[why])
    yield Sample(rows.SERIES, (), series)
    yield Sample(rows.SKIPPED, (), refresher.tally.skipped)


def _of_collector(schedule: Schedule, now: float) -> Iterator[Sample]:
    watch = schedule.watch
    name = (watch.collector.id,)
    state = watch.state(now, schedule.stale_after)
    yield Sample(rows.COLLECTOR_SUCCESS, name, float(state in (State.OK, State.NO_DATA)))
    yield Sample(rows.COLLECTOR_DURATION, name, watch.seconds(now))
    yield Sample(rows.COLLECTOR_HUNG, name, float(state is State.HUNG))
    yield Sample(rows.COLLECTOR_STATE, (*name, state), 1.0)
    succeeded_at = watch.succeeded_at()
    if succeeded_at is not None:
        yield Sample(rows.COLLECTOR_LAST_SUCCESS, name, wall_clock(now, succeeded_at))
    for reason in dict.fromkeys((*_EVENTS, *watch.faults)):
        yield Sample(rows.READ_FAULTS, (*name, reason), watch.faults[reason])
    for key, watched in tuple(watch.watched.items()):
        theirs = watched.state(now, schedule.stale_after)
        if theirs in _TOLD:
            yield Sample(rows.TARGET_STATE, (*name, key, theirs), 1.0)


def wall_clock(now: float, then: float) -> float:
    """Return the wall clock's second of a monotonic one, dated back from now: never in the future."""
    return time.time() - max(0.0, now - then)
