"""A process that may hang in a driver: asked with a deadline, ended gently, and left behind when it cannot be ended.

signal(7), proc(5): a process in uninterruptible sleep (D) ignores even SIGKILL until its system call returns. Killing a
GPU client at once has frozen GPUs, so SIGTERM and a grace period always come first.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from netkit.model.missing import Missing, Reason
from netkit.model.text import visible

LONGEST_ANSWER = 1 << 20
"""Bytes of one answer at most."""
LONGEST_OUTPUT = 16 << 20
"""Bytes a tool may print."""
_UNKILLABLE_SECONDS = 0.5
_LEAVING_SECONDS = 0.2


class ChildSilentError(Exception):
    """No answer came in time."""


class ChildGoneError(Exception):
    """The process ended, or closed its end, without an answer."""

    def __init__(self, status: int | None) -> None:
        self.status = status
        super().__init__(f"ended with {status}")


class Process(Protocol):
    """What ending a process needs of `subprocess.Popen`."""

    def poll(self) -> int | None:
        """Return the exit status, None while it lives."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM."""
        ...

    def kill(self) -> None:
        """Send SIGKILL."""
        ...


def end(process: Process, grace_seconds: float) -> bool:
    """SIGTERM, wait, SIGKILL, wait a little; False for a process that outlives even that and must be left alone."""
    for send, patience in ((process.terminate, grace_seconds), (process.kill, _UNKILLABLE_SECONDS)):
        if process.poll() is not None:
            return True
        send()
        if _ended(process, time.monotonic() + patience):
            return True
    return False


def _ended(process: Process, deadline: float) -> bool:
    while process.poll() is None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    return True


def tool_text(arguments: Sequence[str], seconds: float, grace_seconds: float) -> str | Missing:
    """Run a tool that may hang and return what it printed, a failing exit status included: tools explain themselves."""
    name = visible(Path(arguments[0]).name)
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as fault:
        return Missing(reason=Reason.ABSENT, where=name, detail=fault.strerror or "cannot be started")
    assert process.stdout is not None
    with process.stdout:
        printed = _drained(process.stdout.fileno(), time.monotonic() + seconds)
    end(process, grace_seconds)
    return printed if printed is not None else Missing(reason=Reason.TIMEOUT, where=name, detail=f"{seconds:g} s")


def _drained(descriptor: int, deadline: float) -> str | None:
    parts: list[bytes] = []
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        if not part or sum(map(len, parts)) > LONGEST_OUTPUT:
            return b"".join(parts).decode(errors="replace")
        parts.append(part)
    return None


class Child:
    """One process that answers one JSON line to each JSON line."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
        self._rest = b""

    def ask(self, request: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Return the answer; ChildSilentError after `seconds`, ChildGoneError when there will be none."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as fault:
            raise ChildGoneError(self._status()) from fault
        return self._parsed(self._line(time.monotonic() + seconds))

    def close(self, grace_seconds: float) -> bool:
        """Close its input so that it can leave by itself, then end it; False when it had to be left behind."""
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]  # both are pipes, see the constructor
        return _ended(self.process, time.monotonic() + _LEAVING_SECONDS) or end(self.process, grace_seconds)

    def _line(self, deadline: float) -> bytes:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise ChildSilentError
            part = os.read(descriptor, 1 << 16)
            if not part or len(self._rest) > LONGEST_ANSWER:
                raise ChildGoneError(self._status())
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except ValueError as fault:
            raise ChildGoneError(self._status()) from fault
        if not isinstance(answer, dict):
            raise ChildGoneError(self._status())
        return answer

    def _status(self) -> int | None:
        _ended(self.process, time.monotonic() + _UNKILLABLE_SECONDS)
        return self.process.poll()
