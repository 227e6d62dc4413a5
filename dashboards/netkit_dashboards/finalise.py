"""From grafanalib's JSON (schema 12) to classic JSON at schema 42, the last of its line.

Grafana would bring the old form up to date itself, at every load and not without loss: from schema 12 its migration
to 14 sets `graphTooltip` to 0 whatever was asked for. So: only keys the schema has, data sources as references,
explicit steps and legends, ids, and nothing that is null but the first threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netkit_dashboards.annotations import marks
from netkit_dashboards.board import Board, Kind, Panel
from netkit_dashboards.fields import Json, field_config
from netkit_dashboards.grafana import raw
from netkit_dashboards.links import board_links, panel_links
from netkit_dashboards.options import options
from netkit_dashboards.variables import SOURCE

SCHEMA_VERSION = 42
_SHARED_CROSSHAIR = 1
_SOURCE_REF: Json = {"type": "prometheus", "uid": SOURCE}
_BOARD_KEYS = ("uid", "title", "description", "tags", "editable", "refresh", "time", "timezone")
_PANEL_KEYS = ("id", "type", "title", "description", "gridPos", "interval")
_TARGET_KEYS = ("refId", "expr", "legendFormat", "format")
_VARIABLE_KEYS = ("name", "label", "type", "query", "multi", "includeAll", "allValue", "refresh", "sort")


def dashboard(board: Board) -> Json:
    """Return the dashboard, ready for Grafana."""
    built: dict[str, Any] = raw(board)
    spoken = {panel.title: panel for panel in board.panels}
    return {
        **{key: built[key] for key in _BOARD_KEYS},
        "schemaVersion": SCHEMA_VERSION,
        "graphTooltip": _SHARED_CROSSHAIR,
        "fiscalYearStartMonth": 0,
        "weekStart": "",
        "liveNow": False,
        "preload": False,
        "version": 1,
        "links": board_links(board),
        "timepicker": {"hidden": False, "refresh_intervals": ["30s", "1m", "5m", "15m"]},
        "annotations": {"list": marks(board)},
        "templating": {"list": [_variable(one) for one in built["templating"]["list"]]},
        "panels": [_panel(one, spoken) for one in built["panels"]],
    }


def _panel(given: Mapping[str, Any], spoken: Mapping[str, Panel]) -> Json:
    if given["type"] == "row":
        members = [_panel(one, spoken) for one in given["panels"]]
        kept = {key: given[key] for key in ("id", "type", "title", "gridPos", "collapsed")}
        return {**kept, "panels": members}
    panel = spoken[given["title"]]
    found: Json = {key: given[key] for key in _PANEL_KEYS if given.get(key) is not None}
    found |= {"transparent": False, "options": options(panel)}
    if panel.kind not in (Kind.TEXT, Kind.ALERT_LIST):
        found |= {"datasource": _SOURCE_REF, "fieldConfig": field_config(panel), "links": panel_links(panel)}
        found["targets"] = [_target(one) for one in given["targets"]]
        found["transformations"] = _transformations(panel)
    return found


def _target(given: Mapping[str, Any]) -> Json:
    instant = bool(given["instant"])
    kept: Json = {key: given[key] for key in _TARGET_KEYS}
    return kept | {"datasource": _SOURCE_REF, "instant": instant, "range": not instant, "editorMode": "code"}


def _transformations(panel: Panel) -> list[Json]:
    """Return how several instant answers become one table with the columns in order."""
    if panel.kind is not Kind.TABLE:
        return []
    order = {column.field: at for at, column in enumerate(panel.columns)}
    return [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": {"include": {"names": list(order)}}},
        {"id": "organize", "options": {"indexByName": order, "excludeByName": {}, "renameByName": {}}},
    ]


def _variable(given: Mapping[str, Any]) -> Json:
    if given["type"] == "datasource":
        kept: Json = {key: given[key] for key in ("name", "label", "type", "query")}
        return kept | {"current": {}, "options": [], "refresh": 1, "regex": "", "hide": 0, "multi": False}
    current = {"selected": True, "text": ["All"], "value": ["$__all"]}
    kept = {key: given[key] for key in _VARIABLE_KEYS}
    about: Json = {"datasource": _SOURCE_REF, "current": current, "options": [], "regex": "", "hide": 0}
    # A reference to what was asked for beside the text: Grafana's editor reads the one, its query runner the other.
    return kept | about | {"query": {"query": given["query"], "refId": given["name"]}, "definition": given["query"]}
