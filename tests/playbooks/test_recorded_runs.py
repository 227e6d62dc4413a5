"""Playbooks run over recorded nodes, through the command line that a person would use."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

NODES = Path(__file__).parents[1] / "nodes"


@cache
def ran(playbook: str, node: str) -> tuple[int, dict[str, Any]]:
    words = ["playbook", "run", playbook, "--snapshot", str(NODES / f"{node}.jsonl"), "--output", "json"]
    done = subprocess.run([sys.executable, "-m", "netkit", *words], check=False, capture_output=True, text=True)
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return done.returncode, document


@pytest.mark.parametrize(
    ("playbook", "node", "status", "verdict", "cause"),
    [
        ("pcie-degraded", "roce-two-rails", 1, "named", "lanes-lost"),
        ("pcie-degraded", "healthy-hgx", 0, "not now", None),
        ("pfc-storm", "healthy-hgx", 3, "cannot tell", None),
    ],
)
def test_a_recording_names_what_one_moment_can_tell(
    playbook: str, node: str, status: int, verdict: str, cause: str | None
) -> None:
    """A NIC on half its lanes is named; a healthy node is not now; growth and other nodes are not guessed."""
    ended, document = ran(playbook, node)
    assert (ended, document["verdict"], document["cause"]) == (status, verdict, cause)
    assert document["schema"] == "netkit.playbook/1"
    assert {"cause", "score", "evidence"} <= document["ranked"][0].keys()
    assert {"id", "outcome", "expected", "seen"} <= document["steps"][0].keys()


def test_evidence_of_a_named_cause_is_shown_with_its_place() -> None:
    """The width, where it was read, and the finding of the rule that says the same."""
    _, document = ran("pcie-degraded", "roce-two-rails")
    held = [one for one in document["ranked"][0]["evidence"] if one["state"] == "held"]
    widths = [one["seen"]["pcie-width-ratio"] for one in held if "pcie-width-ratio" in one["seen"]]
    assert widths[0]["value"] == 0.5
    assert widths[0]["where"]["kind"] == "nic"
    assert any("T07" in one["seen"] for one in held)
