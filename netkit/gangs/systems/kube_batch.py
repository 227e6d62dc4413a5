"""kube-batch (retired): PodGroup of scheduling.incubator.k8s.io/v1alpha1, later scheduling.sigs.dev/v1alpha2.

Volcano grew out of it and kept its annotation, so a pod is believed only where kube-batch's own objects are.
Source: kubernetes-retired/kube-batch pkg/apis/scheduling.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.claim import Claim, GangSystem, Layer, Standing
from netkit.gangs.cluster import Cluster
from netkit.gangs.fields import annotation
from netkit.gangs.marked import Marked, Seen, at
from netkit.model.kube_object import KubeObject


def _standing(seen: Seen) -> Standing:
    blocked = seen.declaring.condition("Unschedulable") if seen.declaring is not None else None
    phase = seen.declaring.text("status", "phase") if seen.declaring is not None else ""
    if phase == "Running" or blocked is None or not blocked.holds:
        return Standing()
    return Standing(why=f"the scheduler found no place for all members at once ({blocked.message})")


def _named_by_scheduler(pod: KubeObject) -> bool:
    return pod.text("spec", "schedulerName") == "kube-batch"


_FIRST = Marked(
    system="kube_batch",
    resource="podgroups.scheduling.incubator.k8s.io",
    layer=Layer.SCHEDULER,
    marks=(annotation("scheduling.k8s.io/group-name"),),
    size=at("spec", "minMember"),
    believe=_named_by_scheduler,
    standing=_standing,
)
_LATER = Marked(
    system="kube_batch",
    resource="podgroups.scheduling.sigs.dev",
    layer=Layer.SCHEDULER,
    marks=(annotation("scheduling.x-k8s.io/group-name"),),
    size=at("spec", "minMember"),
    believe=_named_by_scheduler,
    standing=_standing,
)


def _find(cluster: Cluster) -> Iterator[Claim]:
    yield from _FIRST.find(cluster)
    yield from _LATER.find(cluster)


SYSTEM = GangSystem(
    id="kube_batch",
    title="kube-batch",
    layer=Layer.SCHEDULER,
    order=80,
    resources=(_FIRST.resource, _LATER.resource),
    find=_find,
)
