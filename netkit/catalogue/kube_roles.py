"""What netkit may ask of a Kubernetes API server, as rules of its role-based access control.

A role holds exactly what the commands it is for ask: https://kubernetes.io/docs/reference/access-authn-authz/rbac/.
Discovery of API groups is no part of it: Kubernetes grants that to every authenticated user (system:discovery).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from netkit.catalogue.kube_resources import RESOURCES, KubeResource, Use

VIEWER = "netkit-viewer"
PROBER = "netkit-prober"
ATTACH = "netkit-attach"
LOCKS = "netkit-locks"
CONFIG_MAP = "netkit-probes"
"""Where a cluster's owners write what probes are allowed, beside the locks."""
# Of the gangs a probe can create, and of what stands beside them: the garbage collector removes that with its owner.
_JOBS = (("batch", "jobs"), ("batch.volcano.sh", "jobs"), ("kubeflow.org", "mpijobs"))
_COMPANIONS = (("scheduling.x-k8s.io", "podgroups"),)
# What the gang commands read, by use; a resource of another use is in no role.
PURPOSE = {
    Use.GANGS: "who belongs to which gang, and why it waits",
    Use.DEVICES: "which GPU and NIC a pod was given",
    Use.FABRIC: "which leaf a node is under",
    Use.HOSTFILES: "hostfiles that pods mount, one by one and by name",
    Use.POLICY: "whether a probe beside a gang would reach it",
    Use.HISTORY: "what happened to a gang",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Verbs on resources of one API group, and what they are for."""

    group: str
    """Empty for the core API."""
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    purpose: str
    names: tuple[str, ...] = ()
    """Only objects of these names; all when empty."""


def viewer_rules(*, namespaced: bool) -> tuple[Rule, ...]:
    """Return what `netkit gangs` and `netkit gang` ask for: of namespaced resources, or of the cluster's own."""
    return tuple(
        Rule(group=group, resources=plurals, verbs=(verb,), purpose=purpose)
        for use, purpose in PURPOSE.items()
        for group, verb, plurals in _alike(row for row in RESOURCES if row.use is use and row.namespaced is namespaced)
    )


_IN_PODS = (
    Rule(group="", resources=("pods",), verbs=("get",), purpose="what became of a pod that was lost"),
    # The request is a GET; since Kubernetes 1.35 it needs create as well. Whoever holds it runs code in these pods.
    Rule(group="", resources=("pods/exec",), verbs=("get", "create"), purpose="the probe's agent, in a pod that runs"),
    Rule(group="", resources=("events",), verbs=("create",), purpose="the verdict on a probed gang (--event)"),
)


def attach_rules() -> tuple[Rule, ...]:
    """Return what `netkit probe gang --as exec` asks for in the gang's namespace, besides what a viewer may."""
    return _IN_PODS


def prober_rules() -> tuple[Rule, ...]:
    """Return what `netkit probe gang --as job` and `netkit cleanup` ask for in the probe's namespace, and no more.

    Who may create a job in a namespace reaches its secrets and accounts: it should hold neither.
    """
    verbs = ("create", "get", "list", "delete")
    return (
        *(Rule(group=group, resources=(name,), verbs=verbs, purpose="the probe's own gang") for group, name in _JOBS),
        *(
            Rule(group=group, resources=(name,), verbs=("create",), purpose="the group that the scheduler wants")
            for group, name in _COMPANIONS
        ),
        Rule(group="", resources=("pods",), verbs=("list",), purpose="whether the probe's pods run, and are gone"),
        *_IN_PODS,
    )


def lock_rules() -> tuple[Rule, ...]:
    """Return what every probe of a gang asks for in the namespace of the locks, and no more.

    Who holds it can take every lock and keep it; what probes are allowed is the cluster's owners' to write.
    """
    return (
        Rule(
            group="coordination.k8s.io",
            resources=("leases",),
            verbs=("create", "list", "update", "delete"),
            purpose="one lock for each node under a probe, and when it was probed last",
        ),
        Rule(
            group="",
            resources=("configmaps",),
            verbs=("get",),
            purpose="what probes are allowed, and the word that stops them",
            names=(CONFIG_MAP,),
        ),
    )


def _alike(rows: Iterable[KubeResource]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for (group, verb), members in groupby(sorted(rows, key=_place), key=lambda row: (row.group, row.verb)):
        yield group, verb, tuple(row.plural for row in members)


def _place(row: KubeResource) -> tuple[str, str, str]:
    return row.group, row.verb, row.plural
