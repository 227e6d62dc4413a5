"""`netkit gang check`: are the members of a gang alike, do their devices fit, would a probe reach them?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.cluster import (
    AllOption,
    BundleOption,
    ClusterPlace,
    ContextOption,
    DeadlineOption,
    KubeconfigOption,
    NamespaceOption,
    SelectorOption,
)
from netkit.cli.gang_choice import NameArgument, form_of, gang_at
from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.probing import FailOn
from netkit.cli.topo import show
from netkit.errors import ExitStatus, InputError
from netkit.model.finding import Severity
from netkit.model.missing import Missing
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.model.check import Result
    from netkit.model.gang import Gang
    from netkit.model.node import NodeSnapshot


def check(
    name: NameArgument,
    snapshot: Annotated[
        list[Path] | None,
        typer.Option(
            "--snapshot",
            help="A recording from inside a pod of the gang (netkit snapshot); repeatable.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Lowest severity that ends with status 1.")] = (
        FailOn.WARNING
    ),
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    selector: SelectorOption = None,
    bundle: BundleOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
    output: OutputOption = None,
) -> None:
    """Are the members of this gang alike, do their GPUs and NICs fit, and would a probe reach them?

    With recordings from inside two members or more, the rules of `netkit check` about a gang are asked too: NIC names,
    MTU, GID, traffic class, versions.

    Ends with 1 when something is found, with 3 when nothing could be looked at.

    Example: netkit gang check train -n team-a --snapshot train-0.jsonl
    """
    from netkit.catalogue.kube_resources import Use
    from netkit.checks import rules
    from netkit.doctor.judge import CheckReport
    from netkit.gangs.rules import families, gang_rules
    from netkit.gangs.view import view_of
    from netkit.report import check_json, check_table

    form = form_of(output)
    place = ClusterPlace(
        namespace=namespace,
        everywhere=everywhere,
        selector=selector,
        bundle=bundle,
        kubeconfig=kubeconfig,
        context=context,
        deadline_s=deadline,
    )
    gang, cluster = gang_at(name, place, Use.GANGS, Use.HOSTFILES, Use.DEVICES, Use.FABRIC, Use.POLICY)
    seen = _seen(snapshot or [], gang)
    view = view_of(gang, cluster, seen)
    results = tuple(result for family in families() for result in family.check(view))
    results += _about_recordings(gang, seen)
    report = CheckReport(nodes=tuple(member.pod for member in gang.members), results=results)
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(check_json.render(report, one_line=form is OutputForm.JSONL))
    else:
        show(tuple(check_table.blocks(report, {**rules(), **gang_rules()})), form)
    if report.worst_at_least(Severity(fail_on.value)):
        raise typer.Exit(int(ExitStatus.FINDINGS))
    looked = report.counts["ok"] + report.counts["finding"]
    raise typer.Exit(int(ExitStatus.OK if looked else ExitStatus.NOT_MEASURED))


def _about_recordings(gang: Gang, seen: dict[str, NodeSnapshot]) -> tuple[Result, ...]:
    """Return what the rules about nodes of one gang say of recordings from inside its pods."""
    from netkit.checks import checks
    from netkit.doctor.context import Wishes, context_of
    from netkit.doctor.contract import GangCheck, Member
    from netkit.doctor.judge import judge

    members = [
        Member(name=one.pod, snapshot=seen[one.uid], context=context_of(seen[one.uid], Wishes()))
        for one in gang.members
        if one.uid in seen
    ]
    if len(members) < 2:
        return ()
    return judge([check for check in checks() if isinstance(check, GangCheck)], members, {}).results


def _seen(paths: list[Path], gang: Gang) -> dict[str, NodeSnapshot]:
    """Return recordings by the uid of the member they were made in: a pod's host name is its name."""
    from netkit.cli.snapshot import node_of

    by_name = {member.pod: member.uid for member in gang.members}
    found = {}
    for path in paths:
        node = node_of(path)
        host = "" if isinstance(node.host.name, Missing) else node.host.name
        uid = by_name.get(host) or by_name.get(path.stem)
        if uid is None:
            given = f"{visible(str(path))}, recorded on {visible(host) or 'an unnamed host'}"
            raise InputError(given, f"a recording from inside a pod of {gang.key}, or a file named as the pod")
        found[uid] = node
    return found
