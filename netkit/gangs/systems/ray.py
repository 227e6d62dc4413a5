"""KubeRay (ray.io/v1): a cluster is a gang only where gang scheduling was asked for on it; Ray itself gives out ranks.

Source: ray-project/kuberay constants.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.fields import label
from netkit.gangs.marked import Marked, Seen, not_told, phases
from netkit.model.gang import GangState
from netkit.model.kube_object import KubeObject, number_of
from netkit.model.missing import Missing

_GANG = "ray.io/gang-scheduling-enabled"


def _size(seen: Seen) -> int | Missing:
    """Return the head and the workers that must be there."""
    if seen.declaring is None:
        return not_told(seen)
    total = 1
    for row in seen.declaring.rows("spec", "workerGroupSpecs"):
        count = number_of(row.get("replicas", 1), f"{seen.declaring} spec.workerGroupSpecs replicas")
        hosts = number_of(row.get("numOfHosts", 1), f"{seen.declaring} spec.workerGroupSpecs numOfHosts")
        if isinstance(count, Missing) or isinstance(hosts, Missing):
            return count if isinstance(count, Missing) else hosts
        total += count * hosts
    return total


def _asked(cluster: KubeObject, _pods: tuple[KubeObject, ...]) -> bool:
    return _GANG in cluster.labels


CLUSTERS = Marked(
    system="ray",
    resource="rayclusters.ray.io",
    layer=Layer.WORKLOAD,
    marks=(label("ray.io/cluster"),),
    size=_size,
    total=_size,
    size_field="spec.workerGroupSpecs replicas, and the head",
    wanted=_asked,
    believe=lambda pod: _GANG in pod.labels,
    standing=phases(
        {"suspended": GangState.WAITING},
        {"suspended": "the cluster is suspended", "failed": "the cluster failed"},
        field="state",
    ),
    parts=lambda pod: pod.label("ray.io/node-type"),
    part_order=lambda _seen: ("head", "worker"),
)

SYSTEM = GangSystem(
    id="ray",
    title="KubeRay",
    layer=Layer.WORKLOAD,
    order=60,
    resources=(CLUSTERS.resource, "rayjobs.ray.io"),
    find=CLUSTERS.find,
)
