"""What one exec says over its WebSocket: the channels of its messages, and the Status that tells how it ended.

Channels v4 and v5 are those of k8s.io/apimachinery/pkg/util/remotecommand: 0 standard input, 1 output, 2 errors,
3 a Status object at the end, 255 the end of a channel (v5). Without that Status nobody knows how a command ended, so
its output is never taken for whole: the stock client returns a cut-off output as success.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from netkit.model.kube_object import rows_of
from netkit.model.text import visible
from netkit.sources.kube.websocket import Message, Opcode

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, STATUS, CLOSE = 0, 1, 2, 3, 255
MOST_OUTPUT_BYTES = 16 * 1024 * 1024
_LARGEST_STATUS_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a command ended: its exit code; None when nobody knows, and then `how` is why."""

    exit_code: int | None
    how: str
    http_status: int = 0
    """Of a server that refused to start it."""


@dataclass(slots=True)
class Channels:
    """Messages of one exec taken apart. Pure: output grows, and `outcome` is set by the Status alone."""

    largest_output_bytes: int = MOST_OUTPUT_BYTES
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    fault: str = ""
    """Why the output cannot be trusted, whatever the Status says."""
    _status: bytearray = field(default_factory=bytearray)
    _taken: int = 0

    def take(self, message: Message) -> None:
        """Sort one message of the server into its channel."""
        if message.opcode is Opcode.TEXT:
            self.fault = self.fault or "text where channels were agreed"
        if message.opcode is not Opcode.BINARY or not message.payload:
            return
        channel, data = message.payload[0], message.payload[1:]
        if channel == STATUS:
            self._status += data[: _LARGEST_STATUS_BYTES + 1 - len(self._status)]
        elif channel in (STDOUT, STDERR):
            self._take_output(self.stdout if channel == STDOUT else self.stderr, data)
        elif channel != CLOSE:
            self.fault = self.fault or f"output on the unknown channel {channel}"

    def _take_output(self, stream: bytearray, data: bytes) -> None:
        self._taken += len(data)
        if self._taken > self.largest_output_bytes:
            self.fault = self.fault or f"more than {self.largest_output_bytes} bytes of output"
            return
        stream += data

    def take_output(self) -> tuple[bytes, bytes]:
        """Return and forget what came on standard output and errors; the limit is on what nobody has taken."""
        taken = bytes(self.stdout), bytes(self.stderr)
        self.stdout.clear()
        self.stderr.clear()
        self._taken = 0
        return taken

    @property
    def told(self) -> bool:
        """Whether the server has told how the command ended."""
        return bool(self._status)

    def outcome(self, closed: str) -> Outcome:
        """Return how the command ended, for a connection that is closed for this reason."""
        if self.fault:
            return Outcome(exit_code=None, how=self.fault)
        if not self._status:
            return Outcome(exit_code=None, how=f"{closed}, before it said how the command ended")
        return read_status(bytes(self._status))


def read_status(data: bytes) -> Outcome:
    """Read the Status object at the end of an exec; anything else is no outcome."""
    try:
        status = json.loads(data)
    except (ValueError, RecursionError):
        status = None
    if not isinstance(status, dict):
        return Outcome(exit_code=None, how="a status that is no JSON object")
    if status.get("status") == "Success":
        return Outcome(exit_code=0, how="exited with status 0")
    code = _exit_code(status) if status.get("reason") == "NonZeroExitCode" else None
    if code is not None:
        return Outcome(exit_code=code, how=f"exited with status {code}")
    said = visible(str(status.get("message") or status.get("reason") or "a failure without words"), 300)
    return Outcome(exit_code=None, how=f"not run to its end: {said}")


def _exit_code(status: dict[str, Any]) -> int | None:
    details = status.get("details")
    causes = rows_of(details.get("causes")) if isinstance(details, dict) else ()
    for cause in causes:
        text = str(cause.get("message"))
        if cause.get("reason") == "ExitCode" and text.isascii() and text.isdigit() and len(text) < 6 and int(text):
            return int(text)
    return None
