"""netkit's own rules on dashboards: names that exist, links that lead somewhere, and panels a tired person can read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import combinations
from types import MappingProxyType

from netkit.catalogue.promql import SCRAPE_LABELS
from netkit.catalogue.series import known
from netkit_dashboards.board import COLUMNS
from netkit_dashboards.contrast import THEMES, contrast
from netkit_dashboards.lint.expression import selectors
from netkit_dashboards.lint.grafana_rules import Said
from netkit_dashboards.lint.reading import Document, charts, panels, place, targets
from netkit_dashboards.shelf import boards

MOST_BYTES = 256 * 1024
"""`kubectl apply` keeps a copy of what it applied in an annotation, which holds no more."""
MOST_TITLE = 40
LEAST_CONTRAST = 3.0
_RATES = frozenset({"Bps", "bps", "ops", "pps"})
_UNIT_WORDS = re.compile(r"\((?:%|[kMGT]?i?[Bb](?:/s|ps)?|s|ms|µs|°?C|W)\)|\bpercent\b|\bGB/s\b", re.IGNORECASE)
_COLOUR = re.compile(r'"(#[0-9A-Fa-f]{6})"')
_MANY_QUERIES = 3
_FEW = frozenset({"", "cluster", "rail", "node_pool", "priority", "direction", "severity", "component", "path"})
"""Labels with few values."""
_ONE_LINE = frozenset({"sum", "avg", "max", "min", "quantile", "count", "vector"})
_UID = re.compile(r"/d/([a-z-]+)")


def _known_series(board: Document) -> Said:
    for panel, target in targets(board):
        for one in selectors(target["expr"]):
            if one.name not in known():
                yield place(panel, target), f"{one.name} is in no catalogue"


def _known_labels(board: Document) -> Said:
    for panel, target in targets(board):
        for one in selectors(target["expr"]):
            labels = {*known()[one.name].labels, *SCRAPE_LABELS} if one.name in known() else one.labels
            if unknown := one.labels - labels:
                yield place(panel, target), f"{one.name} has no label {', '.join(sorted(unknown))}"


def _unique_ids(board: Document) -> Said:
    numbers = [panel["id"] for panel in (*board["panels"], *panels(board)) if panel["type"] == "row"]
    numbers += [panel["id"] for panel in panels(board)]
    titles = [panel["title"] for panel in panels(board)]
    for what, listed in (("id", numbers), ("title", titles)):
        for one in sorted({one for one in listed if listed.count(one) > 1}, key=str):
            yield "panels", f"{what} {one} stands more than once"


def _no_overlap(board: Document) -> Said:
    for one in panels(board):
        if one["gridPos"]["x"] + one["gridPos"]["w"] > COLUMNS:
            yield place(one), f"ends right of column {COLUMNS}"
    open_panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    inside = [panel["panels"] for panel in board["panels"] if panel["type"] == "row"]
    for members in (open_panels, *inside):
        for one, other in combinations(members, 2):
            if _overlap(one["gridPos"], other["gridPos"]):
                yield place(one), f"overlaps {place(other)}"


def _overlap(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in (("x", "w"), ("y", "h"))
    )


def _links_resolve(board: Document) -> Said:
    uids = {one.uid for one in boards()}
    for panel in charts(board):
        for link in panel["links"]:
            found = _UID.search(link["url"])
            if not found or found[1] not in uids:
                yield place(panel), f"{link['url']} leads to no dashboard"


def _next_step(board: Document) -> Said:
    for panel in charts(board):
        if not panel["links"] and "playbook" not in panel["description"].lower():
            yield place(panel), "neither links to a dashboard nor names a playbook"


def _title_short(board: Document) -> Said:
    for panel in panels(board):
        if len(panel["title"]) > MOST_TITLE:
            yield place(panel), f"the title has {len(panel['title'])} characters; {MOST_TITLE} fit"


def _unit_in_field(board: Document) -> Said:
    for panel in panels(board):
        if _UNIT_WORDS.search(panel["title"]):
            yield place(panel), "the title names a unit; the unit belongs to the field"


def _zero_based(board: Document) -> Said:
    for panel in charts(board):
        defaults = panel["fieldConfig"]["defaults"]
        mirrored = defaults.get("custom", {}).get("axisCenteredZero")
        if panel["type"] == "timeseries" and defaults["unit"] in _RATES and defaults.get("min") != 0 and not mirrored:
            yield place(panel), "an axis of rates does not begin at 0"


def _ratio_bounds(board: Document) -> Said:
    for panel in charts(board):
        defaults = panel["fieldConfig"]["defaults"]
        custom = defaults.get("custom", {})
        bounded = defaults.get("min") == 0 and defaults.get("max", 0) >= 1
        free = custom.get("axisCenteredZero") or custom.get("scaleDistribution", {}).get("type") == "log"
        scaled = panel["type"] in ("timeseries", "gauge", "bargauge") and defaults["unit"] == "percentunit"
        if scaled and not bounded and not free:
            yield place(panel), "a ratio without a scale from 0 to 1"


def _bounded_gauge(board: Document) -> Said:
    for panel in charts(board):
        defaults = panel["fieldConfig"]["defaults"]
        if panel["type"] == "gauge" and not {"min", "max"} <= defaults.keys():
            yield place(panel), "a gauge of a value without bounds"


def _explicit_nulls(board: Document) -> Said:
    for panel in charts(board):
        defaults = panel["fieldConfig"]["defaults"]
        if not defaults.get("noValue") or (panel["type"] == "timeseries" and "spanNulls" not in defaults["custom"]):
            yield place(panel), "does not say what it shows where nothing is"


def _colour_and_word(board: Document) -> Said:
    for panel in charts(board):
        coloured = panel["type"] in ("state-timeline", "status-history")
        if coloured and not panel["fieldConfig"]["defaults"]["mappings"]:
            yield place(panel), "colours carry states, and no word does"


def _contrast(board: Document) -> Said:
    for colour in sorted(set(_COLOUR.findall(json.dumps(board)))):
        for theme, background in THEMES.items():
            if contrast(colour, background) < LEAST_CONTRAST:
                yield "colours", f"{colour} has contrast {contrast(colour, background):.1f} on the {theme} theme"


def _legend_table(board: Document) -> Said:
    for panel in charts(board):
        if panel["type"] == "timeseries" and len(panel["targets"]) > _MANY_QUERIES:
            legend = panel["options"]["legend"]
            if legend["displayMode"] != "table" or not {"lastNotNull", "max"} <= set(legend["calcs"]):
                yield place(panel), "more than three lines without a table of last and largest value"


def _few_lines(board: Document) -> Said:
    """A line a port would be ten thousand lines: what is drawn is aggregated, or the largest few of it."""
    for panel, target in targets(board):
        if panel["type"] == "timeseries" and not _bounded_lines(target["expr"]):
            yield place(panel, target), "may draw a line for every port; aggregate, or take the largest 12 or fewer"


def _bounded_lines(expression: str) -> bool:
    found = re.match(r"(\w+)(?: by \(([^)]*)\))? ?\((?:(\d+),)?", expression)
    if not found:
        return "$device" in expression
    function, groups, count = found.groups()
    if function in ("topk", "bottomk"):
        return int(count or 99) <= 12
    few = {*(groups or "").replace(" ", "").split(",")} <= _FEW
    return "$device" in expression or (few and function in _ONE_LINE)


def _small(board: Document) -> Said:
    size = len(json.dumps(board, indent=2).encode())
    if size > MOST_BYTES:
        yield "dashboard", f"{size} bytes are more than fit into an annotation of kubectl apply"


RULES: Mapping[str, Callable[[Document], Said]] = MappingProxyType(
    {
        "known-series": _known_series,
        "known-labels": _known_labels,
        "unique-ids": _unique_ids,
        "no-overlap": _no_overlap,
        "links-resolve": _links_resolve,
        "next-step": _next_step,
        "title-short": _title_short,
        "unit-in-field": _unit_in_field,
        "zero-based-rates": _zero_based,
        "ratio-bounds": _ratio_bounds,
        "bounded-gauge": _bounded_gauge,
        "explicit-nulls": _explicit_nulls,
        "colour-and-word": _colour_and_word,
        "contrast": _contrast,
        "legend-table": _legend_table,
        "few-lines": _few_lines,
        "small": _small,
    }
)
