"""YuniKorn: an application is a gang when its pods carry task groups; there is no object of its own.

Before the real pods run, placeholder pods hold their places and are replaced one by one: they are no members. The
definition is JSON in an annotation of the first pod. Source: apache/yunikorn-k8shim pkg/common/constants/constants.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkit.gangs.claim import Claim, GangSystem, Layer, Standing, unknown
from netkit.gangs.cluster import Cluster, Key
from netkit.gangs.fields import Field, annotation, label
from netkit.gangs.marked import malformed
from netkit.gangs.ranks import ranks
from netkit.model.gang import Evidence
from netkit.model.kube_object import KubeObject, number_of, rows_of, text_of
from netkit.model.missing import Missing

ID = "yunikorn"
_APPLICATION = (
    label("yunikorn.apache.org/app-id"),
    annotation("yunikorn.apache.org/app-id"),
    label("spark-app-selector"),
    label("applicationId"),
)
_GROUP = "yunikorn.apache.org/task-group-name"
_GROUPS = "yunikorn.apache.org/task-groups"
_POLICY = "yunikorn.apache.org/schedulingPolicyParameters"
_REASONS = {
    "ResourceReservationTimeout": "its places could not be reserved in time",
    "ApplicationRejected": "its queue rejected the application",
}

Pods = Sequence[KubeObject]


def is_placeholder(pod: KubeObject) -> bool:
    """Tell whether a pod only holds a place: marked so in any of YuniKorn's spellings, or a lone pause container."""
    keys = (*pod.labels, *pod.annotations)
    marked = any(key.endswith("/placeholder") and "yunikorn" in key for key in keys) or "placeholder" in pod.labels
    containers = pod.rows("spec", "containers")
    return marked or (len(containers) == 1 and containers[0].get("name") == "pause")


def _find(cluster: Cluster) -> Iterator[Claim]:
    for key, marks in _applications(cluster).items():
        if any(pod.annotation(_GROUP, _GROUPS) for pod in marks):
            yield _claim(key, marks)


def _applications(cluster: Cluster) -> dict[Key, dict[KubeObject, Field]]:
    found: dict[Key, dict[KubeObject, Field]] = {}
    seen: set[KubeObject] = set()
    for mark in _APPLICATION:
        for key, pods in cluster.with_field(mark).items():
            new = {pod: mark for pod in pods if pod not in seen}
            if new:
                found.setdefault(key, {}).update(new)
                seen.update(new)
    return found


def _claim(key: Key, marks: dict[KubeObject, Field]) -> Claim:
    members = tuple(pod for pod in marks if not is_placeholder(pod))
    holders = [pod for pod in marks if is_placeholder(pod)]
    origin, size = _defined(tuple(marks))
    parts = {pod.uid: pod.annotation(_GROUP) for pod in members if pod.annotation(_GROUP)}
    evidence = (
        (Evidence(object=str(origin), field=f"annotation {_GROUPS}", value=str(size), system=ID),)
        if origin is not None and not isinstance(size, Missing)
        else ()
    )
    return Claim(
        system=ID,
        layer=Layer.SCHEDULER,
        namespace=key[0],
        name=key[1],
        pods=members,
        min_members=size,
        total=size,
        standing=_standing(holders, members, size, origin),
        groups=parts,
        ranks=ranks(members, ID, groups=parts),
        pod_evidence={pod.uid: marks[pod].evidence(pod, ID) for pod in members},
        evidence=evidence,
        problems=tuple(malformed(size)),
    )


def _defined(pods: Pods) -> tuple[KubeObject | None, int | Missing]:
    """Return the pod that defines the task groups and the sum of their minima."""
    origin = next((pod for pod in pods if pod.annotation(_GROUPS)), None)
    if origin is None:
        return None, unknown(f"annotation {_GROUPS} on any pod")
    groups = origin.annotated_json(_GROUPS)
    if isinstance(groups, Missing):
        return origin, groups
    sizes = [number_of(row.get("minMember"), f"{origin} annotation {_GROUPS} minMember") for row in rows_of(groups)]
    unusable = [size for size in sizes if isinstance(size, Missing)]
    if unusable or not sizes:
        return origin, next(iter(unusable), unknown(f"{origin} annotation {_GROUPS}"))
    return origin, sum(size for size in sizes if isinstance(size, int))


def _standing(holders: Pods, members: Pods, size: int | Missing, origin: KubeObject | None) -> Standing:
    if not holders:
        return Standing(why=next(iter(_reasons(members)), ""))
    held = sum(bool(pod.text("spec", "nodeName")) for pod in (*holders, *members))
    needed = len(holders) + len(members) if isinstance(size, Missing) else size
    hard = origin is not None and "gangSchedulingStyle=Hard" in origin.annotation(_POLICY)
    style = "it fails when that lasts (Hard)" if hard else "it starts without a gang when that lasts (Soft)"
    return Standing(
        why="; ".join([f"{held} of {needed} places are reserved by placeholders; {style}", *_reasons(members)])
    )


def _reasons(pods: Pods) -> Iterator[str]:
    seen = {text_of(condition.reason) for pod in pods for condition in pod.conditions() if not condition.holds}
    return (words for reason, words in _REASONS.items() if reason in seen)


SYSTEM = GangSystem(
    id=ID,
    title="YuniKorn",
    layer=Layer.SCHEDULER,
    order=60,
    resources=("pods",),
    find=_find,
)
