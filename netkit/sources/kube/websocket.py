"""The client side of a WebSocket, bytes in and messages out: RFC 6455. Opens no connection and reads no clock.

Strict: a frame that breaks the protocol ends the stream, because what follows it cannot be trusted either.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

LONGEST_HEAD_BYTES = 64 * 1024
LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024
_ACCEPT_SALT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LARGEST_CONTROL_BYTES = 125


class ProtocolError(Exception):
    """The other side broke the protocol; the message is one phrase."""


class Opcode(IntEnum):
    """What a frame carries, section 5.2."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One whole message, or one control frame."""

    opcode: Opcode
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Status line and headers of an HTTP answer, header names in small letters; `rest` is what came behind."""

    status: int
    headers: Mapping[str, str]
    rest: bytes


def new_key() -> str:
    """Return a fresh Sec-WebSocket-Key."""
    return base64.b64encode(secrets.token_bytes(16)).decode()


def upgrade_request(host: str, target: str, headers: Mapping[str, str], protocols: Sequence[str], key: str) -> bytes:
    """Return the opening handshake, section 4.1. Raise ProtocolError for a header that would become two."""
    fields = {
        "Host": host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": ", ".join(protocols),
        **headers,
    }
    lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise ProtocolError("a header of the request is no line of ASCII")
    return "\r\n".join([*lines, "", ""]).encode()


def read_head(received: bytes) -> Head | None:
    """Return the head of an HTTP answer; None while it is not whole. Raise ProtocolError for anything else."""
    head, ended, rest = received.partition(b"\r\n\r\n")
    if len(head) > LONGEST_HEAD_BYTES:
        raise ProtocolError("an endless answer instead of a handshake")
    if not ended:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not (words[1].isascii() and words[1].isdigit()):
        raise ProtocolError("an answer that is not HTTP/1.1")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Head(status=int(words[1]), headers=headers, rest=rest)


def accepted_protocol(head: Head, protocols: Sequence[str], key: str) -> str:
    """Return the sub-protocol a server switched to. Raise ProtocolError unless it proves that it read the key."""
    proof = base64.b64encode(hashlib.sha1(key.encode() + _ACCEPT_SALT, usedforsecurity=False).digest()).decode()
    if head.headers.get("sec-websocket-accept") != proof:
        raise ProtocolError("a handshake that does not answer ours")
    chosen = head.headers.get("sec-websocket-protocol", "")
    if chosen not in protocols:
        raise ProtocolError("a sub-protocol that was not offered")
    return chosen


def client_frame(opcode: Opcode, payload: bytes) -> bytes:
    """Return one whole, masked frame, as a client must send it."""
    size = len(payload)
    if size <= _LARGEST_CONTROL_BYTES:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = bytes([0x80 | 126]) + size.to_bytes(2, "big")
    else:
        length = bytes([0x80 | 127]) + size.to_bytes(8, "big")
    mask = secrets.token_bytes(4)
    return bytes([0x80 | opcode]) + length + mask + _masked(payload, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    stretched = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(stretched, "big")).to_bytes(size, "big")


@dataclass(slots=True)
class MessageReader:
    """Bytes in as they arrive, messages out; holds at most one message."""

    largest_message_bytes: int = LARGEST_MESSAGE_BYTES
    _buffer: bytearray = field(default_factory=bytearray)
    _begun: Opcode | None = None
    _parts: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[Message]:
        """Add `data` and yield every message completed by it. Raise ProtocolError at the first broken frame."""
        self._buffer += data
        while (frame := self._take_frame()) is not None:
            opcode, final, payload = frame
            if opcode >= Opcode.CLOSE:
                yield Message(opcode=opcode, payload=payload)
                continue
            self._join(opcode, payload)
            if final and self._begun is not None:
                yield Message(opcode=self._begun, payload=bytes(self._parts))
                self._begun = None
                self._parts.clear()

    def _join(self, opcode: Opcode, payload: bytes) -> None:
        if (opcode is Opcode.CONTINUATION) is not (self._begun is not None):
            raise ProtocolError("a message that begins inside another, or none that could be continued")
        self._begun = self._begun if self._begun is not None else opcode
        self._parts += payload
        if len(self._parts) > self.largest_message_bytes:
            raise ProtocolError(f"a message of more than {self.largest_message_bytes} bytes")

    def _take_frame(self) -> tuple[Opcode, bool, bytes] | None:
        """Cut one frame off the buffer; None when more bytes are needed."""
        if len(self._buffer) < 2:
            return None
        first, second = self._buffer[0], self._buffer[1]
        opcode, final = _opcode(first, second), bool(first & 0x80)
        extended = {126: 2, 127: 8}.get(second, 0)
        size = int.from_bytes(self._buffer[2 : 2 + extended], "big") if extended else second
        start = 2 + extended
        if len(self._buffer) < start:
            return None
        _check_size(opcode, size, self.largest_message_bytes, final=final)
        if len(self._buffer) < start + size:
            return None
        payload = bytes(self._buffer[start : start + size])
        del self._buffer[: start + size]
        return opcode, final, payload


def _opcode(first: int, second: int) -> Opcode:
    if first & 0x70 or second & 0x80:
        raise ProtocolError("a frame with reserved bits, or masked")
    try:
        return Opcode(first & 0x0F)
    except ValueError:
        raise ProtocolError(f"a frame of unknown kind {first & 0x0F}") from None


def _check_size(opcode: Opcode, size: int, largest: int, *, final: bool) -> None:
    if opcode >= Opcode.CLOSE and (size > _LARGEST_CONTROL_BYTES or not final):
        raise ProtocolError("a control frame that is too long, or in parts")
    if size > largest:
        raise ProtocolError(f"a frame of {size} bytes")
