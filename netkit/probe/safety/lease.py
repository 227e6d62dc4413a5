"""A Lease of a node or of a slot, as it is written and read: coordination.k8s.io/v1. Pure.

https://kubernetes.io/docs/concepts/architecture/leases/. The holder writes how long the lease may outlive its last
change; everybody else measures that on a clock of their own, from the moment they saw the change. No date in a lease
is compared with a date of another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from netkit.model.kube_object import KubeObject
from netkit.model.missing import Missing
from netkit.probe.probe_job import MANAGED_BY, OPERATOR, PROBE, Manifest

GUARDS = "netkit.dev/guards"
GANG = "netkit.dev/gang"
AGAIN = "netkit.dev/again"
MARGIN_SECONDS = 60.0
"""A lease lasts this much longer than what it covers: a request on its way may arrive so late."""
# Of a lease that does not say how long it lasts.
_UNKNOWN_SECONDS = 3600.0


class Guards(StrEnum):
    """What a lease keeps to one probe."""

    NODE = "node"
    SLOT = "slot"
    """One of the probes that may run at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who wants nodes, for what, and how many seconds later everything has ended by itself, whatever happens."""

    probe: str
    operator: str
    gang: str
    seconds: float
    again: str = ""
    """Why a cool-down was passed over, in the operator's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One lease as the API server has it; `probe` is empty for one that nobody holds."""

    name: str
    guards: str
    uid: str
    version: str
    probe: str
    operator: str
    gang: str
    seconds: float
    created: datetime | None
    """When it was made, by the API server's clock."""
    body: Manifest

    def __str__(self) -> str:
        """One phrase: which, whose."""
        return f"{self.guards} {self.name} is held by {self.operator or 'somebody'} for gang {self.gang or '?'}"


def written(claim: Claim, name: str, guards: Guards, namespace: str, now: datetime) -> Manifest:
    """Return a lease to be created."""
    annotations = {OPERATOR: claim.operator, GANG: claim.gang} | ({AGAIN: claim.again} if claim.again else {})
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {MANAGED_BY: "netkit", PROBE: claim.probe, GUARDS: str(guards)},
            "annotations": annotations,
        },
        "spec": {
            "holderIdentity": f"{claim.operator} {claim.probe}",
            "leaseDurationSeconds": _whole(claim.seconds),
            "acquireTime": _micro(now),
            "renewTime": _micro(now),
        },
    }


def renewed(held: Held, seconds: float, now: datetime) -> Manifest:
    """Return a lease as it is to be replaced: it covers `seconds` more from now on."""
    spec = {**held.body["spec"], "leaseDurationSeconds": _whole(seconds), "renewTime": _micro(now)}
    return held.body | {"spec": spec}


def released(held: Held) -> Manifest:
    """Return a lease that nobody holds any more; it stays to tell when its node was probed last."""
    metadata = held.body["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key != PROBE}
    return held.body | {"metadata": metadata | {"labels": labels}, "spec": {}}


def read(lease: KubeObject) -> Held:
    """Return what a lease says."""
    seconds = lease.number("spec", "leaseDurationSeconds")
    return Held(
        name=lease.name,
        guards=lease.label(GUARDS),
        uid=lease.uid,
        version=lease.text("metadata", "resourceVersion"),
        probe=lease.label(PROBE),
        operator=lease.annotation(OPERATOR),
        gang=lease.annotation(GANG),
        seconds=_UNKNOWN_SECONDS if isinstance(seconds, Missing) or seconds <= 0 else float(seconds),
        created=_date(lease.created),
        body=dict(lease.body),
    )


@dataclass(slots=True)
class Watch:
    """When each lease was first seen as it is now, on the watcher's own clock."""

    _since: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def left(self, held: Held, now: float) -> float:
        """Return the seconds for which a lease must still be watched unchanged before it counts as abandoned."""
        since = self._since.setdefault((held.name, held.uid, held.version), now)
        return held.seconds - (now - since)


def holders(found: list[Held], mine: str) -> Iterator[Held]:
    """Yield the leases that other probes hold."""
    return (one for one in found if one.probe not in ("", mine))


def _whole(seconds: float) -> int:
    return int(max(0.0, seconds) + MARGIN_SECONDS)


def _micro(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _date(text: str) -> datetime | None:
    try:
        found: Any = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
