"""Coscheduling of scheduler-plugins: PodGroup (scheduling.x-k8s.io/v1alpha1, older scheduling.sigs.k8s.io).

The PodGroup tells a phase only; the reason stands in the PodScheduled condition of its pods. The older label is also
Koordinator's: it is told apart by the scheduler's name and by Koordinator's own annotations.
Source: kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.claim import Claim, GangSystem, Layer
from netkit.gangs.cluster import Cluster
from netkit.gangs.fields import label
from netkit.gangs.koordinator_marks import is_koordinator
from netkit.gangs.marked import Marked, at, phases
from netkit.model.gang import GangState

_STANDING = phases(
    {"Finished": GangState.FINISHED, "Failed": GangState.FINISHED},
    {
        "Pending": "the scheduler has not seen enough pods of the group yet",
        "Scheduling": "pods are being placed, and too few have a node so far",
        "Unknown": "some members run and others do not",
        "Finished": "all members have finished",
        "Failed": "a member failed",
    },
)

_NEW = Marked(
    system="coscheduling",
    resource="podgroups.scheduling.x-k8s.io",
    layer=Layer.SCHEDULER,
    marks=(label("scheduling.x-k8s.io/pod-group"),),
    size=at("spec", "minMember"),
    standing=_STANDING,
)
_OLD = Marked(
    system="coscheduling",
    resource="podgroups.scheduling.sigs.k8s.io",
    layer=Layer.SCHEDULER,
    marks=(label("pod-group.scheduling.sigs.k8s.io"),),
    size=at("spec", "minMember"),
    standing=_STANDING,
)


def _find(cluster: Cluster) -> Iterator[Claim]:
    yield from _NEW.find(cluster)
    yield from (claim for claim in _OLD.find(cluster) if not is_koordinator(claim.made_by, claim.pods))


SYSTEM = GangSystem(
    id="coscheduling",
    title="Coscheduling (scheduler-plugins)",
    layer=Layer.SCHEDULER,
    order=50,
    resources=(_NEW.resource, _OLD.resource),
    find=_find,
)
