"""Advice is complete, is silent about what is right, and comes out of findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netkit.tuning.advice import families
from netkit.tuning.contract import Recommendation
from tests.checks.scenes import scene
from tests.tuning.advised import advised

ALL = [one for family in families() for one in family.recommendations]


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.id)
def test_every_recommendation_says_why_whence_and_what_may_go_wrong(one: Recommendation) -> None:
    """Reason, source, effect and risk are sentences, and rules exist."""
    from netkit.checks import rules

    assert all(len(text) >= 4 for text in (one.reason, one.source, one.effect, one.risk))
    assert set(one.rules) <= set(rules())


def test_ids_are_unique_and_files_are_named_for_their_family() -> None:
    """A recommendation is found by its id, a family by its file."""
    assert len({one.id for one in ALL}) == len(ALL)
    assert [family.id for family in families()] == sorted(family.id for family in families())


def test_a_machine_that_is_right_gets_no_advice() -> None:
    """The healthy made-up node under its job."""
    assert advised(scene(fellows=2)).advice == ()


def test_without_a_job_its_settings_are_not_seen_rather_than_right() -> None:
    """Nobody gave an environment: that is said once for each recommendation about it."""
    from netkit.model.environment import Environment

    blind = replace(scene(), job={}, wishes={"environment": Environment()})
    report = advised(blind)
    assert report.advice == ()
    assert {"nccl-chunk-size", "nccl-debugging"} <= {one.id for one in report.unseen}
