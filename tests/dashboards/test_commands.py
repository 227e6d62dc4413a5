"""The commands as a person uses them: files where they were asked for, wrong input in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from netkit.errors import InputError
from netkit_dashboards import extra


def netkit(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from netkit.cli.app import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], check=False, capture_output=True, text=True)


def test_rules_are_built_for_a_fabric(tmp_path: Path) -> None:
    """With the addresses that were given, and the path of each file on standard output."""
    places = ("--grafana-url", "https://g.example.org/", "--playbook-url", "https://p.example.org/x")
    done = netkit("rules", "build", "-o", str(tmp_path), "--profile", "infiniband", *places)
    groups = yaml.safe_load((tmp_path / "netkit-rules.yaml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"] if "alert" in rule]

    assert (done.stdout.splitlines(), done.stderr) == ([str(tmp_path / "netkit-rules.yaml")], "")
    assert "example.com" not in (tmp_path / "netkit-rules.yaml").read_text()
    assert all(rule["labels"]["fabric_profile"] == "infiniband" for rule in rules)
    assert all(rule["annotations"]["dashboard_url"].startswith("https://g.example.org/d/netkit-") for rule in rules)
    assert all(rule["annotations"]["runbook_url"].startswith("https://p.example.org/x/") for rule in rules)
    assert not any(rule["alert"].startswith("Pfc") for rule in rules)


@pytest.mark.parametrize("form", ["rules", "prometheusrule"])
def test_placeholder_links_are_said_to_be_such(tmp_path: Path, form: str) -> None:
    """On standard error, and in the first line of the file, with the option that was not given."""
    done = netkit("rules", "build", "-o", str(tmp_path), "--format", form, "--grafana-url", "https://g.example.org")
    (written,) = tmp_path.iterdir()
    note = "links lead to a placeholder on example.com: build with --playbook-url"

    assert done.stderr == f"netkit: {note}\n"
    assert written.read_text().splitlines()[0] == f"# {note}"


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (("rules", "build", "-o", "x", "--profile", "token-ring"), "token-ring", 2),
        (("rules", "build", "-o", "x", "--time-scale", "7"), "0.001 to 1", 2),
        (("rules", "build", "-o", "x", "--grafana-url", "grafana"), "https:// or http://", 2),
        (("rules", "build", "-o", "/proc/nowhere"), "cannot write", 4),
        (("rules", "test", "--rules", "x", "--profile", "pfc-only"), "a file names its fabric itself", 2),
        (("rules", "test", "--rules", "/proc/nowhere"), "/proc/nowhere", 2),
        (("dashboards", "build"), "--output-dir", 2),
        (("dashboards", "preview", "--prometheus", "nowhere", "-o", "x"), "http://prometheus:9090", 2),
        (("dashboards", "preview", "--prometheus", "http://127.0.0.1:9", "-o", "x"), "did not answer", 3),
        (("dashboards", "preview", "--prometheus", "http://a", "-o", "x", "--variable", "node"), "name=value", 2),
        (("dashboards", "push", "--grafana", "http://a"), "--token-file FILE", 2),
    ],
)
def test_wrong_input_is_one_line(arguments: tuple[str, ...], said: str, status: int) -> None:
    """What was given, what is accepted; no traceback, and nothing on standard output."""
    done = netkit(*arguments)

    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "grafanalib" else object())

    with pytest.raises(InputError, match=r"without grafanalib: accepted is pip install 'netkit\[dashboards\]'"):
        extra.demand()
