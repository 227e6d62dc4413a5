"""Every alert fires, is silent just below, resolves, survives absence and resets, and has exactly its labels."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping

import pytest

from netkit.catalogue.alerts import Alert, alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit_dashboards.cases.alerts import Case
from netkit_dashboards.cases.rule_set import RuleSet, rendered
from netkit_dashboards.cases.trial import failures
from netkit_dashboards.rule_file import Rendering
from netkit_dashboards.shelf import panel_ids

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
DEFAULT = Profile.DCQCN_PFC
ELSEWHERE = [(alert, profile) for alert in alerts() for profile in alert.limits]


def rules_of(profile: Profile) -> RuleSet:
    return rendered(Rendering(profile=profile, panel_ids=panel_ids()))


@pytest.fixture(scope="module")
def failed() -> Mapping[tuple[str, Case], str]:
    """One run of promtool over every case of every alert."""
    return failures(rules_of(DEFAULT), alerts())


@pytest.mark.fault("L04")
@pytest.mark.parametrize("case", Case)
@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_does_what_its_row_says(failed: Mapping[tuple[str, Case], str], alert: Alert, case: Case) -> None:
    """One case of one alert, generated from its row and judged by promtool."""
    assert failed.get((alert.name, case)) is None


def test_a_case_that_is_wrong_is_noticed() -> None:
    """Promtool's answer is read, not assumed: a threshold moved up makes the firing case fail, and no other."""
    alert = next(one for one in alerts() if one.name == "RdmaAckTimeouts")
    rules = rules_of(DEFAULT)
    moved = {**rules.alerts[alert.name], "expr": alert.expression(DEFAULT).replace("> 1)", "> 1000)")}
    edited = dataclasses.replace(rules, alerts={**rules.alerts, alert.name: moved})

    assert failures(edited, [alert], [Case.FIRES, Case.BELOW]).keys() == {(alert.name, Case.FIRES)}


@pytest.mark.parametrize(("alert", "profile"), ELSEWHERE, ids=lambda one: getattr(one, "name", str(one)))
def test_thresholds_of_other_fabrics_hold(alert: Alert, profile: Profile) -> None:
    """Where a fabric has a threshold of its own, the same cases move with it."""
    assert failures(rules_of(profile), [alert], [Case.FIRES, Case.BELOW]) == {}


def test_every_alert_names_a_panel_that_is_there() -> None:
    """Every alert has one panel that shows its condition."""
    assert {(alert.dashboard, alert.panel) for alert in alerts()} <= set(panel_ids())
