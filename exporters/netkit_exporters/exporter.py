"""The exporter as a process: what is started in which order, what signals do, and an end that nothing can delay.

Sockets are bound before anything else starts, so that a port in use costs one line and leaves nothing half started.
SIGTERM and SIGINT end it, SIGHUP reads the web configuration again, SIGUSR1 tells the log how everything stands. As
process 1 of a container it also reaps children that are nobody's. The end is `os._exit`: a thread or child that hangs
in a driver cannot be waited for.
"""

from __future__ import annotations

import asyncio
import os
import platform
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from netkit import __version__
from netkit.catalogue.metric_rows import exporter as rows
from netkit.errors import ExitStatus
from netkit_exporters import landlock
from netkit_exporters.collecting import Machine, Sample
from netkit_exporters.discovery import chosen
from netkit_exporters.journal import Journal
from netkit_exporters.machine import machine_of
from netkit_exporters.options import Options
from netkit_exporters.orphans import Orphans
from netkit_exporters.refresher import Refresher
from netkit_exporters.state_dump import state_lines
from netkit_exporters.web.answers import Answers
from netkit_exporters.web.listening import listeners, name_of
from netkit_exporters.web.open_door import OpenDoor
from netkit_exporters.web.server import Server, Usage

if TYPE_CHECKING:
    from netkit_exporters.web.configured_door import WebDoor

MOST_DESCRIPTORS = 65536
FIRST_ROUND_SECONDS = 0.5
"""How long clients, who can connect from the start, wait for a first round at most."""
_REAP_SECONDS = 1.0
_SHED = ("evicted", "header", "write", "handshake", "busy", "rate", "descriptors")


@dataclass(slots=True, kw_only=True)
class Exporter:
    """All parts of a running exporter."""

    refresher: Refresher
    usage: Usage
    door: OpenDoor | WebDoor
    journal: Journal
    landlock_abi: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def samples(self) -> Iterator[Sample]:
        """Give the series of the web server and of the build."""
        yield Sample(rows.BUILD_INFO, (__version__, platform.python_version(), str(self.landlock_abi)), 1.0)
        yield Sample(rows.LOG_LINES_DROPPED, (), self.journal.dropped)
        yield Sample(rows.HTTP_CONNECTIONS, (), self.usage.connections)
        for code in dict.fromkeys((200, *self.usage.codes)):
            yield Sample(rows.HTTP_REQUESTS, (str(code),), self.usage.codes[code])
        for reason in dict.fromkeys((*_SHED, *self.usage.shed)):
            yield Sample(rows.HTTP_SHED, (reason,), self.usage.shed[reason])
        yield from self.door.samples()

    def dump(self) -> None:
        """Tell the log how everything stands."""
        for line in state_lines(self.refresher, self.usage):
            self.journal.tell(line)

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Serve until a signal ends it."""
        loop = asyncio.get_running_loop()
        server = Server(sockets, self.door, Answers(refresher=self.refresher).to, self.usage)
        acts: dict[signal.Signals, Callable[[], None]] = {
            signal.SIGTERM: self.ended.set,
            signal.SIGINT: self.ended.set,
            signal.SIGHUP: self.door.reload,
            signal.SIGUSR1: self.dump,
        }
        for number, act in acts.items():
            loop.add_signal_handler(number, act)
        self.refresher.start()
        await self._first_round()
        server.start()
        self.journal.tell(f"netkit {__version__} serves {', '.join(map(name_of, sockets))}")
        if os.getpid() == 1:
            _keep_reaping(loop, Orphans(clock=loop.time))
        await self.ended.wait()
        server.stop()

    async def _first_round(self) -> None:
        """Let the first scrape find counters, unless reading them takes long."""
        until = time.monotonic() + FIRST_ROUND_SECONDS
        while not self.refresher.ready.is_set() and time.monotonic() < until:  # noqa: ASYNC110 - set by a thread
            await asyncio.sleep(0.01)


def serve(options: Options, machine: Machine | None = None) -> NoReturn:
    """Run the exporter; InputError before anything is started, the end of the process in the end.

    `machine` stands in for what the options name: a made-up node, say, whose kernel answers too.
    """
    collectors = chosen(options.collectors, options.compat)
    machine = machine or machine_of(options)
    journal, usage = Journal(), Usage()
    door = _door(options, usage, journal)
    sockets = listeners(options.listen)
    raise_descriptor_limit()
    refresher = Refresher(
        collectors=collectors,
        machine=machine,
        interval_seconds=options.refresh_seconds,
        say=journal.say,
    )
    exporter = Exporter(refresher=refresher, usage=usage, door=door, journal=journal)
    exporter.landlock_abi = landlock.forbid_writing() if options.landlock else 0
    refresher.extra = exporter.samples
    asyncio.run(exporter.serve(sockets))
    refresher.stop()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(int(ExitStatus.OK))


def _door(options: Options, usage: Usage, journal: Journal) -> OpenDoor | WebDoor:
    if options.web_config is None:
        return OpenDoor()
    from netkit_exporters.web.configured_door import WebDoor

    return WebDoor(options.web_config, usage.shed, journal.say)


def _keep_reaping(loop: asyncio.AbstractEventLoop, orphans: Orphans) -> None:
    orphans.reap()
    loop.call_later(_REAP_SECONDS, _keep_reaping, loop, orphans)


def raise_descriptor_limit() -> None:
    """Take what the hard limit allows: collectors keep a descriptor for each counter."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
