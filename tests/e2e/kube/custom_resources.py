"""Custom resources that netkit reads or a controller of the tests needs, installed as their projects publish them.

The files come from the Go module cache; projects whose module cannot be had get a definition of our own that keeps
any field, marked so by its group in `UNPUBLISHED`.
"""

from __future__ import annotations

from pathlib import Path

from tests.e2e.kube.api import Api, Object
from tests.e2e.kube.go_tools import module_folder
from tests.e2e.kube.processes import wait_until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ESTABLISHED_SECONDS = 60
# module below tools/, Go module, folder in it, files: each is named for group and plural
PUBLISHED = (
    (
        "volcano",
        "volcano.sh/volcano",
        "config/crd/volcano/bases",
        (
            "batch.volcano.sh_jobs",
            "bus.volcano.sh_commands",
            "nodeinfo.volcano.sh_numatopologies",
            "scheduling.volcano.sh_podgroups",
            "scheduling.volcano.sh_queues",
            "shard.volcano.sh_nodeshards",
            "topology.volcano.sh_hypernodes",
        ),
    ),
    (
        "kubernetes",
        "sigs.k8s.io/kueue",
        "config/components/crd/bases",
        (
            "kueue.x-k8s.io_admissionchecks",
            "kueue.x-k8s.io_clusterqueues",
            "kueue.x-k8s.io_cohorts",
            "kueue.x-k8s.io_localqueues",
            "kueue.x-k8s.io_multikueueclusters",
            "kueue.x-k8s.io_multikueueconfigs",
            "kueue.x-k8s.io_provisioningrequestconfigs",
            "kueue.x-k8s.io_resourceflavors",
            "kueue.x-k8s.io_topologies",
            "kueue.x-k8s.io_workloadpriorityclasses",
            "kueue.x-k8s.io_workloads",
        ),
    ),
    ("kubernetes", "sigs.k8s.io/jobset", "config/components/crd/bases", ("jobset.x-k8s.io_jobsets",)),
    ("kubernetes", "sigs.k8s.io/lws", "config/crd/bases", ("leaderworkerset.x-k8s.io_leaderworkersets",)),
    ("kubernetes", "github.com/kubeflow/mpi-operator", "manifests/base", ("kubeflow.org_mpijobs",)),
    (
        "kubernetes",
        "github.com/kubeflow/training-operator",
        "manifests/base/crds",
        ("kubeflow.org_pytorchjobs", "kubeflow.org_tfjobs"),
    ),
    (
        "kubernetes",
        "github.com/kubeflow/trainer/v2",
        "manifests/base/crds",
        ("trainer.kubeflow.org_trainjobs",),
    ),
    (
        "kubernetes",
        "github.com/ray-project/kuberay/ray-operator",
        "config/crd/bases",
        ("ray.io_rayclusters",),
    ),
    (
        "custom-resources",
        "sigs.k8s.io/scheduler-plugins",
        "config/crd/bases",
        ("scheduling.x-k8s.io_podgroups",),
    ),
    (
        "custom-resources",
        "github.com/koordinator-sh/koordinator",
        "config/crd/bases",
        (
            "scheduling.sigs.k8s.io_podgroups",
            "scheduling.koordinator.sh_devices",
            "scheduling.koordinator.sh_clusternetworktopologies",
        ),
    ),
    (
        "custom-resources",
        "github.com/kubewharf/katalyst-api",
        "config/crd/bases",
        ("node.katalyst.kubewharf.io_customnoderesources",),
    ),
    ("kubernetes", "sigs.k8s.io/kwok", "kustomize/crd/bases", ("kwok.x-k8s.io_execs", "kwok.x-k8s.io_clusterexecs")),
)
# group, version, kind, plural
UNPUBLISHED = (
    ("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups"),
    ("scheduling.run.ai", "v1alpha2", "BindRequest", "bindrequests"),
    ("kai.scheduler", "v1alpha1", "Topology", "topologies"),
    ("scheduling.godel.kubewharf.io", "v1alpha1", "PodGroup", "podgroups"),
    ("scheduling.incubator.k8s.io", "v1alpha1", "PodGroup", "podgroups"),
    ("scheduling.sigs.dev", "v1alpha2", "PodGroup", "podgroups"),
    ("elastic.iml.github.io", "v1alpha1", "ElasticJob", "elasticjobs"),
)


def install(api: Api) -> None:
    """Install every definition and wait until the server serves them all."""
    names = [_install_file(api, place) for place in published_files()]
    names += [api.create(DEFINITIONS, _open_definition(*row))["metadata"]["name"] for row in UNPUBLISHED]
    wait_until(lambda: _established(api, names), ESTABLISHED_SECONDS, lambda: "custom resources are not served")


def published_files() -> list[Path]:
    return [
        module_folder(tools, module) / folder / f"{name}.yaml"
        for tools, module, folder, names in PUBLISHED
        for name in names
    ]


def _install_file(api: Api, place: Path) -> str:
    name: str = api.create_text(DEFINITIONS, place.read_bytes())["metadata"]["name"]
    return name


def _open_definition(group: str, version: str, kind: str, plural: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # The server keeps *.k8s.io for reviewed definitions unless they say that they are none.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [served],
        },
    }


def _established(api: Api, names: list[str]) -> bool:
    served = {
        row["metadata"]["name"]
        for row in api.items(DEFINITIONS)
        for condition in row.get("status", {}).get("conditions") or ()
        if condition["type"] == "Established" and condition["status"] == "True"
    }
    return served.issuperset(names)
