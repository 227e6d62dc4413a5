"""Advice about single faults: it names the changed setting, mends it, and its way back is exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.checks.mutants import Mutant, mutants
from tests.checks.scenes import Scene, scene
from tests.tuning.advised import advised
from tests.tuning.applied import apply
from tests.tuning.mutated import named, tunable

PARENT = scene(fellows=2)


def _firsts() -> list[Mutant]:
    """One fault of every kind: of every rule and, for the job, every variable."""
    found: dict[tuple[str, str], Mutant] = {}
    for one in mutants(PARENT):
        if tunable(one):
            job = one.what.startswith("NCCL_")
            found.setdefault((one.rule, one.what if job else "".join(one.what.split()[1:2])), one)
    return list(found.values())


@pytest.mark.parametrize("mutant", _firsts(), ids=lambda one: f"{one.rule} {one.what}")
def test_advice_names_the_changed_setting_mends_it_and_can_be_undone(mutant: Mutant) -> None:
    """Applied, nothing is left to advise; rolled back, the machine is what it was to the last field."""
    broken = mutant.make(_parent(mutant))
    report = advised(broken)
    assert named(mutant, report.advice), [one.setting for one in report.advice]
    mended = apply(broken, report)
    assert advised(mended).advice == ()
    assert apply(mended, report, undo=True) == broken


def test_every_row_is_complete() -> None:
    """Reason, evidence, source, effect, risk, apply and rollback of all advice about a sample of faults."""
    rows = [row for one in _firsts() for row in advised(one.make(_parent(one))).advice]
    assert len(rows) > 50
    for row in rows:
        said = (row.reason, row.source, row.effect, row.risk, row.apply, row.rollback, row.now, row.proposed)
        assert all(text.strip() for text in said), row
        assert row.evidence
        assert all(line.strip() for line in row.evidence)
        assert row.apply != row.rollback


def test_faults_no_setting_mends_are_not_advised_about() -> None:
    """A narrow slot, a down port, a hot module: not one setting is blamed."""
    hardware = ("T05", "T06", "T07", "N01", "N05", "N06", "N17", "N18", "S01", "S05", "T22", "R17", "J04")
    firsts: dict[str, Mutant] = {}
    for one in mutants(PARENT):
        if one.rule in hardware:
            firsts.setdefault(one.rule, one)
    assert len(firsts) == len(hardware)
    assert {rule: advised(one.make(_parent(one))).advice for rule, one in firsts.items()} == dict.fromkeys(firsts, ())


def _parent(mutant: Mutant) -> Scene:
    return PARENT if mutant.rule.startswith("J") else replace(PARENT, fellows=())
