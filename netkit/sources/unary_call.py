"""One gRPC call over a unix socket: HTTP/2 without compression of what is sent, and no more of it than a call needs.

RFC 9113 (frames, flow control), RFC 7541 (header block: literals only), gRPC over HTTP/2 (message framing). grpcio
would bring 12 MiB and threads of its own for one call a refresh. The server's headers are not decoded: a call that
failed carries no message, and that is what is told.
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from netkit.errors import SourceError
from netkit.model.text import visible

LONGEST_REPLY = 4 << 20
"""Bytes of an answer at most; a kubelet with hundreds of pods stays far below."""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME = struct.Struct(">BHBBI")
_MESSAGE = struct.Struct(">BI")
_STREAM = 1
_LARGEST_FRAME = 1 << 14
_INITIAL_WINDOW = 4
_WINDOW = LONGEST_REPLY + (1 << 16)


class _Frame(IntEnum):
    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8


_ACK = _END_STREAM = 0x1
_END_HEADERS = 0x4
_PADDED = 0x8


def call(path: str, method: str, seconds: float, request: bytes = b"") -> bytes:
    """Call `/package.Service/Method` at a unix socket; return the answer's message, or raise SourceError."""
    where = visible(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        try:
            opened.settimeout(seconds)
            opened.connect(path)
            opened.sendall(_request(method, request))
            return _Conversation(opened, time.monotonic() + seconds).message()
        except TimeoutError as fault:
            raise SourceError(f"no answer within {seconds:g} s", where, errno.ETIMEDOUT) from fault
        except OSError as fault:
            raise SourceError(visible(fault.strerror or str(fault)), where, fault.errno) from fault


def _request(method: str, request: bytes) -> bytes:
    headers = b"".join(
        _literal(name, value)
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", method.encode()),
            (b":authority", b"localhost"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )
    settings = struct.pack(">HI", _INITIAL_WINDOW, _WINDOW)
    return b"".join(
        (
            _PREFACE,
            _frame(_Frame.SETTINGS, 0, 0, settings),
            _frame(_Frame.WINDOW_UPDATE, 0, 0, struct.pack(">I", _WINDOW)),
            _frame(_Frame.HEADERS, _END_HEADERS, _STREAM, headers),
            _frame(_Frame.DATA, _END_STREAM, _STREAM, _MESSAGE.pack(0, len(request)) + request),
        )
    )


def _literal(name: bytes, value: bytes) -> bytes:
    """A header field without indexing, both parts spelled out; none is longer than 126 bytes."""
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def _frame(kind: _Frame, flags: int, stream: int, body: bytes) -> bytes:
    return _FRAME.pack(len(body) >> 16, len(body) & 0xFFFF, kind, flags, stream) + body


@dataclass(slots=True)
class _Conversation:
    """What the server sends, as far as it is about the call."""

    opened: socket.socket
    end: float
    waiting: bytearray = field(default_factory=bytearray)

    def message(self) -> bytes:
        """Return the one message of the answer."""
        data = bytearray()
        for part in self._data():
            data += part
            if len(data) > LONGEST_REPLY + _MESSAGE.size:
                raise OSError(errno.EFBIG, f"an answer above {LONGEST_REPLY >> 20} MiB")
        if len(data) < _MESSAGE.size:
            raise OSError(errno.EPROTO, "the call failed: no message in the answer")
        compressed, length = _MESSAGE.unpack_from(data)
        if compressed or len(data) < _MESSAGE.size + length:
            raise OSError(errno.EPROTO, "the message is compressed or cut")
        return bytes(data[_MESSAGE.size : _MESSAGE.size + length])

    def _data(self) -> Iterator[bytes]:
        while True:
            kind, flags, stream, body = self._next()
            if kind == _Frame.SETTINGS and not flags & _ACK:
                self.opened.sendall(_frame(_Frame.SETTINGS, _ACK, 0, b""))
            elif kind == _Frame.PING and not flags & _ACK:
                self.opened.sendall(_frame(_Frame.PING, _ACK, 0, body))
            elif kind in (_Frame.GOAWAY, _Frame.RST_STREAM):
                raise OSError(errno.ECONNRESET, "the server ended the call")
            elif kind == _Frame.DATA and stream == _STREAM:
                yield _unpadded(body, flags)
            if stream == _STREAM and kind in (_Frame.DATA, _Frame.HEADERS) and flags & _END_STREAM:
                return

    def _next(self) -> tuple[int, int, int, bytes]:
        high, low, kind, flags, stream = _FRAME.unpack(self._take(_FRAME.size))
        length = high << 16 | low
        if length > _LARGEST_FRAME:
            raise OSError(errno.EPROTO, "a frame larger than agreed: this is no HTTP/2")
        return kind, flags, stream & 0x7FFFFFFF, self._take(length)

    def _take(self, size: int) -> bytes:
        while len(self.waiting) < size:
            left = self.end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.opened.settimeout(left)
            part = self.opened.recv(1 << 16)
            if not part:
                raise OSError(errno.ECONNRESET, "closed before the answer was whole")
            self.waiting += part
        taken = bytes(self.waiting[:size])
        del self.waiting[:size]
        return taken


def _unpadded(body: bytes, flags: int) -> bytes:
    return body[1 : len(body) - body[0]] if flags & _PADDED and body else body
