"""The `fieldConfig` of a panel: unit, steps, words, and how single series are told apart.

Keys as in Grafana's kind schema 42 (grafana-foundation-sdk `dashboard.FieldConfigSource`). A thresholds list always
opens with a step at null: without one Grafana draws its own default, red from 80.
"""

from __future__ import annotations

from netkit_dashboards.board import Column, Kind, Panel, Step, Tone, Unit, Word

RAIL_COLOURS = ("#3274D9", "#B8560F", "#7B8087", "#8F6BD1", "#1F8A8A", "#A8761B", "#C2508E", "#5B8A2D")
"""One colour a rail, on every dashboard; each at least 3:1 on both themes."""
Json = dict[str, object]


def field_config(panel: Panel) -> Json:
    """Return the panel's defaults and overrides."""
    defaults: Json = {
        "unit": panel.unit,
        "color": {"mode": "palette-classic" if panel.kind is Kind.TIME_SERIES else "thresholds"},
        "thresholds": thresholds(panel.steps),
        "mappings": mappings(panel.words),
        "custom": _custom(panel),
        "links": [],
        "noValue": _no_value(panel),
    }
    for key, value in (("min", panel.least), ("max", panel.most), ("decimals", panel.decimals)):
        if value is not None:
            defaults[key] = value
    return {"defaults": defaults, "overrides": _overrides(panel)}


def _no_value(panel: Panel) -> str:
    return "none" if panel.healthy_empty else "no data"


def thresholds(steps: tuple[Step, ...]) -> Json:
    """Return absolute steps; grey where none are given, for a colour that means nothing must say nothing."""
    listed = steps if steps and steps[0].at is None else (Step(at=None, tone=Tone.NEUTRAL), *steps)
    return {"mode": "absolute", "steps": [{"color": step.tone, "value": step.at} for step in listed]}


def mappings(words: tuple[Word, ...]) -> list[Json]:
    """Return what values mean, as text with a colour."""
    results = [{"text": word.text, "color": str(word.tone), "index": at} for at, word in enumerate(words)]
    listed = list(zip(words, results, strict=True))
    single = {f"{word.value:g}": result for word, result in listed if word.below is None}
    ranges: list[Json] = [
        {"type": "range", "options": {"from": word.value, "to": word.below, "result": result}}
        for word, result in listed
        if word.below is not None
    ]
    return [{"type": "value", "options": single}, *ranges] if single else ranges


def _custom(panel: Panel) -> Json:
    scale: Json = {"type": "log", "log": 10} if panel.logarithmic else {"type": "linear"}
    if panel.kind is Kind.TIME_SERIES:
        return {
            "drawStyle": "line",
            "lineInterpolation": "linear",
            "lineWidth": 1,
            "fillOpacity": 8,
            "gradientMode": "none",
            "showPoints": "never",
            "pointSize": 5,
            "spanNulls": False,
            "stacking": {"mode": "none", "group": "A"},
            "axisPlacement": "auto",
            "axisLabel": "",
            "axisBorderShow": False,
            "axisCenteredZero": any(query.mirrored for query in panel.queries),
            "scaleDistribution": scale,
            "thresholdsStyle": {"mode": "dashed" if panel.steps else "off"},
            "hideFrom": {"legend": False, "tooltip": False, "viz": False},
        }
    if panel.kind is Kind.TABLE:
        return {"align": "auto", "filterable": True, "inspect": False, "cellOptions": {"type": "auto"}}
    if panel.kind in (Kind.STATE_TIMELINE, Kind.STATUS_HISTORY):
        return {"lineWidth": 0, "fillOpacity": 80, "hideFrom": {"legend": False, "tooltip": False, "viz": False}}
    if panel.kind is Kind.HEATMAP:
        return {"scaleDistribution": scale, "hideFrom": {"legend": False, "tooltip": False, "viz": False}}
    return {}


def _overrides(panel: Panel) -> list[Json]:
    if panel.kind is Kind.TABLE:
        return [_column(column) for column in panel.columns]
    if panel.kind is not Kind.TIME_SERIES:
        return []
    rails = [_rail(number, colour) for number, colour in enumerate(RAIL_COLOURS)]
    return [*(rails if any("{{rail}}" in query.legend for query in panel.queries) else []), *_lines(panel)]


def _rail(number: int, colour: str) -> Json:
    matcher = {"id": "byRegexp", "options": f"/\\brail {number}\\b/"}
    return {"matcher": matcher, "properties": [_fixed(colour)]}


def _lines(panel: Panel) -> list[Json]:
    """Return the looks of queries that are not plain readings."""
    found: list[Json] = []
    for letter, query in zip("ABCDEFGH", panel.queries, strict=False):
        looks: list[Json] = []
        if query.mirrored:
            looks.append({"id": "custom.transform", "value": "negative-Y"})
        if query.dashed:
            looks.append({"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}})
            looks.append({"id": "custom.fillOpacity", "value": 0})
            looks.append(_fixed(Tone.NEUTRAL))
        if looks:
            found.append({"matcher": {"id": "byFrameRefID", "options": letter}, "properties": looks})
    return found


def _fixed(colour: str) -> Json:
    return {"id": "color", "value": {"mode": "fixed", "fixedColor": str(colour)}}


def _column(column: Column) -> Json:
    looks: list[Json] = [{"id": "displayName", "value": column.heading}]
    if column.unit is not Unit.NONE:
        looks.append({"id": "unit", "value": column.unit})
    if column.words:
        looks.append({"id": "mappings", "value": mappings(column.words)})
    if column.steps:
        looks.append({"id": "thresholds", "value": thresholds(column.steps)})
    if column.words or column.steps:
        looks.append({"id": "custom.cellOptions", "value": {"type": "color-text"}})
    return {"matcher": {"id": "byName", "options": column.field}, "properties": looks}
