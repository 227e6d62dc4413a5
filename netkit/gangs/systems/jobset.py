"""JobSet (jobset.x-k8s.io/v1alpha2): jobs of several kinds that start together.

A pod's rank is the global index of its job times that job's parallelism, plus its completion index.
Source: kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from netkit.gangs.claim import GangSystem, Layer, Standing
from netkit.gangs.fields import annotation, label
from netkit.gangs.marked import Marked, Seen, conditions, not_told
from netkit.model.gang import GangState
from netkit.model.kube_object import KubeObject, number_of, text_of
from netkit.model.missing import Missing

NAME = "jobset.sigs.k8s.io/jobset-name"
_GLOBAL = "jobset.sigs.k8s.io/job-global-index"
INDEX_FIELDS = (
    label("batch.kubernetes.io/job-completion-index"),
    annotation("batch.kubernetes.io/job-completion-index"),
)
_BY_CONDITION = conditions(
    {
        "Completed": (GangState.FINISHED, "the set is complete"),
        "Failed": (GangState.FINISHED, "the set failed"),
        "Suspended": (GangState.WAITING, "the set is suspended: nobody has let it start yet"),
        "StartupPolicyInProgress": (None, "jobs start one after another, by the set's startup policy"),
    }
)


def _standing(seen: Seen) -> Standing:
    if seen.declaring is not None and seen.declaring.find("spec", "suspend") is True:
        return Standing(state=GangState.WAITING, why="the set is suspended: nobody has let it start yet")
    return _BY_CONDITION(seen)


def _size(seen: Seen) -> int | Missing:
    if seen.declaring is None:
        return not_told(seen)
    total = 0
    for row in seen.declaring.rows("spec", "replicatedJobs"):
        where = f"{seen.declaring} spec.replicatedJobs {text_of(row.get('name'))}"
        replicas, pods = number_of(row.get("replicas", 1), f"{where} replicas"), _parallelism(row, where)
        for size in (replicas, pods):
            if isinstance(size, Missing):
                return size
        total += replicas * pods  # type: ignore[operator]  # neither is Missing here
    return total


def _parallelism(row: object, where: str) -> int | Missing:
    job = KubeObject("jobs.batch", row if isinstance(row, dict) else {})
    return number_of(job.find("template", "spec", "parallelism") or 1, f"{where} parallelism")


def job_of(pod: KubeObject) -> str:
    """Return the job of a set that a pod belongs to, so that jobs sort by their global index."""
    index = pod.label(_GLOBAL) or pod.annotation(_GLOBAL)
    name = f"{pod.label('jobset.sigs.k8s.io/replicatedjob-name')}-{pod.label('jobset.sigs.k8s.io/job-index')}"
    return f"{int(index):06d} {name}" if index.isdigit() and len(index) < 7 else name.strip("-")


def _order(seen: Seen) -> Sequence[str]:
    """Return jobs without a global index in the order the set lists them."""
    declared = seen.declaring.rows("spec", "replicatedJobs") if seen.declaring is not None else ()
    names = [text_of(row.get("name")) for row in declared]
    present = {job_of(pod) for pod in seen.pods}
    return sorted(present, key=lambda job: (names.index(name) if (name := job.rpartition("-")[0]) in names else 0, job))


SETS = Marked(
    system="jobset",
    resource="jobsets.jobset.x-k8s.io",
    layer=Layer.WORKLOAD,
    marks=(label(NAME), annotation(NAME)),
    size=_size,
    total=_size,
    size_field="spec.replicatedJobs[]: replicas x parallelism",
    standing=_standing,
    parts=job_of,
    part_order=_order,
    index_fields=INDEX_FIELDS,
)

SYSTEM = GangSystem(
    id="jobset",
    title="JobSet",
    layer=Layer.WORKLOAD,
    order=50,
    resources=(SETS.resource,),
    find=SETS.find,
)
