"""`netkit cleanup`: what probes have left in a cluster, and its removal."""

from __future__ import annotations

from typing import Annotated

import typer

from netkit.cli.cluster import AllOption, ClusterPlace, ContextOption, DeadlineOption, KubeconfigOption, NamespaceOption
from netkit.cli.output import emit, talk


def cleanup(
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove what is found.")] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
) -> None:
    """What have probes left in this cluster? Lists it by netkit's label, and removes it with --yes.

    A probe that is under way is listed too: its operator and start are shown.

    Example: netkit cleanup -n team-a
    """
    from functools import partial

    from netkit.probe.leftovers import leftovers, remove
    from netkit.sources.kube.api import Api, Limits
    from netkit.sources.kube.config import open_access

    place = ClusterPlace(
        namespace=namespace, everywhere=everywhere, kubeconfig=kubeconfig, context=context, deadline_s=deadline
    )
    api = Api(partial(open_access, place.kubeconfig, place.context), Limits(total_s=place.deadline_s))
    try:
        found = leftovers(api, "" if place.everywhere else place.namespace or api.access.namespace)
        for one in found:
            if yes:
                remove(api, one)
            emit(f"{'removed' if yes else 'found'} {one}")
    finally:
        api.close()
    if not found:
        talk("nothing is left of any probe")
    elif not yes:
        talk("nothing was removed: --yes does it")
