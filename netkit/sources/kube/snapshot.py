"""What netkit reads of a cluster: the served version of each resource found out, every listing tried on its own.

A resource the cluster does not have is absent, one that may not be listed is denied; neither hides the others. Without
pods nothing can be said, so they must be readable.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from netkit.catalogue.hostfile_mounts import hostfile_configs
from netkit.catalogue.kube_resources import KubeResource
from netkit.model.gang_snapshot import GangSnapshot, Listing
from netkit.model.missing import Missing, Reason
from netkit.sources.kube.api import Api, RefusedError

_DENIED = frozenset({401, 403})
_ABSENT = frozenset({404, 405})


def read_snapshot(
    api: Api, resources: Iterable[KubeResource], *, namespace: str, taken_at: float, selector: str = ""
) -> GangSnapshot:
    """List resources in a namespace (empty: all); a label selector chooses among pods only."""
    versions = api.versions()
    listings: dict[str, Listing] = {}
    with _collector_at_rest():
        for resource in resources:
            if resource.verb == "get":
                listings[resource.name] = _mentioned(api, resource, listings)
            else:
                chosen = selector if resource.name == "pods" else ""
                listings[resource.name] = _listing(api, resource, versions, namespace, chosen)
    return GangSnapshot(server=api.access.server, namespace=namespace, taken_at=taken_at, listings=listings)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keep the collector from walking all that was read again after every page: JSON has no cycles to find."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _listing(
    api: Api, resource: KubeResource, versions: dict[str, tuple[str, ...]], namespace: str, selector: str
) -> Listing:
    served = resource.versions if not resource.group else _served(resource, versions)
    where = f"{api.access.server} {resource.name}"
    for version in served:
        try:
            return tuple(api.objects(resource, version, namespace, selector))
        except RefusedError as fault:
            if resource.name == "pods" or fault.status not in _DENIED | _ABSENT:
                raise
            if fault.status in _DENIED:
                return Missing(reason=Reason.DENIED, where=where, detail=fault.where)
    if resource.group in versions and not served:
        known = ", ".join(versions[resource.group])
        return Missing(
            reason=Reason.UNSUPPORTED, where=where, detail=f"served in {known}, known {resource.versions[0]}"
        )
    return Missing(reason=Reason.ABSENT, where=where)


def _mentioned(api: Api, resource: KubeResource, listings: Mapping[str, Listing]) -> Listing:
    """Get the ConfigMaps that pods mount as hostfiles, by name: a list would show what is none of our business."""
    pods = listings.get("pods", ())
    known = pods if isinstance(pods, tuple) else ()
    wanted = {(pod.namespace, name) for pod in known for name in hostfile_configs(pod)}
    found = []
    for namespace, name in sorted(wanted):
        try:
            found.append(api.object(resource, namespace, name))
        except RefusedError as fault:
            if fault.status in _DENIED:
                return Missing(reason=Reason.DENIED, where=f"{api.access.server} {resource.name}", detail=fault.where)
            if fault.status not in _ABSENT:
                raise
    return tuple(found)


def _served(resource: KubeResource, versions: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    served = versions.get(resource.group, ())
    return tuple(version for version in resource.versions if version in served)
