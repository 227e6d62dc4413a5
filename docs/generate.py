"""Write the generated pages of docs/: `python -m docs.generate`. A test demands that they are fresh."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import typer

from netkit.catalogue.counter import CounterRow, tables
from netkit.catalogue.exit_codes import EXIT_CODES
from netkit.checks import rules
from netkit.cli.app import app, mount_plugins
from netkit.cli.commands import CommandGroup
from netkit.gangs.rules import gang_rules
from netkit_dashboards.reference import alerts_page, dashboards_page
from netkit_playbooks.reference import playbooks_page

HOME = Path(__file__).parents[1]
WIDTH = 100
COMMANDS_INTRODUCTION = "# Command line\n\nGenerated from the commands themselves by `make docs`.\n"


def command_line_page() -> str:
    """Return docs/cli.md: the help of every command, those of other packages included."""
    mount_plugins(_declared())
    root = typer.main.get_command(app)
    parts = [COMMANDS_INTRODUCTION]
    parts += [f"## {title}\n\n```text\n{text}\n```\n" for title, text in _helps(root, "netkit", None)]
    return "\n".join(parts)


def _declared() -> tuple[EntryPoint, ...]:
    """Return the entry points that pyproject.toml declares, whatever an older installation says, in its order."""
    groups = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]["entry-points"]
    return tuple(
        EntryPoint(name, value, group) for group, listed in groups.items() for name, value in sorted(listed.items())
    )


def _helps(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    """Give a command's path and help, then those of the commands below it."""
    if isinstance(command, CommandGroup):
        command.load_all()
    context = command.context_class(
        command, info_name=name, parent=parent, terminal_width=WIDTH, **command.context_settings
    )
    yield context.command_path, command.get_help(context)
    for below in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _helps(command.get_command(context, below), below, context)


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


RULES_INTRODUCTION = """\
# Rules and exit statuses

Generated from the rules by `make docs`; `netkit explain ID` prints the same. Letters: T topology and PCIe, G GPUDirect,
N NICs and links, R RoCE, E a job's settings, S the host and its GPUs, K pods of a gang, J a gang, F the fabric.
"""
_PARTS = (
    ("Reads", "reads"),
    ("Passes when", "passes"),
    ("Why", "why"),
    ("Do", "remedy"),
    ("From", "source"),
    ("Before believing it", "caution"),
)


def rules_page() -> str:
    """Return docs/rules.md: every exit status, and every rule of the doctor with all it says of itself."""
    statuses = [(str(int(status)), code.meaning, code.next) for status, code in EXIT_CODES.items()]
    parts = [RULES_INTRODUCTION, _section("Exit statuses", ("status", "meaning", "then"), statuses)]
    for rule in {**rules(), **gang_rules()}.values():
        lines = [f"- {title}: {getattr(rule, field)}\n" for title, field in _PARTS]
        if rule.playbook:
            lines.append(f"- Playbook: [{rule.playbook}](playbooks.md#{rule.playbook})\n")
        heading = f"## {rule.id} {rule.name}\n\n{rule.question} ({rule.severity.value})\n\n"
        parts.append(heading + "".join(lines))
    return "\n".join(parts)


def _section(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return f"## {heading}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _metric_cells(row: dict[str, Any]) -> list[str]:
    return [f"`{row['name']}`", row["type"], ", ".join(row["labels"]), row["privilege"], row["help"]]


def _counter_cells(row: CounterRow, area: str) -> list[str]:
    return [f"`{row.name}`", str(row.form.bits or ""), row.form.overflow, f"`{row.series(area)}`", row.help]


PAGES = {
    "alerts.md": alerts_page,
    "cli.md": command_line_page,
    "counters.md": counters_page,
    "dashboards.md": dashboards_page,
    "metrics.md": metrics_page,
    "playbooks.md": lambda: playbooks_page(rules().values()),
    "rules.md": rules_page,
}


def main() -> None:
    """Rewrite every generated page."""
    for name, page in PAGES.items():
        (HOME / "docs" / name).write_text(page())


if __name__ == "__main__":
    main()
