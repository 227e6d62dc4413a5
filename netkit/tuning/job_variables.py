"""Proposals about one variable of a job: take it out, or give it another value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from netkit.model.advice import Variable
from netkit.tuning.contract import Blank, Facts, Proposal

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NOT_SET = "not set"


def without(
    facts: Facts, names: Iterable[str], evidence: tuple[str, ...], reason: str = ""
) -> Iterator[Proposal | Blank]:
    """Propose to set none of these variables; those the job does not set are passed over."""
    for name in dict.fromkeys(names):
        if facts.context.environment.find(name) is not None:
            yield with_value(facts, name, None, evidence, reason)


def with_value(
    facts: Facts, name: str, value: str | None, evidence: tuple[str, ...], reason: str = ""
) -> Proposal | Blank:
    """Propose one value for one variable, None to leave it to the library."""
    if not _NAME.fullmatch(name):
        return Blank(subject=name, why="no shell can hold a variable of this name; look where it is written")
    present = facts.context.environment.find(name)
    where = () if present is None else (f"{name}={present.value} in {present.source}",)
    return Proposal(
        setting=name,
        now=NOT_SET if present is None else present.value,
        proposed=NOT_SET if value is None else value,
        evidence=(*evidence, *where),
        changes=(Variable(name=name, present=None if present is None else present.value, proposed=value),),
        reason=reason,
    )


def profiled(facts: Facts, name: str) -> bool:
    """Tell whether the machine's own vendor publishes the value the job sets, so that it is there on purpose."""
    value = facts.context.environment.text(name)
    return any(profile.settings.get(name) == value for profile in facts.profiles)
