"""TrainJob (trainer.kubeflow.org/v1alpha1): makes a JobSet of its own name, whose keys its pods carry.

Source: kubeflow/trainer pkg/constants.
"""

from __future__ import annotations

from netkit.gangs.claim import GangSystem, Layer
from netkit.gangs.fields import env, label
from netkit.gangs.marked import Marked, Seen, at, conditions
from netkit.gangs.systems.jobset import INDEX_FIELDS, NAME
from netkit.model.gang import GangState
from netkit.model.kube_object import KubeObject

_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_REPLICATED = "jobset.sigs.k8s.io/replicatedjob-name"


def _trains(_seen: Seen, pod: KubeObject) -> bool:
    """Tell whether a pod trains: initializers and an MPI launcher that does not work have no rank."""
    return pod.label(_STEP) in ("", "trainer") and pod.label(_REPLICATED) not in (
        "launcher",
        "dataset-initializer",
        "model-initializer",
    )


JOBS = Marked(
    system="trainjob",
    resource="trainjobs.trainer.kubeflow.org",
    layer=Layer.WORKLOAD,
    marks=(label(NAME),),
    size=at("spec", "trainer", "numNodes"),
    total=at("spec", "trainer", "numNodes"),
    size_field="spec.trainer.numNodes",
    believe=lambda pod: bool(pod.label(_STEP)),
    standing=conditions(
        {
            "Complete": (GangState.FINISHED, "the job is complete"),
            "Failed": (GangState.FINISHED, "the job failed"),
            "Suspended": (GangState.WAITING, "the job is suspended: nobody has let it start yet"),
        }
    ),
    parts=lambda pod: pod.label(_REPLICATED),
    rank_fields=(env("PET_NODE_RANK"),),
    index_fields=INDEX_FIELDS,
    ranked=_trains,
)

SYSTEM = GangSystem(
    id="trainjob",
    title="TrainJob (Kubeflow Trainer)",
    layer=Layer.WORKLOAD,
    order=10,
    resources=(JOBS.resource,),
    find=JOBS.find,
)
