"""Commands inside containers: the exec sub-resource of pods over WebSockets, one connection for each command.

Channels v4 and v5 are those of k8s.io/apimachinery/pkg/util/remotecommand: 0 standard input, 1 output, 2 errors,
3 a Status object at the end, 255 the end of a channel (v5). Without that Status nobody knows how a command ended, so
its output is never taken for whole: the stock client returns a cut-off output as success.
"""

from __future__ import annotations

import json
import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

from netkit.model.kube_object import rows_of
from netkit.model.text import visible
from netkit.sources.kube_socket import Endpoint, KubeSocket
from netkit.sources.websocket import Message, Opcode

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, STATUS, CLOSE = 0, 1, 2, 3, 255
OPEN_SECONDS = 15.0
AT_ONCE = 128
MOST_OUTPUT_BYTES = 16 * 1024 * 1024
_LARGEST_STATUS_BYTES = 64 * 1024
_LARGEST_INPUT_FRAME = 128 * 1024
_POLL_SECONDS = 0.25
_LINGER_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCommand:
    """A command in one container of one pod; `words` are its argument list, no shell is added.

    `stdin` is what it reads first; None gives it no standard input at all.
    """

    namespace: str
    pod: str
    container: str
    words: tuple[str, ...]
    stdin: bytes | None = None

    @property
    def target(self) -> str:
        """Path and query of the request."""
        query = [("container", self.container), ("stdout", "true"), ("stderr", "true")]
        query += [("stdin", "true")] if self.stdin is not None else []
        query += [("command", word) for word in self.words]
        return f"/api/v1/namespaces/{quote(self.namespace)}/pods/{quote(self.pod)}/exec?{urlencode(query)}"


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


class Exec:
    """One command on its way. Call `advance` when its socket is ready, and now and then for its deadlines."""

    def __init__(
        self,
        endpoint: Endpoint,
        command: PodCommand,
        deadline_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        largest_output_bytes: int = MOST_OUTPUT_BYTES,
    ) -> None:
        self.command = command
        self.outcome: Outcome | None = None
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._ends_by = clock() + deadline_seconds
        self._told_at: float | None = None
        self._queued = bytearray(command.stdin or b"")
        self._channels = Channels(largest_output_bytes)
        self.socket = KubeSocket(endpoint, command.target, PROTOCOLS, min(OPEN_SECONDS, deadline_seconds), clock)

    def send(self, data: bytes) -> None:
        """Queue standard input; it waits until the connection is open."""
        self._queued += data
        if self.socket.open:
            self._send_queued()

    def advance(self) -> None:
        """Take what has arrived, and end what is over, cut or late."""
        opened = self.socket.open
        messages = self.socket.advance()
        if self.socket.open and not opened:
            self._send_queued()
            messages += self.socket.advance()
        for message in messages:
            self._channels.take(message)
        self._judge()

    def take_output(self) -> tuple[bytes, bytes]:
        """Return standard output and errors that came since the last call."""
        return self._channels.take_output()

    def close(self, how: str = "ended by netkit") -> None:
        """Hang up. A command that reads its standard input sees it end; one that does not needs its own deadline."""
        if self.outcome is None:
            self._end_input()
            self.outcome = Outcome(exit_code=None, how=how)
        self.socket.close()

    def _closes_by(self) -> float:
        """When to hang up on a server that has told the end and still does not close."""
        if self._told_at is None:
            self._told_at = self._clock()
        return self._told_at + _LINGER_SECONDS

    def _send_queued(self) -> None:
        while self._queued:
            self.socket.send(bytes([STDIN]) + bytes(self._queued[:_LARGEST_INPUT_FRAME]))
            del self._queued[:_LARGEST_INPUT_FRAME]

    def _end_input(self) -> None:
        if self.command.stdin is not None and self.socket.open and self.socket.protocol == PROTOCOLS[0]:
            self.socket.send(bytes([CLOSE, STDIN]))

    def check_time(self) -> None:
        """End a command that is late, though nothing has arrived."""
        self.socket.check_time()
        self._judge()

    def _judge(self) -> None:
        if self.outcome is not None:
            return
        closed = self.socket.closed
        if closed is not None and closed.status:
            self.outcome = Outcome(exit_code=None, how=closed.why, http_status=closed.status)
        elif closed is not None:
            self.outcome = self._channels.outcome(closed.why)
        elif self._channels.fault:
            self.close(self._channels.fault)
        elif self._channels.told and self._clock() > self._closes_by():
            self.outcome = self._channels.outcome("")
            self.socket.close()
        elif self._clock() > self._ends_by:
            self.close(f"no end within {self._deadline_seconds:g} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one command printed and how it ended; output of a command without exit code may be cut anywhere."""

    command: PodCommand
    stdout: bytes
    stderr: bytes
    outcome: Outcome


class Watch:
    """Commands on their way, looked after by one selector: only those with news cost anything."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._seen: dict[Exec, tuple[int, int, int]] = {}

    def add(self, one: Exec) -> None:
        """Look after a command, or take note of what it waits for now; one that is over is let go."""
        wanted = None if one.outcome is not None else (one.socket.dialled, one.socket.fileno(), one.socket.interest)
        seen = self._seen.get(one)
        if wanted == seen:
            return
        if seen is not None:
            self._selector.unregister(seen[1])
            del self._seen[one]
        if wanted is not None:
            self._selector.register(wanted[1], wanted[2], one)
            self._seen[one] = wanted

    def advance(self, seconds: float) -> None:
        """Wait for news at most this long, and let every command go on that has some or is late."""
        ready = {key.data for key, _ in self._selector.select(seconds)}
        for one in list(self._seen):
            if one in ready:
                one.advance()
            else:
                one.check_time()
            self.add(one)

    def close(self) -> None:
        """Let everything go; the commands are not ended by this."""
        self._selector.close()
        self._seen.clear()


def run_all(
    endpoint: Endpoint, commands: Sequence[PodCommand], deadline_seconds: float, at_once: int = AT_ONCE
) -> list[Answer]:
    """Run every command, some at a time, each within its own deadline; return their answers in order."""
    answers: dict[int, Answer] = {}
    waiting = iter(enumerate(commands))
    running: dict[int, Exec] = {}
    watch = Watch()
    try:
        while len(answers) < len(commands):
            for number, command in islice(waiting, at_once - len(running)):
                running[number] = Exec(endpoint, command, deadline_seconds)
                watch.add(running[number])
            watch.advance(_POLL_SECONDS)
            ended = {number: one.outcome for number, one in running.items() if one.outcome is not None}
            answers |= {number: _answer(running.pop(number), outcome) for number, outcome in ended.items()}
    finally:
        for one in running.values():
            one.close()
        watch.close()
    return [answers[number] for number in range(len(commands))]


def _answer(one: Exec, outcome: Outcome) -> Answer:
    stdout, stderr = one.take_output()
    return Answer(command=one.command, stdout=stdout, stderr=stderr, outcome=outcome)
