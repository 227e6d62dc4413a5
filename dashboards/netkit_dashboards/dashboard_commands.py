"""`netkit dashboards …`: build and check the dashboards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netkit_dashboards.forms import BoardFormat

app = typer.Typer(
    name="dashboards",
    help="Grafana dashboards of what netkit measures: build, check.",
    short_help="Grafana dashboards: build, check.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
FolderOption = Annotated[Path, typer.Option("--output-dir", "-o", help="Folder to write into; made when missing.")]


@app.command(short_help="Write the dashboards as JSON or for Kubernetes.")
def build(
    folder: FolderOption,
    form: Annotated[BoardFormat, typer.Option("--format", help="What to write.")] = BoardFormat.JSON,
) -> None:
    """Write the dashboards: plain JSON, a provisioning file with it, ConfigMaps, or GrafanaDashboard resources.

    Example: netkit dashboards build -o out --format configmap
    """
    from netkit_dashboards.delivery import files
    from netkit_dashboards.folder import write

    for path in write(folder, files(form)):
        print(path)


@app.command(short_help="Check every dashboard; ends with 1 on findings.")
def lint() -> None:
    """Check dashboards: expressions, names and labels, variables, legibility.

    Example: netkit dashboards lint
    """
    from netkit_dashboards.lint.boards import findings
    from netkit_dashboards.lint.finding import report

    raise typer.Exit(int(report(findings())))
