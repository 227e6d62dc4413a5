"""Causes that look alike: told apart by what was read, and never taken for each other by what was not."""

from __future__ import annotations

import random

import pytest

from netkit_playbooks.playbook import Case, Playbook
from netkit_playbooks.ranking import rank
from netkit_playbooks.readings import Reading
from netkit_playbooks.shelf import playbook, playbooks

PAIRS = [
    ("incast or a storm", "pfc-storm", "incast", "storm-elsewhere"),
    ("incast or a slow receiver", "fabric-congestion", "incast", "slow-receiver"),
    ("a receiver slow by PCIe or by its buffers", "slow-receiver", "pcie", "no-buffers"),
    ("buffers of the process or of the NIC", "slow-receiver", "no-buffers", "nic-buffers"),
    ("a bad cable or a congested path", "rdma-out-of-sequence", "bad-cable", "congested-path"),
    ("notifications switched off or no congestion", "ecn-cnp", "notification-off", "no-congestion"),
    ("an exporter that is down or its node", "netkit-exporter-down", "exporter-down", "node-down"),
    ("a driver that hangs or an exporter that is down", "netkit-exporter-down", "driver-hangs", "exporter-down"),
    ("a port switched off or one without a signal", "rdma-port-down", "admin-down", "no-carrier"),
    ("a program that crashed or a GPU that failed", "gpu-xid", "application", "fell-off"),
]
CASES = [pytest.param(one, case, id=f"{one.id}: {case.name}") for one in playbooks().values() for case in one.cases]
SPREAD = 0.15
"""Real numbers are never those of the page: each is moved by up to this share of itself."""


def named(of: Playbook, values: dict[str, float]) -> str | None:
    cause = rank(of, {name: Reading(value=value) for name, value in values.items()}).cause
    return None if cause is None else cause.id


@pytest.mark.parametrize(("id_", "one", "other"), [pytest.param(*pair[1:], id=pair[0]) for pair in PAIRS])
def test_a_pair_is_told_apart(id_: str, one: str, other: str) -> None:
    """Each has a case of its own, and its twin is not the second choice within reach."""
    found = playbook(id_)
    assert {one, other} <= {case.cause for case in found.cases}
    for case in found.cases:
        if case.cause in (one, other):
            assert named(found, case.readings) == case.cause


@pytest.mark.parametrize(("of", "case"), CASES)
def test_numbers_somewhat_off_name_the_same_cause(of: Playbook, case: Case) -> None:
    """Fifty drawings around each case; whole numbers such as states and counts of findings stay what they are."""
    draw = random.Random(f"{of.id} {case.name}")
    for _ in range(50):
        moved = {
            name: value if value == int(value) and value < 20 else value * draw.uniform(1 - SPREAD, 1 + SPREAD)
            for name, value in case.readings.items()
        }
        assert named(of, moved) == case.cause, moved


@pytest.mark.parametrize(("of", "case"), CASES)
def test_a_missing_signal_never_makes_another_cause_of_it(of: Playbook, case: Case) -> None:
    """Without any one of its signals a case still names its cause, or nobody can tell."""
    for lost in (name for name in case.readings if name.islower()):
        left = {name: value for name, value in case.readings.items() if name != lost}
        assert named(of, left) in (case.cause, None), lost
