"""Panels without a time axis: single numbers, bars, tables, lists, text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from netkit_dashboards.preview.answers import Line
from netkit_dashboards.preview.looks import look
from netkit_dashboards.preview.units import shown

_MOST_ROWS = 50


def last(line: Line) -> float:
    """Return the last value of a series that is a number."""
    return next((value for _, value in reversed(line.answer.points) if math.isfinite(value)), math.nan)


def stat(panel: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """Return one large number a series, with its name where there are several."""
    config = panel["fieldConfig"]["defaults"]
    cells = []
    for line in lines:
        seen = look(last(line), config)
        name = f"<small>{escape(line.name)}</small>" if len(lines) > 1 else ""
        cells.append(f'<div class="stat" style="color:{seen.colour}">{escape(seen.text)}{name}</div>')
    return "".join(cells)


def bars(panel: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """Return a bar a series, longest first, on one scale."""
    config = panel["fieldConfig"]["defaults"]
    ordered = sorted(lines, key=last, reverse=True)
    highest = config.get("max") or max(map(last, ordered), default=1.0) or 1.0
    rows = []
    for line in ordered:
        seen = look(last(line), config)
        share = min(100.0, max(0.0, last(line) / highest * 100))
        rows.append(
            f'<div class="bar"><span>{escape(line.name)}</span><b><u style="width:{share:.1f}%;'
            f'background:{seen.colour}"></u></b><em>{escape(seen.text)}</em></div>'
        )
    return "".join(rows)


def table(panel: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """Return the columns the panel wants, one row a series."""
    config = panel["fieldConfig"]
    columns = {
        one["matcher"]["options"]: {each["id"]: each["value"] for each in one["properties"]}
        for one in config["overrides"]
    }
    heads = "".join(f"<th>{escape(str(looks['displayName']))}</th>" for looks in columns.values())
    rows = "".join(_row(columns, config["defaults"], line) for line in lines[:_MOST_ROWS])
    more = f"<p>{len(lines) - _MOST_ROWS} more rows</p>" if len(lines) > _MOST_ROWS else ""
    return f'<table class="rows"><tr>{heads}</tr>{rows}</table>{more}'


def _row(columns: Mapping[str, Mapping[str, Any]], defaults: Mapping[str, Any], line: Line) -> str:
    cells = []
    for field, looks in columns.items():
        if field != "Value":
            cells.append(f"<td>{escape(line.answer.labels.get(field, ''))}</td>")
            continue
        config = {**defaults, **{key: looks[key] for key in ("mappings", "thresholds", "unit") if key in looks}}
        seen = look(last(line), config)
        colour = f' style="color:{seen.colour}"' if "custom.cellOptions" in looks else ""
        cells.append(f"<td{colour}>{escape(seen.text)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def alert_list(lines: Sequence[Line]) -> str:
    """Return the alerts that fire, pages first; the watchdog, which always does, is left out."""
    order = {"critical": 0, "warning": 1}
    firing = [line.answer.labels for line in lines if line.answer.labels.get("severity") in order]
    firing.sort(key=lambda labels: (order[labels["severity"]], labels.get("alertname", "")))
    rows = "".join(
        f'<li class="{escape(labels["severity"])}"><b>{escape(labels["severity"])}</b> '
        f"{escape(labels.get('alertname', ''))} <span>{escape(_about(labels))}</span></li>"
        for labels in firing
    )
    return f'<ul class="alerts">{rows}</ul>' if rows else '<p class="nothing">none fires</p>'


def _about(labels: Mapping[str, str]) -> str:
    return " ".join(labels[name] for name in ("cluster", "node", "device", "collector", "probe") if name in labels)


def text(panel: Mapping[str, Any]) -> str:
    """Return Markdown of a text panel as paragraphs; its markup is shown as it is written."""
    parts = re.split(r"\n\s*\n", panel["options"]["content"])
    return "".join(f"<p>{escape(part)}</p>" for part in parts)


def gauge(panel: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """Return bars between the bounds of the value, which a gauge always has."""
    config = panel["fieldConfig"]["defaults"]
    bounds = f"{shown(config['min'], config['unit'])} … {shown(config['max'], config['unit'])}"
    return bars(panel, lines) + f'<p class="scale">{escape(bounds)}</p>'
