"""DLRover ElasticJob (elastic.iml.github.io/v1alpha1): nodes that may come and go; ranks count nodes.

Source: intelligent-machine-learning/dlrover dlrover/python/common/constants.py.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.fields import env, label
from netkit.gangs.marked import Marked, Seen, at, phases
from netkit.model.gang import GangState
from netkit.model.kube_object import KubeObject

_TYPE = "elasticjob.dlrover/replica-type"


def _works(_seen: Seen, pod: KubeObject) -> bool:
    """Tell whether a pod trains: the job's own master only directs."""
    return pod.label(_TYPE) != "dlrover-master"


JOBS = Marked(
    system="dlrover",
    resource="elasticjobs.elastic.iml.github.io",
    layer=Layer.WORKLOAD,
    marks=(label("elasticjob.dlrover/name"),),
    size=at("spec", "replicaSpecs", "worker", "replicas"),
    total=at("spec", "replicaSpecs", "worker", "replicas"),
    size_field="spec.replicaSpecs.worker.replicas",
    standing=phases(
        {"Succeeded": GangState.FINISHED, "Failed": GangState.FINISHED},
        {"Pending": "the job's master has not started", "Failed": "the job failed"},
    ),
    parts=lambda pod: pod.label(_TYPE),
    rank_fields=(label("elasticjob.dlrover/rank-index"), env("NODE_RANK")),
    index_fields=(label("elasticjob.dlrover/replica-index"),),
    ranked=_works,
)

SYSTEM = GangSystem(
    id="dlrover",
    title="DLRover",
    layer=Layer.WORKLOAD,
    order=40,
    resources=(JOBS.resource,),
    find=JOBS.find,
)
