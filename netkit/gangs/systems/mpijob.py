"""MPIJob (kubeflow.org/v2beta1): a launcher that starts processes on workers through a hostfile.

The launcher has no GPU and may sit anywhere: it has no rank and counts for no placement, unless it works too
(runLauncherAsWorker); then it is rank 0 and the operator shifts the indices of workers by one.
Source: kubeflow/mpi-operator pkg/controller/mpi_job_controller.go.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.kubeflow import INDEX, MARKS, STANDING, made_by, minimum, replica_type, replicas
from netkit.gangs.marked import Marked, Seen
from netkit.model.kube_object import KubeObject


def _ranked(seen: Seen, pod: KubeObject) -> bool:
    works = seen.declaring is not None and seen.declaring.find("spec", "runLauncherAsWorker") is True
    return works or replica_type(pod) != "launcher"


JOBS = Marked(
    system="mpijob",
    resource="mpijobs.kubeflow.org",
    layer=Layer.WORKLOAD,
    marks=MARKS,
    size=minimum("mpiReplicaSpecs"),
    total=replicas("mpiReplicaSpecs"),
    size_field="spec.runPolicy.schedulingPolicy.minAvailable, else spec.mpiReplicaSpecs replicas",
    believe=made_by("mpi"),
    standing=STANDING,
    parts=replica_type,
    part_order=lambda _seen: ("launcher", "worker"),
    rank_fields=(INDEX,),
    ranked=_ranked,
)

SYSTEM = GangSystem(
    id="mpijob",
    title="MPIJob",
    layer=Layer.WORKLOAD,
    order=20,
    resources=(JOBS.resource,),
    find=JOBS.find,
)
