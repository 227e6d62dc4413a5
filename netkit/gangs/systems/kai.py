"""KAI Scheduler: PodGroup of scheduling.run.ai/v2alpha2, named by the annotation `pod-group-name`.

That annotation has no domain, so it is trusted only where the scheduler's name or the PodGroup agrees.
Source: NVIDIA/KAI-Scheduler pkg/common/constants/constants.go.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer, Standing
from netkit.gangs.fields import annotation
from netkit.gangs.marked import Marked, Seen, at
from netkit.model.gang import GangState
from netkit.model.kube_object import KubeObject, text_of

_REASONS = {
    "NonPreemptibleOverQuota": "it may not be preempted, and its queue has no quota left for that",
    "OverLimit": "its queue has reached its limit",
    "QueueDoesNotExist": "its queue does not exist",
}


def _standing(seen: Seen) -> Standing:
    rows = seen.declaring.rows("status", "schedulingConditions") if seen.declaring is not None else ()
    blocked = [row for row in rows if row.get("type") == "UnschedulableOnNodePool"]
    if not blocked:
        return Standing()
    row = blocked[-1]
    reasons = [text_of(one.get("reason")) for one in row.get("reasons") or () if isinstance(one, dict)]
    reason = text_of(row.get("reason")) or next(iter(reasons), "")
    words = _REASONS.get(reason, "the scheduler found no place for all members at once")
    state = GangState.WAITING if reason in _REASONS else None
    return Standing(state=state, why=f"{words} ({text_of(row.get('message')) or reason})")


GROUPS = Marked(
    system="kai",
    resource="podgroups.scheduling.run.ai",
    layer=Layer.SCHEDULER,
    marks=(annotation("pod-group-name"),),
    size=at("spec", "minMember"),
    believe=lambda pod: pod.text("spec", "schedulerName") == "kai-scheduler",
    standing=_standing,
    parts=lambda pod: pod.label("kai.scheduler/subgroup-name"),
    part_order=lambda seen: _subgroups(seen.declaring),
)


def _subgroups(group: KubeObject | None) -> list[str]:
    return [text_of(row.get("name")) for row in group.rows("spec", "subGroups")] if group is not None else []


SYSTEM = GangSystem(
    id="kai",
    title="KAI Scheduler",
    layer=Layer.SCHEDULER,
    order=30,
    resources=(GROUPS.resource,),
    find=GROUPS.find,
)
