"""The cases that playbooks carry themselves: made-up readings, and the cause that must come of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from netkit_playbooks.playbook import Case, Playbook
from netkit_playbooks.ranking import rank
from netkit_playbooks.readings import Reading

SCHEMA = "netkit.playbook-test/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One case and what was named."""

    playbook: str
    case: Case
    named: str | None

    @property
    def passed(self) -> bool:
        """Whether it was what the playbook says."""
        return self.named == self.case.cause


def tried(playbooks: Iterable[Playbook]) -> Iterator[Tried]:
    """Try every case."""
    for one in playbooks:
        for case in one.cases:
            cause = rank(one, {name: Reading(value=value) for name, value in case.readings.items()}).cause
            yield Tried(playbook=one.id, case=case, named=None if cause is None else cause.id)


def document(found: Iterable[Tried]) -> dict[str, Any]:
    """Return what was tried as plain dicts."""
    rows = [
        {
            "playbook": one.playbook,
            "case": one.case.name,
            "expected": one.case.cause,
            "named": one.named,
            "ok": one.passed,
        }
        for one in found
    ]
    return {"schema": SCHEMA, "cases": rows, "failed": sum(not row["ok"] for row in rows)}
