"""`netkit dashboards …`: build and check the dashboards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netkit.errors import InputError
from netkit_dashboards.forms import BoardFormat, Theme

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


@app.command(short_help="Draw every dashboard as a page, from a Prometheus.")
def preview(
    prometheus: Annotated[str, typer.Option("--prometheus", help="Address of the Prometheus to ask.")],
    folder: FolderOption,
    span: Annotated[str, typer.Option("--span", help="How far back, such as 30m; default: the dashboard's own.")] = "",
    variable: Annotated[
        list[str] | None, typer.Option("--variable", help="name=value of a variable, such as node=n1; repeatable.")
    ] = None,
    theme: Annotated[Theme, typer.Option("--theme", help="Colours of the pages.")] = Theme.AUTO,
) -> None:
    """Write one static page a dashboard, with the data of a Prometheus: no Grafana, no script, no network to read it.

    Example: netkit dashboards preview --prometheus http://localhost:9090 -o pages --variable node=n1
    """
    from netkit_dashboards.folder import write
    from netkit_dashboards.preview.pages import pages

    for path in write(folder, pages(prometheus, span, _named(variable or []), theme)):
        print(path)


def _named(given: list[str]) -> dict[str, str]:
    named = dict(one.partition("=")[::2] for one in given if "=" in one)
    if len(named) != len(given):
        raise InputError(f"--variable {' '.join(given)}", "name=value, each name once, such as node=n1")
    return named
