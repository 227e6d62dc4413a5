"""`netkit playbook …`: from an alert to its cause, with the evidence."""

from __future__ import annotations

import json
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkit.errors import ExitStatus, InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.report.blocks import Block
    from netkit_playbooks.running import Run
    from netkit_playbooks.targets import Target

app = typer.Typer(
    name="playbook",
    help="What is behind this alert, and what should be done? Pages for the person on call, which run.",
    short_help="From an alert to its cause: pages for the person on call, which run.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
# typer exports only leaves of its exception tree.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Form(StrEnum):
    """Forms of a result."""

    PLAIN = "plain"
    JSON = "json"
    JSONL = "jsonl"


IdArgument = Annotated[str, typer.Argument(help="A playbook, such as pfc-storm.", metavar="ID")]
OutputOption = Annotated[Form, typer.Option("--output", help="Form of the result.")]
PrometheusOption = Annotated[
    str, typer.Option("--prometheus", help="Address of the Prometheus that scrapes the node.", metavar="URL")
]
NodeOption = Annotated[str, typer.Option("--node", help="The node, as its series name it.", metavar="NAME")]
ClusterOption = Annotated[str, typer.Option("--cluster", help="Its cluster, where series name one.", metavar="NAME")]
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", help="A recording of the node (netkit snapshot).", metavar="FILE")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="What else is known: device=mlx5_0, netdev=eth2, gpu=gpu3; repeatable.", metavar="K=V"),
]


@app.command("list", short_help="Which playbooks are there, and for which alerts?")
def list_(output: OutputOption = Form.PLAIN) -> None:
    """Which playbooks are there, and for which alerts?

    Example: netkit playbook list
    """
    from netkit_playbooks.shelf import playbooks

    rows = [
        {"id": one.id, "title": one.title, "severity": one.severity, "alerts": list(one.alerts)}
        for one in playbooks().values()
    ]
    if output is Form.PLAIN:
        width = max(len(one.id) for one in playbooks().values())
        for one in playbooks().values():
            print(f"{one.id:{width}}  {one.title} [{', '.join(one.alerts)}]")
        return
    _dump({"schema": "netkit.playbooks/1", "playbooks": rows}, output)


@app.command(short_help="Print a playbook's page.")
def show(id_: IdArgument, output: OutputOption = Form.PLAIN) -> None:
    """What does this playbook say?

    Example: netkit playbook show pfc-storm
    """
    from netkit_playbooks.page import page
    from netkit_playbooks.shelf import playbook

    found = playbook(id_)
    if output is Form.PLAIN:
        print(page(found), end="")
        return
    _dump({"schema": "netkit.playbook-page/1", "id": found.id, "title": found.title, "page": page(found)}, output)


@app.command(short_help="Run what only reads, and name the cause.")
def run(
    context: typer.Context,
    id_: IdArgument,
    node: NodeOption = "",
    prometheus: PrometheusOption = "",
    snapshot: SnapshotOption = None,
    here: Annotated[bool, typer.Option("--here", help="This machine is the node: read it too.")] = False,
    cluster: ClusterOption = "",
    given: SetOption = None,
    output: OutputOption = Form.PLAIN,
) -> None:
    """What is behind the alert on this node? Runs the steps that only read, and names the cause with its evidence.

    Ends with 1 when a cause is named, with 0 when what the alert is about is not there, with 3 when nobody can tell.

    Example: netkit playbook run pfc-storm --node n1 --prometheus http://prometheus:9090
    """
    from netkit_playbooks.inside import netkit_in
    from netkit_playbooks.running import run as run_playbook
    from netkit_playbooks.shelf import playbook
    from netkit_playbooks.targets import Target

    found = playbook(id_)
    target = Target(
        node=node, prometheus=prometheus, snapshot=snapshot, here=here, cluster=cluster, values=_values(given or [])
    )
    _usable(target)
    done = run_playbook(found, target, netkit_in(context.find_root().command, _UsageError))
    _report(done, output)
    raise typer.Exit(int(_status(done)))


@app.command(short_help="What do the series say of a node?")
def signals(
    names: Annotated[
        list[str] | None, typer.Argument(help="Signals; none: all of them.", metavar="[SIGNAL]...")
    ] = None,
    node: NodeOption = "",
    prometheus: PrometheusOption = "",
    cluster: ClusterOption = "",
    label: Annotated[
        list[str] | None, typer.Option("--label", help="Only series with this label: device=mlx5_0.", metavar="K=V")
    ] = None,
    output: OutputOption = Form.JSON,
) -> None:
    """What do the series in Prometheus say of this node? The numbers that playbooks weigh.

    Example: netkit playbook signals --prometheus http://prometheus:9090 --node n1 pause-sent pcie-stall
    """
    from netkit.sources.prometheus import Prometheus
    from netkit_playbooks.asking import ask
    from netkit_playbooks.documents import render_signals
    from netkit_playbooks.signals import DEVICE_LABELS, Place, chosen

    if not prometheus:
        raise InputError("no --prometheus", "the address of a Prometheus, such as http://prometheus:9090")
    narrowed = {name: value for name, value in _values(label or []).items() if name in DEVICE_LABELS}
    found = ask(
        Prometheus(prometheus), chosen(names or ()), Place(node=node, cluster=cluster, narrowed=narrowed), time.time()
    )
    _dump(render_signals(found), output)


def _usable(target: Target) -> None:
    if target.snapshot is not None and (target.prometheus or target.here):
        raise InputError("--snapshot with --prometheus or --here", "one of them: a recording is not the node of now")
    if target.node and not target.prometheus:
        raise InputError("--node without --prometheus", "both, or --snapshot FILE, or --here")
    if not (target.prometheus or target.snapshot or target.here):
        raise InputError(
            "nothing to look at",
            "--node NAME --prometheus URL, --snapshot FILE, or --here (an alert about the fleet has no node)",
        )


def _values(given: list[str]) -> dict[str, str]:
    for one in given:
        if "=" not in one:
            raise InputError(visible(one), "NAME=VALUE")
    return dict(one.partition("=")[::2] for one in given)


def _status(done: Run) -> ExitStatus:
    from netkit_playbooks.ranking import Verdict

    statuses = {
        Verdict.NAMED: ExitStatus.FINDINGS,
        Verdict.NOT_NOW: ExitStatus.OK,
        Verdict.CANNOT_TELL: ExitStatus.NOT_MEASURED,
    }
    return statuses[done.ranking.verdict]


def _report(done: Run, output: Form) -> None:
    from netkit_playbooks.report import blocks, document

    if output is Form.PLAIN:
        _print(tuple(blocks(done)))
    else:
        _dump(document(done), output)


def _print(shown: tuple[Block, ...]) -> None:
    from netkit.report.plain_text import plain_text

    print(plain_text(shown), end="")


def _dump(document: dict[str, Any], output: Form) -> None:
    print(json.dumps(document, ensure_ascii=True, allow_nan=False, indent=None if output is Form.JSONL else 1))
