"""The table of drills: every alert once, each with a fault that exists and a cause its playbook has. Starts nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.drills.drill import DRILLS, REPRESENTATIVE, Act, Drill
from benchmarks.drills.faults import FAULTS
from benchmarks.drills.scenarios import PAIRS, kinds, scenarios
from netkit.catalogue.alerts import alerts
from netkit_playbooks.shelf import playbooks

PLAYBOOK_OF = {alert.name: alert.playbook for alert in alerts()}


def causes_of(alert: str) -> set[str]:
    return {cause.id for cause in playbooks()[PLAYBOOK_OF[alert]].causes}


def test_every_alert_is_drilled_once() -> None:
    """No alert without a drill, and none twice."""
    assert Counter(one.alert for one in DRILLS) == Counter(dict.fromkeys(PLAYBOOK_OF, 1))


@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.alert)
def test_a_drill_has_a_fault_and_a_cause(drill: Drill) -> None:
    """Something is done to the node, and the playbook knows the cause that is expected, if one can be told."""
    assert drill.fault in FAULTS or drill.act is not Act.NOTHING
    assert drill.cause in {*causes_of(drill.alert), ""}


@pytest.mark.parametrize(("alert", "fault", "cause", "beside"), PAIRS, ids=str)
def test_a_pair_has_faults_and_a_cause(alert: str, fault: str, cause: str, beside: tuple[str, ...]) -> None:
    """Both sides of a pair exist."""
    assert {fault, *beside} <= FAULTS.keys()
    assert cause in causes_of(alert)


def test_representatives_are_of_every_component() -> None:
    """What runs with the other tests on real parts leaves one component of alerts out, and no other."""
    component = {alert.name: alert.component for alert in alerts()}
    left = {component[name] for name in component} - {component[name] for name in REPRESENTATIVE}

    assert left == {"topology"}


def test_a_seed_gives_the_same_scenarios() -> None:
    """Seeds are an argument: the same one the same incidents, another one others; every kind comes."""
    first, again, other = (tuple(scenarios(seed, 120)) for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert {one.kind for one in first} == set(kinds())


def test_two_drills_end_without_a_cause() -> None:
    """A NIC in another slot looks like a machine built so; ports nobody exports are not counted as none."""
    assert [one.alert for one in DRILLS if not one.cause] == ["GpuNicPairingMismatch", "NetkitSourceMetricAbsent"]
