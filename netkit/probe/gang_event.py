"""An Event on a gang that was probed, so that `kubectl describe` of its workload tells what was found. Pure.

Core v1 Event: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/. It says what was
measured and asks nothing of anybody.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from netkit.model.gang import Gang
from netkit.model.probe import Answer, ProbeReport
from netkit.probe.probe_job import Manifest

_LONGEST_MESSAGE = 1000
_LONGEST_NAME = 200
_KINDS = {
    Answer.HEALTHY: ("Normal", "ProbeHealthy"),
    Answer.SLOW: ("Warning", "ProbeFoundSlow"),
    Answer.INCONCLUSIVE: ("Normal", "ProbeInconclusive"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The object an event is about."""

    kind: str
    namespace: str
    name: str
    uid: str


def subject_of(gang: Gang) -> Subject:
    """Return what the user made, as far as it can be seen, or the gang's first pod."""
    if (made := gang.workload) is not None:
        return Subject(kind=made.kind, namespace=made.namespace, name=made.name, uid=made.uid)
    first = gang.members[0]
    return Subject(kind="Pod", namespace=first.namespace, name=first.pod, uid=first.uid)


def gang_event(report: ProbeReport, subject: Subject, now: datetime) -> Manifest:
    """Return the event that tells a verdict."""
    kind, reason = _KINDS[report.verdict.answer]
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{subject.name[:_LONGEST_NAME].rstrip('-.')}.{secrets.token_hex(8)}",
            "namespace": subject.namespace,
        },
        "involvedObject": {
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        },
        "type": kind,
        "reason": reason,
        "message": f"{report.verdict.answer}: {report.verdict.why}"[:_LONGEST_MESSAGE],
        "source": {"component": "netkit"},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
