"""What probes have left in a cluster: found by their label alone, in every form a probe can have, and removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netkit.catalogue.kube_resources import LEASES, RESOURCES, KubeResource
from netkit.probe.launchers.job import delete_exactly
from netkit.probe.probe_job import MANAGED_BY, OPERATOR, PROBE, forms
from netkit.sources.kube.api import Api, RefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """One object that a probe has created."""

    resource: str
    path: str
    namespace: str
    name: str
    uid: str
    probe: str
    operator: str
    created: str

    def __str__(self) -> str:
        """One line: what, where, whose, since when."""
        whose = self.operator or "somebody"
        return f"{self.resource} {self.namespace}/{self.name} of probe {self.probe}, by {whose} since {self.created}"


def leftovers(api: Api, namespace: str) -> list[Leftover]:
    """Return the gangs of probes that are there in a namespace, or in all for an empty one."""
    versions = api.versions()
    names = {form.place.resource for form in forms().values()}
    resources = [row for row in RESOURCES if row.name in names]
    return [found for resource in resources for found in _of(api, resource, versions, namespace)]


def held_locks(api: Api, namespace: str) -> list[Leftover]:
    """Return the leases that probes hold in the namespace of the locks."""
    return list(_of(api, LEASES, api.versions(), namespace))


def remove(api: Api, leftover: Leftover) -> None:
    """Delete one object, unless another one has taken its name since."""
    delete_exactly(api, leftover.path, leftover.uid, f"delete {leftover.resource} in namespace {leftover.namespace}")


def _of(api: Api, resource: KubeResource, versions: dict[str, tuple[str, ...]], namespace: str) -> Iterator[Leftover]:
    served = next((version for version in resource.versions if version in versions.get(resource.group, ())), None)
    if served is None:
        return
    try:
        found = api.objects(resource, served, namespace, f"{MANAGED_BY}=netkit")
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return
    for one in found:
        # The label is netkit's; only what is a probe is removed.
        if one.label(PROBE):
            yield Leftover(
                resource=resource.name,
                path=f"/apis/{resource.group}/{served}/namespaces/{one.namespace}/{resource.plural}/{one.name}",
                namespace=one.namespace,
                name=one.name,
                uid=one.uid,
                probe=one.label(PROBE),
                operator=one.annotation(OPERATOR),
                created=one.created,
            )
