"""Alerts that fire, as marks on every panel of a dashboard."""

from __future__ import annotations

from netkit.catalogue.promql import select
from netkit.catalogue.rules import FIRING
from netkit_dashboards.board import Board, Choice, Tone
from netkit_dashboards.fields import Json
from netkit_dashboards.variables import SOURCE


def marks(board: Board) -> list[Json]:
    """Return the marks of a board: what fires on the nodes it shows."""
    like = {str(choice): f"${choice}" for choice in (Choice.CLUSTER, Choice.NODE) if choice in board.choices}
    return [
        {
            "name": "Alerts that fire",
            "datasource": {"type": "prometheus", "uid": SOURCE},
            "enable": True,
            "hide": False,
            "iconColor": str(Tone.BAD),
            "expr": select(FIRING, like=like),
            "titleFormat": "{{alertname}}",
            "textFormat": "{{node}} {{component}}",
            "tagKeys": "severity,component,node,rail",
            "step": "60s",
        }
    ]
