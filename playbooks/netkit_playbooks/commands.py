"""`netkit playbook …`: from an alert to its cause, with the evidence. Mounts the commands and says what each is for."""

from __future__ import annotations

import typer

from netkit_playbooks.change_command import change
from netkit_playbooks.incident_commands import for_alert, run, signals
from netkit_playbooks.page_commands import bundle, list_, self_tested, show

app = typer.Typer(
    name="playbook",
    help="What is behind this alert, and what should be done? Pages for the person on call, which run.",
    short_help="From an alert to its cause: pages for the person on call, which run.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for name, command, short in (
    ("list", list_, "Which playbooks are there, and for which alerts?"),
    ("show", show, "Print a playbook's page."),
    ("run", run, "Run what only reads, and name the cause."),
    ("for-alert", for_alert, "From what Alertmanager sends to the cause of each alert."),
    ("signals", signals, "What do the series say of a node?"),
    ("change", change, "Change one setting of an interface, with a yes and a way back."),
    ("test", self_tested, "Do the playbooks name what they say they name?"),
    ("bundle", bundle, "All pages as a folder or one file, to read without a network."),
):
    app.command(name, short_help=short)(command)
