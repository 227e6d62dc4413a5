"""Every gang system: what it makes of gangs that are placed, that wait, and whose objects are malformed."""

from __future__ import annotations

from typing import Any

import pytest

from netkit.gangs.systems import systems
from netkit.model.gang import Gang
from netkit.model.missing import Missing
from tests.gangs.cases import Case, all_cases, cases
from tests.gangs.synthetic_cluster import gangs

IDS = [f"{system}-{case.name}" for system, case in all_cases()]
CASES = [case for _, case in all_cases()]


def found(gang: Gang) -> dict[str, Any]:
    """A gang in the words of the cases."""
    return {
        "name": gang.key,
        "systems": list(gang.systems),
        "state": gang.state.value,
        "min": None if isinstance(gang.min_members, Missing) else gang.min_members,
        "total": None if isinstance(gang.total, Missing) else gang.total,
        "workload": f"{gang.workload.kind} {gang.workload.name}" if gang.workload else None,
        "ranks": {m.pod: m.rank.number for m in gang.members if not isinstance(m.rank, Missing)},
        "groups": {m.pod: m.group for m in gang.members if m.group},
        "declared": all(m.rank.evidence.declared for m in gang.members if not isinstance(m.rank, Missing)),
        "members": [m.pod for m in gang.members],
    }


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_case_yields_its_gangs(case: Case) -> None:
    """Everything that the case states is so; reasons and problems contain the stated words."""
    answer = {gang.key: gang for gang in gangs(*case.bodies)}
    assert sorted(answer) == sorted(wanted["name"] for wanted in case.gangs)
    for wanted in case.gangs:
        gang = answer[wanted["name"]]
        facts = found(gang)
        assert {key: facts[key] for key in wanted if key in facts} == {k: v for k, v in wanted.items() if k in facts}
        assert wanted.get("why", "") in gang.why
        assert wanted.get("problem", "") in "\n".join(gang.problems)
        assert wanted.get("evidence", "") in "\n".join(f"{one.field} = {one.value}" for one in gang.evidence)


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.id)
def test_a_system_brings_its_cases(system: Any) -> None:
    """Placed, pending with a reason, malformed with what is wrong: a unit is nothing without them."""
    kinds = {case.kind for case in cases(system.id)}
    assert kinds >= {"placed", "pending", "malformed"}
    for case in cases(system.id):
        if case.kind == "pending":
            assert any(wanted.get("why") for wanted in case.gangs), case.name
        if case.kind == "malformed":
            assert (
                any("problem" in one or one.get("min", 0) is None or "state" in one for one in case.gangs)
                or not case.gangs
            )


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.id)
def test_a_system_is_named_as_its_file(system: Any) -> None:
    """The id is the file's name: who looks for a system finds it."""
    home = system.find.__self__.__class__.__module__ if hasattr(system.find, "__self__") else system.find.__module__
    assert home in (f"netkit.gangs.systems.{system.id}", "netkit.gangs.marked")
    assert system.title
    assert system.resources


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_member_carries_evidence(case: Case) -> None:
    """No member is claimed without the field that says so."""
    for gang in gangs(*case.bodies):
        assert all(member.evidence for member in gang.members), gang.key


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    """API order is no order: reversed objects give the same gangs."""
    forward = [found(gang) for gang in gangs(*case.bodies)]
    backward = [found(gang) for gang in gangs(*reversed(case.bodies))]
    assert forward == backward
