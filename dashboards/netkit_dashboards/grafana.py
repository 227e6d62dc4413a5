"""A board as grafanalib objects; the one home of grafanalib, whose JSON `finalise` brings up to today's schema.

grafanalib 0.7.1 has no form of its own for today's heatmap, bar gauge, gauge, alert list and status history: `_Own`
stands in for those and lets the panel's own options through.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from grafanalib import core as lib
from grafanalib._gen import DashboardEncoder

from netkit_dashboards.board import Board, Choice, Kind, Panel, Query, Row
from netkit_dashboards.fields import Json
from netkit_dashboards.grid import placed
from netkit_dashboards.variables import SOURCE, queries_of

_TYPES = {
    Kind.TIME_SERIES: lib.TimeSeries,
    Kind.STAT: lib.Stat,
    Kind.TABLE: lib.Table,
    Kind.TEXT: lib.Text,
    Kind.STATE_TIMELINE: lib.StateTimeline,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """A panel grafanalib would write in a form Grafana no longer has."""

    type: Kind
    shared: Json

    def to_json_data(self) -> Json:
        """Return the panel as grafanalib's encoder wants it."""
        return {"type": str(self.type), **self.shared}


def raw(board: Board) -> Json:
    """Return grafanalib's JSON of a board, to be finalised."""
    numbered = iter(range(1, 10_000))
    panels: list[Any] = []
    for row, top, cells in placed(board.rows):
        head = _heading(row, next(numbered), top)
        members = [_panel(panel, next(numbered), cell) for panel, cell in cells]
        panels += [lib.attr.evolve(head, panels=members)] if row.collapsed else [head, *members]
    built = lib.Dashboard(
        title=board.title,
        uid=board.uid,
        description=board.question,
        tags=["netkit"],
        editable=False,
        sharedCrosshair=True,
        refresh="1m",
        time=lib.Time(board.span, "now"),
        timezone="browser",
        templating=lib.Templating([_source(), *(_variable(choice, board.choices) for choice in board.choices)]),
        panels=panels,
    )
    loaded: Json = json.loads(json.dumps(built.to_json_data(), cls=DashboardEncoder))
    return loaded


def _heading(row: Row, number: int, top: int) -> Any:
    return lib.RowPanel(title=row.title, id=number, collapsed=row.collapsed, gridPos=lib.GridPos(1, 24, 0, top))


def _panel(panel: Panel, number: int, cell: tuple[int, int]) -> Any:
    shared: dict[str, Any] = {
        "id": number,
        "title": panel.title,
        "description": panel.description,
        "gridPos": lib.GridPos(panel.height, panel.width, cell[0], cell[1]),
        "targets": [_target(panel, letter, query) for letter, query in zip("ABCDEFGH", panel.queries, strict=False)],
        "interval": panel.interval or None,
    }
    made = _TYPES.get(panel.kind)
    if made is None:
        return _Own(type=panel.kind, shared={**shared, "datasource": SOURCE})
    return made(**shared, dataSource=SOURCE)


def _target(panel: Panel, letter: str, query: Query) -> Any:
    table = panel.kind is Kind.TABLE
    return lib.Target(
        expr=query.expr,
        refId=letter,
        legendFormat=query.legend or "__auto",
        instant=query.instant or table,
        format="table" if table else "time_series",
        datasource=SOURCE,
    )


def _source() -> Any:
    return lib.Template(name="datasource", label="Data source", type="datasource", query="prometheus", default=None)


def _variable(choice: Choice, choices: tuple[Choice, ...]) -> Any:
    label, query = queries_of(choice, choices)
    return lib.Template(
        name=str(choice),
        label=label,
        query=query,
        dataSource=SOURCE,
        multi=True,
        includeAll=True,
        allValue=".+" if choice in (Choice.JOB, Choice.INSTANCE) else ".*",
        refresh=2,
        sort=3,
    )
