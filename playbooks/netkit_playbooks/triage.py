"""From the alerts of a notification to their playbooks, and what each run says."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from netkit.report.blocks import Block, Cell, Column, Heading, Prose, Table, Tone
from netkit_playbooks import report
from netkit_playbooks.playbook import Playbook
from netkit_playbooks.running import Netkit, Run, run
from netkit_playbooks.targets import Target
from netkit_playbooks.webhook import Incident

SCHEMA = "netkit.playbook-alerts/1"
_NOT_OURS = "no playbook: not an alert of netkit"
MOST_RUNS = 20
"""More alerts than these at once are one incident: whoever is on call starts with the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """One alert, its playbook, and what came of it."""

    incident: Incident
    playbook: Playbook | None
    """None for an alert that is not netkit's."""
    command: tuple[str, ...]
    """What runs the playbook by hand."""
    run: Run | None
    """None where there was no Prometheus to ask."""


def leads(
    incidents: Sequence[Incident], playbooks: Sequence[Playbook], prometheus: str, netkit: Netkit
) -> Iterator[Lead]:
    """Give what each firing alert leads to, the first twenty."""
    by_alert = {alert: one for one in playbooks for alert in one.alerts}
    for incident in [one for one in incidents if one.firing][:MOST_RUNS]:
        found = by_alert.get(incident.alert)
        target = Target(
            node=incident.node, cluster=incident.cluster, prometheus=prometheus, values=dict(incident.about)
        )
        yield Lead(
            incident=incident,
            playbook=found,
            command=() if found is None else _command(found, target),
            run=None if found is None or not prometheus else run(found, target, netkit),
        )


def _command(playbook: Playbook, target: Target) -> tuple[str, ...]:
    named = {"node": target.node, "cluster": target.cluster, "prometheus": target.prometheus or "URL"}
    options = [f"--{name}={value}" for name, value in named.items() if value]
    return ("netkit", "playbook", "run", playbook.id, *options, *(f"--set={k}={v}" for k, v in target.values.items()))


def document(found: Sequence[Lead], incidents: Sequence[Incident]) -> dict[str, Any]:
    """Return leads as plain dicts and lists."""
    return {"schema": SCHEMA, "alerts": [_lead(one) for one in found], "left_out": left_out(incidents)}


def left_out(incidents: Sequence[Incident]) -> int:
    """Return how many firing alerts were not looked at."""
    return max(0, sum(one.firing for one in incidents) - MOST_RUNS)


def _lead(one: Lead) -> dict[str, Any]:
    return {
        "alert": one.incident.alert,
        "node": one.incident.node,
        "playbook": None if one.playbook is None else one.playbook.id,
        "command": list(one.command),
        "run": None if one.run is None else report.document(one.run),
    }


def blocks(found: Sequence[Lead], incidents: Sequence[Incident]) -> Iterator[Block]:
    """Return leads as what to print."""
    if not found:
        yield Prose(text="No alert of this notification fires.", tone=Tone.GOOD)
    for one in found:
        if one.run is not None:
            yield Heading(text=f"{one.incident.alert} on {_place(one.incident)}")
            yield from report.blocks(one.run)
    unrun = [one for one in found if one.run is None]
    if unrun:
        yield _table(unrun)
    if more := left_out(incidents):
        yield Prose(text=f"{more} more firing alerts were left out.", tone=Tone.WARN)


def _place(incident: Incident) -> str:
    return incident.node or "the fleet"


def _table(unrun: Sequence[Lead]) -> Table:
    # Cells are never wrapped, so that a command can be copied whole.
    rows = (
        (
            Cell(text=one.incident.alert),
            Cell(text=_place(one.incident)),
            Cell(text=shlex.join(one.command) or _NOT_OURS),
        )
        for one in unrun
    )
    columns = tuple(Column(title=title) for title in ("alert", "on", "run"))
    return Table(title="Not run", columns=columns, rows=tuple(rows))


def _cell(text: str) -> Cell:
    return Cell(text=text)
