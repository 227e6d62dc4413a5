"""Write the generated pages of docs/: `python -m docs.generate`. A test demands that they are fresh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netkit.catalogue.counter import CounterRow, tables

HOME = Path(__file__).parents[1]
COMMANDS = (
    "",
    "demo",
    "probe",
    "probe lab",
    "probe hosts",
    "probe gang",
    "probe local",
    "plan",
    "read",
    "check",
    "check qos",
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


METRICS_INTRODUCTION = """\
# Metrics

Generated from the catalogue by `make docs`; `netkit exporter metrics` prints the same. *Needs* is what a process must
have beyond being started. A series that is not there is not zero: nobody counts it.
"""
COUNTERS_INTRODUCTION = """\
# Counters

Generated from the catalogue by `make docs`: what drivers count, how wide it is, what happens when it is full, and the
series it becomes. Two drivers that count the same thing share a series.
"""


def metrics_page() -> str:
    """Return docs/metrics.md: every series the exporter can give, by collector."""
    asked = [sys.executable, "-m", "netkit_exporters", "metrics", "--output", "jsonl"]
    listed = subprocess.run(asked, check=True, capture_output=True, text=True, cwd=HOME).stdout
    rows = [json.loads(line) for line in listed.splitlines()]
    parts = [METRICS_INTRODUCTION]
    for collector in dict.fromkeys(row["collector"] for row in rows):
        own = [_metric_cells(row) for row in rows if row["collector"] == collector]
        parts.append(_section(collector, ("series", "type", "labels", "needs", "meaning"), own))
    return "\n".join(parts)


def counters_page() -> str:
    """Return docs/counters.md: every counter of every driver netkit knows, and the series it becomes."""
    parts = [COUNTERS_INTRODUCTION]
    for table in tables():
        listed = [_counter_cells(row, "rdma_") for row in (*table.port, *table.hardware)]
        listed += [_counter_cells(row, "") for row in table.statistics]
        heading = f"{table.id}\n\n{table.source}."
        parts.append(_section(heading, ("counter", "bits", "when full", "series", "meaning"), listed))
    return "\n".join(parts)


def _section(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return f"## {heading}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _metric_cells(row: dict[str, Any]) -> list[str]:
    return [f"`{row['name']}`", row["type"], ", ".join(row["labels"]), row["privilege"], row["help"]]


def _counter_cells(row: CounterRow, area: str) -> list[str]:
    return [f"`{row.name}`", str(row.form.bits or ""), row.form.overflow, f"`{row.series(area)}`", row.help]


PAGES = {"cli.md": command_line_page, "counters.md": counters_page, "metrics.md": metrics_page}


def main() -> None:
    """Rewrite every generated page."""
    for name, page in PAGES.items():
        (HOME / "docs" / name).write_text(page())


if __name__ == "__main__":
    main()
