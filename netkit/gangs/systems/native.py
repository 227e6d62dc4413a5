"""Gangs of Kubernetes itself (scheduling.k8s.io), in the three shapes that exist in the wild.

1.35: Workload with its pod groups inline, pods name it in spec.workloadRef. 1.36 and 1.37: PodGroup of its own, pods
name it in spec.schedulingGroup. PodGroupInitiallyScheduled stays True after later evictions, so it says nothing about
now: the pods do. Source: https://kubernetes.io/docs/concepts/workloads/workload-api/, kubernetes-client models.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.claim import Claim, GangSystem, Layer, Standing
from netkit.gangs.cluster import Cluster
from netkit.gangs.fields import Joined, spec
from netkit.gangs.marked import Marked, Seen, at, not_told
from netkit.model.kube_object import KubeObject, number_of, text_of
from netkit.model.missing import Missing

_REASONS = {
    "Unschedulable": "the scheduler found no place for all members at once",
    "SchedulerError": "the scheduler failed over it",
}
_SCHEDULED = ("PodGroupInitiallyScheduled", "PodGroupScheduled", "Scheduled")


def _standing(seen: Seen) -> Standing:
    if seen.declaring is None:
        return Standing()
    for kind in _SCHEDULED:
        condition = seen.declaring.condition(kind)
        if condition is not None and condition.status == "False":
            words = _REASONS.get(condition.reason, condition.reason)
            return Standing(why=f"{words} ({condition.message})" if condition.message else words)
    return Standing()


def _inline(workload: KubeObject) -> list[str]:
    """Return the gangs of a 1.35 Workload; later ones declare templates only, and pods never name those."""
    groups = workload.rows("spec", "podGroups")
    return [f"{workload.name}.{text_of(group.get('name'))}" for group in groups]


def _inline_size(seen: Seen) -> int | Missing:
    for group in seen.declaring.rows("spec", "podGroups") if seen.declaring is not None else ():
        if seen.declaring is not None and seen.name == f"{seen.declaring.name}.{text_of(group.get('name'))}":
            policy = group.get("policy")
            gang = policy.get("gang") if isinstance(policy, dict) else None
            count = gang.get("minCount") if isinstance(gang, dict) else None
            return number_of(count, f"{seen.declaring} spec.podGroups policy.gang.minCount")
    return not_told(seen)


_INLINE = Marked(
    system="native",
    resource="workloads.scheduling.k8s.io",
    layer=Layer.SCHEDULER,
    marks=(Joined((spec("workloadRef.name"), spec("workloadRef.podGroup")), "."),),
    declares=_inline,
    size=_inline_size,
    size_field="spec.podGroups[].policy.gang.minCount",
)
_GROUPS = Marked(
    system="native",
    resource="podgroups.scheduling.k8s.io",
    layer=Layer.SCHEDULER,
    marks=(spec("schedulingGroup.podGroupName"),),
    size=at("spec", "schedulingPolicy", "gang", "minCount"),
    size_field="spec.schedulingPolicy.gang.minCount",
    standing=_standing,
)


def _find(cluster: Cluster) -> Iterator[Claim]:
    yield from _GROUPS.find(cluster)
    yield from _INLINE.find(cluster)


SYSTEM = GangSystem(
    id="native",
    title="Kubernetes (scheduling.k8s.io)",
    layer=Layer.SCHEDULER,
    order=10,
    resources=(_GROUPS.resource, _INLINE.resource),
    find=_find,
)
