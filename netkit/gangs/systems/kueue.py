"""Kueue: plain pod groups by label, and Workloads that hold a job back until its quota and place are there.

`pod-group-total-count` is a total, not a minimum: a group that is not complete is never admitted. Pods with a gate of
Kueue cannot be scheduled, so they wait; they are not pending.
Source: kubernetes-sigs/kueue apis/kueue/v1beta2, pkg/controller/jobs/pod/constants.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.claim import Claim, GangSystem, Layer, Standing, unknown
from netkit.gangs.cluster import Cluster, Key
from netkit.gangs.fields import Field, annotation, label
from netkit.gangs.marked import malformed
from netkit.gangs.ranks import ranks
from netkit.gangs.tas import Assignment, assignments
from netkit.model.gang import Evidence, GangState, Rank
from netkit.model.kube_object import Condition, KubeObject, number_of
from netkit.model.missing import Missing, Reason

ID = "kueue"
_WORKLOADS = "workloads.kueue.x-k8s.io"
_GROUP = label("kueue.x-k8s.io/pod-group-name")
_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
_WORKLOAD = annotation("kueue.x-k8s.io/workload")
_INDEX = label("kueue.x-k8s.io/pod-group-pod-index")
_INDEX_KEY = "kueue.x-k8s.io/pod-group-pod-index-label"
_MOST_DOMAINS = 6

_REASONS = {
    "WaitingForQuota": "its queue has no quota free for all of it",
    "TopologyPlacementFailed": "no place in the topology fits all of it",
    "Pending": "its queue cannot admit it yet",
    "Inadmissible": "its queue cannot admit it",
    "Preempted": "it was preempted by another workload",
    "PodsReadyTimeout": "its pods were not all ready in time",
    "AdmissionCheck": "an admission check holds it back",
    "ClusterQueueStopped": "its cluster queue is stopped",
    "LocalQueueStopped": "its local queue is stopped",
    "NodeFailures": "a node of it failed",
    "Deactivated": "it was deactivated",
}


def _find(cluster: Cluster) -> Iterator[Claim]:
    groups = cluster.with_field(_GROUP)
    for key, pods in groups.items():
        yield _claim(key, cluster.named(_WORKLOADS, key), dict.fromkeys(pods, _GROUP))
    by_workload = cluster.with_field(_WORKLOAD)
    for workload in cluster.objects(_WORKLOADS):
        key = (workload.namespace, workload.name)
        if key not in groups:
            yield _claim(key, workload, _held(cluster, workload, by_workload.get(key, ())))


def _held(cluster: Cluster, workload: KubeObject, named: tuple[KubeObject, ...]) -> dict[KubeObject, Field | None]:
    """Return the pods of a workload: those that name it, else those of the job it belongs to."""
    if named:
        return dict.fromkeys(named, _WORKLOAD)
    owner = next(workload.owners(), None)
    return dict.fromkeys(cluster.owned.get(owner.uid, ()) if owner is not None else ())


def _claim(
    key: Key, workload: KubeObject | None, marks: dict[KubeObject, Field] | dict[KubeObject, Field | None]
) -> Claim:
    pods = tuple(marks)
    total = _total(workload, pods)
    return Claim(
        system=ID,
        layer=Layer.QUEUE,
        namespace=key[0],
        name=key[1],
        pods=pods,
        made_by=workload,
        min_members=total,
        total=total,
        standing=_standing(workload) if workload is not None else Standing(),
        groups={pod.uid: part for pod in pods if (part := pod.label("kueue.x-k8s.io/podset"))},
        ranks=_ranks(pods),
        pod_evidence={pod.uid: _evidence(pod, mark, workload) for pod, mark in marks.items()},
        evidence=tuple(_told(workload, total)),
        problems=tuple(_problems(workload, total)),
    )


def _evidence(pod: KubeObject, mark: Field | None, workload: KubeObject | None) -> Evidence:
    if mark is not None:
        return mark.evidence(pod, ID)
    return Evidence(object=str(pod), field="owner that the Workload belongs to", value=str(workload), system=ID)


def _total(workload: KubeObject | None, pods: tuple[KubeObject, ...]) -> int | Missing:
    written = next((pod for pod in pods if pod.annotation(_TOTAL)), None)
    if written is not None:
        return number_of(written.annotation(_TOTAL), f"{written} annotation {_TOTAL}")
    if workload is None:
        return unknown(f"annotation {_TOTAL}")
    sizes = [
        number_of(row.get("count", 1), f"{workload} spec.podSets count") for row in workload.rows("spec", "podSets")
    ]
    unusable = [size for size in sizes if isinstance(size, Missing)]
    return unusable[0] if unusable else sum(size for size in sizes if isinstance(size, int))


def _ranks(pods: tuple[KubeObject, ...]) -> dict[str, Rank]:
    named = next((pod.annotation(_INDEX_KEY) for pod in pods if pod.annotation(_INDEX_KEY)), "")
    fields = [label(named), _INDEX] if named else [_INDEX]
    return ranks(pods, ID, fields)


def _standing(workload: KubeObject) -> Standing:
    if _holds(workload.condition("Finished")):
        return Standing(state=GangState.FINISHED)
    if workload.find("spec", "active") is False:
        return Standing(state=GangState.WAITING, why="it was deactivated and does not ask for quota")
    if _holds(workload.condition("Admitted")):
        return Standing(why=_said(workload.condition("PodsReady"), "not all its pods are ready"))
    evicted, reserved = workload.condition("Evicted"), workload.condition("QuotaReserved")
    told = evicted if _holds(evicted) else reserved
    if _holds(reserved) and told is reserved:
        return Standing(state=GangState.WAITING, why="quota is reserved; admission checks or the topology hold it back")
    return Standing(state=GangState.WAITING, why=_said(told, "its queue has not admitted it yet"))


def _holds(condition: Condition | None) -> bool:
    return condition is not None and condition.holds


def _said(condition: Condition | None, otherwise: str) -> str:
    if condition is None or (condition.type == "PodsReady" and condition.holds):
        return "" if condition is not None else otherwise
    words = _REASONS.get(condition.reason, otherwise)
    return f"{words} ({condition.message or condition.reason})"


def _told(workload: KubeObject | None, total: int | Missing) -> Iterator[Evidence]:
    if workload is None:
        return
    if not isinstance(total, Missing):
        yield Evidence(object=str(workload), field="spec.podSets[].count", value=str(total), system=ID)
    for given in assignments(workload):
        field = f"status.admission topologyAssignment of {given.podset}"
        yield Evidence(object=str(workload), field=field, value=_domains(given), system=ID)


def _domains(given: Assignment) -> str:
    if isinstance(given.domains, Missing):
        return str(given.domains)
    shown = [f"{'/'.join(domain.values)}: {domain.pods}" for domain in given.domains[:_MOST_DOMAINS]]
    more = len(given.domains) - _MOST_DOMAINS
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _problems(workload: KubeObject | None, total: int | Missing) -> Iterator[str]:
    yield from malformed(total)
    for given in assignments(workload) if workload is not None else ():
        if isinstance(given.domains, Missing) and given.domains.reason is Reason.MALFORMED:
            yield f"{given.domains.where}: {given.domains.detail}"


SYSTEM = GangSystem(
    id=ID,
    title="Kueue",
    layer=Layer.QUEUE,
    order=10,
    resources=(_WORKLOADS,),
    find=_find,
)
