"""Koordinator: PodGroup of scheduling.sigs.k8s.io/v1alpha1 with its own annotations, or annotations alone.

A gang is named, in this order, by the label of scheduler-plugins, its deprecated form with `/name`, and the annotation
`gang.scheduling.koordinator.sh/name`. Source: koordinator-sh/koordinator apis/extension/coscheduling.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.gangs.claim import Claim, GangSystem, Layer, Standing
from netkit.gangs.cluster import Cluster
from netkit.gangs.fields import annotation, label
from netkit.gangs.koordinator_marks import GANG, is_koordinator
from netkit.gangs.marked import Marked, Seen, not_told, phases
from netkit.model.gang import GangState
from netkit.model.kube_object import number_of
from netkit.model.missing import Missing, Reason

_BY_PHASE = phases(
    {"Finished": GangState.FINISHED, "Failed": GangState.FINISHED, "Timeout": None},
    {
        "Pending": "the scheduler has not seen enough pods of the gang yet",
        "PreScheduling": "the scheduler has seen enough pods and looks for places",
        "Scheduling": "pods are being placed, and too few have a node so far",
        "Timeout": "too few members found a place within the waiting time of the gang",
        "Failed": "a member failed",
    },
)


def _on_pods(seen: Seen, *keys: str) -> int | Missing:
    """Return a size that stands in an annotation of the group or of any member."""
    for one in (seen.declaring, *seen.pods):
        written = one.annotation(*keys) or one.label(*keys) if one is not None else ""
        if written:
            return number_of(written, f"{one} annotation {keys[0]}")
    return not_told(seen)


def _size(seen: Seen) -> int | Missing:
    own = seen.declaring.number("spec", "minMember") if seen.declaring is not None else not_told(seen)
    if isinstance(own, Missing) and own.reason is Reason.ABSENT:
        return _on_pods(seen, f"{GANG}min-available", "pod-group.scheduling.sigs.k8s.io/min-available")
    return own


def _standing(seen: Seen) -> Standing:
    together = next((one.annotation(f"{GANG}groups") for one in seen.pods if one.annotation(f"{GANG}groups")), "")
    standing = _BY_PHASE(seen)
    if not together or standing.state is GangState.FINISHED:
        return standing
    why = "; ".join(filter(None, [standing.why, f"it is placed only together with the gangs {together}"]))
    return Standing(state=standing.state, why=why)


GROUPS = Marked(
    system="koordinator",
    resource="podgroups.scheduling.sigs.k8s.io",
    layer=Layer.SCHEDULER,
    marks=(
        label("pod-group.scheduling.sigs.k8s.io"),
        label("pod-group.scheduling.sigs.k8s.io/name"),
        annotation(f"{GANG}name"),
    ),
    size=_size,
    total=lambda seen: _on_pods(seen, f"{GANG}total-number"),
    size_field="spec.minMember or annotation min-available",
    standing=_standing,
    rank_fields=(annotation(f"{GANG}network-topology-index"),),
)


def _find(cluster: Cluster) -> Iterator[Claim]:
    yield from (claim for claim in GROUPS.find(cluster) if is_koordinator(claim.made_by, claim.pods))


SYSTEM = GangSystem(
    id="koordinator",
    title="Koordinator",
    layer=Layer.SCHEDULER,
    order=40,
    resources=(GROUPS.resource,),
    find=_find,
)
