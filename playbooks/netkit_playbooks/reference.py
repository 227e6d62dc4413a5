"""The generated page about playbooks: which alerts and rules lead to each, what it may name, what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netkit.model.check import Rule
from netkit_playbooks.playbook import Playbook
from netkit_playbooks.shelf import playbooks
from netkit_playbooks.signals import Place, expression, signals

_INTRODUCTION = """\
# Playbooks

Generated from the playbooks by `make docs`; `netkit playbook show ID` prints one in full and `netkit playbook bundle`
writes all of them as pages. `netkit playbook run ID --node NODE --prometheus URL` runs what only reads and names the
cause ([how](decisions/0008-how-a-playbook-names-a-cause.md)).
"""
_SIGNALS = """\
## Signals

What `netkit playbook signals` reads, for a node called `NODE`. One that is not there is missing, never 0, except where
the collector of its series works and says so by leaving it out.

| signal | says | asks |
|---|---|---|"""


def playbooks_page(rules: Iterable[Rule]) -> str:
    """Return docs/playbooks.md."""
    listed = list(rules)
    parts = [part for one in playbooks().values() for part in _playbook(one, listed)]
    return "\n".join([_INTRODUCTION, *parts, _SIGNALS, *_signals()]) + "\n"


def _playbook(playbook: Playbook, rules: Iterable[Rule]) -> Iterator[str]:
    alerts = ", ".join(f"[{name}](alerts.md#{name.lower()})" for name in playbook.alerts)
    named_by = ", ".join(f"[{rule.id}](rules.md#{_anchor(rule)})" for rule in rules if rule.playbook == playbook.id)
    panels = ", ".join(f"{panel.title} ([`{panel.uid}`](dashboards.md))" for panel in playbook.dashboards)
    yield f"## {playbook.id}\n\n{playbook.title}. Severity {playbook.severity}; hits the {playbook.blast_radius}.\n"
    yield f"- alerts: {alerts}"
    yield f"- rules of `netkit check`: {named_by}" if named_by else "- rules of `netkit check`: none"
    yield f"- panels: {panels}\n"
    yield "| cause | what it is | do | escalate to |\n|---|---|---|---|"
    yield from (f"| `{one.id}` | {one.title} | {one.fix} | {one.escalate_to} |" for one in playbook.causes)
    yield ""


def _anchor(rule: Rule) -> str:
    return f"{rule.id} {rule.name}".lower().replace(" ", "-")


def _signals() -> Iterator[str]:
    for one in signals().values():
        asked = expression(one, Place(node="NODE")).replace("|", "\\|")
        yield f"| `{one.id}` | {one.text} | `{asked}` |"
