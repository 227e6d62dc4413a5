"""`netkit dashboards …`: build and check the dashboards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netkit.errors import ExitStatus, InputError, SourceError
from netkit_dashboards.extra import demand
from netkit_dashboards.forms import BoardFormat, Theme

app = typer.Typer(
    name="dashboards",
    help="Grafana dashboards of what netkit measures: build, check, preview, push.",
    short_help="Grafana dashboards: build, check, preview, push.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
GrafanaOption = Annotated[str, typer.Option("--grafana", help="Address of Grafana.")]
TokenFileOption = Annotated[Path | None, typer.Option("--token-file", help="File that holds the token.")]
TokenVariableOption = Annotated[str, typer.Option("--token-env", help="Variable that holds the token.")]
FolderOption = Annotated[Path, typer.Option("--output-dir", "-o", help="Folder to write into; made when missing.")]


@app.command(short_help="Write the dashboards as JSON or for Kubernetes.")
def build(
    folder: FolderOption,
    form: Annotated[BoardFormat, typer.Option("--format", help="What to write.")] = BoardFormat.JSON,
) -> None:
    """Write the dashboards: plain JSON, a provisioning file with it, ConfigMaps, or GrafanaDashboard resources.

    Example: netkit dashboards build -o out --format configmap
    """
    demand()
    from netkit_dashboards.delivery import files
    from netkit_dashboards.folder import write

    for path in write(folder, files(form)):
        print(path)


@app.command(short_help="Check every dashboard; ends with 1 on findings.")
def lint() -> None:
    """Check dashboards: expressions, names and labels, variables, legibility; every series is shown, or marked.

    Example: netkit dashboards lint
    """
    demand()
    from netkit_dashboards.lint import boards, coverage
    from netkit_dashboards.lint.finding import report

    raise typer.Exit(int(report([*boards.findings(), *coverage.findings()])))


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
    demand()
    from netkit_dashboards.folder import write
    from netkit_dashboards.preview.pages import pages

    for path in write(folder, pages(prometheus, span, _named(variable or []), theme)):
        print(path)


def _named(given: list[str]) -> dict[str, str]:
    named = dict(one.partition("=")[::2] for one in given if "=" in one)
    if len(named) != len(given):
        raise InputError(f"--variable {' '.join(given)}", "name=value, each name once, such as node=n1")
    return named


@app.command(short_help="Put the dashboards into a Grafana.")
def push(grafana: GrafanaOption, token_file: TokenFileOption = None, token_env: TokenVariableOption = "") -> None:
    """Write what differs into the folder netkit of a Grafana; run again, it writes nothing. Ends with 4 on failures.

    Example: netkit dashboards push --grafana https://grafana.example.org --token-file token
    """
    demand()
    from netkit_dashboards.grafana_api import Grafana
    from netkit_dashboards.pushing import Outcome
    from netkit_dashboards.pushing import push as put
    from netkit_dashboards.token import read_token

    done = []
    for one in put(Grafana(grafana, read_token(token_file, token_env))):
        print(f"{one.uid}: {one.outcome}" + (f": {one.reason}" if one.reason else ""), flush=True)
        done.append(one.outcome)
    failed = not {Outcome.FAILED, Outcome.NOT_TRIED}.isdisjoint(done)
    raise typer.Exit(int(ExitStatus.NOT_WRITTEN if failed else ExitStatus.OK))


@app.command(short_help="How do a Grafana's dashboards differ from these?")
def diff(grafana: GrafanaOption, token_file: TokenFileOption = None, token_env: TokenVariableOption = "") -> None:
    """Show what push would change, as a unified difference. Ends with 1 when there is any.

    Example: netkit dashboards diff --grafana https://grafana.example.org --token-env GRAFANA_TOKEN
    """
    demand()
    from netkit_dashboards.grafana_api import Grafana, GrafanaError
    from netkit_dashboards.pushing import difference
    from netkit_dashboards.token import read_token

    differs = False
    try:
        for line in difference(Grafana(grafana, read_token(token_file, token_env))):
            differs = True
            print(line)
    except GrafanaError as fault:
        raise SourceError(str(fault), "Grafana") from fault
    raise typer.Exit(int(ExitStatus.FINDINGS if differs else ExitStatus.OK))
