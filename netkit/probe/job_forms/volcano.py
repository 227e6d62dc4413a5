"""Under Volcano: a job of one task that is admitted as a whole, batch.volcano.sh/v1alpha1.

Without the svc plug-in, whose NetworkPolicy would keep the pods from being reached. Volcano has no deadline for a job:
the pods' own ends them.
"""

from __future__ import annotations

from netkit.probe.probe_job import CONTAINER, TTL_SECONDS, JobForm, Manifest, Place, ProbeJob, metadata, pod_template


def render(job: ProbeJob) -> Manifest:
    """Return the job."""
    size = len(job.nodes)
    spec = {
        "minAvailable": size,
        "schedulerName": job.scheduler or "volcano",
        "queue": job.queue or "default",
        "maxRetry": 1,
        "ttlSecondsAfterFinished": TTL_SECONDS,
        "policies": [{"event": event, "action": "TerminateJob"} for event in ("PodFailed", "PodEvicted")],
        "tasks": [{"name": CONTAINER, "replicas": size, "template": pod_template(job)}],
    }
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata(job), "spec": spec}


FORM = JobForm(
    id="volcano",
    place=Place(path="/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs", resource="jobs.batch.volcano.sh"),
    render=render,
    queue_keys=("volcano.sh/queue-name",),
)
