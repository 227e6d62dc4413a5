"""Commands inside containers: the exec sub-resource of pods over WebSockets, one connection for each command.

What the messages carry: `channels`. Every command stands under its own deadline, and many are looked after at once.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote, urlencode

from netkit.sources.kube.channels import CLOSE, MOST_OUTPUT_BYTES, PROTOCOLS, STDIN, Channels, Outcome
from netkit.sources.kube.connection import KubeSocket
from netkit.sources.kube.endpoint import Endpoint

OPEN_SECONDS = 15.0
AT_ONCE = 128
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
