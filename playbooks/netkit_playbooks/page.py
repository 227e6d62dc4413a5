"""A playbook as a page to read: what the front matter says, in words, above and inside the text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from netkit_playbooks.playbook import Playbook


def page(playbook: Playbook) -> str:
    """Return the page in Markdown: the head, the text, then causes and steps as tables."""
    return "\n".join([*_head(playbook), playbook.text.rstrip(), "", *_causes(playbook), "", *_steps(playbook)]) + "\n"


def _head(playbook: Playbook) -> Iterator[str]:
    yield f"# {playbook.title}\n"
    yield f"Alerts: {', '.join(playbook.alerts)}. Severity {playbook.severity}, hits the {playbook.blast_radius}."
    yield f"\nRun it: `netkit playbook run {playbook.id} --node NODE --prometheus URL`\n"


def _causes(playbook: Playbook) -> Iterator[str]:
    yield "## Causes and what speaks for them\n"
    yield "| cause | speaks for it | do | escalate to |\n|---|---|---|---|"
    for cause in playbook.causes:
        evidence = "; ".join(f"`{one.when.text}` ({one.because})" for one in cause.evidence)
        yield f"| {cause.title} (`{cause.id}`) | {evidence} | {cause.fix} | {cause.escalate_to} |"


def _steps(playbook: Playbook) -> Iterator[str]:
    yield "## Steps\n"
    yield "| step | command | expected | if so | if not |\n|---|---|---|---|---|"
    for step in playbook.steps:
        expected = "; ".join(f"`{one.text}`" for one in step.expect)
        yield f"| {step.ask} | `netkit {shlex.join(step.run)}` | {expected} | {step.on_pass} | {step.on_fail} |"
