"""A snapshot with its indices: pods by what they say of themselves, objects by name and by uid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from netkit.gangs.fields import Field, Joined, Place
from netkit.model.gang_snapshot import GangSnapshot
from netkit.model.kube_object import KubeObject, Owner

Key = tuple[str, str]
"""Namespace and name."""

_LONGEST_CHAIN = 16

_KINDS = {
    "Job": ("jobs.batch", "jobs.batch.volcano.sh"),
    "JobSet": ("jobsets.jobset.x-k8s.io",),
    "MPIJob": ("mpijobs.kubeflow.org",),
    "PyTorchJob": ("pytorchjobs.kubeflow.org",),
    "TFJob": ("tfjobs.kubeflow.org",),
    "TrainJob": ("trainjobs.trainer.kubeflow.org",),
    "LeaderWorkerSet": ("leaderworkersets.leaderworkerset.x-k8s.io",),
    "StatefulSet": ("statefulsets.apps",),
    "RayCluster": ("rayclusters.ray.io",),
    "RayJob": ("rayjobs.ray.io",),
    "ElasticJob": ("elasticjobs.elastic.iml.github.io",),
}


class Cluster:
    """What adapters ask: built once for a snapshot, changed by nobody."""

    def __init__(self, snapshot: GangSnapshot) -> None:
        self.snapshot = snapshot
        self.pods = snapshot.objects("pods")
        self._fields: dict[Field | Joined, Mapping[Key, tuple[KubeObject, ...]]] = {}
        self._named: dict[str, Mapping[Key, KubeObject]] = {}

    def has(self, resource: str) -> bool:
        """Tell whether the cluster has a resource, so that the system behind it may be in use."""
        return resource in self.snapshot.listings and resource not in self.snapshot.missing()

    def objects(self, resource: str) -> tuple[KubeObject, ...]:
        """Return all objects of a resource."""
        return self.snapshot.objects(resource)

    def named(self, resource: str, key: Key) -> KubeObject | None:
        """Return one object by namespace and name."""
        if resource not in self._named:
            self._named[resource] = {(one.namespace, one.name): one for one in self.objects(resource)}
        return self._named[resource].get(key)

    def with_field(self, field: Field | Joined) -> Mapping[Key, tuple[KubeObject, ...]]:
        """Return pods that have a field, by namespace and its value."""
        if field not in self._fields:
            pods = self._pods_with.get((field.place, field.key), ()) if field.place is not Place.SPEC else self.pods
            self._fields[field] = _grouped((pod, field.of(pod)) for pod in pods)
        return self._fields[field]

    @cached_property
    def _pods_with(self) -> Mapping[tuple[Place, str], list[KubeObject]]:
        """Pods by the labels and annotations they have: most systems find none of theirs, at once."""
        found: defaultdict[tuple[Place, str], list[KubeObject]] = defaultdict(list)
        for pod in self.pods:
            for key in pod.labels:
                found[Place.LABEL, key].append(pod)
            for key in pod.annotations:
                found[Place.ANNOTATION, key].append(pod)
        return found

    @cached_property
    def owned(self) -> Mapping[str, tuple[KubeObject, ...]]:
        """Pods by the uid of each of their owners, near and far."""
        found: defaultdict[str, list[KubeObject]] = defaultdict(list)
        for pod in self.pods:
            for owner, _ in self.chain(pod):
                found[owner.uid].append(pod)
        return {uid: tuple(pods) for uid, pods in found.items()}

    @cached_property
    def _by_uid(self) -> Mapping[str, KubeObject]:
        return {
            one.uid: one for listing in self.snapshot.listings.values() if isinstance(listing, tuple) for one in listing
        }

    def maker(self, owner: Owner, namespace: str) -> KubeObject | None:
        """Return an owner as an object: by its uid, else by kind and name."""
        found = self._by_uid.get(owner.uid)
        if found is not None and found.namespace == namespace:
            return found
        candidates = (self.named(resource, (namespace, owner.name)) for resource in _KINDS.get(owner.kind, ()))
        return next((one for one in candidates if one is not None and one.api_version == owner.api_version), None)

    def chain(self, started: KubeObject) -> Iterator[tuple[Owner, KubeObject | None]]:
        """Yield the owners of an object, nearest first; a circle or a chain without end stops."""
        seen = {started.uid}
        current: KubeObject | None = started
        for _ in range(_LONGEST_CHAIN):
            owner = next(current.owners(), None) if current is not None else None
            if owner is None or owner.uid in seen:
                return
            seen.add(owner.uid)
            current = self.maker(owner, started.namespace)
            yield owner, current


def _grouped(pairs: Iterable[tuple[KubeObject, str]]) -> Mapping[Key, tuple[KubeObject, ...]]:
    found: defaultdict[Key, list[KubeObject]] = defaultdict(list)
    for pod, value in pairs:
        if value:
            found[pod.namespace, value].append(pod)
    return {key: tuple(pods) for key, pods in found.items()}
