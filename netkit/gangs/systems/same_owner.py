"""Pods that nobody calls a gang but that look like one: devices, and one owner or one headless Service in common.

The last resort, always inferred: a web service of several replicas asks for no GPU, so it never gets here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from netkit.gangs.claim import Claim, GangSystem, Layer, unknown
from netkit.gangs.cluster import Cluster
from netkit.gangs.ranks import ranks
from netkit.gangs.requests import asks_for_devices
from netkit.model.gang import Evidence
from netkit.model.kube_object import KubeObject

ID = "same_owner"
Pods = tuple[KubeObject, ...]


def _find(cluster: Cluster) -> Iterator[Claim]:
    for (namespace, field, value), pods in _alike(cluster).items():
        if len(pods) > 1:
            yield _claim(namespace, field, value, pods)


def _alike(cluster: Cluster) -> Mapping[tuple[str, str, str], Pods]:
    found: defaultdict[tuple[str, str, str], list[KubeObject]] = defaultdict(list)
    for pod in cluster.pods:
        mark = _mark(pod)
        if mark is not None and asks_for_devices(pod):
            found[pod.namespace, *mark].append(pod)
    return {key: tuple(pods) for key, pods in found.items()}


def _mark(pod: KubeObject) -> tuple[str, str] | None:
    owner = next(pod.owners(), None)
    if owner is not None and owner.name and owner.uid:
        return "metadata.ownerReferences", owner.name
    subdomain = pod.text("spec", "subdomain")
    return ("spec.subdomain", subdomain) if subdomain else None


def _claim(namespace: str, field: str, value: str, pods: Pods) -> Claim:
    return Claim(
        system=ID,
        layer=Layer.FALLBACK,
        namespace=namespace,
        name=value,
        pods=pods,
        min_members=unknown(f"nothing declares how many of {value} must start together"),
        total=len(pods),
        ranks=ranks(pods, ID),
        pod_evidence={
            pod.uid: Evidence(object=str(pod), field=field, value=value, system=ID, declared=False) for pod in pods
        },
    )


SYSTEM = GangSystem(
    id=ID,
    title="Same owner or headless Service",
    layer=Layer.FALLBACK,
    order=0,
    resources=("pods",),
    find=_find,
)
