"""What rules about a gang see: its members with their pods, the cluster around them, what members themselves saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from netkit.gangs.cluster import Cluster
from netkit.model.check import Result, Rule
from netkit.model.gang import Gang, Member
from netkit.model.kube_object import KubeObject
from netkit.model.node import NodeSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class GangView:
    """One gang to be judged; `seen` holds what was recorded inside pods, by uid."""

    gang: Gang
    cluster: Cluster
    pods: Mapping[str, KubeObject]
    seen: Mapping[str, NodeSnapshot] = field(default_factory=dict)

    def members(self) -> Iterator[tuple[Member, KubeObject]]:
        """Yield members that train, each with its pod: those with a rank, or all where none has one."""
        ranked = [one for one in self.gang.members if isinstance(getattr(one.rank, "number", None), int)]
        for member in ranked or self.gang.members:
            if member.uid in self.pods:
                yield member, self.pods[member.uid]


@dataclass(frozen=True, slots=True, kw_only=True)
class GangRules:
    """Rules that share one reading of a gang. `id` is the name of the module; every rule answers at least once."""

    id: str
    rules: tuple[Rule, ...]
    check: Callable[[GangView], Iterable[Result]]


def view_of(gang: Gang, cluster: Cluster, seen: Mapping[str, NodeSnapshot] | None = None) -> GangView:
    """Return the view of a gang."""
    uids = {member.uid for member in gang.members}
    pods = {pod.uid: pod for pod in cluster.pods if pod.uid in uids}
    return GangView(gang=gang, cluster=cluster, pods=pods, seen=seen or {})


def odd_ones(rule: Rule, what: str, values: Mapping[str, str]) -> Iterator[Result]:
    """Answer whether all members have one value; the few that differ from the most common one are named."""
    counts = Counter(values.values())
    if len(counts) < 2:
        shown = next(iter(counts), "")
        yield rule.ok(what, f"the same on {len(values)} members" + (f": {shown}" if shown else ""))
        return
    common, times = counts.most_common(1)[0]
    for member, value in values.items():
        if value != common:
            summary = f"{what} is {value or 'not set'}, and {common or 'not set'} on {times} of {len(values)} members"
            yield rule.finding(member, summary)
