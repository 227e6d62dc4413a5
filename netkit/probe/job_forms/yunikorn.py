"""Under YuniKorn: an indexed Job whose pods are one application with one task group.

Placeholder pods hold the places first and are replaced by ours: they need the same nodes, and keep apart by a label of
their own. Hard style: a gang that finds no room fails instead of starting in part. Keys and the JSON of task groups:
apache/yunikorn-k8shim pkg/common/constants/constants.go, pkg/cache/placeholder.go.
"""

from __future__ import annotations

import json

from netkit.probe.job_forms import indexed_job
from netkit.probe.probe_job import CONTAINER, NAME, START_SECONDS, JobForm, Manifest, ProbeJob, affinity

DOMAIN = "yunikorn.apache.org"
HOLDS_PLACE_FOR = "netkit.dev/holds-place-for"


def render(job: ProbeJob) -> Manifest:
    """Return the Job."""
    labels = {f"{DOMAIN}/app-id": f"{NAME}-{job.id}", "applicationId": f"{NAME}-{job.id}"}
    labels |= {f"{DOMAIN}/queue": job.queue, "queue": job.queue} if job.queue else {}
    gang = {
        f"{DOMAIN}/task-group-name": CONTAINER,
        f"{DOMAIN}/task-groups": json.dumps([_task_group(job)], separators=(",", ":")),
        f"{DOMAIN}/schedulingPolicyParameters": (
            f"placeholderTimeoutInSeconds={START_SECONDS} gangSchedulingStyle=Hard"
        ),
    }
    made = indexed_job.marked(job, labels=labels, annotations=gang)
    made["spec"]["template"]["spec"].setdefault("schedulerName", "yunikorn")
    return made


def _task_group(job: ProbeJob) -> Manifest:
    places = affinity(job)
    apart = {"labelSelector": {"matchLabels": {HOLDS_PLACE_FOR: job.id}}, "topologyKey": "kubernetes.io/hostname"}
    places["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    return {
        "name": CONTAINER,
        "minMember": len(job.nodes),
        "minResource": dict(job.resources),
        "labels": {HOLDS_PLACE_FOR: job.id},
        "affinity": places,
    }


FORM = JobForm(id="yunikorn", place=indexed_job.PLACE, render=render, queue_keys=(f"{DOMAIN}/queue", "queue"))
