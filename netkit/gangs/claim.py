"""What one system says about one gang, and what a system is: a file of `netkit.gangs.systems` with one constant.

Several systems may claim one pod (Kueue holds it, JobSet made it); `netkit.gangs.resolver` brings claims together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from netkit.gangs.cluster import Cluster
from netkit.model.gang import Evidence, GangState, Rank
from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing, Reason


class Layer(IntEnum):
    """What a system decides; where several claim a pod, the lower number names the gang."""

    SCHEDULER = 0
    """Binds members all together or not at all."""
    QUEUE = 1
    """Lets members through to the scheduler all together."""
    WORKLOAD = 2
    """Makes members that start together, without a promise that they are placed together."""
    FALLBACK = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a system says a gang stands; `state` None: it does not say, the pods tell."""

    state: GangState | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Claim:
    """One gang in the words of one system."""

    system: str
    layer: Layer
    namespace: str
    name: str
    pods: tuple[KubeObject, ...]
    made_by: KubeObject | None = None
    """The object that declares it, where one could be read."""
    min_members: int | Missing
    total: int | Missing
    standing: Standing = Standing()
    groups: Mapping[str, str] = field(default_factory=dict)
    """By uid of a pod: the part of the gang it belongs to."""
    ranks: Mapping[str, Rank] = field(default_factory=dict)
    """By uid of a pod."""
    pod_evidence: Mapping[str, Evidence] = field(default_factory=dict)
    """By uid of a pod: the field by which it was claimed."""
    evidence: tuple[Evidence, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GangSystem:
    """One system: the resources it is seen by, and how its gangs are found."""

    id: str
    title: str
    layer: Layer
    order: int
    """Which of two systems of a layer is believed first; lower first."""
    resources: tuple[str, ...]
    find: Callable[[Cluster], Iterable[Claim]]


def unknown(where: str) -> Missing:
    """Return the size of a gang whose system does not tell it."""
    return Missing(reason=Reason.ABSENT, where=where)
