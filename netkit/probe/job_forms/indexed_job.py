"""Without a gang scheduler: an indexed Job, batch/v1 (https://kubernetes.io/docs/concepts/workloads/controllers/job/)."""

from __future__ import annotations

from netkit.probe.probe_job import TTL_SECONDS, JobForm, Manifest, ProbeJob, metadata, pod_template


def render(job: ProbeJob) -> Manifest:
    """Return the Job; nothing is tried twice, because a probe that lost a rank has no verdict."""
    size = len(job.nodes)
    spec = {
        "completionMode": "Indexed",
        "parallelism": size,
        "completions": size,
        "backoffLimit": 0,
        "activeDeadlineSeconds": job.seconds,
        "ttlSecondsAfterFinished": TTL_SECONDS,
        "template": pod_template(job),
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(job), "spec": spec}


FORM = JobForm(
    id="indexed_job", path="/apis/batch/v1/namespaces/{namespace}/jobs", resource="jobs.batch", render=render
)
