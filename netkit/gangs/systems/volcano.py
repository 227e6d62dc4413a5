"""Volcano: PodGroup (scheduling.volcano.sh/v1beta1), Job (batch.volcano.sh/v1alpha1) and pods annotated with a group.

The name of a group is never guessed: it is `<job>-<uid>` for jobs and `podgroup-<uid>` for loose pods. Inqueue means
that resources may suffice and pods get created; nothing is bound yet.
Source: volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/{scheduling,batch}.
"""

from __future__ import annotations

from collections.abc import Sequence

from netkit.gangs.claim import GangSystem, Layer, Standing
from netkit.gangs.fields import annotation, env, label
from netkit.gangs.marked import Marked, Seen, at, not_told
from netkit.model.gang import GangState
from netkit.model.kube_object import KubeObject, number_of, text_of
from netkit.model.missing import Missing

_JOBS = "jobs.batch.volcano.sh"

_REASONS = {
    "NotEnoughResources": "the nodes have too little free for all members at once",
    "NotEnoughTasks": "fewer pods exist than the gang needs",
    "NotEnoughPodsOfTask": "one task has fewer pods than its minimum",
}
_PHASES = {
    "Pending": "its queue has not let it in, and before that no pod is bound",
    "Inqueue": "its queue has let it in, but not all members have a place yet",
    "Unknown": "some members run and others do not",
}


def _standing(seen: Seen) -> Standing:
    group = seen.declaring
    if group is None:
        return Standing()
    phase = group.text("status", "phase")
    if phase == "Completed":
        return Standing(state=GangState.FINISHED, why="all members have finished")
    said = [_PHASES.get(phase, "")]
    blocked = group.condition("Unschedulable")
    if phase != "Running" and blocked is not None and blocked.holds:
        said.append(f"{_REASONS.get(blocked.reason, blocked.reason)} ({blocked.message})")
    return Standing(state=GangState.WAITING if phase == "Pending" else None, why="; ".join(filter(None, said)))


def _job(seen: Seen) -> KubeObject | None:
    """Return the job behind a group: its owner, else what its pods say."""
    owners = [owner.name for owner in seen.declaring.owners() if owner.kind == "Job"] if seen.declaring else []
    names = owners or [pod.label("volcano.sh/job-name") for pod in seen.pods[:1]]
    namespaces = [one.namespace for one in (seen.declaring, *seen.pods) if one is not None]
    return seen.cluster.named(_JOBS, (namespaces[0], names[0])) if names and namespaces else None


def _tasks(seen: Seen) -> Sequence[str]:
    job = _job(seen)
    return [text_of(task.get("name")) for task in job.rows("spec", "tasks")] if job is not None else ()


def _total(seen: Seen) -> int | Missing:
    job = _job(seen)
    if job is None:
        return len(seen.pods) if seen.pods else not_told(seen)
    sizes = [number_of(task.get("replicas", 1), f"{job} spec.tasks replicas") for task in job.rows("spec", "tasks")]
    unusable = [size for size in sizes if isinstance(size, Missing)]
    return unusable[0] if unusable else sum(size for size in sizes if isinstance(size, int))


def _believe(pod: KubeObject) -> bool:
    return pod.text("spec", "schedulerName") == "volcano" or bool(pod.label("volcano.sh/job-name"))


GROUPS = Marked(
    system="volcano",
    resource="podgroups.scheduling.volcano.sh",
    layer=Layer.SCHEDULER,
    marks=(annotation("scheduling.k8s.io/group-name"), annotation("scheduling.volcano.sh/group-name")),
    size=at("spec", "minMember"),
    total=_total,
    believe=_believe,
    standing=_standing,
    parts=lambda pod: pod.label("volcano.sh/task-spec"),
    part_order=_tasks,
    rank_fields=(annotation("hccl/rankIndex"), env("RANK")),
    index_fields=(label("volcano.sh/task-index"), annotation("volcano.sh/task-index"), env("VC_TASK_INDEX")),
)

SYSTEM = GangSystem(
    id="volcano",
    title="Volcano",
    layer=Layer.SCHEDULER,
    order=20,
    resources=(GROUPS.resource, _JOBS),
    find=GROUPS.find,
)
