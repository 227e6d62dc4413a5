"""The `options` of each panel type, explicit, for their defaults differ from one Grafana to the next.

Keys as in the panel models of grafana-foundation-sdk (heatmap, bargauge, gauge, alertlist, state timeline, …).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from netkit_dashboards.board import Kind, Panel
from netkit_dashboards.fields import Json

_MANY_SERIES = 3
"""A legend of more lines is a table with the last and the largest value."""


def options(panel: Panel) -> Json:
    """Return the options of a panel."""
    return _OPTIONS[panel.kind](panel)


def _time_series(panel: Panel) -> Json:
    table = len(panel.queries) > _MANY_SERIES or any("{{" in query.legend for query in panel.queries)
    legend: Json = {
        "showLegend": True,
        "displayMode": "table" if table else "list",
        "placement": "bottom",
        "calcs": ["lastNotNull", "max"] if table else [],
        **({"sortBy": "Last *", "sortDesc": True} if table else {}),
    }
    return {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}


def _reduced(_panel: Panel) -> Json:
    return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}, "orientation": "auto"}


def _stat(panel: Panel) -> Json:
    return _reduced(panel) | {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "textMode": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
    }


def _gauge(panel: Panel) -> Json:
    return _reduced(panel) | {
        "showThresholdLabels": False,
        "showThresholdMarkers": True,
        "sizing": "auto",
        "minVizWidth": 75,
        "minVizHeight": 75,
    }


def _bar_gauge(panel: Panel) -> Json:
    return _reduced(panel) | {
        "orientation": "horizontal",
        "displayMode": "basic",
        "valueMode": "color",
        "namePlacement": "auto",
        "showUnfilled": True,
        "sizing": "auto",
        "minVizWidth": 8,
        "minVizHeight": 16,
        "maxVizHeight": 300,
        "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []},
    }


def _table(_panel: Panel) -> Json:
    return {"showHeader": True, "cellHeight": "sm"}


def _heatmap(panel: Panel) -> Json:
    return {
        "calculate": False,
        "cellGap": 1,
        "color": {
            "mode": "scheme",
            "scheme": "Oranges",
            "fill": "dark-orange",
            "exponent": 0.5,
            "steps": 32,
            "reverse": False,
        },
        "cellValues": {"unit": panel.unit, "decimals": 1},
        "rowsFrame": {"layout": "auto"},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": "none"},
        "showValue": "never",
        "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": True},
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
    }


_BARS: Json = {
    "showValue": "auto",
    "rowHeight": 0.9,
    "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []},
    "tooltip": {"mode": "single", "sort": "none"},
}


def _state_timeline(_panel: Panel) -> Json:
    return _BARS | {"mergeValues": True, "alignValue": "left", "perPage": 20}


def _status_history(_panel: Panel) -> Json:
    return _BARS | {"colWidth": 0.9, "perPage": 20}


def _alert_list(_panel: Panel) -> Json:
    return {
        "viewMode": "list",
        "groupMode": "default",
        "groupBy": [],
        "maxItems": 20,
        "sortOrder": 3,
        "dashboardAlerts": False,
        "alertName": "",
        "alertInstanceLabelFilter": '{component=~".+"}',
        "datasource": "",
        "stateFilter": {"firing": True, "pending": False, "noData": False, "normal": False, "error": True},
    }


def _text(panel: Panel) -> Json:
    return {
        "mode": "markdown",
        "content": panel.text,
        "code": {"language": "plaintext", "showLineNumbers": False, "showMiniMap": False},
    }


_OPTIONS: Mapping[Kind, Callable[[Panel], Json]] = MappingProxyType(
    {
        Kind.TIME_SERIES: _time_series,
        Kind.STAT: _stat,
        Kind.TABLE: _table,
        Kind.TEXT: _text,
        Kind.GAUGE: _gauge,
        Kind.BAR_GAUGE: _bar_gauge,
        Kind.HEATMAP: _heatmap,
        Kind.STATE_TIMELINE: _state_timeline,
        Kind.STATUS_HISTORY: _status_history,
        Kind.ALERT_LIST: _alert_list,
    }
)
