"""Under Coscheduling: an indexed Job whose pods name a PodGroup, scheduling.x-k8s.io/v1alpha1.

The Job comes first, because it owns the group; until the group is there the scheduler permits none of its pods.
Fields: kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go.
"""

from __future__ import annotations

from netkit.probe.job_forms import indexed_job
from netkit.probe.probe_job import NAME, START_SECONDS, Companion, JobForm, Manifest, Place, ProbeJob, metadata

GROUP = "scheduling.x-k8s.io/pod-group"


def render(job: ProbeJob) -> Manifest:
    """Return the Job."""
    return indexed_job.marked(job, labels={GROUP: NAME})


def render_group(job: ProbeJob) -> Manifest:
    """Return the group: all members or none."""
    spec = {"minMember": len(job.nodes), "scheduleTimeoutSeconds": START_SECONDS}
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": metadata(job), "spec": spec}


FORM = JobForm(
    id="coscheduling",
    place=indexed_job.PLACE,
    render=render,
    companions=(
        Companion(
            place=Place(
                path="/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{namespace}/podgroups",
                resource="podgroups.scheduling.x-k8s.io",
            ),
            render=render_group,
        ),
    ),
)
