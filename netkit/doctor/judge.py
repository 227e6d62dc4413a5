"""Runs checks over snapshots, silences what somebody accepted, and counts outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from netkit.doctor.contract import Check, GangCheck, Member, NodeCheck
from netkit.model.check import NODE, Outcome, Result
from netkit.model.finding import Severity
from netkit.model.missing import Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Every answer, node by node, then those about the gang."""

    nodes: tuple[str, ...]
    results: tuple[Result, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each outcome occurs; every outcome is there."""
        return {outcome.value: sum(one.outcome is outcome for one in self.results) for outcome in Outcome}

    @property
    def findings(self) -> tuple[Result, ...]:
        """Everything found wrong, the worst first."""
        found = [one for one in self.results if one.outcome is Outcome.FINDING]
        order = list(Severity)
        return tuple(sorted(found, key=lambda one: -order.index(one.severity)))

    def worst_at_least(self, severity: Severity) -> bool:
        """Tell whether a finding weighs `severity` or more."""
        return any(one.severity.at_least(severity) for one in self.findings)


def judge(
    checks: Iterable[Check],
    members: Sequence[Member],
    silence: Mapping[str, str],
    wanted: Callable[[Result], bool] = lambda _: True,
) -> CheckReport:
    """Ask every check about every member, and gang checks about all of them together.

    `silence` gives the reason by rule id; a silenced finding stays in the report. Gang checks need two members.
    Results that are not `wanted` are left out: a check may hold more rules than somebody asked for.
    """
    asked = tuple(checks)
    results = [result for member in members for result in about_node(asked, member)]
    if len(members) > 1:
        results += [result for check in asked if isinstance(check, GangCheck) for result in check.check(members)]
    return CheckReport(
        nodes=tuple(member.name for member in members),
        results=tuple(_silenced(result, silence) for result in results if wanted(result)),
    )


def about_node(checks: Iterable[Check], member: Member) -> list[Result]:
    """Return what the node checks say of one member."""
    found = (
        _seen(result, check, member)
        for check in checks
        if isinstance(check, NodeCheck)
        for result in check.check(member.snapshot, member.context)
    )
    return [replace(result, node=member.name) for result in found]


def _seen(result: Result, check: NodeCheck, member: Member) -> Result:
    """Nothing to look at, on a node of which that part could not be read, is not known to be nothing."""
    if result.outcome is not Outcome.NOT_APPLICABLE or result.subject != NODE:
        return result
    unread = (getattr(member.snapshot, group) for group in check.needs)
    missing = next((group for group in unread if isinstance(group, Missing)), None)
    rule = next(rule for rule in check.rules if rule.id == result.rule)
    return result if missing is None else rule.incomplete(NODE, missing)


def _silenced(result: Result, silence: Mapping[str, str]) -> Result:
    reason = silence.get(result.rule)
    return result if reason is None or result.outcome is not Outcome.FINDING else result.silenced(reason)
