"""What happened to a gang, on one line of time: creation, conditions and events of everything that belongs to it.

Times are those of the API server and of controllers; the order of two things a second apart means little. Each
scheduler's reasons are translated; the message stands behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netkit.gangs.cluster import Cluster
from netkit.gangs.pod_words import scheduler_words
from netkit.model.gang import Gang
from netkit.model.kube_object import KubeObject, text_of

_WORDS = {
    "FailedScheduling": "the scheduler found no place",
    "Scheduled": "a node was chosen",
    "Preempted": "it made room for something more important",
    "Evicted": "it was evicted from its node",
    "EvictedDueToPreempted": "it was preempted by another workload",
    "QuotaReserved": "its queue reserved quota for it",
    "Admitted": "its queue let it in",
    "Pending": "its queue cannot let it in yet",
    "Unschedulable": "no place for all members at once",
    "NotEnoughResources": "the nodes have too little free for all members at once",
    "NotEnoughTasks": "fewer pods exist than the gang needs",
    "ResourceReservationTimeout": "its places could not be reserved in time",
    "ApplicationRejected": "its queue rejected the application",
    "PodGroupScheduled": "all members have a place",
    "SchedulingGated": "it is held by a scheduling gate",
    "NodeNotReady": "its node is not ready",
    "TaintManagerEviction": "it is evicted because of a taint of its node",
    "FailedMount": "a volume could not be mounted",
    "FailedCreatePodSandBox": "its network or sandbox could not be made",
    "UnexpectedAdmissionError": "the kubelet could not give it its devices",
    "OutOfnvidia.com/gpu": "the kubelet had no GPU left for it",
    "TopologyAffinityError": "the kubelet could not align its devices to one NUMA node",
    "BackOff": "its container keeps ending",
    "Killing": "its container is stopped",
    "Started": "its container started",
    "Pulling": "its image is fetched",
}
_NODE_CONDITIONS = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Moment:
    """One thing that happened; `at` as the API wrote it, RFC 3339 in UTC."""

    at: str
    object: str
    what: str
    words: str
    count: int = 1
    warning: bool = False


def timeline(gang: Gang, cluster: Cluster) -> tuple[Moment, ...]:
    """Return the moments of a gang and of what it depends on, oldest first; those without a time come first."""
    about = {one.uid: one for one in _concerned(gang, cluster)}
    moments = {moment for one in about.values() for moment in _of_object(one)}
    moments |= {moment for event in cluster.objects("events") for moment in _of_event(event, about)}
    return tuple(sorted(moments))


def _concerned(gang: Gang, cluster: Cluster) -> Iterator[KubeObject]:
    """Yield members, their owners, the objects that name them, their claims and nodes."""
    uids = {member.uid for member in gang.members}
    pods = [pod for pod in cluster.pods if pod.uid in uids]
    names = {gang.name} | ({gang.workload.name} if gang.workload else set())
    claims = {
        text_of(row.get("resourceClaimName")) for pod in pods for row in pod.rows("status", "resourceClaimStatuses")
    }
    nodes = {member.placement.node for member in gang.members if member.placement}
    yield from pods
    for pod in pods:
        yield from (owner for _, owner in cluster.chain(pod) if owner is not None)
    for resource in cluster.snapshot.listings:
        wanted = {"nodes": nodes, "resourceclaims.resource.k8s.io": claims}.get(resource, names)
        if resource not in ("pods", "events"):
            yield from (one for one in cluster.objects(resource) if one.name in wanted and _near(one, gang))


def _near(one: KubeObject, gang: Gang) -> bool:
    return one.namespace in ("", gang.namespace)


def _of_object(one: KubeObject) -> Iterator[Moment]:
    if one.created and one.resource != "nodes":
        yield Moment(at=one.created, object=str(one), what="created", words="")
    for condition in one.conditions():
        if one.resource == "nodes" and not _is_trouble(condition.type, condition.status):
            continue
        what = f"{condition.type}={condition.status}"
        words = _words(condition.reason, condition.message)
        yield Moment(at=condition.changed, object=str(one), what=what, words=words)


def _is_trouble(kind: str, status: str) -> bool:
    return kind in _NODE_CONDITIONS and (status == "True") != (kind == "Ready")


def _of_event(event: KubeObject, about: Mapping[str, KubeObject]) -> Iterator[Moment]:
    known = about.get(event.text("involvedObject", "uid")) or about.get(event.text("regarding", "uid"))
    if known is None:
        return
    reason, message = event.text("reason"), event.text("message") or event.text("note")
    count = event.number("count")
    yield Moment(
        at=event.text("lastTimestamp") or event.text("eventTime") or event.created,
        object=str(known),
        what=reason or "event",
        words=_words(reason, message),
        count=count if isinstance(count, int) and count > 0 else 1,
        warning=event.text("type") == "Warning",
    )


def _words(reason: str, message: str) -> str:
    """Return a reason in plain words with the message behind it; an unknown reason as it is."""
    plain = _WORDS.get(reason, "")
    told = scheduler_words(message) if message else ""
    if plain and told:
        return f"{plain}: {told}"
    return plain or told or reason
