"""Every alert fires, is silent just below, resolves, survives absence and resets, and has exactly its labels."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from netkit.catalogue.alerts import Alert, alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit.catalogue.rules import RECORDINGS
from netkit_dashboards.lint.expression import selectors
from netkit_dashboards.rule_file import Rendering, alerting_rule, recording_rule, recordings_of
from netkit_dashboards.shelf import panel_ids
from tests.dashboards.alert_cases import GUARD, Case, group, timing

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
RECORDED = {rule.name: rule for rule in RECORDINGS}
DEFAULT = Profile.DCQCN_PFC
ELSEWHERE = [(alert, profile) for alert in alerts() for profile in alert.limits]


def rules_of(alert: Alert, profile: Profile) -> dict[str, Any]:
    """The alert, the guard, and what is recorded; without annotations, which promtool would compare too."""
    rendering = Rendering(profile=profile, panel_ids=panel_ids())
    wanted = {one.name: one for one in alerts() if one.name in (alert.name, GUARD)}.values()
    listed = [{**alerting_rule(one, rendering), "annotations": {}} for one in wanted]
    needed = needed_recordings(alert.expression(profile))
    recorded = [recording_rule(one) for one in recordings_of(profile) if one.name in needed]
    return {"groups": [{"name": "case", "rules": [*recorded, *listed]}]}


def needed_recordings(expression: str) -> set[str]:
    """Names of what an expression reads from recording rules, and of what those read."""
    direct = {one.name for one in selectors(expression)} & RECORDED.keys()
    return direct.union(*(needed_recordings(RECORDED[name].expression) for name in direct))


def write(folder: Path, stem: str, alert: Alert, profile: Profile, groups: list[dict[str, Any]]) -> Path:
    (folder / f"{stem}.rules.yaml").write_text(yaml.safe_dump(rules_of(alert, profile), sort_keys=False))
    step = timing(alert, profile).step
    test = {"rule_files": [f"{stem}.rules.yaml"], "evaluation_interval": f"{step}s", "tests": groups}
    path = folder / f"{stem}.test.yaml"
    path.write_text(yaml.safe_dump(test, sort_keys=False))
    return path


def promtool(paths: list[Path]) -> dict[str, str]:
    """What promtool finds wrong, by the name of the case; everything it says is under the name before it."""
    done = subprocess.run(["promtool", "test", "rules", *map(str, paths)], check=False, capture_output=True, text=True)
    said = done.stdout + done.stderr
    found: dict[str, str] = {}
    for part in re.split(r"(?m)^ *name: ", said)[1:]:
        name, _, text = part.partition("\n")
        found[name.strip().rstrip(",")] = text
    assert found or done.returncode == 0, said
    return found


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One run of promtool over every case of every alert."""
    folder = tmp_path_factory.mktemp("cases")
    paths = [
        write(
            folder,
            alert.name,
            alert,
            DEFAULT,
            [{"name": f"{alert.name} {case}", **group(alert, case, DEFAULT)} for case in Case],
        )
        for alert in alerts()
    ]
    return promtool(paths)


@pytest.mark.fault("L04")
@pytest.mark.parametrize("case", Case)
@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_does_what_its_row_says(failures: dict[str, str], alert: Alert, case: Case) -> None:
    """One case of one alert, generated from its row and judged by promtool."""
    assert failures.get(f"{alert.name} {case}") is None


def test_a_case_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    """Promtool's answer is read, not assumed: a threshold moved up makes the firing case fail."""
    alert = next(one for one in alerts() if one.name == "RdmaAckTimeouts")
    path = write(tmp_path, "wrong", alert, DEFAULT, [{"name": "moved", **group(alert, Case.FIRES, DEFAULT)}])
    rules = tmp_path / "wrong.rules.yaml"
    rules.write_text(rules.read_text().replace("> 1)", "> 1000)"))

    assert "moved" in promtool([path])


@pytest.mark.parametrize("case", [Case.FIRES, Case.BELOW])
@pytest.mark.parametrize(("alert", "profile"), ELSEWHERE, ids=lambda one: getattr(one, "name", str(one)))
def test_thresholds_of_other_fabrics_hold(tmp_path: Path, alert: Alert, profile: Profile, case: Case) -> None:
    """Where a fabric has a threshold of its own, the same case moves with it."""
    limit, usual = alert.limit_of(profile), alert.limit_of(DEFAULT)
    assert limit is not None
    assert usual is not None
    cases = [{"name": "elsewhere", **group(alert, case, profile, limit / usual)}]

    assert promtool([write(tmp_path, "elsewhere", alert, profile, cases)]) == {}


def test_every_alert_names_a_panel_that_is_there() -> None:
    """Every alert has one panel that shows its condition."""
    assert {(alert.dashboard, alert.panel) for alert in alerts()} <= set(panel_ids())
