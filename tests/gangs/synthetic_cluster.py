"""Objects of clusters that do not exist, written from the documented shapes. Synthetic."""

from __future__ import annotations

from typing import Any

from netkit.gangs.cluster import Cluster
from netkit.gangs.resolver import resolve
from netkit.gangs.systems import systems
from netkit.model.gang import Gang
from netkit.model.gang_snapshot import GangSnapshot, Listing
from netkit.sources.kube.objects import object_of
from tests.kube.fake_api import place_of

Body = dict[str, Any]


def pod(name: str, node: str = "", **more: Any) -> Body:
    """A pod; `labels`, `annotations`, `owner` (kind, name, uid), `phase`, `why`, `gates`, `env`, `scheduler`."""
    metadata: Body = {
        "name": name,
        "namespace": more.get("namespace", "team-a"),
        "uid": more.get("uid", f"uid-of-{name}"),
        "labels": more.get("labels", {}),
        "annotations": more.get("annotations", {}),
        "creationTimestamp": "2026-03-01T10:00:00Z",
    }
    if "owner" in more:
        metadata["ownerReferences"] = [owner(*more["owner"])]
    spec: Body = {"schedulerName": more.get("scheduler", "default-scheduler"), "containers": [_container(more)]}
    spec |= more.get("spec", {})
    if node:
        spec["nodeName"] = node
    if "gates" in more:
        spec["schedulingGates"] = [{"name": gate} for gate in more["gates"]]
    status: Body = {"phase": more.get("phase", "Running" if node else "Pending")} | more.get("status", {})
    if "why" in more:
        status["conditions"] = [unschedulable(more["why"])]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _container(more: Body) -> Body:
    env = [{"name": key, "value": value} for key, value in more.get("env", {}).items()]
    return {"name": "main", "image": "train:1", "env": env, "resources": more.get("resources", {})}


def owner(kind: str, name: str, uid: str, api_version: str = "batch/v1") -> Body:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def unschedulable(message: str) -> Body:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": "2026-03-01T10:00:05Z",
    }


def thing(api_version: str, kind: str, name: str, **parts: Any) -> Body:
    """Any other object: `spec`, `status`, and metadata by keyword."""
    metadata = {"name": name, "namespace": "team-a", "uid": f"uid-of-{name}"} | parts.get("metadata", {})
    body: Body = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return body | {key: parts[key] for key in ("spec", "status") if key in parts}


def snapshot(*bodies: Body, namespace: str = "") -> GangSnapshot:
    """The snapshot a reader would make of objects."""
    listings: dict[str, Listing] = {"pods": ()}
    for body in bodies:
        name = place_of(body)[0].name
        found = listings.get(name, ())
        assert isinstance(found, tuple)
        listings[name] = (*found, object_of(body, name))
    return GangSnapshot(server="https://synthetic", namespace=namespace, taken_at=1.0, listings=listings)


def gangs(*bodies: Body) -> tuple[Gang, ...]:
    """All gangs among objects."""
    return resolve(Cluster(snapshot(*bodies)), systems())
