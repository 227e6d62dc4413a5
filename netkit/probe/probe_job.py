"""A gang of netkit's own for a probe, as objects to be created: pure rendering, one form for each gang scheduler.

Devices only by what plug-ins and drivers allot, never privileged, no service account. Whatever becomes of netkit, the
pods end at their own deadline and the finished job is removed after a minute. There is one probe in a namespace at a
time: all have one name, so that the API server refuses the second (409).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

Manifest = dict[str, Any]

NAME = "netkit-probe"
CONTAINER = "probe"
MANAGED_BY = "app.kubernetes.io/managed-by"
PROBE = "netkit.dev/probe"
OPERATOR = "netkit.dev/operator"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
TTL_SECONDS = 60
# Python as process 1 would not listen to SIGTERM by itself.
_WAITING = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(0)); time.sleep({seconds})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeJob:
    """One pod on each of `nodes`, alive for at most `seconds`."""

    id: str
    namespace: str
    nodes: tuple[str, ...]
    image: str
    python: str
    seconds: int
    operator: str
    resources: Mapping[str, str] = field(default_factory=dict)
    networks: str = ""
    """The Multus annotation that gives pods their rails; empty without."""
    scheduler: str = ""
    queue: str = ""

    @property
    def selector(self) -> str:
        """The label selector of everything that belongs to it."""
        return f"{PROBE}={self.id}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of everything that is created."""
        return {MANAGED_BY: "netkit", PROBE: self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForm:
    """How a scheduler wants a gang written down; `id` is that of the gang system."""

    id: str
    path: str
    """Where the API server takes it: /apis/GROUP/VERSION and the plural, with {namespace} between."""
    resource: str
    """As kubectl and RBAC name it."""
    render: Callable[[ProbeJob], Manifest]


def forms() -> dict[str, JobForm]:
    """Return all forms by the gang system they are for."""
    from netkit.probe import job_forms

    found = [import_module(f"{job_forms.__name__}.{row.name}").FORM for row in iter_modules(job_forms.__path__)]
    return {form.id: form for form in found}


def metadata(job: ProbeJob, **labels: str) -> Manifest:
    """Return name, labels and the operator's name for the object that is created."""
    named = {"name": NAME, "namespace": job.namespace, "labels": job.labels | labels}
    return named | {"annotations": {OPERATOR: job.operator}}


def pod_template(job: ProbeJob) -> Manifest:
    """Return the pods: each on a node of its own, doing nothing but waiting for an agent."""
    annotations = {NETWORKS: job.networks} if job.networks else {}
    spec: Manifest = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": job.seconds,
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "affinity": _affinity(job),
        "containers": [_container(job)],
    }
    spec |= {"schedulerName": job.scheduler} if job.scheduler else {}
    return {"metadata": {"labels": job.labels, "annotations": annotations}, "spec": spec}


def _container(job: ProbeJob) -> Manifest:
    return {
        "name": CONTAINER,
        "image": job.image,
        "command": [job.python, "-I", "-S", "-c", _WAITING.format(seconds=job.seconds)],
        "resources": {"requests": dict(job.resources), "limits": dict(job.resources)},
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _affinity(job: ProbeJob) -> Manifest:
    here = {"key": "metadata.name", "operator": "In"}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                # One term a node: the API server takes a single value for a field of a node.
                "nodeSelectorTerms": [{"matchFields": [{**here, "values": [node]}]} for node in job.nodes]
            }
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {PROBE: job.id}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        },
    }
