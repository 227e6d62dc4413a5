"""Indexed Job (batch/v1): pods numbered by completion index, started together, placed without any promise.

Source: https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer, Standing
from netkit.gangs.fields import annotation, env, label
from netkit.gangs.marked import Marked, Seen, at, conditions
from netkit.model.gang import GangState

_INDEX = "batch.kubernetes.io/job-completion-index"
_BY_CONDITION = conditions(
    {
        "Complete": (GangState.FINISHED, "the job is complete"),
        "Failed": (GangState.FINISHED, "the job failed"),
    }
)


def _standing(seen: Seen) -> Standing:
    if seen.declaring is not None and seen.declaring.find("spec", "suspend") is True:
        return Standing(state=GangState.WAITING, why="the job is suspended: nobody has let it start yet")
    return _BY_CONDITION(seen)


JOBS = Marked(
    system="indexed_job",
    resource="jobs.batch",
    layer=Layer.WORKLOAD,
    marks=(label("batch.kubernetes.io/job-name"), label("job-name")),
    size=at("spec", "parallelism"),
    total=at("spec", "parallelism"),
    size_field="spec.parallelism",
    believe=lambda pod: bool(pod.label(_INDEX) or pod.annotation(_INDEX)),
    wanted=lambda job, _pods: job.text("spec", "completionMode") == "Indexed",
    standing=_standing,
    rank_fields=(label(_INDEX), annotation(_INDEX), env("JOB_COMPLETION_INDEX")),
)

SYSTEM = GangSystem(
    id="indexed_job",
    title="Indexed Job",
    layer=Layer.WORKLOAD,
    order=90,
    resources=(JOBS.resource,),
    find=JOBS.find,
)
