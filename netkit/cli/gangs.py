"""`netkit gangs` and `netkit gang …`: who belongs together, where they sit, what each holds, why they wait."""

from __future__ import annotations

from difflib import get_close_matches
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
    incomplete,
    names,
    snapshot_of,
    where_of,
)
from netkit.cli.output import OutputForm, OutputOption, chosen_form, emit
from netkit.errors import InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.model.gang import Gang
    from netkit.model.gang_snapshot import GangSnapshot
    from netkit.report.blocks import Block

_FORMS = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.JSONL)

app = typer.Typer(
    name="gang", help="One gang: where it sits, what it holds, why it waits, how to order it.", rich_markup_mode=None
)
NameArgument = Annotated[
    str, typer.Argument(help="Name of the gang, its workload or one of its pods; NS/NAME works too.", metavar="NAME")
]


def gangs(
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    selector: SelectorOption = None,
    bundle: BundleOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
    output: OutputOption = None,
) -> None:
    """Which pods are admitted together, by which scheduler, and why does a gang wait?

    Example: netkit gangs -A
    """
    from netkit.catalogue.kube_resources import Use
    from netkit.report import gangs_json, gangs_table

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
    snapshot = snapshot_of(place, Use.GANGS, Use.HOSTFILES, Use.DEVICES)
    found = gangs_in(snapshot)
    if form is OutputForm.JSON:
        emit(gangs_json.render(found, incomplete(snapshot)))
    elif form is OutputForm.JSONL:
        emit(gangs_json.render_lines(found))
    else:
        show(gangs_table.list_blocks(found, where_of(snapshot), incomplete(snapshot)), form)


@app.command("show")
def show_gang(
    name: NameArgument,
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    selector: SelectorOption = None,
    bundle: BundleOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
    output: OutputOption = None,
) -> None:
    """Where does each rank of this gang sit, and which GPU and NIC does it hold?

    Example: netkit gang show train -n team-a
    """
    from netkit.catalogue.kube_resources import Use
    from netkit.report import gangs_json, gangs_table

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
    snapshot = snapshot_of(place, Use.GANGS, Use.HOSTFILES, Use.DEVICES, Use.FABRIC)
    gang = gang_named(name, gangs_in(snapshot), where_of(snapshot))
    if form in (OutputForm.JSON, OutputForm.JSONL):
        emit(
            gangs_json.render([gang], incomplete(snapshot))
            if form is OutputForm.JSON
            else gangs_json.render_lines([gang])
        )
    else:
        show(gangs_table.show_blocks(gang, incomplete(snapshot)), form)


def gangs_in(snapshot: GangSnapshot) -> tuple[Gang, ...]:
    """Return all gangs of a snapshot."""
    from netkit.gangs.cluster import Cluster
    from netkit.gangs.device_sources import device_sources
    from netkit.gangs.devices import with_devices
    from netkit.gangs.resolver import resolve
    from netkit.gangs.systems import systems

    cluster = Cluster(snapshot)
    return with_devices(resolve(cluster, systems()), cluster, device_sources())


def gang_named(name: str, found: tuple[Gang, ...], where: str) -> Gang:
    """Return the gang a name means; InputError when none or more than one is meant."""
    wanted = [gang for gang in found if name in (gang.name, gang.key)]
    wanted = wanted or [gang for gang in found if gang.workload and _workload_matches(name, gang)]
    wanted = wanted or [
        gang for gang in found if any(name in (one.pod, f"{one.namespace}/{one.pod}") for one in gang.members)
    ]
    if len(wanted) == 1:
        return wanted[0]
    known = sorted({gang.key for gang in wanted or found})
    shown = visible(name, 120)
    if wanted:
        raise InputError(f"gang {shown!r} is not one but {len(wanted)}", f"one of {names(known)}")
    near = get_close_matches(name, [*known, *(gang.name for gang in found)], n=1)
    raise InputError(
        f"gang {shown!r}", f"one of {names(known)}" if known else f"a gang; {where} has none", next(iter(near), None)
    )


def _workload_matches(name: str, gang: Gang) -> bool:
    workload = gang.workload
    return workload is not None and name in (workload.name, f"{workload.namespace}/{workload.name}")


def form_of(output: OutputForm | None) -> OutputForm:
    """Return the form of the result; InputError for one that gangs do not have."""
    form = chosen_form(output)
    if form not in _FORMS:
        raise InputError(f"--output {form}", ", ".join(_FORMS))
    return form


def show(blocks: tuple[Block, ...], form: OutputForm) -> None:
    """Print blocks on a terminal, or as plain text."""
    if form is OutputForm.TABLE:
        from netkit.cli import tables

        tables.show(blocks)
        return
    from netkit.report.plain_text import plain_text

    emit(plain_text(blocks))
