"""`netkit playbook run|for-alert|signals`: from an alert to its cause, with the evidence."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.errors import ExitStatus, InputError, SourceError
from netkit.model.text import visible
from netkit_playbooks.command_options import (
    ClusterOption,
    Form,
    IdArgument,
    NodeOption,
    OutputOption,
    PrometheusOption,
    SetOption,
    SnapshotOption,
    dump,
    named_values,
    netkit_of,
    show_blocks,
)

if TYPE_CHECKING:
    from netkit_playbooks.readings import Readings
    from netkit_playbooks.running import Run
    from netkit_playbooks.signals import Place, Signal
    from netkit_playbooks.targets import Target

_ONE_SOURCE = "--prometheus URL, with --node NAME for signals of a node, or --snapshot FILE"
_SCRAPE_SECONDS = 30.0


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
    from netkit_playbooks.targets import SETTABLE, Target

    found = playbook(id_)
    target = Target(
        node=node,
        prometheus=prometheus,
        snapshot=snapshot,
        here=here,
        cluster=cluster,
        values=named_values("--set", given or [], SETTABLE),
    )
    _usable(target)
    done = run_playbook(found, target, netkit_of(context))
    _report(done, output)
    if here and output is Form.PLAIN:
        _offer(context, done, target)
    raise typer.Exit(int(_status(done)))


def _offer(context: typer.Context, done: Run, target: Target) -> None:
    """Offer the change that mends the named cause: it prints what it would do and how it is undone, and asks itself."""
    from netkit_playbooks.running import fix_of

    words = fix_of(done, target)
    if words:
        context.find_root().command.main(args=list(words), prog_name="netkit", standalone_mode=False)


def _usable(target: Target) -> None:
    if target.snapshot is not None and target.here:
        raise InputError("--snapshot with --here", "one of them: a recording is not the node of now")
    if target.snapshot is not None and not target.snapshot.is_file():
        raise InputError(f"--snapshot {visible(str(target.snapshot))}", "a recording of the node (netkit snapshot)")
    if target.node and not target.prometheus:
        raise InputError("--node without --prometheus", "both, or --snapshot FILE, or --here")
    if not (target.prometheus or target.snapshot or target.here):
        raise InputError(
            "nothing to look at",
            "--node NAME --prometheus URL, --snapshot FILE, or --here (an alert about the fleet has no node)",
        )


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
        show_blocks(tuple(blocks(done)))
    else:
        dump(document(done), output)


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
    found = tuple(triage.leads(incidents, tuple(playbooks().values()), prometheus, netkit_of(context)))
    if output is Form.PLAIN:
        show_blocks(tuple(triage.blocks(found, incidents)))
    else:
        dump(triage.document(found, incidents), output)
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
    narrowed = named_values("--label", label or [], DEVICE_LABELS)
    if snapshot is not None:
        found = _of_recording(context, snapshot, wanted, narrowed)
    else:
        found = _of_prometheus(prometheus, wanted, Place(node=node, cluster=cluster, narrowed=narrowed))
    if output is Form.PLAIN:
        print("\n".join(lines_of(found)))
    else:
        dump(render_signals(found), output)


def _of_prometheus(url: str, wanted: tuple[Signal, ...], place: Place) -> Readings:
    from netkit.sources.prometheus import Prometheus
    from netkit_playbooks.asking import ask

    return ask(Prometheus(url), wanted, place, time.time())


def _of_recording(
    context: typer.Context, snapshot: Path, wanted: tuple[Signal, ...], narrowed: dict[str, str]
) -> Readings:
    from netkit_playbooks import scrape_text

    answer = netkit_of(context)(("exporter", "once", "--snapshot", str(snapshot)), _SCRAPE_SECONDS)
    if answer.status == ExitStatus.BAD_INPUT:
        raise InputError(f"--snapshot {visible(str(snapshot))} ({answer.said})", "a recording (netkit snapshot)")
    if answer.status:
        raise SourceError(f"the recording cannot be read ({answer.said})", visible(str(snapshot)))
    return scrape_text.evaluate(scrape_text.parse(answer.printed), wanted, narrowed)
