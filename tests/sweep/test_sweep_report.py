"""A sweep's result as a person and as a program reads it."""

from __future__ import annotations

import json

import pytest

from netkit.report.plain_text import plain_text
from netkit.report.sweep import blocks, render
from netkit.sweep.course import Budget, SweepReport
from tests.sweep.test_course import swept


def report(factor: float, budget: Budget | None = None) -> SweepReport:
    """Return a sweep in which eight connections reach so many times the baseline."""
    return swept(lambda setting: 1e9 * (factor if setting == ("8",) else 1.0), budget)


@pytest.mark.parametrize(
    ("factor", "budget", "word", "verdict"),
    [
        (2.0, None, "IMPROVED: connections=8", "improved"),
        (0.5, None, "NO EFFECT: ", "no_effect"),
        (2.0, Budget(trials=6), "INCONCLUSIVE: connections=8", "inconclusive"),
    ],
)
def test_both_forms_say_the_same(factor: float, budget: Budget | None, word: str, verdict: str) -> None:
    """The first line names verdict and setting; JSON has every trial; only a winner has a form to set."""
    found = report(factor, budget)
    text, data = plain_text(blocks(found)), json.loads(render(found))
    assert text.startswith(word)
    assert (data["schema"], data["verdict"]) == ("netkit.sweep/1", verdict)
    assert len(data["trials"]) == len(found.trials)
    assert ("NCCL_NSOCKS_PERTHREAD" in text) is (data["forms"] is not None) is (verdict == "improved")
    assert "connections=1 (baseline)" in text


def test_a_sweep_that_measured_nothing_is_shown_too() -> None:
    """Its table has no numbers, and no crash either."""
    found = report(2.0, Budget(seconds=-1.0))
    assert "0 measurements" in plain_text(blocks(found))
    assert json.loads(render(found, one_line=True))["best"] is None
