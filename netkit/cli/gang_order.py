"""`netkit gang order`: does the order of ranks fit the fabric, and which order would?"""

from __future__ import annotations

from enum import StrEnum
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
from netkit.cli.gang_choice import NameArgument, form_of, gang_at, placed
from netkit.cli.input_file import small_text
from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.topo import show
from netkit.errors import ExitStatus, InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.gangs.placement import Domains
    from netkit.gangs.rank_order import RankOrder
    from netkit.model.gang import Gang, Member


class Print(StrEnum):
    """What to print."""

    REPORT = "report"
    HOSTFILE = "hostfile"
    LABELS = "labels"


def order(
    name: NameArgument,
    fabric: Annotated[
        Path | None,
        typer.Option(
            "--fabric", help="The fabric: one node a line, then its leaf and wider domains.", show_default=False
        ),
    ] = None,
    hostfile: Annotated[
        Path | None,
        typer.Option(
            "--hostfile", help="The hostfile in use: its order counts as the present one.", show_default=False
        ),
    ] = None,
    form_as: Annotated[
        Print, typer.Option("--as", help="Print a report, a new hostfile, or commands for labels.")
    ] = Print.REPORT,
    hostfile_form: Annotated[
        str, typer.Option("--hostfile-form", help="openmpi, intel, deepspeed or plain.")
    ] = "openmpi",
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    selector: SelectorOption = None,
    bundle: BundleOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
    output: OutputOption = None,
) -> None:
    """Does the rank order of this gang fit the fabric, and which order would?

    Ends with 1 when another order leaves leaves less often, with 3 when the fabric is not known.

    Example: netkit gang order train --as hostfile > hostfile
    """
    from netkit.catalogue.kube_resources import Use
    from netkit.gangs.order_forms import hostfile as as_hostfile
    from netkit.gangs.order_forms import index_commands
    from netkit.gangs.rank_order import rank_order

    form = form_of(output)
    given = _fabric(fabric)
    place = ClusterPlace(
        namespace=namespace,
        everywhere=everywhere,
        selector=selector,
        bundle=bundle,
        kubeconfig=kubeconfig,
        context=context,
        deadline_s=deadline,
    )
    found, cluster = gang_at(name, place, Use.GANGS, Use.HOSTFILES, Use.DEVICES, Use.FABRIC)
    gang, told_by = placed(found, cluster, given)
    result = rank_order(_trained(gang, hostfile))
    if form_as is Print.REPORT:
        _report(gang, result, told_by, form)
    else:
        everybody = (*result.proposed, *result.unplaced)
        emit(as_hostfile(everybody, hostfile_form) if form_as is Print.HOSTFILE else index_commands(gang, everybody))
    if not result.present:
        raise typer.Exit(int(ExitStatus.NOT_MEASURED))
    raise typer.Exit(int(ExitStatus.FINDINGS if result.now.cross_leaf > result.best.cross_leaf else ExitStatus.OK))


def _report(gang: Gang, result: RankOrder, told_by: str, form: OutputForm) -> None:
    from netkit.report import gang_order as report

    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(report.render(gang, result, told_by, one_line=form is OutputForm.JSONL))
    else:
        show(report.blocks(gang, result, told_by), form)


def _fabric(path: Path | None) -> tuple[str, Domains] | None:
    if path is None:
        return None
    from netkit.gangs.fabric_file import parse_fabric

    shown = visible(str(path))
    return shown, parse_fabric(small_text(path, "a fabric file"), shown)


def _trained(gang: Gang, hostfile: Path | None) -> list[Member]:
    """Return the members with a rank in their present order: that of their ranks, or of a hostfile."""
    from netkit.model.missing import Missing

    members = [one for one in gang.members if not isinstance(one.rank, Missing)] or list(gang.members)
    if hostfile is None:
        return members
    from netkit.gangs.hostfiles import host_lines

    text = small_text(hostfile, "a hostfile")
    places = {line.host.partition(".")[0]: at for at, line in enumerate(host_lines(text.splitlines()))}
    absent = [one.pod for one in members if one.pod not in places]
    if absent:
        raise InputError(
            f"hostfile {visible(str(hostfile))} without {absent[0]} of gang {gang.key}", "one line for each member"
        )
    return sorted(members, key=lambda one: places[one.pod])
