"""Launchers: the words they start agents with, and the processes they start, feed, hear and always end."""

from __future__ import annotations

import importlib
import os
import pkgutil
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from netkit.errors import ProbeError
from netkit.probe import launchers
from netkit.probe.launchers import local, netns, ssh
from netkit.probe.launchers.processes import BOOTSTRAP, Processes, ProcessLauncher
from netkit.probe.launchers.session import Ended, Event, Launcher, Member, Message

UNITS = [
    module.LAUNCHER
    for info in pkgutil.iter_modules(launchers.__path__)
    if hasattr(module := importlib.import_module(f"{launchers.__name__}.{info.name}"), "LAUNCHER")
]


def member(name: str = "n0", **more: object) -> Member:
    return Member(**{"name": name, "python": sys.executable, **more})  # type: ignore[arg-type]


@contextmanager
def started(members: Sequence[Member], launcher: Launcher = local.LAUNCHER) -> Iterator[Processes]:
    sessions = launcher.start(members, 30.0)
    assert isinstance(sessions, Processes)
    try:
        yield sessions
    finally:
        sessions.stop()


def receive_until(sessions: Processes, enough: Callable[[list[Event]], bool], seconds: float = 15) -> list[Event]:
    events: list[Event] = []
    deadline = time.monotonic() + seconds
    while not enough(events) and time.monotonic() < deadline:
        events += sessions.receive(0.1)
    return events


def hellos(events: list[Event]) -> dict[int, int]:
    """PID by rank of every rank that said hello."""
    return {event.rank: event.fields["pid"] for event in events if isinstance(event, Message) and "pid" in event.fields}


def ended(events: list[Event]) -> list[Ended]:
    return [event for event in events if isinstance(event, Ended)]


def greet(sessions: Processes, count: int) -> dict[int, int]:
    for rank in range(count):
        sessions.send(rank, {"command": "hello", "task": "hello"})
    return hellos(receive_until(sessions, lambda events: len(hellos(events)) == count))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("launcher", UNITS, ids=lambda launcher: launcher.id)
def test_every_launcher_is_named_for_its_module(launcher: Launcher) -> None:
    """The folder holds units: the id is the file name, and the report's word for the transport is set."""
    assert importlib.import_module(f"{launchers.__name__}.{launcher.id}").LAUNCHER is launcher
    assert launcher.transport


def test_agents_answer_and_stop_leaves_none() -> None:
    """Every rank has a process of its own, and after stop there is none."""
    with started([member(), member("n1"), member("n2")]) as sessions:
        pids = greet(sessions, 3)
        assert len(set(pids.values())) == 3
    assert not any(is_running(pid) for pid in pids.values())


def test_stop_ends_agents_that_do_not_listen() -> None:
    """A process under SIGSTOP is ended like the others, and quickly."""
    with started([member(), member("n1")]) as sessions:
        pids = greet(sessions, 2)
        os.kill(pids[1], signal.SIGSTOP)
        begun = time.monotonic()
        sessions.stop()
        assert time.monotonic() - begun < 5
        assert not any(is_running(pid) for pid in pids.values())


def test_stop_after_stop_is_harmless() -> None:
    """Cleaning up twice, as after Ctrl-C, is no error."""
    with started([member()]) as sessions:
        greet(sessions, 1)
        sessions.stop()


@pytest.mark.fault("H04")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_agent_is_reported_with_its_signal(number: signal.Signals) -> None:
    """The event says which rank and which signal."""
    with started([member(), member("n1")]) as sessions:
        pids = greet(sessions, 2)
        os.kill(pids[1], number)
        events = ended(receive_until(sessions, lambda events: bool(ended(events))))
        assert [(event.rank, event.how) for event in events] == [(1, f"killed by {number.name}")]


def test_a_command_that_fails_is_reported_with_its_last_words() -> None:
    """What ssh or an interpreter prints on its way out reaches the person, made visible."""
    script = "import sys; sys.stderr.write('first\\nHost key verification failed.\\x1b[2J\\n'); sys.exit(255)"
    failing = ProcessLauncher(id="failing", transport="none", command_line=lambda own: (own.python, "-S", "-c", script))
    with started([member()], failing) as sessions:
        [event] = ended(receive_until(sessions, lambda events: bool(ended(events))))
        assert str(event) == "exited with status 255 (Host key verification failed.\\x1b[2J)"


def test_an_interpreter_that_is_not_there_is_one_line() -> None:
    """Nothing was started: the error names the host and the program."""
    with pytest.raises(ProbeError, match=r"n0: cannot run /no/such/python: No such file"):
        local.LAUNCHER.start([member(python="/no/such/python")], 30.0)


@pytest.mark.fault("I05")
def test_what_else_a_rank_prints_is_no_message() -> None:
    """Noise and forged frames on standard output do not hide the true ones, and are counted."""
    forged = f"NETKIT/1 {'0' * 32} 2 {'0' * 64}"
    noisy = ProcessLauncher(
        id="noisy",
        transport="none",
        command_line=lambda own: (
            own.python,
            "-I",
            "-S",
            "-c",
            f"print('NCCL INFO\\n{forged}', flush=True);{BOOTSTRAP}",
        ),
    )
    with started([member()], noisy) as sessions:
        assert len(greet(sessions, 1)) == 1
        assert sessions.rejected() == {0: 1}


def test_a_flood_on_standard_error_is_bounded() -> None:
    """Only the end is kept, and the agent is not held up by a full pipe."""
    flood = "import sys\nfor _ in range(100_000): sys.stderr.write('x' * 40)"
    flooding = ProcessLauncher(
        id="flooding",
        transport="none",
        command_line=lambda own: (own.python, "-I", "-S", "-c", f"{flood}\n{BOOTSTRAP}"),
    )
    with started([member()], flooding) as sessions:
        assert len(greet(sessions, 1)) == 1
        assert len(sessions._children[0].stderr) <= 4096


def test_only_so_many_are_starting_at_once() -> None:
    """With a fan-out of two, ranks start as earlier ones answer; orders given early are kept for them."""
    alive: list[int] = []
    narrow = ProcessLauncher(id="narrow", transport="none", command_line=local.command_line, fan_out=2)
    with started([member(f"n{rank}") for rank in range(5)], narrow) as sessions:
        alive.append(len(sessions._children))
        assert sorted(greet(sessions, 5)) == [0, 1, 2, 3, 4]
    assert alive == [2]


def test_the_ssh_command_line_cannot_be_bent() -> None:
    """Batch mode, host keys untouched, no destination read as an option, and the remote words quoted."""
    words = ssh.command_line(
        member("n0", destination="node-1", python="/opt/my python/bin/python3", options=("-p", "22"))
    )
    assert words[0] == "ssh"
    assert "-oBatchMode=yes" in words
    assert not any("StrictHostKeyChecking" in word or "UserKnownHostsFile" in word for word in words)
    assert words[-3:-1] == ("--", "node-1")
    assert words.index("-p") < words.index("--")
    assert shlex.split(words[-1]) == ["exec", "/opt/my python/bin/python3", "-I", "-S", "-c", BOOTSTRAP]


def test_the_way_into_a_namespace_comes_first() -> None:
    """The caller's words stand before the interpreter; the netns launcher knows no lab."""
    words = netns.command_line(member(options=("enter", "n0", "--"), python="py"))
    assert words[:4] == ("enter", "n0", "--", "py")
