"""Under Koordinator: an indexed Job whose pods declare their gang in annotations, without a PodGroup.

Keys: koordinator-sh/koordinator apis/extension/coscheduling.go. The quota of the pods probed is charged, as theirs is.
"""

from __future__ import annotations

from netkit.gangs.koordinator_marks import GANG
from netkit.probe.job_forms import indexed_job
from netkit.probe.probe_job import NAME, START_SECONDS, JobForm, Manifest, ProbeJob

QUOTA = "quota.scheduling.koordinator.sh/name"


def render(job: ProbeJob) -> Manifest:
    """Return the Job."""
    size = str(len(job.nodes))
    gang = {
        f"{GANG}name": NAME,
        f"{GANG}min-available": size,
        f"{GANG}total-number": size,
        f"{GANG}mode": "Strict",
        f"{GANG}waiting-time": f"{START_SECONDS}s",
    }
    made = indexed_job.marked(job, labels={QUOTA: job.queue} if job.queue else None, annotations=gang)
    made["spec"]["template"]["spec"].setdefault("schedulerName", "koord-scheduler")
    return made


FORM = JobForm(id="koordinator", place=indexed_job.PLACE, render=render, queue_keys=(QUOTA,))
