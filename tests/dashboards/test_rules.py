"""Rules: clean for our linter and for promtool on every fabric."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from netkit.catalogue.alerts import alerts
from netkit.catalogue.fabric_profiles import Profile
from netkit_dashboards.forms import RuleFormat
from netkit_dashboards.lint.rules import findings
from netkit_dashboards.rule_delivery import rule_files
from netkit_dashboards.rule_file import SHORTEST_WINDOW_SECONDS, Rendering, alerting_rule, groups, scaled
from netkit_dashboards.shelf import panel_ids

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


def test_rules_break_no_check() -> None:
    """Checks of pint and ours, on every fabric, without exclusions."""
    assert list(findings()) == []


@needs_promtool
def test_promtool_takes_the_rules_of_every_fabric(tmp_path: Path) -> None:
    """`promtool check rules --lint=all --lint-fatal` is clean."""
    paths = []
    for profile in Profile:
        for text in rule_files(RuleFormat.RULES, Rendering(profile=profile, panel_ids=panel_ids())).values():
            paths.append(tmp_path / f"{profile}.yaml")
            paths[-1].write_text(text)
    done = subprocess.run(
        ["promtool", "check", "rules", "--lint=all", "--lint-fatal", *map(str, paths)],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("SUCCESS") == len(Profile)


def test_time_scale_shortens_what_an_alert_waits_for() -> None:
    """A drill does not wait ten minutes: `for` and `keep_firing_for` shrink, never below a second."""
    slow = next(alert for alert in alerts() if alert.hold and alert.keep)
    scaled = alerting_rule(slow, Rendering(time_scale=0.001, panel_ids=panel_ids()))

    assert (scaled["for"], scaled["keep_firing_for"]) == ("1s", f"{max(1, round(slow.keep * 0.001))}s")


@pytest.mark.parametrize(
    ("window", "scale", "expected"),
    [("6h", 0.01, "3m36s"), ("3d", 0.001, "4m19s"), ("5m", 0.001, "45s"), ("30s", 0.001, "30s"), ("5m", 1.0, "5m")],
)
def test_time_scale_shortens_windows_too(window: str, scale: float, expected: str) -> None:
    """What grew is forgotten sooner in a drill, but a window never holds fewer than three readings."""
    assert scaled(f"rate(x[{window}]) > 0", scale) == f"rate(x[{expected}]) > 0"


@needs_promtool
def test_promtool_takes_scaled_rules(tmp_path: Path) -> None:
    """Recording rules are scaled as alerts are, and what comes out is valid."""
    rendering = Rendering(time_scale=0.001, panel_ids=panel_ids())
    (text,) = rule_files(RuleFormat.RULES, rendering).values()
    (tmp_path / "rules.yaml").write_text(text)
    checked = subprocess.run(["promtool", "check", "rules", str(tmp_path / "rules.yaml")], check=False)

    assert checked.returncode == 0
    assert "[5m]" not in str(groups(rendering))
    assert f"[{SHORTEST_WINDOW_SECONDS}s]" in str(groups(rendering))
