"""One round of readings, and the page a scrape would get of it."""

from __future__ import annotations

from netkit.errors import SourceError
from netkit_exporters.collecting import State
from netkit_exporters.discovery import chosen
from netkit_exporters.journal import Journal
from netkit_exporters.machine import machine_of
from netkit_exporters.options import Options
from netkit_exporters.page import Page
from netkit_exporters.refresher import Refresher

LONGEST_ROUND_SECONDS = 10.0
_ANSWERED = (State.OK, State.NO_DATA)


def read_once(options: Options) -> Page:
    """Return what one round gives, without what still hangs after its deadline; SourceError when nothing answers."""
    collectors = chosen(options.collectors, options.compat)
    refresher = Refresher(
        collectors=collectors,
        machine=machine_of(options),
        interval_seconds=LONGEST_ROUND_SECONDS,
        say=Journal().say,
    )
    refresher.start()
    refresher.settle(LONGEST_ROUND_SECONDS)
    now = refresher.clock()
    states = [one.watch.state(now, one.stale_after) for one in refresher.schedules]
    page = refresher.page()
    refresher.stop()
    if states and not any(state in _ANSWERED for state in states):
        raise SourceError("no collector could read anything", ", ".join(collector.id for collector in collectors))
    return page
