"""A gang of netkit's own for a probe, as objects to be created: pure rendering, one form for each gang scheduler.

Devices only by what plug-ins and drivers allot, never privileged, no service account. Whatever becomes of netkit, the
pods end at their own deadline and the finished job is removed after a minute; what stands beside the job is owned by
it and goes with it. There is one probe in a namespace at a time: all have one name, so that the API server refuses the
second (409).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from netkit.errors import InputError
from netkit.gangs.claim import GangSystem, Layer

Manifest = dict[str, Any]

NAME = "netkit-probe"
CONTAINER = "probe"
MANAGED_BY = "app.kubernetes.io/managed-by"
PROBE = "netkit.dev/probe"
OPERATOR = "netkit.dev/operator"
ROLE = "netkit.dev/role"
"""On pods of a probe that are no members of its gang, such as a launcher's."""
NETWORKS = "k8s.v1.cni.cncf.io/networks"
MOST_ONE_BY_ONE = 500
"""Members at most: one connection to each pod goes through the API server."""
TTL_SECONDS = 60
START_SECONDS = 120
"""How long a gang may wait for its places; a scheduler that can be told so is."""
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
    tolerations: tuple[Mapping[str, Any], ...] = ()
    """Of taints that the pods probed live with."""
    claim_templates: Mapping[str, str] = field(default_factory=dict)
    """Names of ResourceClaimTemplates (DRA) by the name of the claim: each pod gets devices of its own."""

    @property
    def selector(self) -> str:
        """The label selector of everything that belongs to it."""
        return f"{PROBE}={self.id}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of everything that is created."""
        return {MANAGED_BY: "netkit", PROBE: self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One kind of object: where the API server takes it, and how kubectl and RBAC name it."""

    path: str
    """/apis/GROUP/VERSION and the plural, with {namespace} between."""
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """An object that a scheduler wants beside the job; the job owns it."""

    place: Place
    render: Callable[[ProbeJob], Manifest]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForm:
    """How a scheduler wants a gang written down; `id` is that of the gang system."""

    id: str
    place: Place
    render: Callable[[ProbeJob], Manifest]
    companions: tuple[Companion, ...] = ()
    queue_keys: tuple[str, ...] = ()
    """Labels or annotations by which a pod of another gang names its queue."""
    needs_queue: bool = False


def forms() -> dict[str, JobForm]:
    """Return all forms by the gang system they are for."""
    from netkit.probe import job_forms

    found = [import_module(f"{job_forms.__name__}.{row.name}").FORM for row in iter_modules(job_forms.__path__)]
    return {form.id: form for form in found}


def form_for(systems: Iterable[GangSystem], gang: str) -> JobForm:
    """Return the form for a gang of these systems: its scheduler's, else its queue's, else its workload's.

    Raises:
        InputError: its scheduler or queue has no form here, and a job of another form would not be admitted with it.
    """
    known, found = forms(), tuple(systems)
    deciding = [system for layer in (Layer.SCHEDULER, Layer.QUEUE) for system in found if system.layer is layer]
    if deciding and not any(system.id in known for system in deciding):
        given = f"gang {gang}, admitted by {deciding[0].title}"
        raise InputError(given, f"--as exec, or --form with one of {', '.join(sorted(known))}")
    return next((known[system.id] for system in (*deciding, *found) if system.id in known), known["indexed_job"])


def metadata(job: ProbeJob, **labels: str) -> Manifest:
    """Return name, labels and the operator's name for the object that is created."""
    named = {"name": NAME, "namespace": job.namespace, "labels": job.labels | labels}
    return named | {"annotations": {OPERATOR: job.operator}}


def owned(companion: Manifest, owner: Manifest) -> Manifest:
    """Return a companion that the API server removes with its owner, as the server returned that one."""
    named = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": named["name"], "uid": named["uid"]}
    return companion | {"metadata": companion["metadata"] | {"ownerReferences": [reference]}}


def pod_template(
    job: ProbeJob, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
) -> Manifest:
    """Return the pods: each on a node of its own, doing nothing but waiting for an agent; with a scheduler's marks."""
    marks = {NETWORKS: job.networks} if job.networks else {}
    spec: Manifest = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": job.seconds,
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "affinity": affinity(job),
        "containers": [_container(job)],
    }
    spec |= {"schedulerName": job.scheduler} if job.scheduler else {}
    spec |= {"tolerations": [dict(row) for row in job.tolerations]} if job.tolerations else {}
    spec |= {"resourceClaims": _claims(job)} if job.claim_templates else {}
    named = {"labels": job.labels | dict(labels or {}), "annotations": marks | dict(annotations or {})}
    return {"metadata": named, "spec": spec}


def _claims(job: ProbeJob) -> list[Manifest]:
    return [{"name": name, "resourceClaimTemplateName": template} for name, template in job.claim_templates.items()]


def _container(job: ProbeJob) -> Manifest:
    return {
        "name": CONTAINER,
        "image": job.image,
        "command": [job.python, "-I", "-S", "-c", _WAITING.format(seconds=job.seconds)],
        "resources": _devices(job),
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _devices(job: ProbeJob) -> Manifest:
    devices: Manifest = {"requests": dict(job.resources), "limits": dict(job.resources)}
    return devices | ({"claims": [{"name": name} for name in job.claim_templates]} if job.claim_templates else {})


def affinity(job: ProbeJob) -> Manifest:
    """Return what puts the members on the nodes of a probe, no two on one."""
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
                {
                    "labelSelector": {
                        "matchLabels": {PROBE: job.id},
                        "matchExpressions": [{"key": ROLE, "operator": "DoesNotExist"}],
                    },
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        },
    }
