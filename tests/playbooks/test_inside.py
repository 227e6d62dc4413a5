"""Netkit's commands inside a command: what they print is kept, and those that take too long are ended."""

from __future__ import annotations

import time
from typing import Any

import pytest

from netkit.errors import ExitStatus, InputError, SourceError
from netkit_playbooks.inside import netkit_in


class Misuse(Exception):  # noqa: N818 - as the command line's own
    """Words nobody understands."""


class Root:
    """Stands in for the command line: does what a test says, and ends with a status."""

    def __init__(self, act: Any) -> None:
        self._act = act

    def main(self, *, args: list[str], prog_name: str, standalone_mode: bool) -> object:
        assert (prog_name, standalone_mode) == ("netkit", False)
        return self._act(args)


def fails(fault: Exception) -> Any:
    def act(_args: list[str]) -> None:
        raise fault

    return act


@pytest.mark.parametrize(
    ("act", "status", "said"),
    [
        (lambda _args: None, ExitStatus.OK, ""),
        (lambda _args: 3, ExitStatus.NOT_MEASURED, ""),
        (fails(InputError("a", "b")), ExitStatus.BAD_INPUT, "a: accepted is b"),
        (fails(SourceError("no answer", "there")), ExitStatus.NOT_MEASURED, "no answer: there"),
        (fails(Misuse("no such option\x1b[31m")), ExitStatus.BAD_INPUT, "no such option\\x1b[31m"),
    ],
)
def test_every_end_of_a_command_is_a_status(act: Any, status: ExitStatus, said: str) -> None:
    """Faults become what the command line would have made of them, and what they say is safe to show."""
    answer = netkit_in(Root(act), Misuse)(("x",), 5.0)
    assert (answer.status, answer.said) == (status, said)


def test_what_a_command_prints_is_kept() -> None:
    """It does not reach the terminal of the outer command."""
    answer = netkit_in(Root(lambda args: print(*args)), Misuse)(("a", "b"), 5.0)
    assert answer.printed == "a b\n"


def test_a_command_that_hangs_is_ended_and_its_outer_one_keeps_its_own_time() -> None:
    """The inner one has no answer; the outer one goes on, and is ended when its own time is up."""
    inner = netkit_in(Root(lambda _args: time.sleep(60)), Misuse)

    def outer(_args: list[str]) -> None:
        answer = inner(("hang",), 0.05)
        assert answer.status == ExitStatus.NOT_MEASURED
        assert "0.05 s" in answer.said
        time.sleep(60)

    ended = netkit_in(Root(outer), Misuse)(("x",), 0.5)
    assert ended.status == ExitStatus.NOT_MEASURED
    assert "0.5 s" in ended.said
