"""Every command in a playbook, and every way back, is one that netkit's command line understands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from netkit.cli.app import app, mount_plugins
from netkit_playbooks.shelf import playbooks
from netkit_playbooks.targets import VALUES, Target

mount_plugins()
ROOT = typer.main.get_command(app)
SAMPLES = {name: f"{name}-1" for name in VALUES} | {"before": "1500"}
COMMANDS = [
    pytest.param(words, id=f"{one.id}: {step.id}{' back' if words is step.rollback else ''}")
    for one in playbooks().values()
    for step in one.steps
    for words in (step.run, step.rollback)
    if words
]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_parses(words: tuple[str, ...], tmp_path: Path) -> None:
    """Each command, and each way back, is one that the command line understands with every word in it."""
    recording = tmp_path / "node.jsonl"
    for target in (Target(snapshot=recording, values=SAMPLES), Target(node="n", prometheus="http://p", here=True)):
        understand([*replace(target, node="n", values=SAMPLES).fill(words)])


def understand(words: list[str]) -> None:
    """Parse a command down to the one that would run; raises for a word that nobody takes."""
    command: Any = ROOT
    name, context = "netkit", None
    while True:
        context = command.make_context(name, words, parent=context)
        words = [*getattr(context, "_protected_args", []), *context.args]
        if not words:
            return
        name, command, words = command.resolve_command(context, words)
