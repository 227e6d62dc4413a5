"""The web server: one loop in one thread that accepts, caps, sweeps and answers; it reads no hardware.

Connections are capped below what descriptors allow, and the cap is kept by giving up whoever has waited longest without
having asked for anything, so that half-open connections cannot keep a scrape out. When descriptors run out all the
same, accepting rests for a moment instead of spinning.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from netkit_exporters.web.connection import Answer, Connection, Stage
from netkit_exporters.web.request import Request
from netkit_exporters.web.response import RETRY_SECONDS, Response, busy

MOST_CONNECTIONS = 256
MOST_WRITING = 224
"""Answers under way at most; whoever comes then is asked to come again."""
BACKLOG = 512
SWEEP_SECONDS = 0.25
REST_SECONDS = 0.25
_ACCEPTS_AT_ONCE = 64
_DESCRIPTORS_FOR_OTHERS = 64
_STARVED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_FULL = busy("too many connections")
_TURNED_AWAY = _FULL.head(keeps_open=False) + _FULL.body
_WAITING = (Stage.HANDSHAKE, Stage.HEADER)


class Door(Protocol):
    """Who may come in, and what everybody is told: the web configuration."""

    def context(self) -> ssl.SSLContext | None:
        """Return how the next connection is encrypted; None for not at all."""
        ...

    def may_talk(self, transport: asyncio.Transport) -> bool:
        """Tell whether the client's certificate is welcome."""
        ...

    def admit(self, request: Request, answer: Callable[[Request], Response]) -> Answer:
        """Return the answer, or the refusal, or the promise of one while a password is checked."""
        ...

    @property
    def always(self) -> bytes:
        """Header lines of every answer."""
        ...


@dataclass(slots=True, kw_only=True)
class Usage:
    """What is counted of the web server."""

    codes: Counter[int] = field(default_factory=Counter)
    shed: Counter[str] = field(default_factory=Counter)
    connections: int = 0


class Server:
    """Serves on sockets that listen already."""

    def __init__(
        self, listeners: Sequence[socket.socket], door: Door, answer: Callable[[Request], Response], usage: Usage
    ) -> None:
        self._listeners = listeners
        self._door = door
        self._answer = answer
        self.usage = usage
        self._connections: dict[Connection, None] = {}
        self._handshakes: dict[Connection, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._cap = connection_cap()
        self._sweeping: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to accept."""
        for listener in self._listeners:
            listener.setblocking(False)
            self._loop.add_reader(listener, self._accept, listener)
        self._sweep()

    def stop(self) -> None:
        """Accept nobody any more and end every connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        for connection in tuple(self._connections):
            self._give_up(connection)

    def now(self) -> float:
        """Return the loop's monotonic second."""
        return self._loop.time()

    def soon(self, act: Callable[[], None]) -> None:
        """Do something after others had their turn."""
        self._loop.call_soon(act)

    @property
    def always(self) -> bytes:
        """Header lines of every answer."""
        return self._door.always

    def may_talk(self, transport: asyncio.Transport) -> bool:
        """Tell whether the client's certificate is welcome."""
        return self._door.may_talk(transport)

    def count(self, status: int) -> None:
        """Count an answer."""
        self.usage.codes[status] += 1

    def forget(self, connection: Connection) -> None:
        """Note that a connection is over."""
        self._connections.pop(connection, None)
        self.usage.connections = len(self._connections)

    def answer(self, request: Request) -> Answer:
        """Return what a request is answered with."""
        writing = sum(1 for one in self._connections if one.stage is Stage.WRITE)
        if writing >= MOST_WRITING:
            self.usage.shed["busy"] += 1
            return busy(f"{writing} answers are under way; come again in {RETRY_SECONDS} s")
        return self._door.admit(request, self._answer)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                accepted, _ = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as fault:
                if fault.errno in _STARVED:
                    self._rest(listener)
                return
            self._let_in(accepted)

    def _rest(self, listener: socket.socket) -> None:
        """Accept nobody for a moment, and make room."""
        self.usage.shed["descriptors"] += 1
        self._loop.remove_reader(listener)
        self._evict()
        self._loop.call_later(REST_SECONDS, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            self._loop.add_reader(listener, self._accept, listener)

    def _let_in(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        if len(self._connections) >= self._cap and not self._evict():
            self._turn_away(accepted)
            return
        connection = Connection(self)
        self._connections[connection] = None
        self.usage.connections = len(self._connections)
        handshake = self._loop.create_task(self._connect(connection, accepted))
        # A task that is cancelled before its first step never sees the socket it was given.
        handshake.add_done_callback(lambda task: accepted.close() if task.cancelled() else None)
        self._handshakes[connection] = handshake

    def _turn_away(self, accepted: socket.socket) -> None:
        """Say so in plain text if that is what is spoken; nobody waits for it to be sent."""
        self.usage.shed["busy"] += 1
        with accepted:
            if self._door.context() is None:
                with suppress(OSError):
                    accepted.send(_TURNED_AWAY)

    async def _connect(self, connection: Connection, accepted: socket.socket) -> None:
        context = self._door.context()
        limits = {} if context is None else {"ssl_handshake_timeout": 5.0, "ssl_shutdown_timeout": 1.0}
        try:
            await self._loop.connect_accepted_socket(lambda: connection, accepted, ssl=context, **limits)
        except OSError:  # TLS errors and the handshake's time limit are among them
            accepted.close()
            self.forget(connection)
            self.usage.shed[Stage.HANDSHAKE] += 1
        finally:
            self._handshakes.pop(connection, None)

    def _evict(self) -> bool:
        """Give up who has waited longest: first those who never asked for anything, then the idle."""
        for connection in self._by_right_to_stay():
            self.usage.shed["evicted"] += 1
            self._give_up(connection)
            return True
        return False

    def _by_right_to_stay(self) -> Iterator[Connection]:
        yield from (one for one in self._connections if one.stage in _WAITING and not one.answered)
        yield from (one for one in self._connections if one.stage in (Stage.HEADER, Stage.IDLE))

    def _give_up(self, connection: Connection) -> None:
        handshake = self._handshakes.get(connection)
        if handshake is not None:
            handshake.cancel()
        connection.abort()
        self.forget(connection)

    def _sweep(self) -> None:
        now = self.now()
        for connection in [one for one in self._connections if one.deadline < now]:
            self.usage.shed[connection.stage] += 1
            self._give_up(connection)
        self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep)


def connection_cap() -> int:
    """Return how many connections there may be, given the process's limit of descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(8, min(MOST_CONNECTIONS, (soft - _DESCRIPTORS_FOR_OTHERS) // 2))
