"""Without a gang scheduler: an indexed Job, batch/v1 (https://kubernetes.io/docs/concepts/workloads/controllers/job/)."""

from __future__ import annotations

from collections.abc import Mapping

from netkit.probe.probe_job import TTL_SECONDS, JobForm, Manifest, Place, ProbeJob, metadata, pod_template


def render(job: ProbeJob) -> Manifest:
    """Return the Job alone."""
    return marked(job)


def marked(
    job: ProbeJob, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
) -> Manifest:
    """Return the Job, its pods with a scheduler's marks; nothing is tried twice: without a rank there is no verdict."""
    size = len(job.nodes)
    spec = {
        "completionMode": "Indexed",
        "parallelism": size,
        "completions": size,
        "backoffLimit": 0,
        "activeDeadlineSeconds": job.seconds,
        "ttlSecondsAfterFinished": TTL_SECONDS,
        "template": pod_template(job, labels, annotations),
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(job), "spec": spec}


PLACE = Place(path="/apis/batch/v1/namespaces/{namespace}/jobs", resource="jobs.batch")
FORM = JobForm(id="indexed_job", place=PLACE, render=render)
