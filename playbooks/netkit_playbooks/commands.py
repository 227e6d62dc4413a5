"""`netkit playbook …`: from an alert to its cause, with the evidence."""

from __future__ import annotations

import json
import shlex
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkit.errors import ExitStatus, InputError, SourceError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.report.blocks import Block
    from netkit_playbooks.readings import Readings
    from netkit_playbooks.running import Netkit, Run
    from netkit_playbooks.signals import Place, Signal
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


_ONE_SOURCE = "--prometheus URL, with --node NAME for signals of a node, or --snapshot FILE"
_SCRAPE_SECONDS = 30.0


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
    from netkit_playbooks.running import run as run_playbook
    from netkit_playbooks.shelf import playbook
    from netkit_playbooks.targets import Target

    found = playbook(id_)
    target = Target(
        node=node, prometheus=prometheus, snapshot=snapshot, here=here, cluster=cluster, values=_values(given or [])
    )
    _usable(target)
    done = run_playbook(found, target, _netkit(context))
    _report(done, output)
    raise typer.Exit(int(_status(done)))


@app.command(short_help="What do the series say of a node?")
def signals(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(help="Signals; none: all of them.", metavar="[SIGNAL]...")
    ] = None,
    node: NodeOption = "",
    prometheus: PrometheusOption = "",
    snapshot: SnapshotOption = None,
    cluster: ClusterOption = "",
    label: Annotated[
        list[str] | None, typer.Option("--label", help="Only series with this label: device=mlx5_0.", metavar="K=V")
    ] = None,
    output: OutputOption = Form.JSON,
) -> None:
    """What do the series in Prometheus, or of a recording, say of this node? The numbers that playbooks weigh.

    Example: netkit playbook signals --prometheus http://prometheus:9090 --node n1 pause-sent pcie-stall
    """
    from netkit_playbooks.documents import lines_of, render_signals
    from netkit_playbooks.signals import DEVICE_LABELS, Place, chosen

    if bool(prometheus) == (snapshot is not None):
        raise InputError("both --prometheus and --snapshot" if prometheus else "no --prometheus", _ONE_SOURCE)
    wanted = chosen(names or ())
    narrowed = {name: value for name, value in _values(label or []).items() if name in DEVICE_LABELS}
    if snapshot is not None:
        found = _of_recording(context, snapshot, wanted, narrowed)
    else:
        found = _of_prometheus(prometheus, wanted, Place(node=node, cluster=cluster, narrowed=narrowed))
    if output is Form.PLAIN:
        print("\n".join(lines_of(found)))
    else:
        _dump(render_signals(found), output)


def _of_prometheus(url: str, wanted: tuple[Signal, ...], place: Place) -> Readings:
    from netkit.sources.prometheus import Prometheus
    from netkit_playbooks.asking import ask

    return ask(Prometheus(url), wanted, place, time.time())


def _of_recording(
    context: typer.Context, snapshot: Path, wanted: tuple[Signal, ...], narrowed: dict[str, str]
) -> Readings:
    from netkit_playbooks import scrape_text

    answer = _netkit(context)(("exporter", "once", "--snapshot", str(snapshot)), _SCRAPE_SECONDS)
    if answer.status:
        raise SourceError(f"the recording cannot be read ({answer.said})", visible(str(snapshot)))
    return scrape_text.evaluate(scrape_text.parse(answer.printed), wanted, narrowed)


def _netkit(context: typer.Context) -> Netkit:
    from netkit_playbooks.inside import netkit_in

    return netkit_in(context.find_root().command, _UsageError)


@app.command("for-alert", short_help="From what Alertmanager sends to the cause of each alert.")
def for_alert(
    context: typer.Context,
    body: Annotated[Path, typer.Argument(help="The body of a webhook; - is stdin.", metavar="FILE")] = Path("-"),
    prometheus: PrometheusOption = "",
    output: OutputOption = Form.PLAIN,
) -> None:
    """What is behind the alerts of this notification? Takes the JSON that Alertmanager sends to a webhook.

    Without --prometheus it prints the command for each. The playbook is looked up by the alert's name; addresses in the
    body are not followed. Ends with 1 when a cause is named, with 3 when none is and one could not be told.

    Example: netkit playbook for-alert notification.json --prometheus http://prometheus:9090
    """
    from netkit_playbooks import triage
    from netkit_playbooks.shelf import playbooks
    from netkit_playbooks.webhook import parse

    incidents = parse(_body(body))
    found = tuple(triage.leads(incidents, tuple(playbooks().values()), prometheus, _netkit(context)))
    if output is Form.PLAIN:
        _print(tuple(triage.blocks(found, incidents)))
    else:
        _dump(triage.document(found, incidents), output)
    statuses = {_status(one.run) for one in found if one.run is not None}
    worst = next((one for one in (ExitStatus.FINDINGS, ExitStatus.NOT_MEASURED) if one in statuses), ExitStatus.OK)
    raise typer.Exit(int(worst))


def _body(path: Path) -> bytes:
    from netkit_playbooks.webhook import MOST_BYTES

    try:
        file = sys.stdin.buffer if str(path) == "-" else path.open("rb")
        with file:
            data = file.read(MOST_BYTES + 1)
    except OSError as fault:
        raise InputError(f"{visible(str(path))}: {fault.strerror}", "the body of an Alertmanager webhook") from fault
    if len(data) > MOST_BYTES:
        raise InputError(
            f"{visible(str(path))} is larger than {MOST_BYTES >> 20} MiB", "a notification of Alertmanager"
        )
    return data


@app.command(short_help="Change one setting of an interface, with a yes and a way back.")
def change(
    kind: Annotated[
        str, typer.Argument(help="mtu, link-up, link-down, pause-off, pause-set, qdisc-remove, qdisc-set.")
    ],
    netdev: Annotated[str, typer.Option("--netdev", help="The interface on this machine.", metavar="NAME")],
    to: Annotated[str, typer.Option("--to", help="The new value, where the change takes one.", metavar="VALUE")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
) -> None:
    """What would this change do, and how is it undone? Prints both, and does it only with a yes.

    Nothing is run where there is no terminal to ask on and no --yes.

    Example: netkit playbook change mtu --netdev eth2 --to 4200
    """
    from netkit_playbooks import changes

    planned = changes.plan(kind, netdev, to, changes.read_program)
    if not planned.needed:
        print(f"{netdev} is {planned.now or 'free of it'} already: nothing to change")
        return
    print(f"command:    {shlex.join(planned.command)}")
    print(f"difference: {netdev}: {planned.now or 'nothing set'} -> {planned.wanted or 'nothing set'}")
    print(f"rollback:   {shlex.join(planned.rollback)}", flush=True)
    if not (yes or _agreed()):
        print("not run: it needs a yes on a terminal, or --yes", file=sys.stderr)
        raise typer.Exit(int(ExitStatus.NOT_MEASURED))
    changes.apply(planned)
    print(f"done: {netdev} is {planned.wanted or 'free of it'}")


def _agreed() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm("Do it?", default=False, err=True)


@app.command("test", short_help="Do the playbooks name what they say they name?")
def self_tested(
    names: Annotated[list[str] | None, typer.Argument(help="Playbooks; none: all of them.", metavar="[ID]...")] = None,
    output: OutputOption = Form.PLAIN,
) -> None:
    """Do the playbooks name what they say they name? Tries the cases that each carries; ends with 1 when one fails.

    Example: netkit playbook test pfc-storm
    """
    from netkit_playbooks import self_test
    from netkit_playbooks.shelf import ids, playbook

    found = tuple(self_test.tried(playbook(id_) for id_ in names or ids()))
    if output is Form.PLAIN:
        for one in found:
            print(f"{'ok' if one.passed else 'FAILED':6}  {one.playbook}: {one.case.name}: {one.named or 'none'}")
    else:
        _dump(self_test.document(found), output)
    raise typer.Exit(int(ExitStatus.OK if all(one.passed for one in found) else ExitStatus.FINDINGS))


@app.command(short_help="All pages as a folder or one file, to read without a network.")
def bundle(
    place: Annotated[
        Path,
        typer.Option("-o", "--output-path", help="A folder, made when missing, or a file NAME.tar.gz.", metavar="PATH"),
    ],
) -> None:
    """All playbooks as HTML that needs no network: serve the folder where the alerts' runbook_url leads.

    Example: netkit playbook bundle -o playbooks.tar.gz
    """
    from netkit_playbooks.bundle import archive, site
    from netkit_playbooks.shelf import playbooks
    from netkit_playbooks.writing import write_all

    files = site(playbooks().values())
    packed = place.name.endswith((".tar.gz", ".tgz"))
    write_all(place.parent if packed else place, {place.name: archive(files)} if packed else files)
    print(f"{place}: {len(playbooks())} playbooks")


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
