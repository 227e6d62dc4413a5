"""Resources of the Kubernetes API that netkit lists, with the versions it understands, newest first.

One row a resource: readers list by it, `netkit deploy rbac` grants by it. netkit lists and never watches secrets;
nothing here is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Use(StrEnum):
    """What a resource is read for."""

    GANGS = "gangs"
    DEVICES = "devices"
    FABRIC = "fabric"
    POLICY = "policy"
    HISTORY = "history"
    HOSTFILES = "hostfiles"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeResource:
    """One resource; `group` is empty for the core API."""

    plural: str
    kind: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    use: Use = Use.GANGS
    verb: str = "list"
    """What is done with it: list, or get by a name that a pod mentions."""

    @property
    def name(self) -> str:
        """The name RBAC and kubectl know: pods, jobs.batch."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _rows() -> tuple[KubeResource, ...]:
    row = KubeResource
    return (
        row(plural="pods", kind="Pod"),
        row(plural="jobs", kind="Job", group="batch"),
        row(plural="statefulsets", kind="StatefulSet", group="apps"),
        row(
            plural="podgroups",
            kind="PodGroup",
            group="scheduling.k8s.io",
            versions=("v1", "v1beta1", "v1alpha3", "v1alpha2"),
        ),
        row(
            plural="workloads",
            kind="Workload",
            group="scheduling.k8s.io",
            versions=("v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"),
        ),
        row(plural="podgroups", kind="PodGroup", group="scheduling.volcano.sh", versions=("v1beta1",)),
        row(plural="jobs", kind="Job", group="batch.volcano.sh", versions=("v1alpha1",)),
        row(plural="podgroups", kind="PodGroup", group="scheduling.x-k8s.io", versions=("v1alpha1",)),
        row(plural="podgroups", kind="PodGroup", group="scheduling.sigs.k8s.io", versions=("v1alpha1",)),
        row(plural="podgroups", kind="PodGroup", group="scheduling.godel.kubewharf.io", versions=("v1alpha1",)),
        row(plural="podgroups", kind="PodGroup", group="scheduling.incubator.k8s.io", versions=("v1alpha1",)),
        row(plural="podgroups", kind="PodGroup", group="scheduling.sigs.dev", versions=("v1alpha2",)),
        row(plural="podgroups", kind="PodGroup", group="scheduling.run.ai", versions=("v2alpha2",)),
        row(plural="bindrequests", kind="BindRequest", group="scheduling.run.ai", versions=("v1alpha2",)),
        row(plural="workloads", kind="Workload", group="kueue.x-k8s.io", versions=("v1beta2", "v1beta1")),
        row(
            plural="leaderworkersets",
            kind="LeaderWorkerSet",
            group="leaderworkerset.x-k8s.io",
        ),
        row(plural="jobsets", kind="JobSet", group="jobset.x-k8s.io", versions=("v1", "v1alpha2")),
        row(plural="mpijobs", kind="MPIJob", group="kubeflow.org", versions=("v2beta1", "v1")),
        row(plural="pytorchjobs", kind="PyTorchJob", group="kubeflow.org"),
        row(plural="tfjobs", kind="TFJob", group="kubeflow.org"),
        row(plural="trainjobs", kind="TrainJob", group="trainer.kubeflow.org", versions=("v1", "v1alpha1")),
        row(plural="elasticjobs", kind="ElasticJob", group="elastic.iml.github.io", versions=("v1alpha1",)),
        row(plural="rayclusters", kind="RayCluster", group="ray.io", versions=("v1", "v1alpha1")),
        row(plural="rayjobs", kind="RayJob", group="ray.io", versions=("v1", "v1alpha1")),
        row(
            plural="resourceclaims",
            kind="ResourceClaim",
            group="resource.k8s.io",
            versions=("v1", "v1beta2", "v1beta1"),
            use=Use.DEVICES,
        ),
        row(
            plural="resourceslices",
            kind="ResourceSlice",
            group="resource.k8s.io",
            versions=("v1", "v1beta2", "v1beta1"),
            namespaced=False,
            use=Use.DEVICES,
        ),
        row(
            plural="devices",
            kind="Device",
            group="scheduling.koordinator.sh",
            versions=("v1alpha1",),
            namespaced=False,
            use=Use.DEVICES,
        ),
        row(
            plural="customnoderesources",
            kind="CustomNodeResource",
            group="node.katalyst.kubewharf.io",
            versions=("v1alpha1",),
            namespaced=False,
            use=Use.DEVICES,
        ),
        row(plural="nodes", kind="Node", namespaced=False, use=Use.FABRIC),
        row(
            plural="hypernodes",
            kind="HyperNode",
            group="topology.volcano.sh",
            versions=("v1alpha1",),
            namespaced=False,
            use=Use.FABRIC,
        ),
        row(
            plural="topologies",
            kind="Topology",
            group="kueue.x-k8s.io",
            versions=("v1beta2", "v1beta1", "v1alpha1"),
            namespaced=False,
            use=Use.FABRIC,
        ),
        row(
            plural="topologies",
            kind="Topology",
            group="kai.scheduler",
            versions=("v1alpha1",),
            namespaced=False,
            use=Use.FABRIC,
        ),
        row(
            plural="clusternetworktopologies",
            kind="ClusterNetworkTopology",
            group="scheduling.koordinator.sh",
            versions=("v1alpha1",),
            namespaced=False,
            use=Use.FABRIC,
        ),
        row(plural="networkpolicies", kind="NetworkPolicy", group="networking.k8s.io", use=Use.POLICY),
        row(plural="events", kind="Event", use=Use.HISTORY),
        row(plural="configmaps", kind="ConfigMap", use=Use.HOSTFILES, verb="get"),
    )


RESOURCES = _rows()
# Written and read by probes alone; no command about gangs lists it.
LEASES = KubeResource(plural="leases", kind="Lease", group="coordination.k8s.io")


def resources_for(*uses: Use) -> tuple[KubeResource, ...]:
    """Return the resources of some uses, in the order they are read."""
    return tuple(resource for resource in RESOURCES if resource.use in uses)
