"""Under Kueue: an indexed Job that asks a local queue for admission (https://kueue.sigs.k8s.io/docs/tasks/run/jobs/)."""

from __future__ import annotations

from netkit.probe.job_forms import indexed_job
from netkit.probe.probe_job import JobForm, Manifest, ProbeJob, metadata

QUEUE = "kueue.x-k8s.io/queue-name"


def render(job: ProbeJob) -> Manifest:
    """Return the Job, suspended until its queue admits it."""
    made = indexed_job.render(job)
    return made | {"metadata": metadata(job, **{QUEUE: job.queue}), "spec": made["spec"] | {"suspend": True}}


FORM = JobForm(id="kueue", place=indexed_job.PLACE, render=render, queue_keys=(QUEUE,), needs_queue=True)
