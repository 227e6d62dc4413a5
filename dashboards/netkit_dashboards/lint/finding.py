"""A finding of the linters, and how findings are told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netkit.errors import ExitStatus


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LintFinding:
    """One thing that breaks one rule."""

    where: str
    """Dashboard and panel, or rule group and rule."""
    rule: str
    text: str


def report(findings: Iterable[LintFinding]) -> ExitStatus:
    """Print findings, one a line; FINDINGS when there are any."""
    found = sorted(findings)
    for one in found:
        print(f"{one.where}: {one.rule}: {one.text}")
    return ExitStatus.FINDINGS if found else ExitStatus.OK
