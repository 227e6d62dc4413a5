"""Runs netkit's own commands inside this process, keeps what they print, and ends those that take too long."""

from __future__ import annotations

import contextlib
import io
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

from netkit.errors import ExitStatus, NetkitError
from netkit.model.text import visible
from netkit_playbooks.running import Answer, Netkit

_SAID = 300
_AT_ONCE = 0.001


def netkit_in(root: Any, misuse: type[Exception]) -> Netkit:
    """Return what runs the words of a command under `root`, the command line's own tree of commands.

    `misuse` is what the command line raises for words it does not understand.
    """

    def netkit(words: tuple[str, ...], timeout_seconds: float) -> Answer:
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            try:
                with _deadline(timeout_seconds):
                    status = root.main(args=list(words), prog_name="netkit", standalone_mode=False) or ExitStatus.OK
            except NetkitError as fault:
                status = fault.exit_status
                said.write(str(fault))
            except TimeoutError:
                status = ExitStatus.NOT_MEASURED
                said.write(f"no answer within {timeout_seconds:g} s")
            except misuse as fault:
                status = ExitStatus.BAD_INPUT
                said.write(str(fault))
        return Answer(status=int(status), printed=printed.getvalue(), said=_shown(said.getvalue()))

    return netkit


def _shown(said: str) -> str:
    return visible(" ".join(said.split()), limit=_SAID)


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the main thread when time is up; elsewhere commands keep only their own deadlines."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, started = signal.signal(signal.SIGALRM, _late), time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        # A command inside a command gives the outer one its alarm back, and at once where its time is up.
        left = outer - (time.monotonic() - started)
        signal.setitimer(signal.ITIMER_REAL, max(left, _AT_ONCE) if outer else 0)
        signal.signal(signal.SIGALRM, before)


def _late(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError
