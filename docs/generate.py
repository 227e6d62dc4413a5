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


def command_line_page() -> str:
    """Return docs/cli.md: the help of every command."""
    parts = ["# Command line\n\nGenerated from the commands themselves by `make docs`.\n"]
    asked = [(command, "netkit", command) for command in COMMANDS]
    asked += [(f"exporter {command}", "netkit_exporters", command) for command in EXPORTER_COMMANDS]
    asked += [(command, "netkit_dashboards", command) for command in DASHBOARD_COMMANDS]
    parts += [f"## netkit {title}".rstrip() + f"\n\n```text\n{_help(*module)}```\n" for title, *module in asked]
    return "\n".join(parts)


def _help(module: str, command: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", module, *command.split(), "--help"],
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
