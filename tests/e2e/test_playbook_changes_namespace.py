"""A change in a network namespace of its own: done with a yes, and undone by the way back that it printed."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e
Run = Callable[..., "subprocess.CompletedProcess[str]"]
LIMIT = "tbf rate 50Mbit burst 32Kb lat 50ms"


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Run]:
    """Runs commands in a fresh namespace with one interface, `rail0`; it goes with the process that holds it."""
    missing = [name for name in ("unshare", "nsenter", "ip", "tc") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    ready = tmp_path / "ready"
    script = (
        f"ip link add rail0 type veth peer name leaf0 && ip link set rail0 up && touch {shlex.quote(str(ready))} && cat"
    )
    held = subprocess.Popen(["unshare", "--net", "sh", "-c", script], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    while not ready.exists():
        if held.poll() is not None:
            assert held.stderr is not None
            pytest.skip(f"no namespace here: {held.stderr.read().decode().strip()}")

    def run(*words: str, check: bool = True, answer: str = "") -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", "--net", "--target", str(held.pid), *words]
        if answer:
            return on_a_terminal(enter, answer)
        return subprocess.run(enter, check=check, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    yield run
    held.communicate(timeout=20)


def on_a_terminal(words: list[str], answer: str) -> subprocess.CompletedProcess[str]:
    """Run with a terminal for questions, and type this answer into it."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        return subprocess.run(words, check=False, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True)
    finally:
        os.close(ours)
        os.close(theirs)


def netkit(inside: Run, *words: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    return inside(sys.executable, "-m", "netkit", *words, check=False, answer=answer)


def rollback_of(printed: str) -> tuple[str, ...]:
    (line,) = (line for line in printed.splitlines() if line.startswith("rollback:"))
    program, *words = shlex.split(line.removeprefix("rollback:"))
    assert program == "netkit"
    return tuple(words)


def state(inside: Run) -> tuple[str, str]:
    """Interface and queueing discipline, as the kernel says; handles are numbers that the kernel draws."""
    link = inside("ip", "-o", "link", "show", "dev", "rail0").stdout.split("qlen")[0]
    qdisc = inside("tc", "qdisc", "show", "dev", "rail0", "root").stdout.split()
    return link, " ".join(qdisc[:2] + qdisc[3:])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("mtu", "--netdev", "rail0", "--to", "4200"), "mtu 4200"),
        (("link-down", "--netdev", "rail0"), "state DOWN"),
        (("qdisc-remove", "--netdev", "rail0"), "noqueue"),
        (("qdisc-set", "--netdev", "rail0", "--to", "tbf rate 20mbit burst 16kb latency 30ms"), "rate 20Mbit"),
    ],
)
def test_a_change_is_undone_by_the_way_back_it_printed(inside: Run, words: tuple[str, ...], shown: str) -> None:
    """Without a yes the state stays; with one it changes; the printed command restores it."""
    inside("tc", "qdisc", "replace", "dev", "rail0", "root", *LIMIT.split())
    before = state(inside)
    refused = netkit(inside, "playbook", "change", *words)
    assert refused.returncode == 3, refused.stderr
    assert state(inside) == before
    done = netkit(inside, "playbook", "change", *words, "--yes")
    assert done.returncode == 0, done.stderr
    assert shown in " ".join(state(inside))
    assert state(inside) != before
    undone = netkit(inside, *rollback_of(done.stdout), "--yes")
    assert undone.returncode == 0, undone.stderr
    assert state(inside) == before


@pytest.mark.parametrize(("answer", "mtu"), [("n", "mtu 1500"), ("y", "mtu 4200")])
def test_a_terminal_is_asked(inside: Run, answer: str, mtu: str) -> None:
    """A no leaves everything as it is, a yes does what was printed."""
    words = ("playbook", "change", "mtu", "--netdev", "rail0", "--to", "4200")
    done = netkit(inside, *words, answer=answer)
    assert done.returncode == (0 if answer == "y" else 3)
    assert "difference: rail0: 1500 -> 4200" in done.stdout
    assert mtu in state(inside)[0]
