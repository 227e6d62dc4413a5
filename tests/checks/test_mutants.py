"""Single faults are found under the right rule, and the intact machine is silent."""

from __future__ import annotations

from collections import Counter

import pytest

from netkit.model.check import Outcome
from netkit.model.finding import Severity
from tests.checks.mutants import Mutant, Trial, mutants
from tests.checks.scenes import Scene, answers, scene


@pytest.fixture(scope="module")
def parent() -> Scene:
    return scene(fellows=3)


def test_the_intact_parent_is_silent(parent: Scene) -> None:
    """Not one finding at warning or above."""
    loud = [one for one in answers(parent) if one.outcome is Outcome.FINDING and one.severity is not Severity.INFO]
    assert loud == []


def test_there_are_enough_mutants_of_enough_rules(parent: Scene) -> None:
    """At least 500, of at least 50 rules."""
    made = list(mutants(parent))
    assert len(made) >= 500
    assert len({one.rule for one in made}) >= 50


def test_a_sample_of_mutants_is_found(parent: Scene) -> None:
    """98 of 100 found, 95 of 100 under the right rule; `python -m benchmarks doctor` makes all of them."""
    trial, sample = Trial(parent), list(mutants(parent))[::9]
    tally = Counter(trial.judge(one) for one in sample)
    assert tally["missed"] <= 0.02 * len(sample)
    assert tally["right"] >= 0.95 * len(sample)


def test_one_mutant_of_every_rule_is_found_by_it(parent: Scene) -> None:
    """Each rule that has mutants names the first of them."""
    firsts: dict[str, Mutant] = {}
    for one in mutants(parent):
        firsts.setdefault(one.rule, one)
    trial = Trial(parent)
    assert {rule: trial.judge(one) for rule, one in firsts.items()} == dict.fromkeys(firsts, "right")
