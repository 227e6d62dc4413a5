"""What the person on call does with a notification: hand it to netkit, which runs the playbook and names the cause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command said."""

    status: int
    document: Mapping[str, Any]
    text: str

    @property
    def cause(self) -> str | None:
        """The cause that was named: of a playbook, or of the first alert of a notification."""
        alerts = self.document.get("alerts")
        run = alerts[0]["run"] if alerts else self.document
        cause: str | None = run.get("cause")
        return cause


def answer_to(body: Mapping[str, Any], prometheus: str) -> Answer:
    """Run `netkit playbook for-alert` on the body of a webhook."""
    return netkit("playbook", "for-alert", "-", "--prometheus", prometheus, "--output", "json", stdin=json.dumps(body))


def netkit(*words: str, stdin: str | None = None) -> Answer:
    """Run a command of netkit in this process."""
    from typer.testing import CliRunner

    from netkit.cli.app import app, mount_plugins

    mount_plugins()
    done = CliRunner().invoke(app, list(words), input=stdin)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = {}
    return Answer(status=done.exit_code, document=document, text=f"{done.output}{done.exception or ''}")
