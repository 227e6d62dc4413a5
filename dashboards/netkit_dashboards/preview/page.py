"""One dashboard as one page: no script, nothing loaded from anywhere, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from netkit.catalogue.neighbours import ALERTS
from netkit.catalogue.promql import select
from netkit.errors import SourceError
from netkit.model.text import visible
from netkit.sources.prometheus import Prometheus
from netkit_dashboards.forms import Theme
from netkit_dashboards.preview import charts, figures
from netkit_dashboards.preview.answers import Line, Span, asked, lines
from netkit_dashboards.preview.style import STYLE

_COLUMN, _LINE, _HEAD, _LEGEND_LINE = 49, 38, 58, 19
"""Pixels of a grid column and of a grid line, of a panel's head, of a line of its legend."""
_MOST_LEGEND = 6
_LEAST_CHART = 90
_OF_ALERTS = ("cluster", "node")
"""Variables that narrow the list of alerts too."""


def page(board: Mapping[str, Any], source: Prometheus, variables: Mapping[str, str], span: Span, theme: Theme) -> str:
    """Return the page of a dashboard; a panel whose question fails says so in its place."""
    when = " to ".join(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") for at in (span.start, span.end))
    chosen = ", ".join(f"{name} {value}" for name, value in variables.items() if value not in (".*", ".+"))
    sections = "".join(_section(row, members, source, variables, span) for row, members in _rows(board))
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(board["title"])}</title>'
        f"<style>{STYLE}</style><h1>{escape(board['title'])}</h1>"
        f'<p class="about">{escape(board["description"])}</p>'
        f'<p class="about">{when} UTC · {escape(visible(source.where))}{escape(" · " + chosen if chosen else "")}</p>'
        f"{sections}</html>\n"
    )


def _rows(board: Mapping[str, Any]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the headings with their panels; what Grafana folds away is open here."""
    found: list[tuple[str, list[Mapping[str, Any]]]] = []
    for panel in board["panels"]:
        if panel["type"] == "row":
            found.append((panel["title"], list(panel["panels"])))
        else:
            found[-1][1].append(panel)
    return found


def _section(
    title: str,
    panels: Sequence[Mapping[str, Any]],
    source: Prometheus,
    variables: Mapping[str, str],
    span: Span,
) -> str:
    top = min(panel["gridPos"]["y"] for panel in panels)
    cells = "".join(_cell(panel, top, source, variables, span) for panel in panels)
    return f'<h2>{escape(title)}</h2><section class="grid24">{cells}</section>'


def _cell(panel: Mapping[str, Any], top: int, source: Prometheus, variables: Mapping[str, str], span: Span) -> str:
    at = panel["gridPos"]
    place = f"grid-area:{at['y'] - top + 1}/{at['x'] + 1}/span {at['h']}/span {at['w']}"
    try:
        body = _body(panel, source, variables, span)
    except SourceError as fault:
        body = f'<p class="nothing">could not ask: {escape(str(fault))}</p>'
    return (
        f'<article style="{place}"><h3 title="{escape(panel["description"])}">{escape(panel["title"])}</h3>'
        f'<div class="body">{body}</div></article>'
    )


def _body(panel: Mapping[str, Any], source: Prometheus, variables: Mapping[str, str], span: Span) -> str:
    if panel["type"] == "text":
        return figures.text(panel)
    if panel["type"] == "alertlist":
        return _alerts(source, variables, span)
    found = lines(source, panel, variables, span)
    if not found:
        return f'<p class="nothing">{escape(panel["fieldConfig"]["defaults"]["noValue"])}</p>'
    if panel["type"] in _FIGURES:
        return _FIGURES[panel["type"]](panel, found)
    width, height = _paper(panel, found)
    return _CHARTS[panel["type"]](panel, found, span, width, height)


def _alerts(source: Prometheus, variables: Mapping[str, str], span: Span) -> str:
    chosen = {name: f"${name}" for name in _OF_ALERTS if name in variables}
    firing = select(ALERTS, {"alertstate": "firing"}, {"fabric_profile": ".+", **chosen})
    found = source.instant(asked(firing, variables, 0, span), span.end)
    return figures.alert_list([Line(name="", letter="A", answer=one) for one in found])


def _paper(panel: Mapping[str, Any], found: Sequence[Line]) -> tuple[int, int]:
    """Return the size of a chart: its panel, less the head and the legend."""
    at = panel["gridPos"]
    legend = 0
    if panel["type"] == "timeseries":
        table = panel["options"]["legend"]["displayMode"] == "table"
        legend = (min(len(found), _MOST_LEGEND) + 1) * _LEGEND_LINE if table else _LEGEND_LINE
    if panel["type"] == "heatmap":
        legend = _LEGEND_LINE
    return at["w"] * _COLUMN - 30, max(_LEAST_CHART, at["h"] * _LINE - _HEAD - legend)


_FIGURES: Mapping[str, Callable[[Mapping[str, Any], Sequence[Line]], str]] = {
    "stat": figures.stat,
    "bargauge": figures.bars,
    "gauge": figures.gauge,
    "table": figures.table,
}
_CHARTS: Mapping[str, Callable[[Mapping[str, Any], Sequence[Line], Span, int, int], str]] = {
    "timeseries": charts.time_series,
    "state-timeline": charts.bands,
    "status-history": charts.bands,
    "heatmap": charts.heat_map,
}
