"""`netkit gangs` and `netkit gang show`: who belongs together, where they sit, what each holds, why they wait."""

from __future__ import annotations

import typer

from netkit.cli import gang_check, gang_history, gang_order
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
    snapshot_of,
    where_of,
)
from netkit.cli.gang_choice import NameArgument, form_of, gang_at, gangs_of
from netkit.cli.output import OutputForm, OutputOption, emit
from netkit.cli.topo import show

app = typer.Typer(
    name="gang", help="One gang: where it sits, what it holds, why it waits, how to order it.", rich_markup_mode=None
)


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
    from netkit.gangs.cluster import Cluster
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
    found = gangs_of(Cluster(snapshot), place)
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
    gang, cluster = gang_at(name, place, Use.GANGS, Use.HOSTFILES, Use.DEVICES, Use.FABRIC)
    unread = incomplete(cluster.snapshot)
    if form is OutputForm.JSON:
        emit(gangs_json.render([gang], unread))
    elif form is OutputForm.JSONL:
        emit(gangs_json.render_lines([gang]))
    else:
        show(gangs_table.show_blocks(gang, unread), form)


app.command("order")(gang_order.order)
app.command("check")(gang_check.check)
app.command("timeline")(gang_history.timeline)
app.command("bundle")(gang_history.bundle)
