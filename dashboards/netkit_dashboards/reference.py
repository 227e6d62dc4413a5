"""Generated pages about alerts and dashboards: what each says, why, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from netkit.catalogue.alerts import OWN, Alert, alerts
from netkit.catalogue.fabric_profiles import ALL, Profile
from netkit.catalogue.rules import RECORDINGS
from netkit_dashboards.board import Board
from netkit_dashboards.durations import shown
from netkit_dashboards.shelf import boards

_ALERTS = """\
# Alerts

Generated from the catalogue by `make docs`. Expressions and thresholds are those of a fabric with DCQCN and PFC;
`netkit rules build --profile` renders the others. A threshold whose source is *own* has no public number behind it:
calibrate it. Every alert has unit cases: fires, silent just below, resolves, source absent, counter
reset, exact labels.

Scrape netkit-exporter under the job name `netkit`, with `honor_labels`, and give every target a `node` label (and
`cluster`, `node_pool` where there are several); `rail` is a label too, added by relabelling from the device's name.
"""
_DASHBOARDS = """\
# Dashboards

Generated from the boards by `make docs`: the question each answers, and what its panels show.
"""


def alerts_page() -> str:
    """Return docs/alerts.md."""
    listed = sorted(alerts(), key=lambda alert: alert.component)
    parts = [_ALERTS]
    for component, members in groupby(listed, key=lambda alert: alert.component):
        parts.append(f"## {component}\n")
        parts += [part for alert in members for part in _alert(alert)]
    parts.append("## Recording rules\n\n| rule | says |\n|---|---|")
    parts += [f"| `{rule.name}` | {rule.text} |" for rule in RECORDINGS]
    return "\n".join(parts) + "\n"


def _alert(alert: Alert) -> Iterator[str]:
    yield f"### {alert.name}\n"
    playbook = f"[{alert.playbook}](playbooks.md#{alert.playbook})"
    yield f"{alert.severity}. {alert.action} Playbook {playbook}, dashboard [`{alert.dashboard}`](dashboards.md).\n"
    yield f"```promql\n{alert.expression(Profile.DCQCN_PFC)}\n```\n"
    facts = [
        ("for", shown(alert.hold) if alert.hold else ""),
        ("keeps firing for", shown(alert.keep) if alert.keep else ""),
        ("other thresholds", ", ".join(f"{value:g} on {profile}" for profile, value in alert.limits.items())),
        ("fabrics", "" if alert.profiles == ALL else ", ".join(one for one in Profile if one in alert.profiles)),
        ("threshold from", alert.source if alert.limit is not None or alert.source != OWN else ""),
        ("needs", alert.requires),
    ]
    yield "\n".join(f"- {name}: {text}" for name, text in facts if text) + "\n"


def dashboards_page() -> str:
    """Return docs/dashboards.md."""
    return "\n".join([_DASHBOARDS, *(part for board in boards() for part in _board(board))]) + "\n"


def _board(board: Board) -> Iterator[str]:
    yield f"## {board.title}\n\n{board.question} (`{board.uid}`)\n"
    for row in board.rows:
        yield f"**{row.title}**\n\n| panel | type | shows |\n|---|---|---|"
        yield "\n".join(f"| {panel.title} | {panel.kind} | {panel.description} |" for panel in row.panels) + "\n"
