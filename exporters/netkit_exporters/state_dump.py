"""How everything stands, as lines for the log: what SIGUSR1 prints."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from netkit_exporters.refresher import Refresher
from netkit_exporters.web.server import Usage


def state_lines(refresher: Refresher, usage: Usage) -> Iterator[str]:
    """Give the lines: the whole, each collector, each target."""
    now = refresher.clock()
    codes = ", ".join(f"{code}: {count}" for code, count in sorted(usage.codes.items())) or "none"
    shed = ", ".join(f"{reason}: {count}" for reason, count in sorted(usage.shed.items())) or "none"
    yield (
        f"state: {refresher.tally.refreshes} rounds, {refresher.tally.skipped} skipped, "
        f"{threading.active_count()} threads, {usage.connections} connections, answers {codes}, shed {shed}"
    )
    for one in refresher.schedules:
        watch = one.watch
        error = f", {watch.roll_call.error}" if watch.roll_call.error else ""
        nothing = f", {watch.nothing}" if watch.nothing else ""
        yield (
            f"state: {watch.collector.id}: {watch.state(now, one.stale_after)}, {len(watch.targets())} targets, "
            f"{watch.seconds(now):.3f} s, every {one.interval_seconds:g} s{nothing}{error}"
        )
        for watched in watch.targets():
            why = f", {watched.attempt.error}" if watched.attempt.error else ""
            age = f", read {now - watched.read_at:.1f} s ago" if watched.read_at is not None else ""
            state, series = watched.state(now, one.stale_after), len(watched.written.lines)
            yield f"state: {watched.subject}: {state}, {series} series{age}{why}"
