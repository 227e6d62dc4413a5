"""`netkit cleanup`: what probes have left in a cluster, and its removal."""

from __future__ import annotations

from typing import Annotated

import typer

from netkit.cli.cluster import AllOption, ClusterPlace, ContextOption, DeadlineOption, KubeconfigOption, NamespaceOption
from netkit.cli.output import emit, talk
from netkit.cli.probe_guard import LockNamespaceOption, lock_namespace_checked


def cleanup(
    namespace: NamespaceOption = None,
    everywhere: AllOption = False,
    locks: Annotated[
        bool, typer.Option("--locks", help="Leases on nodes instead of gangs; a probe that loses one stops.")
    ] = False,
    lock_namespace: LockNamespaceOption = "netkit",
    yes: Annotated[bool, typer.Option("--yes", help="Remove what is found.")] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    deadline: DeadlineOption = 120.0,
) -> None:
    """What have probes left in this cluster? Lists it by netkit's label, and removes it with --yes.

    A probe that is under way is listed too: its operator and start are shown. The lock of a probe that was killed runs
    out by itself, a quarter of an hour after its start; --locks shows it, and removes it sooner.

    Example: netkit cleanup -n team-a
    """
    from functools import partial

    from netkit.probe.leftovers import held_locks, leftovers, remove
    from netkit.sources.kube.api import Api, Limits
    from netkit.sources.kube.config import open_access

    place = ClusterPlace(
        namespace=namespace, everywhere=everywhere, kubeconfig=kubeconfig, context=context, deadline_s=deadline
    )
    api = Api(partial(open_access, place.kubeconfig, place.context), Limits(total_s=place.deadline_s))
    try:
        if locks:
            found = held_locks(api, lock_namespace_checked(lock_namespace))
        else:
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
