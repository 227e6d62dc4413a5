"""Which gang a command is about: found by its name, its workload or one of its pods, or made of pods the user named."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from netkit.cli.cluster import ClusterPlace, names, snapshot_of, where_of
from netkit.cli.output import OutputForm, chosen_form
from netkit.errors import InputError
from netkit.model.text import visible

if TYPE_CHECKING:
    from netkit.catalogue.kube_resources import Use
    from netkit.gangs.cluster import Cluster
    from netkit.gangs.placement import Domains
    from netkit.model.gang import Gang

_FORMS = (OutputForm.TABLE, OutputForm.PLAIN, OutputForm.JSON, OutputForm.JSONL)

NameArgument = Annotated[
    str,
    typer.Argument(
        help="The gang, its workload or a pod of it, also as NS/NAME; or pods, with commas between.", metavar="NAME"
    ),
]


def gang_at(name: str, place: ClusterPlace, *uses: Use) -> tuple[Gang, Cluster]:
    """Return the gang that a name means, with devices and places, and the cluster around it."""
    from netkit.gangs.cluster import Cluster

    snapshot = snapshot_of(place, *uses)
    cluster = Cluster(snapshot)
    if "," in name:
        return placed(_listed(name, cluster), cluster)[0], cluster
    return placed(gang_named(name, gangs_of(cluster, place), where_of(snapshot)), cluster)[0], cluster


def gangs_of(cluster: Cluster, place: ClusterPlace) -> tuple[Gang, ...]:
    """Return all gangs of a cluster with their devices; with a selector its pods, as one gang where nothing else is."""
    from netkit.gangs.device_sources import device_sources
    from netkit.gangs.devices import with_devices
    from netkit.gangs.resolver import chosen_pods, resolve
    from netkit.gangs.systems import systems

    found = resolve(cluster, systems())
    selector = place.selector
    if selector and not found and cluster.pods:
        found = (chosen_pods(cluster, selector, cluster.pods, f"selector {selector}"),)
    return with_devices(found, cluster, device_sources())


def placed(gang: Gang, cluster: Cluster, given: tuple[str, Domains] | None = None) -> tuple[Gang, str]:
    """Return a gang whose members know their leaf, and who told the fabric."""
    from netkit.gangs.placement import domains_of
    from netkit.gangs.resolver import with_placement

    told_by, domains = given or domains_of(cluster)
    return with_placement(gang, domains), told_by


def _listed(given: str, cluster: Cluster) -> Gang:
    from netkit.gangs.device_sources import device_sources
    from netkit.gangs.devices import with_devices
    from netkit.gangs.resolver import chosen_pods

    wanted = [one.strip() for one in given.split(",") if one.strip()]
    known = {name: pod for pod in cluster.pods for name in (pod.name, f"{pod.namespace}/{pod.name}")}
    for one in wanted:
        if one not in known:
            near = get_close_matches(one, list(known), n=1)
            raise InputError(f"pod {visible(one, 120)!r}", "pods that exist", next(iter(near), None))
    if not wanted:
        raise InputError("no pod", "names of pods with commas between")
    gang = chosen_pods(cluster, "pods", [known[one] for one in wanted], "named one by one")
    return with_devices([gang], cluster, device_sources())[0]


def gang_named(name: str, found: tuple[Gang, ...], where: str) -> Gang:
    """Return the gang a name means; InputError when none or more than one is meant."""
    wanted = next(filter(None, ([gang for gang in found if meant(gang, name)] for meant in _MEANINGS)), [])
    if len(wanted) == 1:
        return wanted[0]
    known = sorted({gang.key for gang in wanted or found})
    shown = visible(name, 120)
    if wanted:
        raise InputError(f"gang {shown!r} is not one but {len(wanted)}", f"one of {names(known)}")
    near = get_close_matches(name, [*(gang.name for gang in found), *known], n=1)
    accepted = f"one of {names(known)}" if known else f"a gang; {where} has none"
    raise InputError(f"gang {shown!r}", accepted, next(iter(near), None))


def _by_own_name(gang: Gang, name: str) -> bool:
    return name in (gang.name, gang.key)


def _by_workload(gang: Gang, name: str) -> bool:
    workload = gang.workload
    return workload is not None and name in (workload.name, f"{workload.namespace}/{workload.name}")


def _by_pod(gang: Gang, name: str) -> bool:
    return any(name in (one.pod, f"{one.namespace}/{one.pod}", one.uid) for one in gang.members)


_MEANINGS = (_by_own_name, _by_workload, _by_pod)


def form_of(output: OutputForm | None) -> OutputForm:
    """Return the form of the result; InputError for one that gangs do not have."""
    form = chosen_form(output)
    if form not in _FORMS:
        raise InputError(f"--output {form}", ", ".join(_FORMS))
    return form
