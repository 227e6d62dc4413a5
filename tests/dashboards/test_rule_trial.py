"""`netkit rules test`: the rules of a fabric, or of a file somebody edited, tried alert by alert."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from netkit.catalogue.fabric_profiles import Profile
from netkit.errors import InputError, SourceError
from netkit_dashboards.cases import promtool
from netkit_dashboards.cases.rule_set import read, rendered
from netkit_dashboards.forms import RuleFormat
from netkit_dashboards.rule_delivery import rule_files
from netkit_dashboards.rule_file import Rendering
from netkit_dashboards.shelf import panel_ids

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
RENDERING = Rendering(profile=Profile.INFINIBAND, panel_ids=panel_ids())


def tried(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from netkit.cli.app import main; main()", "rules", "test", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env={"PATH": path} if path is not None else None
    )


def with_rules(path: Path, *names: str, **changes: Any) -> Path:
    """A rule file with a few of the alerts, the last of them changed."""
    rules = rendered(RENDERING)
    kept = [dict(rules.alerts[name]) for name in names]
    kept[-1].update(changes)
    groups = [{"name": "some", "rules": [*rules.recordings.values(), *kept]}]
    path.write_text(yaml.safe_dump({"groups": groups}, sort_keys=False))
    return path


@needs_promtool
def test_an_edited_file_is_tried(tmp_path: Path) -> None:
    """Alerts that are gone are named; a threshold that was moved is told by the case it breaks; the rest is silent."""
    path = with_rules(
        tmp_path / "edited.yaml", "RdmaPortDown", "RdmaAckTimeouts", expr="rate(netkit_rdma_symbol_error_total[5m]) > 9"
    )
    done = tried("--rules", str(path))
    said = done.stdout.splitlines()

    assert done.returncode == 1
    assert "infiniband: RdmaLinkFlapping: missing: the rules do not have it" in said
    assert [line for line in said if "RdmaAckTimeouts: fires: alertname: RdmaAckTimeouts, time: " in line]
    assert not [line for line in said if "RdmaPortDown" in line]


@pytest.mark.parametrize("form", [RuleFormat.RULES, RuleFormat.PROMETHEUS_RULE])
def test_files_of_both_forms_are_read(tmp_path: Path, form: RuleFormat) -> None:
    """What is built is what is read, with the fabric it is for."""
    ((name, text),) = rule_files(form, RENDERING).items()
    (tmp_path / name).write_text(text)

    assert read(tmp_path / name) == rendered(RENDERING)


ALERT = {"alert": "A", "expr": "up == 0", "labels": {"fabric_profile": "infiniband"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no YAML"),
        ("\x00", "no YAML"),
        ("groups", "no groups"),
        ("groups: 3", "no groups"),
        ("spec: []", "no groups"),
        ("groups: [3]", "3 is no rule"),
        ("groups: [{rules: [{alert: A}]}]", "is no rule"),
        ("groups: [{rules: [{alert: [A], expr: up}]}]", "is no rule"),
        ("groups: [{rules: [{alert: A, record: B, expr: up}]}]", "is no rule"),
        ("groups: [{rules: [{alert: A, labels: x, expr: up}]}]", "is no rule"),
        (yaml.safe_dump({"groups": [{"rules": [{**ALERT, "expr": "up ="}]}]}), "A: up = is no PromQL"),
        (yaml.safe_dump({"groups": [{"rules": [{**ALERT, "labels": {}}]}]}), "fabric_profile None"),
        (yaml.safe_dump({"groups": [{"rules": [{**ALERT, "labels": {"fabric_profile": "x"}}]}]}), "fabric_profile x"),
        ("groups: []", "fabric_profile missing"),
    ],
)
def test_a_file_that_is_no_rule_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """In one line: what stands there, and what is accepted."""
    path = tmp_path / "rules.yaml"
    path.write_text(text)

    with pytest.raises(InputError) as refused:
        read(path)
    assert said in str(refused.value)
    assert "accepted is" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_promtool_one_line_says_so(tmp_path: Path) -> None:
    """Not measured is neither good nor bad: status 3, nothing on standard output."""
    done = tried(path=str(tmp_path))

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "netkit: promtool: not found on PATH; it comes with Prometheus (Debian: apt install prometheus)\n"
    )


@needs_promtool
def test_a_test_that_promtool_cannot_read_is_no_success(tmp_path: Path) -> None:
    """Promtool's own trouble is told as such."""
    path = tmp_path / "case.test.yaml"
    path.write_text("tests: 3\n")

    with pytest.raises(SourceError, match="promtool could not judge"):
        promtool.judge([path])
