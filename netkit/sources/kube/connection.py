"""One WebSocket to an API server that never blocks: TCP, a proxy's tunnel, TLS and the upgrade, step by step.

Kubernetes' own clients hand a blocking socket around, whose handshake may hang for ever and whose time-outs look like
the end of the output. Here every step is driven by a selector and stands under one monotonic deadline.
Where it leads: `endpoint`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from netkit.sources.kube.endpoint import Endpoint
from netkit.sources.kube.farewells import body_bytes, goodbye, phrase, refusal
from netkit.sources.kube.websocket import (
    Head,
    Message,
    MessageReader,
    Opcode,
    ProtocolError,
    accepted_protocol,
    client_frame,
    new_key,
    read_head,
    upgrade_request,
)

_READ_BYTES = 256 * 1024
# What one connection may take in before its neighbours get their turn.
_TURN_BYTES = 4 * 1024 * 1024


class _Phase(Enum):
    CONNECTING = auto()
    TUNNELLING = auto()
    SECURING = auto()
    UPGRADING = auto()
    OPEN = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Why there is nothing more to come: one phrase, and the HTTP status where the server refused the upgrade."""

    why: str
    status: int = 0


class KubeSocket:
    """A WebSocket on its way, open, or closed. Register its `fileno()` for `interest`, call `advance()` when ready."""

    def __init__(
        self,
        endpoint: Endpoint,
        target: str,
        protocols: Sequence[str],
        open_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.protocol = ""
        self.closed: Closed | None = None
        self.dialled = 0
        self._endpoint = endpoint
        self._target = endpoint.prefix + target
        self._protocols = protocols
        self._clock = clock
        self._open_by = clock() + open_seconds
        self._open_seconds = open_seconds
        self._key = new_key()
        self._untried = list(endpoint.addresses)
        self._outgoing = bytearray()
        self._head = bytearray()
        self._reader = MessageReader()
        self._tls_wants_write = False
        self._dial()

    def fileno(self) -> int:
        """Return the descriptor to watch; it changes while no address has answered yet."""
        return self._socket.fileno()

    @property
    def open(self) -> bool:
        """Whether messages can be sent and received."""
        return self._phase is _Phase.OPEN

    @property
    def interest(self) -> int:
        """What to wait for: events of `selectors`."""
        writing = self._phase is _Phase.CONNECTING or self._tls_wants_write or self._writable
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if writing else 0)

    @property
    def _writable(self) -> bool:
        return bool(self._outgoing) and self._phase is not _Phase.SECURING

    def send(self, payload: bytes) -> None:
        """Queue one binary message of an open socket; nothing happens on a closed one."""
        if self.open:
            self._outgoing += client_frame(Opcode.BINARY, payload)

    def advance(self) -> list[Message]:
        """Do what can be done without waiting; return the messages that arrived. Faults show in `closed`."""
        messages: list[Message] = []
        try:
            while self.closed is None:
                phase = self._phase
                messages += self._step()
                if self._phase is phase:
                    break
        except (ssl.SSLError, OSError, ProtocolError) as fault:
            self._close(Closed(why=phrase(fault)))
        self.check_time()
        return messages

    def check_time(self) -> None:
        """Close a socket that takes too long to open."""
        if self.closed is None and not self.open and self._clock() > self._open_by:
            doing = self._phase.name.lower()
            self._close(Closed(why=f"no answer within {self._open_seconds:g} s while {doing}"))

    def close(self) -> None:
        """Say goodbye as far as the socket takes it, and let go."""
        if self.open:
            self._outgoing += client_frame(Opcode.CLOSE, b"\x03\xe8")
            with contextlib.suppress(OSError):
                self._flush()
        self._close(Closed(why="closed by netkit"))

    def _step(self) -> list[Message]:
        if self._phase is _Phase.OPEN:
            return self._converse()
        {
            _Phase.CONNECTING: self._connect,
            _Phase.TUNNELLING: self._tunnel,
            _Phase.SECURING: self._secure,
            _Phase.UPGRADING: self._upgrade,
        }[self._phase]()
        return []

    def _dial(self) -> None:
        family, address = self._untried.pop(0)
        self._phase = _Phase.CONNECTING
        self._socket: socket.socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._failed = self._socket.connect_ex(address)
        self.dialled += 1

    def _connect(self) -> None:
        failed = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or self._failed
        if failed in (errno.EINPROGRESS, errno.EALREADY):
            # SO_ERROR is 0 both while connecting and once connected: only a peer tells them apart.
            failed = self._socket.connect_ex(self._peer())
        if failed in (errno.EINPROGRESS, errno.EALREADY):
            return
        if failed in (0, errno.EISCONN):
            self._phase = _Phase.TUNNELLING
            self._outgoing += self._endpoint.tunnel
        elif self._untried:
            self._socket.close()
            self._dial()
        else:
            raise OSError(failed, os.strerror(failed))

    def _peer(self) -> tuple[Any, ...]:
        tried = len(self._endpoint.addresses) - len(self._untried)
        return self._endpoint.addresses[tried - 1][1]

    def _tunnel(self) -> None:
        if self._endpoint.tunnel:
            head = self._exchange()
            if head is None:
                return
            if head.status // 100 != 2:
                raise ProtocolError(f"the proxy answers {head.status}")
        self._phase = _Phase.SECURING
        if self._endpoint.tls is not None:
            self._socket = self._endpoint.tls.wrap_socket(
                self._socket, server_hostname=self._endpoint.tls_name, do_handshake_on_connect=False
            )

    def _secure(self) -> None:
        if isinstance(self._socket, ssl.SSLSocket):
            try:
                self._socket.do_handshake()
            except ssl.SSLWantReadError:
                self._tls_wants_write = False
                return
            except ssl.SSLWantWriteError:
                self._tls_wants_write = True
                return
        self._tls_wants_write = False
        self._phase = _Phase.UPGRADING
        host = f"[{self._endpoint.host}]" if ":" in self._endpoint.host else self._endpoint.host
        self._outgoing += upgrade_request(
            f"{host}:{self._endpoint.port}", self._target, self._endpoint.headers, self._protocols, self._key
        )

    def _upgrade(self) -> None:
        head = self._exchange(refusals=True)
        if head is None:
            return
        if head.status != 101:
            self._close(Closed(why=refusal(head), status=head.status))
            return
        self.protocol = accepted_protocol(head, self._protocols, self._key)
        self._phase = _Phase.OPEN
        self._head = bytearray(head.rest)

    def _exchange(self, *, refusals: bool = False) -> Head | None:
        """Send what is queued, and return the head of the answer once it is whole, with the body of a refusal."""
        self._flush()
        data, ended = self._receive()
        self._head += data
        head = read_head(bytes(self._head))
        if head is None and ended:
            raise ProtocolError("the connection was closed before it was opened")
        if head is None:
            return None
        waits = refusals and head.status != 101 and not ended and len(head.rest) < body_bytes(head)
        if not waits:
            self._head.clear()
        return None if waits else head

    def _converse(self) -> list[Message]:
        self._flush()
        early, self._head = bytes(self._head), bytearray()
        data, ended = self._receive()
        messages = []
        for message in self._reader.feed(early + data):
            if message.opcode is Opcode.PING:
                self._outgoing += client_frame(Opcode.PONG, message.payload)
            messages.append(message)
            if message.opcode is Opcode.CLOSE:
                self._close(Closed(why=goodbye(message.payload)))
                return messages
        if ended:
            self._close(Closed(why="the connection was cut"))
        else:
            self._flush()
        return messages

    def _receive(self) -> tuple[bytes, bool]:
        """Return what has arrived, and whether the other side has ended."""
        data = bytearray()
        while len(data) < _TURN_BYTES:
            try:
                piece = self._socket.recv(_READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                return bytes(data), False
            except ConnectionResetError:
                if not data:
                    raise
                return bytes(data), True
            if not piece:
                return bytes(data), True
            data += piece
        return bytes(data), False

    def _flush(self) -> None:
        with contextlib.suppress(BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            while self._outgoing:
                del self._outgoing[: self._socket.send(self._outgoing)]

    def _close(self, closed: Closed) -> None:
        if self.closed is None:
            self.closed = closed
            self._phase = _Phase.CLOSED
            self._socket.close()
