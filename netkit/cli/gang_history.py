"""`netkit gang timeline` and `netkit gang bundle`: what happened to a gang, and all of it in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    snapshot_of,
)
from netkit.cli.gang_choice import NameArgument, form_of, gang_at
from netkit.cli.output import OutputForm, OutputOption, emit, talk, write_atomically
from netkit.cli.topo import show
from netkit.model.text import visible


def timeline(
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
    """What happened to this gang, its pods, claims and nodes, in order of time and in plain words?

    Example: netkit gang timeline train -n team-a
    """
    from netkit.catalogue.kube_resources import Use
    from netkit.gangs.timeline import timeline as moments_of
    from netkit.report import gang_timeline

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
    gang, cluster = gang_at(name, place, Use.GANGS, Use.HOSTFILES, Use.DEVICES, Use.FABRIC, Use.HISTORY)
    moments = moments_of(gang, cluster)
    if form is OutputForm.JSON:
        emit(gang_timeline.render(gang, moments))
    elif form is OutputForm.JSONL:
        emit(gang_timeline.render_lines(moments))
    else:
        show(gang_timeline.blocks(gang, moments), form)


def bundle(
    file: Annotated[
        Path | None, typer.Option("-o", "--output-file", help="File; default: standard output.", show_default=False)
    ] = None,
    with_names: Annotated[
        bool, typer.Option("--with-names", help="Keep names of nodes, addresses and UUIDs as they are.")
    ] = False,
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
) -> None:
    """Which objects do gang commands read? Record them, redacted, in one file that every one takes as --bundle.

    Example: netkit gang bundle -n team-a -o gangs.jsonl
    """
    from netkit.catalogue.kube_resources import Use
    from netkit.sources.kube.bundle import dump
    from netkit.sources.kube.redaction import BundleRedactor

    place = ClusterPlace(
        namespace=namespace, everywhere=everywhere, kubeconfig=kubeconfig, context=context, deadline_s=deadline
    )
    snapshot = snapshot_of(place, *Use)
    change = BundleRedactor(snapshot, keep_names=with_names)
    lines = "".join(dump(snapshot, change=change, redacted=not with_names))
    if file is None:
        emit(lines)
        return
    write_atomically(file, lines)
    shown = "with names of nodes and addresses" if with_names else "names of nodes and addresses replaced"
    objects = sum(len(snapshot.objects(name)) for name in snapshot.listings)
    talk(f"{visible(str(file))}: {objects} objects, {shown}")
    for missing in incomplete(snapshot):
        talk(f"netkit: not in it: {missing}")
