"""PyTorchJob (kubeflow.org/v1): a master and workers; RANK counts pods in them, whatever WORLD_SIZE counts.

WORLD_SIZE is the number of pods in older operators and pods times processes in newer ones, so it is never used.
Source: kubeflow/training-operator pkg/controller.v1/pytorch/envvar.go.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.fields import env
from netkit.gangs.kubeflow import INDEX, MARKS, STANDING, made_by, minimum, replica_type, replicas
from netkit.gangs.marked import Marked

JOBS = Marked(
    system="pytorchjob",
    resource="pytorchjobs.kubeflow.org",
    layer=Layer.WORKLOAD,
    marks=MARKS,
    size=minimum("pytorchReplicaSpecs"),
    total=replicas("pytorchReplicaSpecs"),
    size_field="spec.runPolicy.schedulingPolicy.minAvailable, else spec.pytorchReplicaSpecs replicas",
    believe=made_by("pytorch"),
    standing=STANDING,
    parts=replica_type,
    part_order=lambda _seen: ("master", "worker"),
    rank_fields=(env("RANK"), env("PET_NODE_RANK")),
    index_fields=(INDEX,),
)

SYSTEM = GangSystem(
    id="pytorchjob",
    title="PyTorchJob",
    layer=Layer.WORKLOAD,
    order=21,
    resources=(JOBS.resource,),
    find=JOBS.find,
)
