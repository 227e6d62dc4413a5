"""Asks every recommendation about every node: what the rules found wrong becomes exact changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from netkit.catalogue.vendor_settings import published
from netkit.doctor.contract import Member
from netkit.doctor.job import NOT_GIVEN
from netkit.model.advice import Advice, AdviceReport, Conflict, Target, Unseen, Variable
from netkit.model.check import Outcome, Result
from netkit.tuning.contract import Blank, Facts, Family, Proposal, Recommendation


def advise(families: Iterable[Family], members: Sequence[Member], results: Iterable[Result]) -> AdviceReport:
    """Return all advice about these nodes, given what every rule says of them."""
    asked, answers = tuple(families), tuple(results)
    found = [
        one
        for member in members
        for one in _of_node(asked, Facts(member=member, results=_about(member, answers), fellows=members))
    ]
    return AdviceReport(
        nodes=tuple(member.name for member in members),
        advice=_merged(one for one in found if isinstance(one, Advice)),
        unseen=tuple(dict.fromkeys(one for one in found if isinstance(one, Unseen))),
    )


def _about(member: Member, results: Iterable[Result]) -> tuple[Result, ...]:
    """Results of node rules carry the node; those of gang rules have it as their subject."""
    return tuple(one for one in results if one.node == member.name or (not one.node and one.subject == member.name))


def _of_node(families: Iterable[Family], facts: Facts) -> Iterator[Advice | Unseen]:
    for family in families:
        for one in family.recommendations:
            yield from _unseen(one, facts)
            for found in one.propose(facts):
                yield _advice(one, facts, found) if isinstance(found, Proposal) else _blank(one, facts, found)


def _unseen(one: Recommendation, facts: Facts) -> Iterator[Unseen]:
    for result in facts.results:
        unasked = result.outcome is Outcome.NOT_APPLICABLE and result.summary == NOT_GIVEN
        if result.rule in one.rules and (unasked or result.outcome is Outcome.INCOMPLETE):
            why = result.summary.removeprefix("could not look: ")
            yield Unseen(id=one.id, node=facts.member.name, subject=result.subject, why=why)


def _blank(one: Recommendation, facts: Facts, found: Blank) -> Unseen:
    values = _conflicts(found.variable, None) if found.variable else ()
    return Unseen(id=one.id, node=facts.member.name, subject=found.subject, why=found.why, published=values)


def _advice(one: Recommendation, facts: Facts, found: Proposal) -> Advice:
    return Advice(
        id=one.id,
        node=facts.member.name,
        target=one.target,
        setting=found.setting,
        now=found.now,
        proposed=found.proposed,
        reason=found.reason or one.reason,
        evidence=found.evidence,
        source=one.source,
        effect=one.effect,
        risk=one.risk,
        changes=found.changes,
        conflicts=tuple(
            conflict
            for change in found.changes
            if isinstance(change, Variable)
            for conflict in _conflicts(change.name, change.proposed)
        ),
    )


def _conflicts(variable: str, proposed: str | None) -> tuple[Conflict, ...]:
    """Return what vendors publish for a variable, where it is another value."""
    return tuple(
        Conflict(profile=profile.name, value=value, source=profile.source)
        for profile, value in published(variable)
        if value != proposed
    )


def _merged(advice: Iterable[Advice]) -> tuple[Advice, ...]:
    """One setting is advised about once: the first reason stands, evidence of the others joins it.

    A job's environment is one for all its nodes. Who knows a value is heard before who would rather have none.
    """
    found: dict[tuple[str, str, str], Advice] = {}
    for one in advice:
        key = ("" if one.target is Target.ENV else one.node, one.target.value, one.setting)
        known = found.setdefault(key, one)
        first = one if _unsets(known) and not _unsets(one) else known
        evidence = dict.fromkeys((*known.evidence, *one.evidence))
        found[key] = replace(first, evidence=tuple(evidence))
    return tuple(found.values())


def _unsets(one: Advice) -> bool:
    return all(isinstance(change, Variable) and change.proposed is None for change in one.changes)
