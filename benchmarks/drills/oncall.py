"""What the person on call does with an alert: run the playbook it names, on the Prometheus that raised it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netkit_playbooks.signals import DEVICE_LABELS


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a playbook said."""

    status: int
    cause: str | None
    text: str


def playbook_of(body: Mapping[str, Any]) -> str:
    """Return the playbook in the link of the first alert of a webhook body."""
    (alert, *_) = body["alerts"]
    url: str = alert["annotations"]["runbook_url"]
    return url.rpartition("/")[2]


def run_for(body: Mapping[str, Any], url: str) -> Answer:
    """Run `netkit playbook run` for the first alert of a webhook body."""
    labels = body["alerts"][0]["labels"]
    where = [f"--{name}={labels[name]}" for name in ("node", "cluster") if labels.get(name)]
    about = [f"--set={name}={labels[name]}" for name in DEVICE_LABELS if labels.get(name)]
    return netkit("playbook", "run", playbook_of(body), "--prometheus", url, *where, *about, "--output", "json")


def netkit(*words: str, stdin: str | None = None) -> Answer:
    """Run a command of netkit in this process."""
    from typer.testing import CliRunner

    from netkit.cli.app import app

    done = CliRunner().invoke(app, list(words), input=stdin)
    try:
        cause = json.loads(done.stdout)["cause"]
    except (ValueError, KeyError):
        cause = None
    return Answer(status=done.exit_code, cause=cause, text=f"{done.output}{done.exception or ''}")
