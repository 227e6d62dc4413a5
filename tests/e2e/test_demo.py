"""The demo, as a new user runs it: from nothing to both culprits, and nothing left behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.e2e.other_user import NOBODY, as_nobody, environment, interpreter_for_nobody

pytestmark = pytest.mark.e2e


def keepers() -> int:
    """How many lab keepers run on this machine."""
    found = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found += b"netkit.lab.keeper" in (folder / "cmdline").read_bytes()
            except OSError:
                continue
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o700)
        yield Path(name)


def run_demo(
    folder: Path, *options: str, words: Sequence[str] = (), python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*words, python, "-m", "netkit", "demo", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(str(folder)),
    )


def namespaces_refused(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode == 3 and "--emulate" in done.stderr


@pytest.mark.parametrize("user", ["current", "nobody"])
def test_the_demo_names_both_culprits_within_a_minute_and_leaves_nothing(user: str, folder: Path) -> None:
    """Slow rail first, misplaced NIC beside it; status 0; no lab and no process afterwards."""
    before, started = keepers(), time.monotonic()
    if user == "nobody":
        python = interpreter_for_nobody() if os.geteuid() == 0 and shutil.which("setpriv") else None
        if python is None:
            pytest.skip("needs root, setpriv, and a Python 3.11 with pyroute2 and typer that nobody may run")
        os.chown(folder, NOBODY, NOBODY)
        done = run_demo(folder, "--report", str(folder / "demo.html"), words=as_nobody(), python=python)
    else:
        done = run_demo(folder, "--report", str(folder / "demo.html"))
    if namespaces_refused(done):
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert re.search("n3 rail 1 is (19|20|21)% slow", done.stdout.splitlines()[0])
    assert "n6 has gpu0, gpu1 mis-paired" in done.stdout
    assert time.monotonic() - started < 60
    assert keepers() == before
    assert "<!doctype html>" in (folder / "demo.html").read_text()[:200].lower()


def test_the_emulated_demo_says_so_in_its_first_lines(folder: Path) -> None:
    """Without namespaces the same story runs over loopback, labelled."""
    done = run_demo(folder, "--emulate")
    assert done.returncode == 0, done.stderr
    assert "emulated" in "\n".join(done.stdout.splitlines()[:4]).lower()
