"""One connection: heads in, answers out, each stage with a deadline, and never more in memory than a slice of a body.

A body is shared by everybody who is being sent it; the transport copies what the kernel does not take at once, so it is
given one slice after the other, as the client reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from enum import StrEnum
from typing import TYPE_CHECKING

from netkit_exporters.web.request import END, HEAD_LIMIT, RefusedError, Request, parse, too_long
from netkit_exporters.web.response import Response, line

if TYPE_CHECKING:
    from netkit_exporters.web.server import Server

SLICE_BYTES = 65536


class Stage(StrEnum):
    """What a connection is waiting for; the value is the reason told when it takes too long."""

    HANDSHAKE = "handshake"
    HEADER = "header"
    IDLE = "idle"
    """Between two requests."""
    ANSWER = "answer"
    """A password is being checked."""
    WRITE = "write"


LIMIT_SECONDS = {Stage.HANDSHAKE: 5.0, Stage.HEADER: 5.0, Stage.IDLE: 120.0, Stage.ANSWER: 15.0, Stage.WRITE: 10.0}
"""How long each stage may last; bytes that trickle in do not extend it."""


class Connection(asyncio.Protocol):
    """The server's side of one connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._left = memoryview(b"")
        self._paused = False
        self._closes = False
        self._checking: asyncio.Future[Response] | None = None
        self.answered = 0
        self.stage = Stage.HANDSHAKE
        self.deadline = 0.0
        self._enter(Stage.HANDSHAKE)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=SLICE_BYTES)
        if self._server.may_talk(transport):
            self._enter(Stage.HEADER)
        else:
            self.abort()

    def connection_lost(self, _exc: Exception | None) -> None:
        """Forget it."""
        if self._checking is not None:
            self._checking.cancel()
        self._server.forget(self)

    def data_received(self, data: bytes) -> None:
        """Take part of a request, or of the one after."""
        self._received += data
        if self.stage in (Stage.HEADER, Stage.IDLE):
            self._advance()
        elif len(self._received) > HEAD_LIMIT and self._transport is not None:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Stop: the client reads slowly."""
        self._paused = True

    def resume_writing(self) -> None:
        """Go on with the body."""
        self._paused = False
        if self.stage is Stage.WRITE:
            self._write_on()

    def abort(self) -> None:
        """End it at once, whatever is on its way."""
        self._left = memoryview(b"")
        if self._transport is not None:
            self._transport.abort()

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self.deadline = self._server.now() + LIMIT_SECONDS[stage]

    def _advance(self) -> None:
        """Answer the next request, if all of its head is here."""
        end = self._received.find(END)
        if end < 0 or end > HEAD_LIMIT:
            refusal = too_long(self._received)
            if refusal is not None:
                self._refuse(refusal)
            elif self._received and self.stage is Stage.IDLE:
                self._enter(Stage.HEADER)
            return
        head, self._received = self._received[:end], self._received[end + len(END) :]
        try:
            request = parse(head)
        except RefusedError as refusal:
            self._refuse(refusal)
        else:
            self._answer(request)

    def _refuse(self, refusal: RefusedError) -> None:
        self._closes, self._received = True, b""
        self._send(line(refusal.status, refusal.why), with_body=True)

    def _answer(self, request: Request) -> None:
        self._closes = not request.keeps_open
        with_body = request.method != "HEAD"
        answer = self._server.answer(request)
        if isinstance(answer, Response):
            self._send(answer, with_body)
            return
        self._enter(Stage.ANSWER)
        self._checking = asyncio.ensure_future(answer)
        self._checking.add_done_callback(lambda done: self._checked(done, with_body))

    def _checked(self, done: asyncio.Future[Response], with_body: bool) -> None:
        self._checking = None
        if not done.cancelled():
            self._send(done.result(), with_body)

    def _send(self, response: Response, with_body: bool) -> None:
        assert self._transport is not None
        self._server.count(response.status)
        self._enter(Stage.WRITE)
        self.answered += 1
        head = response.head(not self._closes, self._server.always)
        first = response.body[: SLICE_BYTES - len(head)] if with_body else b""
        self._left = memoryview(response.body)[len(first) :] if with_body else memoryview(b"")
        self._transport.write(head + first)
        self._write_on()

    def _write_on(self) -> None:
        assert self._transport is not None
        while self._left and not self._paused:
            part, self._left = self._left[:SLICE_BYTES], self._left[SLICE_BYTES:]
            self._transport.write(part)
        if self._left or self._transport.is_closing():
            return
        if self._closes:
            self._transport.close()
        elif not self._paused:
            self._next()

    def _next(self) -> None:
        assert self._transport is not None
        self._enter(Stage.IDLE)
        if not self._transport.is_reading():
            self._transport.resume_reading()
        if self._received:
            self._server.soon(self._advance_if_idle)

    def _advance_if_idle(self) -> None:
        if self.stage is Stage.IDLE and self._transport is not None and not self._transport.is_closing():
            self._advance()


Answer = Response | Awaitable[Response]
"""What the server has for a request: the answer, or the promise of one."""
