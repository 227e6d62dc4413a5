"""Dashboards put into a Grafana: what differs is written, what is the same is left, and each is accounted for."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from netkit_dashboards.board import Board
from netkit_dashboards.finalise import dashboard
from netkit_dashboards.grafana_api import Grafana, GrafanaError
from netkit_dashboards.shelf import boards

_FOLDER = "netkit"
_GRAFANAS_OWN = ("id", "version")
"""Keys Grafana counts up by itself."""


class Outcome(StrEnum):
    """What became of one dashboard."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """One dashboard's outcome."""

    uid: str
    outcome: Outcome
    reason: str = ""


def push(grafana: Grafana) -> Iterator[Pushed]:
    """Yield each dashboard's outcome; after a refusal that concerns all of them the rest are not tried."""
    hopeless = ""
    for number, board in enumerate(boards()):
        if hopeless:
            yield Pushed(uid=board.uid, outcome=Outcome.NOT_TRIED, reason=hopeless)
            continue
        try:
            if number == 0:
                grafana.ensure_folder(_FOLDER, _FOLDER)
            yield Pushed(uid=board.uid, outcome=_put(grafana, board))
        except GrafanaError as fault:
            hopeless = "the one before was refused" if fault.hopeless else ""
            yield Pushed(uid=board.uid, outcome=Outcome.FAILED, reason=str(fault))


def _put(grafana: Grafana, board: Board) -> Outcome:
    wanted = _loaded(board)
    there = grafana.read(board.uid)
    if there is not None and _comparable(there) == _comparable(wanted):
        return Outcome.UNCHANGED
    grafana.write({key: value for key, value in wanted.items() if key not in _GRAFANAS_OWN}, _FOLDER)
    return Outcome.WRITTEN


def difference(grafana: Grafana) -> Iterator[str]:
    """Yield the lines in which Grafana's dashboards differ from ours; GrafanaError when it cannot be asked."""
    for board in boards():
        there = grafana.read(board.uid)
        before = [] if there is None else _lines(there)
        yield from difflib.unified_diff(
            before, _lines(_loaded(board)), f"grafana/{board.uid}", f"netkit/{board.uid}", lineterm="", n=2
        )


def _loaded(board: Board) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(dashboard(board)))
    return loaded


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in _GRAFANAS_OWN}


def _lines(document: dict[str, Any]) -> list[str]:
    return json.dumps(_comparable(document), indent=1, sort_keys=True).splitlines()
