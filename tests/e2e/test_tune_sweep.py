"""`netkit tune sweep lab` on real kernel links: over equal-cost uplinks more connections help, and that is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkit.errors import ProbeError
from netkit.lab import lifecycle
from netkit.lab.shape import checked_shape

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture
def lab() -> Iterator[str]:
    """Eight nodes on one rail, two leaves that route, four uplinks of equal cost; it ends with this process."""
    name = f"e2e-sweep-{os.getpid()}"
    shape = checked_shape(nodes=8, rails=1, leaves=2, rate=100e6 / 8, uplink_rate=None, uplinks=4)
    try:
        lifecycle.up(shape, name, owner=os.getpid())
    except ProbeError as refused:
        pytest.skip(f"no lab on this machine: {refused}")
    yield name
    lifecycle.down(name)


def test_more_connections_are_found_to_help_over_equal_cost_uplinks(lab: str, tmp_path: Path) -> None:
    """Four per peer or more win, with an interval above one, and are written as NCCL's variables."""
    winner = tmp_path / "nccl.env"
    arguments = ["tune", "sweep", "lab", "--name", lab, "--seconds", "0.6", "--output", "json", "--write", str(winner)]
    done = subprocess.run(
        [sys.executable, "-m", "netkit", *arguments], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "improved", found["why"]
    assert int(found["best"]["connections"]) >= 4
    assert 1 < found["effect"]["low"] < found["effect"]["factor"]
    assert sum(trial["phase"] != "baseline" for trial in found["trials"]) <= 20
    assert winner.read_text() == found["forms"]["env"]
    assert "NCCL_NSOCKS_PERTHREAD=" in winner.read_text()
