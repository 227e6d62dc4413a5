"""Agents as child processes of this one, whatever command line starts them: spawn, feed, read, end.

The agent's source travels over standard input to a one-line bootstrap, so nothing is written on any host. Standard
output carries frames; standard error is free text of which the end is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeAlias

from netkit.errors import ProbeError
from netkit.model.text import visible
from netkit.probe.framing import FrameReader
from netkit.probe.launchers.session import Ended, Event, Member, Message

BOOTSTRAP = (
    "import sys;b=sys.stdin.buffer;n=int(b.readline());"
    "exec(compile(b.read(n),'netkit-agent','exec'),{'__name__':'__main__'})"
)
# Isolated and without site-packages: nothing on the host changes what runs, and it starts in 20 ms.
INTERPRETER_OPTIONS = ("-I", "-S", "-c", BOOTSTRAP)
_STDERR_KEPT_BYTES = 4096
_READ_BYTES = 256 * 1024
_GRACE_SECONDS = 1.0
_KILL_SECONDS = 5.0

CommandLine: TypeAlias = Callable[[Member], Sequence[str]]


def opening(source: bytes, start: Mapping[str, Any]) -> bytes:
    """Return what an interpreter under BOOTSTRAP reads first: the source it becomes, and that source's first line."""
    return b"%d\n%s%s\n" % (len(source), source, json.dumps(start).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLauncher:
    """A launcher that runs one child process a member; at most `fan_out` of them are starting at any time."""

    id: str
    transport: str
    command_line: CommandLine
    fan_out: int = 32

    def start(self, members: Sequence[Member], lifetime_seconds: float) -> Processes:
        """Start one agent a member."""
        return Processes(members, self.command_line, self.fan_out, lifetime_seconds)


@dataclass(slots=True)
class _Child:
    rank: int
    process: subprocess.Popen[bytes]
    reader: FrameReader
    outgoing: bytearray
    stderr: bytearray = field(default_factory=bytearray)
    answered: bool = False

    @property
    def last_words(self) -> str:
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        return visible(lines[-1], 300) if lines else ""


class Processes:
    """The child processes of one gang. Start and use it in one thread that lives as long as they do."""

    def __init__(
        self, members: Sequence[Member], command_line: CommandLine, fan_out: int, lifetime_seconds: float
    ) -> None:
        self._members = members
        self._command_line = command_line
        self._fan_out = fan_out
        self._dies_at = time.monotonic() + lifetime_seconds
        self._source = files("netkit.probe").joinpath("agent.py").read_bytes()
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, _Child] = {}
        self._rejected: dict[int, int] = {}
        self._unstarted = deque(range(len(members)))
        self._early: dict[int, bytearray] = {}
        try:
            self._start_more()
        except BaseException:
            self.stop()
            raise

    def send(self, rank: int, command: Mapping[str, Any]) -> None:
        """Queue one command for a rank."""
        line = json.dumps(command, separators=(",", ":")).encode() + b"\n"
        child = self._children.get(rank)
        if child is None:
            self._early.setdefault(rank, bytearray()).extend(line)
            return
        child.outgoing += line
        self._flush(child)

    def receive(self, timeout_seconds: float) -> list[Event]:
        """Return what arrived, waiting at most `timeout_seconds` for the first event."""
        events: list[Event] = []
        for key, _ in self._selector.select(timeout_seconds):
            role, child = key.data
            if role == "stdin":
                self._flush(child)
            elif child.rank in self._children:
                events += self._read_stdout(child) if role == "stdout" else self._read_stderr(child)
        self._start_more()
        return events

    def rejected(self) -> Mapping[int, int]:
        """How many damaged or forged frames were dropped, by rank."""
        alive = {rank: child.reader.rejected for rank, child in self._children.items()}
        return {rank: count for rank, count in sorted((self._rejected | alive).items()) if count}

    def stop(self) -> None:
        """Ask every agent to quit, then kill what is left; a stopped or deaf process is killed too."""
        children = list(self._children.values())
        self._unstarted.clear()
        try:
            for child in children:
                child.outgoing += b'{"command":"quit"}\n'
                self._flush(child)
                self._close_stdin(child)
            _wait_until_ended(children, _GRACE_SECONDS)
        finally:
            for child in children:
                _kill(child.process)
            _wait_until_ended(children, _KILL_SECONDS)
            for child in children:
                self._forget(child)
            self._selector.close()

    def _start_more(self) -> None:
        starting = sum(not child.answered for child in self._children.values())
        while self._unstarted and starting < self._fan_out:
            self._spawn(self._unstarted.popleft())
            starting += 1

    def _spawn(self, rank: int) -> None:
        member = self._members[rank]
        nonce = secrets.token_hex(16)
        command = [*self._command_line(member)]
        try:
            # A session of its own: Ctrl-C reaches netkit alone, which then ends every agent in order.
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as fault:
            raise ProbeError(
                "starting agents", f"{member.name}: cannot run {visible(command[0])}: {fault.strerror}", "is it there?"
            ) from fault
        start = {"nonce": nonce, "deadline_s": max(1.0, self._dies_at - time.monotonic())}
        outgoing = bytearray(opening(self._source, start) + self._early.pop(rank, b""))
        child = _Child(rank, process, FrameReader(nonce), outgoing)
        self._children[rank] = child
        for role, pipe in (("stdin", process.stdin), ("stdout", process.stdout), ("stderr", process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            if role != "stdin":
                self._selector.register(pipe, selectors.EVENT_READ, (role, child))
        self._flush(child)

    def _flush(self, child: _Child) -> None:
        """Write what the pipe takes; ask to be told when it takes more. A closed pipe shows as end of output."""
        pipe = child.process.stdin
        assert pipe is not None
        if pipe.closed:
            return
        try:
            while child.outgoing:
                del child.outgoing[: os.write(pipe.fileno(), child.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            child.outgoing.clear()
        waiting = pipe.fileno() in self._selector.get_map()
        if child.outgoing and not waiting:
            self._selector.register(pipe, selectors.EVENT_WRITE, ("stdin", child))
        elif waiting and not child.outgoing:
            self._selector.unregister(pipe)

    def _read_stdout(self, child: _Child) -> Iterator[Event]:
        data = _read(child.process.stdout)
        if data is None:
            return
        if not data:
            yield self._end(child)
            return
        for fields in child.reader.feed(data):
            child.answered = True
            yield Message(rank=child.rank, fields=fields)

    def _read_stderr(self, child: _Child) -> Iterator[Event]:
        data = _read(child.process.stderr)
        if data == b"":
            assert child.process.stderr is not None
            self._selector.unregister(child.process.stderr)
        child.stderr += data or b""
        del child.stderr[:-_STDERR_KEPT_BYTES]
        return iter(())

    def _end(self, child: _Child) -> Ended:
        """Reap a child whose output ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(_GRACE_SECONDS)
        how = _how_it_ended(child.process.poll())
        _kill(child.process)
        child.process.wait(_KILL_SECONDS)
        child.stderr += _read(child.process.stderr) or b""
        self._forget(child)
        return Ended(rank=child.rank, how=how, said=child.last_words)

    def _close_stdin(self, child: _Child) -> None:
        pipe = child.process.stdin
        assert pipe is not None
        if not pipe.closed:
            if pipe.fileno() in self._selector.get_map():
                self._selector.unregister(pipe)
            pipe.close()

    def _forget(self, child: _Child) -> None:
        self._close_stdin(child)
        for pipe in (child.process.stdout, child.process.stderr):
            if pipe is not None and not pipe.closed:
                if pipe.fileno() in self._selector.get_map():
                    self._selector.unregister(pipe)
                pipe.close()
        self._rejected[child.rank] = child.reader.rejected
        self._children.pop(child.rank, None)


def _read(pipe: Any) -> bytes | None:
    """Return what is there, empty at the end, None when nothing is there now."""
    if pipe is None or pipe.closed:
        return None
    try:
        return os.read(pipe.fileno(), _READ_BYTES)
    except BlockingIOError:
        return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a child that still runs, with everything in its session. Once reaped, its number may be another's."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _wait_until_ended(children: Sequence[_Child], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(max(0.0, deadline - time.monotonic()))


def _how_it_ended(status: int | None) -> str:
    if status is None:
        return "closed its output"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
