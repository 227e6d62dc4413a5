"""TFJob (kubeflow.org/v1): replica types one after another; TF_CONFIG numbers tasks inside a type, not the job.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1/tensorflow_types.go.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.kubeflow import INDEX, MARKS, STANDING, made_by, minimum, replica_type, replicas
from netkit.gangs.marked import Marked

JOBS = Marked(
    system="tfjob",
    resource="tfjobs.kubeflow.org",
    layer=Layer.WORKLOAD,
    marks=MARKS,
    size=minimum("tfReplicaSpecs"),
    total=replicas("tfReplicaSpecs"),
    size_field="spec.runPolicy.schedulingPolicy.minAvailable, else spec.tfReplicaSpecs replicas",
    believe=made_by("tf"),
    standing=STANDING,
    parts=replica_type,
    part_order=lambda _seen: ("chief", "master", "worker", "ps", "evaluator"),
    index_fields=(INDEX,),
)

SYSTEM = GangSystem(
    id="tfjob",
    title="TFJob",
    layer=Layer.WORKLOAD,
    order=22,
    resources=(JOBS.resource,),
    find=JOBS.find,
)
