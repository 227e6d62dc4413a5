"""DeepSpeed started by pdsh: a hostfile in a ConfigMap names the members; their order in it is their rank.

The hostfile is /job/hostfile, or what DLTS_HOSTFILE names. Where it is no ConfigMap, only the pods can see it.
Source: https://www.deepspeed.ai/getting-started/#resource-configuration-multi-node.
"""

from __future__ import annotations

from collections.abc import Iterator

from netkit.catalogue.hostfile_mounts import config_at, deepspeed_folder
from netkit.gangs.claim import Claim, GangSystem, Layer, Standing
from netkit.gangs.cluster import Cluster
from netkit.gangs.hostfiles import HostLine, files_of, host_lines, order_in
from netkit.model.gang import Evidence, Rank, RankOf
from netkit.model.kube_object import KubeObject

ID = "deepspeed"


def _find(cluster: Cluster) -> Iterator[Claim]:
    done = set()
    for pod in cluster.pods:
        name = config_at(pod, deepspeed_folder(pod))
        if name and (pod.namespace, name) not in done:
            done.add((pod.namespace, name))
            yield from _claims(cluster, pod, name)


def _claims(cluster: Cluster, pod: KubeObject, name: str) -> Iterator[Claim]:
    config = cluster.named("configmaps", (pod.namespace, name))
    for file, written in files_of(config) if config is not None else ():
        lines = host_lines(written)
        near = [one for one in cluster.pods if one.namespace == pod.namespace]
        places = order_in(lines, near)
        if config is not None and lines:
            yield _claim(config, file, lines, tuple(one for one in near if one.uid in places), dict(places))


def _claim(
    config: KubeObject, file: str, lines: tuple[HostLine, ...], pods: tuple[KubeObject, ...], places: dict[str, int]
) -> Claim:
    found = {
        pod.uid: Evidence(object=str(config), field=f"data {file} line", value=str(places[pod.uid] + 1), system=ID)
        for pod in pods
    }
    absent = len(lines) - len(pods)
    return Claim(
        system=ID,
        layer=Layer.WORKLOAD,
        namespace=config.namespace,
        name=config.name,
        pods=pods,
        made_by=config,
        min_members=len(lines),
        total=len(lines),
        standing=Standing(why=f"{absent} hosts of the hostfile are no pods here" if absent else ""),
        ranks={uid: Rank(number=places[uid], of=RankOf.NODE, evidence=one) for uid, one in found.items()},
        pod_evidence=found,
    )


SYSTEM = GangSystem(
    id=ID,
    title="DeepSpeed hostfile",
    layer=Layer.WORKLOAD,
    order=70,
    resources=("configmaps",),
    find=_find,
)
