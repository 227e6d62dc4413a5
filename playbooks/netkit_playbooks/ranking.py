"""Which cause do the readings speak for? Pure: docs/decisions/0008-how-a-playbook-names-a-cause.md says why so.

What was read and holds speaks for a cause by its weight, what was read and does not hold against it, and what was not
read says nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from netkit.model.missing import Missing
from netkit_playbooks.playbook import Cause, Evidence, Likelihood, Playbook
from netkit_playbooks.readings import Readings

NAMED_FROM = 3.0
"""Weight of what holds, from which a cause is named: one strong piece of evidence."""
LEAD = 1.0
"""By how much the first must stand before the second."""
_PRIOR: Mapping[Likelihood, float] = MappingProxyType(
    {Likelihood.COMMON: 0.4, Likelihood.OCCASIONAL: 0.2, Likelihood.RARE: 0.0}
)


class State(StrEnum):
    """What became of one piece of evidence."""

    HELD = "held"
    NOT_SO = "not so"
    NOT_SEEN = "not seen"


class Verdict(StrEnum):
    """What the readings allow to say."""

    NAMED = "named"
    NOT_NOW = "not now"
    """What the alert is about was looked at, and is not there at present."""
    CANNOT_TELL = "cannot tell"


_WORTH: Mapping[State, Callable[[Evidence], float]] = MappingProxyType(
    {State.HELD: lambda one: one.weight, State.NOT_SO: lambda one: -one.against, State.NOT_SEEN: lambda _: 0.0}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """One piece of evidence, and what it came to."""

    evidence: Evidence
    state: State
    why: str = ""
    """Why it was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One cause and what speaks for it."""

    cause: Cause
    score: float
    weighed: tuple[Weighed, ...]

    @property
    def held(self) -> float:
        """The weight of what holds."""
        return sum(one.evidence.weight for one in self.weighed if one.state is State.HELD)

    @property
    def ruled_out(self) -> bool:
        """Whether something without which it cannot be was looked at and is not so."""
        return any(one.evidence.essential and one.state is State.NOT_SO for one in self.weighed)

    @property
    def nameable(self) -> bool:
        """Whether enough was seen to name it: everything essential, and evidence of some weight."""
        essential = all(one.state is State.HELD for one in self.weighed if one.evidence.essential)
        return essential and self.held >= NAMED_FROM and self.score > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """All causes, the likeliest first, and what may be said."""

    ranked: tuple[Ranked, ...]
    verdict: Verdict
    missing: tuple[str, ...]
    """Conditions that were not seen."""

    @property
    def cause(self) -> Cause | None:
        """The cause that is named."""
        return self.ranked[0].cause if self.verdict is Verdict.NAMED else None


def rank(playbook: Playbook, readings: Readings) -> Ranking:
    """Weigh every cause of a playbook; ties keep the playbook's order."""
    found = [_ranked(cause, readings) for cause in playbook.causes]
    ranked = tuple(sorted(found, key=lambda one: (one.ruled_out, -one.score)))
    unseen = (one.evidence.when.text for each in ranked for one in each.weighed if one.state is State.NOT_SEEN)
    return Ranking(ranked=ranked, verdict=_verdict(playbook, ranked, readings), missing=tuple(dict.fromkeys(unseen)))


def _ranked(cause: Cause, readings: Readings) -> Ranked:
    weighed = tuple(_weigh(evidence, readings) for evidence in cause.evidence)
    return Ranked(cause=cause, score=round(_PRIOR[cause.likelihood] + _sum(weighed), 3), weighed=weighed)


def _weigh(evidence: Evidence, readings: Readings) -> Weighed:
    answer = evidence.when.holds(readings)
    if isinstance(answer, Missing):
        return Weighed(evidence=evidence, state=State.NOT_SEEN, why=str(answer))
    return Weighed(evidence=evidence, state=State.HELD if answer else State.NOT_SO)


def _sum(weighed: Iterable[Weighed]) -> float:
    return sum(_WORTH[one.state](one.evidence) for one in weighed)


def _verdict(playbook: Playbook, ranked: tuple[Ranked, ...], readings: Readings) -> Verdict:
    first, rest = ranked[0], [one for one in ranked[1:] if not one.ruled_out]
    if first.nameable and not any(first.score - one.score < LEAD for one in rest):
        return Verdict.NAMED
    over = playbook.verify and all(one.holds(readings) is True for one in playbook.verify)
    return Verdict.NOT_NOW if over else Verdict.CANNOT_TELL
