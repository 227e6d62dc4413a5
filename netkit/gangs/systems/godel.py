"""Gödel, the scheduler beside Katalyst: PodGroup of scheduling.godel.kubewharf.io/v1alpha1.

Katalyst itself has no gangs; what it tells about NICs and GPUs of a node is read in `netkit.gangs.device_sources`.
Source: kubewharf/godel-scheduler-api pkg/apis/scheduling/v1alpha1/types.go; the annotation on pods is that of the
scheduler's documentation.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.fields import annotation, label
from netkit.gangs.marked import Marked, at, phases
from netkit.model.gang import GangState

_KEY = "godel.bytedance.com/pod-group-name"

GROUPS = Marked(
    system="godel",
    resource="podgroups.scheduling.godel.kubewharf.io",
    layer=Layer.SCHEDULER,
    marks=(annotation(_KEY), label(_KEY)),
    size=at("spec", "minMember"),
    standing=phases(
        {"Finished": GangState.FINISHED, "Failed": GangState.FINISHED},
        {
            "Pending": "the scheduler has not seen enough pods of the group yet",
            "PreScheduling": "the scheduler has seen enough pods and looks for places",
            "Timeout": "too few members found a place within the timeout of the group",
            "Unknown": "some members run and others do not",
            "Failed": "a member failed",
        },
    ),
)

SYSTEM = GangSystem(
    id="godel",
    title="Gödel (Katalyst)",
    layer=Layer.SCHEDULER,
    order=70,
    resources=(GROUPS.resource,),
    find=GROUPS.find,
)
