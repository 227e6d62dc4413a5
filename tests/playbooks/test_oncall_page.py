"""docs/oncall.md: every command on it is run as it stands, on a recorded node and a Prometheus that knows nothing."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from benchmarks.drills.fault import benchmark_log
from benchmarks.drills.oncall import netkit
from tests.dashboards.scripted_server import Asked, Reply, serving

HOME = Path(__file__).parents[2]
PAGE = (HOME / "docs" / "oncall.md").read_text()
ADDRESS = "http://prometheus:9090"
NOTIFICATION = {
    "version": "4",
    "alerts": [{"status": "firing", "labels": {"alertname": "PfcStormWarning", "node": "n1", "device": "mlx5_0"}}],
}
STATUSES = {"playbook run": 3, "playbook for-alert": 3}
"""Of what looks at a Prometheus without a series: nobody can tell."""


def commands() -> list[str]:
    """Every command of the page: indented lines, and what stands in code."""
    return list(dict.fromkeys(re.findall(r"(?:^ {4}|`)(netkit [a-z][^`\n]*)", PAGE, re.MULTILINE)))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the page speaks of."""
    (tmp_path / "notification.json").write_text(json.dumps(NOTIFICATION))
    (tmp_path / "allreduce.log").write_text(benchmark_log(460.0))
    shutil.copy(HOME / "tests" / "nodes" / "healthy-hgx.jsonl", tmp_path / "node.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def nothing(_asked: Asked) -> Reply:
    return Reply(body=b'{"status": "success", "data": {"resultType": "vector", "result": []}}')


def test_the_page_holds_the_commands_of_ten_minutes() -> None:
    """A page from which the commands were lost would pass every test of commands."""
    assert len(commands()) >= 12


@pytest.mark.parametrize("command", commands())
def test_the_command_runs_as_it_stands(desk: Path, command: str) -> None:
    """It ends as the page says, and says something."""
    if "snapshot -o" in command or "--redact" in command:
        command = command.replace("node.jsonl", "own.jsonl")  # the recording of this machine, beside the recorded one
    with serving(nothing) as server:
        said = netkit(*command.replace(ADDRESS, server.url).split()[1:])
    expected = next((status for start, status in STATUSES.items() if f"netkit {start} " in command), 0)

    assert said.status == expected, said.text
    assert said.text.strip()
    assert (desk / "own.jsonl").exists() == ("own.jsonl" in command)
