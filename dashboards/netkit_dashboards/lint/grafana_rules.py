"""The seventeen rules of Grafana's dashboard-linter 0.2, read from its documentation, on classic JSON.

https://github.com/grafana/dashboard-linter/blob/main/docs/index.md
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from netkit_dashboards.lint.expression import grows_unrated, parsed, selectors, substituted
from netkit_dashboards.lint.reading import SOURCE_UIDS, Document, charts, panels, place, targets, variables

Said = Iterator[tuple[str, str]]
"""Place and text of findings."""
_WINDOWED = re.compile(r"\b(?:rate|irate|increase)\([^()]*\[([^\]]+)\]")
_COUNTER = re.compile(r"_(?:total|sum|count|bucket)$")
_WITH_UNIT = frozenset({"stat", "table", "timeseries", "gauge", "bargauge", "heatmap"})


def _template_datasource(board: Document) -> Said:
    found = [one for one in board["templating"]["list"] if one["type"] == "datasource"]
    if len(found) != 1 or found[0]["name"] != "datasource" or found[0]["label"] != "Data source":
        yield "variables", "there must be one data source, named datasource, labelled Data source"


def _template(name: str, label: str) -> Callable[[Document], Said]:
    def check(board: Document) -> Said:
        one = variables(board).get(name)
        wanted = {"type": "query", "label": label, "multi": True, "includeAll": True, "allValue": ".+"}
        if one is None:
            yield "variables", f"there is no variable {name}"
        elif wrong := {key: one.get(key) for key, value in wanted.items() if one.get(key) != value}:
            yield f"variable {name}", f"{wrong} instead of { ({key: wanted[key] for key in wrong}) }"
        elif one["datasource"]["uid"] not in SOURCE_UIDS:
            yield f"variable {name}", "does not ask the chosen data source"

    return check


def _template_label_promql(board: Document) -> Said:
    for name, one in variables(board).items():
        if one["type"] != "query":
            continue
        found = re.fullmatch(r"label_values\((?:(.+), *)?([a-z_]+)\)", one["definition"])
        if not found:
            yield f"variable {name}", f"{one['definition']} is no label_values(selector, label)"
        elif found[1]:
            yield from _parses(f"variable {name}", found[1])


def _template_reload(board: Document) -> Said:
    for name, one in variables(board).items():
        if one["type"] == "query" and one["refresh"] != 2:
            yield f"variable {name}", "is not loaded again when the time range changes"


def _panel_datasource(board: Document) -> Said:
    for panel in charts(board):
        if panel.get("datasource", {}).get("uid") not in SOURCE_UIDS:
            yield place(panel), "does not ask the chosen data source"


def _panel_title_description(board: Document) -> Said:
    for panel in panels(board):
        if not panel.get("title") or not panel.get("description"):
            yield place(panel), "has no title or no description"


def _panel_units(board: Document) -> Said:
    for panel in charts(board):
        if panel["type"] in _WITH_UNIT and not panel["fieldConfig"]["defaults"].get("unit"):
            yield place(panel), "has no unit"


def _panel_no_targets(board: Document) -> Said:
    for panel in charts(board):
        if not panel.get("targets"):
            yield place(panel), "asks nothing"


def _target_logql(board: Document) -> Said:
    for panel, target in targets(board):
        if target.get("datasource", {}).get("type") == "loki":
            yield place(panel, target), "asks Loki; these dashboards hold PromQL alone"


def _target_logql_auto(board: Document) -> Said:
    for panel, target in targets(board):
        if "$__auto" in target["expr"] and target.get("datasource", {}).get("type") != "loki":
            yield place(panel, target), "uses $__auto, which is LogQL's, in PromQL"


def _target_promql(board: Document) -> Said:
    for panel, target in targets(board):
        yield from _parses(place(panel, target), target["expr"])


def _parses(where: str, expression: str) -> Said:
    try:
        parsed(expression)
    except ValueError as fault:
        yield where, f"{fault}: {expression}"


def _target_rate_interval(board: Document) -> Said:
    for panel, target in targets(board):
        for window in _WINDOWED.findall(re.sub(r'"[^"]*"', '""', target["expr"])):
            if window != "$__rate_interval":
                yield place(panel, target), f"a rate over [{window}] instead of [$__rate_interval]"


def _target_matcher(label: str) -> Callable[[Document], Said]:
    def check(board: Document) -> Said:
        for panel, target in targets(board):
            for one in selectors(target["expr"]):
                if (label, "=~", f"${label}") not in one.matchers:
                    yield place(panel, target), f'{one.name} is not narrowed by {label}=~"${label}"'

    return check


def _target_counter_agg(board: Document) -> Said:
    for panel, target in targets(board):
        for one in selectors(substituted(target["expr"])):
            if _COUNTER.search(one.name) and grows_unrated(one):
                yield place(panel, target), f"{one.name} is a counter: its growth is wanted, not its value"


def _uneditable(board: Document) -> Said:
    if board["editable"]:
        yield "dashboard", "is editable: what is changed there is lost at the next build"


RULES: Mapping[str, Callable[[Document], Said]] = MappingProxyType(
    {
        "template-datasource": _template_datasource,
        "template-job": _template("job", "Job"),
        "template-instance": _template("instance", "Instance"),
        "template-label-promql": _template_label_promql,
        "template-on-time-change-reload": _template_reload,
        "panel-datasource": _panel_datasource,
        "panel-title-description": _panel_title_description,
        "panel-units": _panel_units,
        "panel-no-targets": _panel_no_targets,
        "target-logql": _target_logql,
        "target-logql-auto": _target_logql_auto,
        "target-promql": _target_promql,
        "target-rate-interval": _target_rate_interval,
        "target-job": _target_matcher("job"),
        "target-instance": _target_matcher("instance"),
        "target-counter-agg": _target_counter_agg,
        "uneditable-dashboard": _uneditable,
    }
)
