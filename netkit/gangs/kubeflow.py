"""What the jobs of Kubeflow's training operators share: labels, the size of a gang, conditions.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go, kubeflow/mpi-operator pkg/apis.
"""

from __future__ import annotations

from collections.abc import Callable

from netkit.gangs.fields import Field, label
from netkit.gangs.marked import Seen, Size, conditions, not_told
from netkit.model.gang import GangState
from netkit.model.kube_object import KubeObject, number_of
from netkit.model.missing import Missing, Reason

JOB_NAME = label("training.kubeflow.org/job-name")
INDEX = label("training.kubeflow.org/replica-index")
_OPERATOR = "training.kubeflow.org/operator-name"

MARKS: tuple[Field, ...] = (JOB_NAME,)

STANDING = conditions(
    {
        "Succeeded": (GangState.FINISHED, "the job succeeded"),
        "Failed": (GangState.FINISHED, "the job failed"),
        "Suspended": (GangState.WAITING, "the job is suspended: nobody has let it start yet"),
        "Restarting": (None, "the job is restarting"),
    }
)


def replica_type(pod: KubeObject) -> str:
    """Return the part of the job a pod plays, in small letters."""
    return pod.label("training.kubeflow.org/replica-type", "training.kubeflow.org/job-role").lower()


def made_by(operator: str) -> Callable[[KubeObject], bool]:
    """Return whether a pod says that an operator made it."""
    return lambda pod: operator in pod.label(_OPERATOR).lower()


def replicas(specs: str) -> Size:
    """Return the sum of replicas over the replica types below `spec.<specs>`."""

    def total(seen: Seen) -> int | Missing:
        if seen.declaring is None:
            return not_told(seen)
        found = 0
        for name, row in seen.declaring.fields("spec", specs).items():
            written = row.get("replicas", 1) if isinstance(row, dict) else None
            count = number_of(written, f"{seen.declaring} spec.{specs}.{name}.replicas")
            if isinstance(count, Missing):
                return count
            found += count
        return found

    return total


def minimum(specs: str) -> Size:
    """Return the scheduling policy's minimum, or all replicas where none is set."""

    def size(seen: Seen) -> int | Missing:
        if seen.declaring is None:
            return not_told(seen)
        asked = seen.declaring.number("spec", "runPolicy", "schedulingPolicy", "minAvailable")
        absent = isinstance(asked, Missing) and asked.reason is Reason.ABSENT
        return replicas(specs)(seen) if absent else asked

    return size
