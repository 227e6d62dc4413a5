"""What a check asks and what it answers: rules with their explanation, and one result for each subject looked at.

`incomplete` says that a check could not look; it never collapses into `ok`. `not-applicable` says that there is nothing
to look at, or that nobody can know from here what was asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from netkit.model.finding import Severity
from netkit.model.missing import Missing

NODE = "node"
"""The subject of what concerns the whole node."""


class Outcome(StrEnum):
    """What became of one rule on one subject."""

    OK = "ok"
    FINDING = "finding"
    INCOMPLETE = "incomplete"
    NOT_APPLICABLE = "not_applicable"
    SILENCED = "silenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One rule's answer about one subject; `severity` is what a finding of it weighs."""

    rule: str
    subject: str
    outcome: Outcome
    severity: Severity
    summary: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    playbook: str | None = None
    node: str = ""

    def silenced(self, reason: str) -> Result:
        """Return the finding as somebody accepted it."""
        return replace(self, outcome=Outcome.SILENCED, evidence=(*self.evidence, f"silenced: {reason}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One question about a node, a gang or a fabric, with everything a person needs to judge the answer."""

    id: str
    name: str
    severity: Severity
    question: str
    reads: str
    passes: str
    why: str
    remedy: str
    source: str
    """Where the rule comes from: a document, a source file, a public case."""
    caution: str
    """When a finding of this rule means less than it says, or what the rule does so that it does not."""
    playbook: str | None = None

    def ok(self, subject: str, summary: str, *evidence: str) -> Result:
        """Answer that all is well with `subject`."""
        return self._result(subject, Outcome.OK, summary, evidence)

    def finding(
        self, subject: str, summary: str, *evidence: str, severity: Severity | None = None, remedy: str = ""
    ) -> Result:
        """Answer that something is wrong; `severity` and `remedy` where this case differs from the rule's own."""
        found = self._result(subject, Outcome.FINDING, summary, evidence)
        weighed = found if severity is None else replace(found, severity=severity)
        return replace(weighed, remedy=remedy or self.remedy, playbook=self.playbook)

    def incomplete(self, subject: str, why: Missing | str, *evidence: str) -> Result:
        """Answer that it could not be looked at."""
        return self._result(subject, Outcome.INCOMPLETE, f"could not look: {why}", evidence)

    def not_applicable(self, why: str, subject: str = NODE) -> Result:
        """Answer that there is nothing to look at."""
        return self._result(subject, Outcome.NOT_APPLICABLE, why, ())

    def _result(self, subject: str, outcome: Outcome, summary: str, evidence: Iterable[str]) -> Result:
        return Result(
            rule=self.id,
            subject=subject,
            outcome=outcome,
            severity=self.severity,
            summary=summary,
            evidence=tuple(evidence),
        )
