"""Each rule of the linters can fail: one change that breaks it, and nothing else is needed to see it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from netkit.catalogue.fabric_profiles import Profile
from netkit_dashboards.finalise import dashboard
from netkit_dashboards.lint.boards import RULES, findings_of
from netkit_dashboards.lint.finding import report
from netkit_dashboards.lint.rules import RULES as RULE_CHECKS
from netkit_dashboards.lint.rules import findings_of as rule_findings
from netkit_dashboards.rule_file import Rendering, groups
from netkit_dashboards.shelf import boards, panel_ids

Json = dict[str, Any]
FABRIC: Json = json.loads(json.dumps(dashboard(boards()[0])))


def panel(board: Json, kind: str) -> Json:
    found: Json = next(one for one in board["panels"] if one["type"] == kind)
    return found


def variable(board: Json, name: str) -> Json:
    found: Json = next(one for one in board["templating"]["list"] if one["name"] == name)
    return found


def asks(kind: str, expression: str) -> Callable[[Json], None]:
    return lambda board: panel(board, kind)["targets"][0].update(expr=expression)


def sets(kind: str, **values: Any) -> Callable[[Json], None]:
    return lambda board: panel(board, kind).update(values)


def field(kind: str, **values: Any) -> Callable[[Json], None]:
    return lambda board: panel(board, kind)["fieldConfig"]["defaults"].update(values)


NARROW = 'job=~"$job",instance=~"$instance"'
BREAKS: dict[str, Callable[[Json], None]] = {
    "template-datasource": lambda board: variable(board, "datasource").update(label="Source"),
    "template-job": lambda board: variable(board, "job").update(allValue=".*"),
    "template-instance": lambda board: board["templating"]["list"].remove(variable(board, "instance")),
    "template-label-promql": lambda board: variable(board, "cluster").update(definition="label_values(up{, cluster)"),
    "template-on-time-change-reload": lambda board: variable(board, "job").update(refresh=1),
    "panel-datasource": sets("stat", datasource={"type": "prometheus", "uid": "P1"}),
    "panel-title-description": sets("stat", description=""),
    "panel-units": field("stat", unit=""),
    "panel-no-targets": sets("stat", targets=[]),
    "target-logql": lambda board: panel(board, "stat")["targets"][0].update(datasource={"type": "loki"}),
    "target-logql-auto": asks("stat", f"sum(rate(up{{{NARROW}}}[$__auto]))"),
    "target-promql": asks("stat", "sum(up{"),
    "target-rate-interval": asks("stat", f"sum(rate(netkit_rdma_link_downed_total{{{NARROW}}}[5m]))"),
    "target-job": asks("stat", 'sum(up{instance=~"$instance"})'),
    "target-instance": asks("stat", 'sum(up{job=~"$job"})'),
    "target-counter-agg": asks("stat", f"sum(netkit_rdma_link_downed_total{{{NARROW}}})"),
    "uneditable-dashboard": lambda board: board.update(editable=True),
    "known-series": asks("stat", f"sum(netkit_nothing{{{NARROW}}})"),
    "known-labels": asks("stat", f'sum(up{{{NARROW},colour="red"}})'),
    "unique-ids": sets("timeseries", id=1),
    "no-overlap": lambda board: panel(board, "stat")["gridPos"].update(w=9),
    "links-resolve": sets("stat", links=[{"url": "/d/netkit-nowhere"}]),
    "next-step": sets("stat", links=[], description="Nothing to do."),
    "title-short": sets("stat", title="A title that is much longer than anybody can read at night"),
    "unit-in-field": sets("stat", title="Received (GB/s)"),
    "zero-based-rates": lambda board: next(one for one in board["panels"] if one["title"] == "Received by ports")[
        "fieldConfig"
    ]["defaults"].pop("min"),
    "ratio-bounds": field("timeseries", max=0.5),
    "bounded-gauge": sets("stat", type="gauge"),
    "explicit-nulls": field("stat", noValue=""),
    "colour-and-word": field("status-history", mappings=[]),
    "contrast": lambda board: panel(board, "stat")["fieldConfig"]["defaults"]["thresholds"]["steps"][0].update(
        color="#FFFF00"
    ),
    "legend-table": lambda board: (
        panel(board, "timeseries").update(targets=panel(board, "timeseries")["targets"] * 4),
        panel(board, "timeseries")["options"]["legend"].update(displayMode="list"),
    )[0],
    "few-lines": asks("timeseries", f"max by (node, device) (up{{{NARROW}}})"),
    "small": lambda board: board.update(description="x" * 300_000),
}


def test_every_rule_has_a_change_that_breaks_it() -> None:
    """No rule without a proof that it can fail."""
    assert BREAKS.keys() == RULES.keys()


@pytest.mark.parametrize("rule", BREAKS)
def test_a_rule_speaks_when_it_is_broken(rule: str) -> None:
    """The dashboard is clean; after one change the rule names it."""
    board = copy.deepcopy(FABRIC)
    BREAKS[rule](board)

    assert rule in {one.rule for one in findings_of(board)}


def alert(**changes: Any) -> list[Json]:
    listed: list[Json] = copy.deepcopy(groups(Rendering(profile=Profile.PFC_ONLY, panel_ids=panel_ids())))
    rule = next(one for group in listed for one in group["rules"] if one.get("alert") == "RdmaAckTimeouts")
    rule.update(changes)
    return listed


COUNTER = "netkit_rdma_link_downed_total"
RULE_BREAKS: dict[str, Json] = {
    "promql/syntax": {"expr": "rate(up["},
    "alerts/comparison": {"expr": f"rate({COUNTER}[5m])"},
    "alerts/absent": {"expr": "absent(up)", "for": "15s"},
    "alerts/template": {
        "labels": {"severity": "warning", "component": "x", "fabric_profile": "y", "v": "{{ $value }}"}
    },
    "alerts/humanize": {"annotations": {"summary": "{{ $value }} a second"}},
    "alerts/annotation": {"annotations": {"summary": "only this"}},
    "promql/range": {"expr": f"rate({COUNTER}[1m]) > 1"},
    "promql/rate": {"expr": "rate(netkit_rdma_state_id[5m]) > 1"},
    "promql/counter": {"expr": f"{COUNTER} > 1"},
    "promql/whole-counts": {"expr": f"increase({COUNTER}[6h]) > 2"},
    "promql/fragile": {"expr": "topk(3, up) > 1"},
    "promql/series": {"expr": "netkit_nothing > 1"},
}


def test_every_check_of_rules_has_a_change_that_breaks_it() -> None:
    """No check without a proof that it can fail."""
    assert RULE_BREAKS.keys() == RULE_CHECKS.keys()


@pytest.mark.parametrize("check", RULE_BREAKS)
def test_a_check_of_rules_speaks(check: str) -> None:
    """One changed rule, and the check names it."""
    assert check in {one.rule for one in rule_findings(alert(**RULE_BREAKS[check]), "test")}


def test_a_rule_that_stands_twice_is_named() -> None:
    """With the place of the first."""
    listed = alert()
    listed[1]["rules"].append(listed[1]["rules"][0])

    assert [one.rule for one in rule_findings(listed, "test")] == ["rule/duplicate"]


def test_findings_are_lines_and_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, and 1; without any, nothing and 0."""
    board = copy.deepcopy(FABRIC)
    BREAKS["panel-units"](board)

    assert report(findings_of(board)) == 1
    assert capsys.readouterr().out == "netkit-fabric: Ports down: panel-units: has no unit\n"
    assert report(findings_of(FABRIC)) == 0
