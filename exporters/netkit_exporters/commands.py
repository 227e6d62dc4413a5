"""`netkit exporter …`: mounts the exporter's own commands under `netkit`, options and help included."""

from __future__ import annotations

import typer

_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

app = typer.Typer(
    name="exporter",
    help="Which signals does this node give to Prometheus?",
    short_help="Serve the signals of this node to Prometheus.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("serve", context_settings=_PASSED_ON, short_help="Serve the metrics of this node until a signal ends it.")
def serve(context: typer.Context) -> None:
    """Pass everything on to `netkit-exporter`."""
    _run("serve", context)


@app.command("once", context_settings=_PASSED_ON, short_help="Read once, and print what a scrape would get.")
def once(context: typer.Context) -> None:
    """Pass everything on."""
    _run("once", context)


@app.command("metrics", context_settings=_PASSED_ON, short_help="List every series that can be exported.")
def metrics(context: typer.Context) -> None:
    """Pass everything on."""
    _run("metrics", context)


def _run(command: str, context: typer.Context) -> None:
    from netkit_exporters.command import COMMANDS

    raise typer.Exit(COMMANDS[command](context.args))
