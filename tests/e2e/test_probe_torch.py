"""`netkit probe lab --backend torch`: the agents run under an interpreter that has PyTorch, and use Gloo."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from netkit.errors import ProbeError
from netkit.lab import lifecycle
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import checked_shape
from netkit.model.probe import Direction

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

SYSTEM_PYTHON = "/usr/bin/python3"
RATE = 100e6 / 8
NODES = 8
AGREEMENT = 0.10


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    """Eight nodes on one rail: one worker a node has to import torch."""
    asked = subprocess.run([SYSTEM_PYTHON, "-c", "import torch.distributed as d; assert d.is_available()"], check=False)
    if asked.returncode != 0:
        pytest.skip(f"{SYSTEM_PYTHON} has no PyTorch (Debian: python3-torch)")
    name = f"e2e-torch-{os.getpid()}"
    try:
        lifecycle.up(
            checked_shape(nodes=NODES, rails=1, leaves=1, rate=RATE, uplink_rate=None), name, owner=os.getpid()
        )
    except ProbeError as refused:
        pytest.skip(f"no lab on this machine: {refused}")
    yield name
    lifecycle.down(name)


def probe(lab: str, *options: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "netkit", "probe", "lab", "--name", lab, "--output", "json", "--seed", "5", *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def rates(report: dict[str, Any]) -> list[float]:
    """Both directions of every pair that was measured."""
    pairs = [row for row in report["readings"] if len(row["nodes"]) == 2]
    assert all(row["missing"] is None for row in pairs), pairs
    return [row[f"{way}_bytes_per_second"] for row in pairs for way in ("forward", "reverse")]


def test_torch_agrees_with_the_sockets(lab: str) -> None:
    """Within ten percent by the ratio of medians, measured in turn on the same links; no link is blamed."""
    found: dict[str, list[float]] = {"socket": [], "torch": []}
    for backend in ("socket", "torch", "socket", "torch"):
        report = probe(lab, "--backend", backend, "--python", SYSTEM_PYTHON)
        assert (report["backend"], report["findings"]) == (backend, []), report["why"]
        found[backend] += rates(report)
    ratio = statistics.median(found["torch"]) / statistics.median(found["socket"])
    print(f"torch moves {ratio:.3f} of what sockets move")
    assert abs(ratio - 1) < AGREEMENT


def test_torch_names_the_slow_rail_and_its_side(lab: str) -> None:
    """Thirty percent off what one node sends: the same decoder, fed by another library."""
    lifecycle.set_fault(
        lab, Fault(where=Where(place=Place.NODE, node="n2", rail=0), slowdown=0.3, direction=Direction.TX)
    )
    try:
        report = probe(lab, "--backend", "torch", "--python", SYSTEM_PYTHON)
    finally:
        lifecycle.clear_faults(lab, None)
    assert report["verdict"] == "slow", report["why"]
    assert [(one["class"], one["node"], one["direction"]) for one in report["findings"]] == [("rail", "n2", "tx")]


def test_an_interpreter_without_torch_is_one_clear_line(lab: str) -> None:
    """Status 3, the node, what Python said and what would help; nothing was measured."""
    words = [sys.executable, "-m", "netkit", "probe", "lab", "--name", lab, "--backend", "torch"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, done.stdout) == (3, "")
    assert "n0: No module named 'torch'" in last
    assert "--python" in last
