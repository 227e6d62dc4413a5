"""Write the generated pages of docs/: `python -m docs.generate`. A test demands that they are fresh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[1]
COMMANDS = (
    "",
    "demo",
    "probe",
    "probe lab",
    "probe hosts",
    "probe local",
    "plan",
    "read",
    "check",
    "explain",
    "snapshot",
    "topo",
    "topo explain",
    "topo emit",
    "topo diff",
    "topo jobs",
    "expect",
    "gangs",
    "gang",
    "gang show",
    "gang order",
    "gang check",
    "gang timeline",
    "gang bundle",
    "deploy",
    "deploy rbac",
    "lab",
    "lab up",
    "lab down",
    "lab status",
    "lab fault",
    "lab exec",
    "lab snapshot",
)


EXPORTER_COMMANDS = ("serve", "once", "metrics")
"""Of another package, mounted under `netkit exporter`; asked directly, so that the page needs no installed metadata."""
DASHBOARD_COMMANDS = (
    "dashboards",
    "dashboards build",
    "dashboards lint",
    "rules",
    "rules build",
    "rules lint",
)
"""Of another package too, and asked directly as well."""
_ALONE = "import netkit.cli.app as app; app._mount_plugins = lambda: None; app.main()"
"""Groups that other packages add commands to are asked without these, for the same reason."""
_DEPLOY_EXPORTER = (
    "import typer; from netkit_exporters.commands import deploy; "
    "app = typer.Typer(rich_markup_mode=None, add_completion=False); app.command()(deploy); app()"
)


def command_line_page() -> str:
    """Return docs/cli.md: the help of every command."""
    parts = ["# Command line\n\nGenerated from the commands themselves by `make docs`.\n"]
    asked: list[tuple[str, tuple[str, str], str]]
    asked = [(command, _program(command), command) for command in COMMANDS]
    asked += [("deploy exporter", ("-c", _DEPLOY_EXPORTER), "")]
    asked += [(f"exporter {command}", ("-m", "netkit_exporters"), command) for command in EXPORTER_COMMANDS]
    asked += [(command, ("-m", "netkit_dashboards"), command) for command in DASHBOARD_COMMANDS]
    shown = [(title, _help(program, command)) for title, program, command in asked]
    parts += [f"## netkit {title}".rstrip() + f"\n\n```text\n{text}```\n" for title, text in shown]
    return "\n".join(parts).replace("Usage: -c ", "Usage: netkit deploy exporter ")


def _program(command: str) -> tuple[str, str]:
    return ("-c", _ALONE) if command == "deploy" else ("-m", "netkit")


def _help(program: tuple[str, str], command: str) -> str:
    return subprocess.run(
        [sys.executable, *program, *command.split(), "--help"],
        check=True,
        capture_output=True,
        text=True,
        cwd=HOME,
        env={"PATH": os.environ["PATH"], "COLUMNS": "100", "LANG": "C.UTF-8"},
    ).stdout


PAGES = {"cli.md": command_line_page}


def main() -> None:
    """Rewrite every generated page."""
    for name, page in PAGES.items():
        (HOME / "docs" / name).write_text(page())


if __name__ == "__main__":
    main()
