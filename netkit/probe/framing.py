"""Frames from a rank, told apart from whatever else its output holds.

A frame is `NETKIT/1 <nonce> <length> <sha256>`, a newline, `<length>` bytes of one-line JSON, a newline; the JSON
holds a sequence number that only grows. The nonce is given to the rank at start. What is not a whole frame with
the right nonce, length, digest and a new sequence number is counted and dropped: it never becomes a number.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MAGIC = b"NETKIT/1 "
LARGEST_BODY_BYTES = 16 * 1024 * 1024
_HEADER = re.compile(rb"NETKIT/1 ([0-9a-f]{8,64}) ([0-9]{1,8}) ([0-9a-f]{64})\n")
_LONGEST_HEADER = len(MAGIC) + 64 + 1 + 8 + 1 + 64 + 1


class Flaw(StrEnum):
    """What was wrong with something that began like a frame."""

    HEADER = "header"
    NONCE = "nonce"
    LENGTH = "length"
    DIGEST = "digest"
    BODY = "body"
    REPEATED = "repeated"


@dataclass(slots=True)
class FrameReader:
    """Bytes in as they arrive, messages out; what was dropped is counted. Holds at most one frame."""

    nonce: str
    largest_body_bytes: int = LARGEST_BODY_BYTES
    flaws: Counter[Flaw] = field(default_factory=Counter)
    noise_bytes: int = 0
    _buffer: bytearray = field(default_factory=bytearray)
    _sequence: int = 0

    @property
    def rejected(self) -> int:
        """How many frames were dropped; noise between frames is not held against a rank."""
        return self.flaws.total()

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Add `data` and yield every message completed by it. Exhaust the iterator before the next call."""
        self._buffer += data
        while self._skip_noise():
            body = self._take_body()
            if body is None:
                return
            message = body if isinstance(body, Flaw) else self._message(body)
            if isinstance(message, Flaw):
                self.flaws[message] += 1
            else:
                yield message

    def _skip_noise(self) -> bool:
        """Bring the next magic to the front; False when there is none yet."""
        start = self._buffer.find(MAGIC)
        if start < 0:
            start = max(0, len(self._buffer) - len(MAGIC) + 1)
            while not MAGIC.startswith(self._buffer[start:]):
                start += 1
        self.noise_bytes += start
        del self._buffer[:start]
        return len(self._buffer) >= len(MAGIC)

    def _take_body(self) -> bytes | Flaw | None:
        """Cut one body off the buffer, or only the magic of a flawed frame; None when more bytes are needed.

        A flawed header's length may be the lie, so what follows it is looked through for a true frame.
        """
        header = _HEADER.match(self._buffer)
        if header is None and len(self._buffer) < _LONGEST_HEADER and b"\n" not in self._buffer:
            return None
        flaw = self._flaw_of(header)
        if header is None or flaw is not None:
            del self._buffer[: len(MAGIC)]
            return flaw
        end = header.end() + int(header[2])
        if len(self._buffer) <= end:
            return None
        body = bytes(self._buffer[header.end() : end])
        if hashlib.sha256(body).hexdigest().encode() != header[3] or self._buffer[end] != 0x0A:
            del self._buffer[: len(MAGIC)]
            return Flaw.DIGEST
        del self._buffer[: end + 1]
        return body

    def _flaw_of(self, header: re.Match[bytes] | None) -> Flaw | None:
        """Who does not know the nonce can make the reader neither wait nor compute a digest."""
        if header is None:
            return Flaw.HEADER
        if header[1] != self.nonce.encode():
            return Flaw.NONCE
        return Flaw.LENGTH if int(header[2]) > self.largest_body_bytes else None

    def _message(self, body: bytes) -> dict[str, Any] | Flaw:
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return Flaw.BODY
        if not isinstance(message, dict) or type(message.get("seq")) is not int:
            return Flaw.BODY
        if message["seq"] <= self._sequence:
            return Flaw.REPEATED
        self._sequence = message["seq"]
        return message
