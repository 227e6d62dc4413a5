"""Dashboards: each renders to JSON that Grafana's own models take whole, is committed fresh, and breaks no rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from netkit_dashboards.board import Board
from netkit_dashboards.finalise import dashboard
from netkit_dashboards.lint.boards import findings_of
from netkit_dashboards.rendered import rendered
from netkit_dashboards.shelf import boards

RENDERED = Path(__file__).parents[2] / "dashboards" / "rendered"
register_default_plugins()


def lost(given: Any, taken: Any, path: str = "") -> list[str]:
    """What Grafana's models did not keep of a document."""
    if isinstance(given, dict) and isinstance(taken, dict):
        gone = [f"{path}.{key}" for key in given if key not in taken]
        return gone + [one for key in given if key in taken for one in lost(given[key], taken[key], f"{path}.{key}")]
    if isinstance(given, list) and isinstance(taken, list) and len(given) == len(taken):
        pairs = enumerate(zip(given, taken, strict=True))
        return [one for at, (mine, theirs) in pairs for one in lost(mine, theirs, f"{path}[{at}]")]
    return [] if given == taken else [f"{path}: {given!r} became {taken!r}"]


def round_trip(document: dict[str, Any]) -> Any:
    return json.loads(JSONEncoder().encode(Dashboard.from_json(document)))


def as_json(board: Board) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(dashboard(board)))
    return loaded


@pytest.mark.parametrize("board", boards(), ids=lambda board: board.id)
def test_grafanas_own_models_keep_every_key(board: Board) -> None:
    """Parsed and written again by grafana-foundation-sdk, a dashboard is the same."""
    document = as_json(board)

    assert lost(document, round_trip(document)) == []


def test_the_models_would_notice_a_key_they_do_not_know() -> None:
    """The oracle is no yes-man: grafanalib's old keys get lost in it."""
    document = as_json(boards()[0])
    document["sharedCrosshair"] = True
    document["panels"][1]["options"]["fieldOptions"] = {}

    assert set(lost(document, round_trip(document))) == {".sharedCrosshair", ".panels[1].options.fieldOptions"}


@pytest.mark.parametrize("board", boards(), ids=lambda board: board.id)
def test_a_dashboard_breaks_no_rule(board: Board) -> None:
    """Neither Grafana's linter's rules nor ours, without exclusions."""
    assert list(findings_of(as_json(board))) == []


@pytest.mark.parametrize("board", boards(), ids=lambda board: board.id)
def test_the_shared_crosshair_survives(board: Board) -> None:
    """Schema 42 is written at once: a migration from 12 would set the crosshair back to none."""
    document = as_json(board)

    assert (document["schemaVersion"], document["graphTooltip"]) == (42, 1)
    assert "sharedCrosshair" not in document


def test_a_board_is_named_as_its_file() -> None:
    """The folder is walked; what is found says its own name."""
    files = {path.stem for path in (RENDERED.parent / "netkit_dashboards" / "boards").glob("[a-z]*.py")}

    assert {board.id for board in boards()} == files


def test_committed_files_are_fresh() -> None:
    """`make docs` would change nothing in dashboards/rendered, and nothing else lies there."""
    wanted = rendered()
    there = {str(path.relative_to(RENDERED)): path.read_text() for path in RENDERED.rglob("*") if path.is_file()}

    assert there.keys() == wanted.keys()
    for name, text in wanted.items():
        assert there[name] == text, f"{name} is stale: run make docs"
