"""LeaderWorkerSet (leaderworkerset.x-k8s.io/v1): every group of a set is a gang of its own.

The leader of group G is the pod `<set>-<G>`, its workers are `<set>-<G>-<W>`; a gang is named like its leader.
Source: kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.fields import Joined, env, label
from netkit.gangs.marked import Marked, Seen, not_told
from netkit.model.kube_object import KubeObject, number_of
from netkit.model.missing import Missing

_PREFIX = "leaderworkerset.sigs.k8s.io"
_SIZE = f"{_PREFIX}/size"
_MOST_GROUPS = 10_000


def _groups(declaring: KubeObject) -> list[str]:
    replicas = number_of(declaring.find("spec", "replicas") or 1, "replicas")
    count = 1 if isinstance(replicas, Missing) else min(replicas, _MOST_GROUPS)
    return [f"{declaring.name}-{group}" for group in range(count)]


def _size(seen: Seen) -> int | Missing:
    written = next((pod for pod in seen.pods if pod.annotation(_SIZE)), None)
    if written is not None:
        return number_of(written.annotation(_SIZE), f"{written} annotation {_SIZE}")
    return seen.declaring.number("spec", "leaderWorkerTemplate", "size") if seen.declaring else not_told(seen)


SETS = Marked(
    system="lws",
    resource="leaderworkersets.leaderworkerset.x-k8s.io",
    layer=Layer.WORKLOAD,
    marks=(Joined((label(f"{_PREFIX}/name"), label(f"{_PREFIX}/group-index")), "-"),),
    declares=_groups,
    size=_size,
    total=_size,
    size_field="spec.leaderWorkerTemplate.size",
    rank_fields=(label(f"{_PREFIX}/worker-index"), env("LWS_WORKER_INDEX")),
)

SYSTEM = GangSystem(
    id="lws",
    title="LeaderWorkerSet",
    layer=Layer.WORKLOAD,
    order=30,
    resources=(SETS.resource,),
    find=SETS.find,
)
