"""An exporter with made-up collectors, served over real sockets in a thread of the test."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netkit.catalogue.metrics import Kind, Metric
from netkit.model.missing import Missing
from netkit.sources.memory_tree import MemoryTree
from netkit_exporters.collecting import Collector, Machine, Reading, Sample, State
from netkit_exporters.exporter import Exporter
from netkit_exporters.journal import Journal
from netkit_exporters.options import Address
from netkit_exporters.refresher import Refresher
from netkit_exporters.watching import Watch, Watched
from netkit_exporters.web.answers import Answers
from netkit_exporters.web.configured_door import WebDoor
from netkit_exporters.web.listening import listeners
from netkit_exporters.web.open_door import OpenDoor
from netkit_exporters.web.server import Server, Usage

UP = Metric(name="netkit_test_up", kind=Kind.GAUGE, help="1 when read.", collector="fake", labels=("target",))
COUNT = Metric(
    name="netkit_test_reads_total", kind=Kind.COUNTER, help="Readings.", collector="fake", labels=("target", "text")
)
MACHINE = Machine(tree=MemoryTree({}), open_kernel=None)


@dataclass(slots=True)
class FakeTarget:
    """A target whose reading is a function; it counts how often, and how many at once."""

    key: str
    act: Callable[[], Sequence[Sample]]
    state: State = State.OK
    reads: int = 0
    at_once: int = 0
    most_at_once: int = 0

    def read(self) -> Reading:
        self.reads += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return Reading(samples=self.act(), state=self.state)
        finally:
            self.at_once -= 1


def fine(key: str) -> FakeTarget:
    """A target that is always up."""
    return FakeTarget(key, lambda: [Sample(UP, (key,), 1.0)])


@dataclass(slots=True)
class FakeSource:
    found: Sequence[FakeTarget] | Missing
    closed: threading.Event = field(default_factory=threading.Event)

    def targets(self) -> Sequence[FakeTarget] | Missing:
        return self.found

    def close(self) -> None:
        self.closed.set()


def collector(
    *targets: FakeTarget, name: str = "fake", deadline: float = 0.2, found: Missing | None = None
) -> Collector:
    """A collector of these targets."""
    source = FakeSource(targets if found is None else found)
    return Collector(
        id=name, question="?", open=lambda _machine: source, metrics=(UP, COUNT), deadline_seconds=deadline
    )


def refresher(*collectors: Collector, interval: float = 0.1, **others: object) -> Refresher:
    """A refresher of these collectors that says nothing."""
    quiet: dict[str, object] = {"say": lambda _subject, _line: None, **others}
    return Refresher(collectors=collectors, machine=MACHINE, interval_seconds=interval, **quiet)  # type: ignore[arg-type]


def read_round(watch: Watch) -> None:
    """Call the roll and read everybody, in this thread."""
    jobs: list[Watched] = []
    watch.due(jobs.extend)
    watch.run()
    for job in jobs:
        job.run()


@dataclass(slots=True)
class Served:
    """A running exporter and where it listens."""

    port: int
    exporter: Exporter
    door: OpenDoor | WebDoor

    def connect(self, timeout: float = 10.0, context: ssl.SSLContext | None = None) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self.port), timeout)
        return opened if context is None else context.wrap_socket(opened, server_hostname="localhost")

    def ask(
        self, request: bytes, context: ssl.SSLContext | None = None, timeout: float = 10.0
    ) -> tuple[int, str, bytes]:
        """Send bytes, read until the end; return status, head and body."""
        with self.connect(timeout, context) as connection:
            connection.sendall(request)
            return answer(connection)

    def get(
        self, target: str = "/metrics", *headers: str, method: str = "GET", **how: object
    ) -> tuple[int, str, bytes]:
        lines = (f"{method} {target} HTTP/1.1", "Host: test", "Connection: close", *headers, "", "")
        return self.ask("\r\n".join(lines).encode("latin-1"), **how)  # type: ignore[arg-type]

    def value(self, start: str) -> float | None:
        """The value of the first series whose line starts so."""
        _, _, body = self.get()
        for line in body.decode().splitlines():
            if line.startswith(start):
                return float(line.rpartition(" ")[2])
        return None


def answer(connection: socket.socket) -> tuple[int, str, bytes]:
    """Read an answer to its end."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    text = head.decode("latin-1")
    if "Content-Encoding: gzip" in text and body:
        body = gzip.decompress(body)
    return int(text[9:12] or 0) if text else 0, text, body


@contextlib.contextmanager
def served(refreshing: Refresher, web_config: Path | None = None) -> Iterator[Served]:
    """Serve on a free port until the block ends."""
    journal, usage = Journal(), Usage()
    door = WebDoor(web_config, usage.shed, refreshing.say) if web_config else OpenDoor()
    sockets = listeners([Address(host="127.0.0.1", port=0)])
    port = int(sockets[0].getsockname()[1])
    loop = asyncio.new_event_loop()
    exporter = Exporter(refresher=refreshing, usage=usage, door=door, journal=journal)
    refreshing.extra = exporter.samples
    started, servers = threading.Event(), list[Server]()

    async def start() -> None:
        server = Server(sockets, door, Answers(refresher=refreshing).to, usage)
        server.start()
        servers.append(server)
        started.set()

    async def stop() -> None:
        servers[0].stop()
        for _ in range(5):  # connections that were cut take a few turns of the loop to close
            await asyncio.sleep(0)

    def run() -> None:
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    refreshing.start()
    thread.start()
    assert started.wait(5)
    assert refreshing.ready.wait(5)
    try:
        yield Served(port, exporter, door)
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
        refreshing.stop()


def eventually(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    return holds()
