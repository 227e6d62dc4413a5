"""What rules about a job's settings share: whether anybody said what the job sets."""

from __future__ import annotations

from netkit.doctor.context import Context
from netkit.model.check import Result, Rule

JOB = "job"
"""The subject of what a job sets."""
NOT_GIVEN = "no environment of a job was given (--env)"


def not_given(context: Context, rule: Rule) -> Result | None:
    """Return the answer of every rule about a job when nobody said what it sets; None when somebody did."""
    return None if context.environment.given else rule.not_applicable(NOT_GIVEN, JOB)
