"""Under the MPI operator: an MPIJob whose workers are the gang, kubeflow.org/v2beta1.

Its launcher asks for no device and waits: netkit starts what runs, in each worker by itself. Fields:
kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/types.go.
"""

from __future__ import annotations

from netkit.probe.probe_job import (
    ROLE,
    TTL_SECONDS,
    JobForm,
    Manifest,
    Place,
    ProbeJob,
    metadata,
    pod_template,
)

QUEUE = "scheduling.volcano.sh/queue-name"
LAUNCHER = "launcher"


def render(job: ProbeJob) -> Manifest:
    """Return the MPIJob: it is stopped as a whole, and nothing is tried twice."""
    size = len(job.nodes)
    spec = {
        "slotsPerWorker": 1,
        "runPolicy": {
            "activeDeadlineSeconds": job.seconds,
            "ttlSecondsAfterFinished": TTL_SECONDS,
            "backoffLimit": 0,
            "cleanPodPolicy": "All",
            "schedulingPolicy": {"minAvailable": size} | ({"queue": job.queue} if job.queue else {}),
        },
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": _launcher(job)},
            "Worker": {"replicas": size, "restartPolicy": "Never", "template": pod_template(job)},
        },
    }
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata(job), "spec": spec}


def _launcher(job: ProbeJob) -> Manifest:
    template = pod_template(job, labels={ROLE: LAUNCHER})
    del template["spec"]["affinity"]
    template["spec"]["containers"][0]["resources"] = {}
    return template


FORM = JobForm(
    id="mpijob",
    place=Place(path="/apis/kubeflow.org/v2beta1/namespaces/{namespace}/mpijobs", resource="mpijobs.kubeflow.org"),
    render=render,
    queue_keys=(QUEUE,),
)
