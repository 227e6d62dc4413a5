"""`python -m netkit_dashboards dashboards|rules …`: the two command groups without the rest of netkit."""

from __future__ import annotations

import typer

from netkit_dashboards import dashboard_commands, rule_commands

app = typer.Typer(name="netkit", no_args_is_help=True, rich_markup_mode=None, add_completion=False)
app.add_typer(dashboard_commands.app)
app.add_typer(rule_commands.app)

if __name__ == "__main__":
    app(prog_name="netkit")
