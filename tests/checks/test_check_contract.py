"""Every check keeps the contract: its id is its file, every rule explains itself, every rule answers on every node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netkit.checks import checks, rule, rules
from netkit.doctor.context import Wishes, context_of
from netkit.doctor.contract import Check, GangCheck, Member, NodeCheck
from netkit.doctor.judge import about_node
from netkit.errors import InputError
from netkit.model.check import Rule
from netkit.sources.recording_file import load
from netkit.sources.snapshot import read_node

HOME = Path(__file__).parents[2]
RECORDINGS = sorted((HOME / "tests" / "nodes").glob("*.jsonl"))
FILES = sorted(path.stem for path in (HOME / "netkit" / "checks").glob("*.py") if path.stem != "__init__")


def test_every_file_is_one_check() -> None:
    """The folder is walked; the id of the constant is the file's name."""
    assert [check.id for check in checks()] == FILES


def test_no_two_rules_share_an_id_or_a_name() -> None:
    """Both are what people type."""
    found = [one for check in checks() for one in check.rules]
    assert len(rules()) == len(found) == len({one.name for one in found})


@pytest.mark.parametrize("one", rules().values(), ids=lambda one: one.id)
def test_a_rule_explains_itself(one: Rule) -> None:
    """A question, what is read, when it passes, why, what to do, where it comes from, when it is wrong."""
    assert re.fullmatch(r"[TGNRESJF]\d\d", one.id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", one.name)
    assert one.question.endswith("?")
    for text in (one.reads, one.passes, one.why, one.remedy, one.source, one.caution):
        assert len(text) >= 12, one.id
        assert not text.endswith(".")


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.id)
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_rule_answers_on_every_recorded_node(path: Path, check: Check) -> None:
    """Silence would be taken for health: a rule that has nothing to look at says so."""
    if isinstance(check, GangCheck):
        return
    recording = load(path)
    node = read_node(recording.tree, recording.taken_at)
    member = Member(name=path.stem, snapshot=node, context=context_of(node, Wishes()))
    answered = {result.rule for result in about_node([check], member)}
    assert isinstance(check, NodeCheck)
    assert answered == {one.id for one in check.rules}


def test_a_rule_is_found_by_id_and_by_name() -> None:
    """In any case of letters; a wrong one is told its nearest."""
    assert rule("t11") is rule("PCIE-ACS") is rules()["T11"]
    with pytest.raises(InputError, match="pcie-ats"):
        rule("pcie-asst")
