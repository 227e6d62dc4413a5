"""Advice about made-up scenes, as the command would give it."""

from __future__ import annotations

from typing import Any

from netkit.checks import checks
from netkit.doctor.context import Wishes, context_of
from netkit.doctor.contract import Member
from netkit.doctor.judge import judge
from netkit.model.advice import AdviceReport
from netkit.tuning.advice import families
from netkit.tuning.advising import advise
from tests.checks.scenes import Scene, environment


def members(one: Scene) -> tuple[Member, ...]:
    given: dict[str, Any] = {"environment": environment(one.job, one.version), "earlier": one.before} | one.wishes
    alone = Wishes(environment=given["environment"])
    nodes = [(one.now, Wishes(**given)), *((node, alone) for node in one.fellows)]
    return tuple(
        Member(name=f"n{number}", snapshot=node, context=context_of(node, wishes))
        for number, (node, wishes) in enumerate(nodes)
    )


def advised(one: Scene) -> AdviceReport:
    found = members(one)
    return advise(families(), found, judge(checks(), found, {}).results)
