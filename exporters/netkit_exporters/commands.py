"""`netkit exporter …`: mounts the exporter's own commands under `netkit`, options and help included."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.core import TyperCommand

from netkit_exporters.deployment import Form, Monitor

_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


class _PassedOn(TyperCommand):
    """A command whose options are read, and explained, by `netkit-exporter`."""

    def get_help(self, ctx: typer.Context) -> str:  # type: ignore[override]  # noqa: ARG002 - typer's method
        """Return the help that `netkit exporter … --help` prints."""
        from netkit_exporters.command import help_of

        return help_of(self.name or "")


app = typer.Typer(
    name="exporter",
    help="Which signals does this node give to Prometheus?",
    short_help="Serve the signals of this node to Prometheus.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(
    "serve",
    cls=_PassedOn,
    context_settings=_PASSED_ON,
    short_help="Serve until a signal ends it.",
)
def serve(context: typer.Context) -> None:
    """Pass everything on to `netkit-exporter`."""
    _run("serve", context)


@app.command("once", cls=_PassedOn, context_settings=_PASSED_ON, short_help="Read once, as a scrape would.")
def once(context: typer.Context) -> None:
    """Pass everything on."""
    _run("once", context)


@app.command("metrics", cls=_PassedOn, context_settings=_PASSED_ON, short_help="List every series.")
def metrics(context: typer.Context) -> None:
    """Pass everything on."""
    _run("metrics", context)


def _run(command: str, context: typer.Context) -> None:
    from netkit_exporters.command import COMMANDS

    raise typer.Exit(COMMANDS[command](context.args))


def deploy(  # noqa: PLR0913, PLR0917 - one parameter is one option
    form: Annotated[Form, typer.Option(help="Manifests, a systemd unit, or a container file.")] = Form.KUBERNETES,
    namespace: Annotated[str, typer.Option("-n", "--namespace", metavar="NS", help="Where it runs.")] = "netkit",
    image: Annotated[str, typer.Option(metavar="IMAGE", help="What runs.")] = "netkit-exporter:latest",
    monitor: Annotated[Monitor, typer.Option(help="How the Prometheus operator finds it.")] = Monitor.POD,
    gpu: Annotated[bool, typer.Option("--gpu", help="On GPU nodes: the nvidia runtime class.")] = False,
    pods: Annotated[bool, typer.Option("--pods", help="Name pods: root, hostPID, the kubelet's socket.")] = False,
    optics: Annotated[bool, typer.Option("--optics", help="Read optical modules: CAP_NET_ADMIN.")] = False,
    platform: Annotated[str, typer.Option(metavar="ID", help="Machine type, such as hgx-h100.")] = "",
    results: Annotated[str, typer.Option(metavar="DIR", help="Folder on each node with results of collectives.")] = "",
) -> None:
    """How does the exporter run on every node? Manifests, a systemd unit or a container file, least privilege first.

    Example: netkit deploy exporter -n monitoring --gpu --platform hgx-h100 | kubectl apply -f -
    """
    from netkit_exporters.deployment import Deployment, render

    wanted = Deployment(
        namespace=namespace,
        image=image,
        monitor=monitor,
        gpu=gpu,
        pods=pods,
        optics=optics,
        platform=platform,
        results=results,
    )
    typer.echo(render(form, wanted), nl=False)
