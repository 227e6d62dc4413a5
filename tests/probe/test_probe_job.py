"""A probe's own gang as objects: what every form promises, whatever the scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from netkit.catalogue.kube_resources import RESOURCES
from netkit.probe.probe_job import JobForm, ProbeJob, forms

JOB = ProbeJob(
    id="0a1b2c3d",
    namespace="probes",
    nodes=("gpu-1", "gpu-2", "gpu-3"),
    image="python:3.12-slim",
    python="python3",
    seconds=600,
    operator="al@host",
    resources={"nvidia.com/gpu": "8", "rdma/hca": "1"},
    networks="team-a/rail1",
    queue="research",
)
FORMS = sorted(forms().values(), key=lambda form: form.id)


def template(made: dict[str, Any]) -> dict[str, Any]:
    """The pods of any form."""
    spec = made["spec"]
    found: dict[str, Any] = spec["template"] if "template" in spec else spec["tasks"][0]["template"]
    return found


def keys(value: Any) -> set[str]:
    """Every key at any depth."""
    if isinstance(value, list):
        return {key for one in value for key in keys(one)}
    return set(value) | {key for one in value.values() for key in keys(one)} if isinstance(value, dict) else set()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_every_form_is_one_gang_of_one_pod_a_node(form: JobForm) -> None:
    """As many pods as nodes, each on one of them, no two on the same; all or none where the scheduler knows gangs."""
    made = form.render(JOB)
    spec, pods = made["spec"], template(made)["spec"]
    assert spec.get("parallelism", spec.get("minAvailable")) == len(JOB.nodes)
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = pods["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
    assert [row["values"] for term in terms for row in term["matchFields"]] == [[node] for node in JOB.nodes]
    [apart] = pods["affinity"]["podAntiAffinity"][required]
    assert apart == {
        "labelSelector": {"matchLabels": {"netkit.dev/probe": JOB.id}},
        "topologyKey": "kubernetes.io/hostname",
    }


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_every_form_ends_by_itself(form: JobForm) -> None:
    """A deadline on every pod, no second try, and the finished job goes away."""
    made = form.render(JOB)
    assert template(made)["spec"]["activeDeadlineSeconds"] == 600
    assert template(made)["spec"]["restartPolicy"] == "Never"
    assert made["spec"]["ttlSecondsAfterFinished"] == 60
    assert made["spec"].get("backoffLimit", 0) == 0


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_no_form_asks_for_more_than_devices(form: JobForm) -> None:
    """Device plug-in resources only: no privilege, no host, no account, no volume."""
    made = form.render(JOB)
    pods = template(made)["spec"]
    [container] = pods["containers"]
    assert container["resources"] == {"requests": dict(JOB.resources), "limits": dict(JOB.resources)}
    security = container["securityContext"]
    assert (security["privileged"], security["allowPrivilegeEscalation"]) == (False, False)
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert pods["automountServiceAccountToken"] is False
    assert not keys(made) & {"hostNetwork", "hostPID", "hostIPC", "hostPath", "volumes", "add", "serviceAccountName"}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_everything_created_is_labelled(form: JobForm) -> None:
    """By which `netkit cleanup` finds it; one name, so that the API server refuses a second probe."""
    made = form.render(JOB)
    labels = {"app.kubernetes.io/managed-by": "netkit", "netkit.dev/probe": JOB.id}
    assert made["metadata"]["labels"].items() >= labels.items()
    assert template(made)["metadata"]["labels"] == labels
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == ("netkit-probe", "probes")
    assert made["metadata"]["annotations"] == {"netkit.dev/operator": "al@host"}
    assert template(made)["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/networks": "team-a/rail1"}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_every_form_is_a_resource_that_is_known(form: JobForm) -> None:
    """What is created can be listed, and its path is that of its kind."""
    [row] = [row for row in RESOURCES if row.name == form.resource]
    made = form.render(JOB)
    group, _, version = made["apiVersion"].rpartition("/")
    assert (made["kind"], group) == (row.kind, row.group)
    assert version in row.versions
    assert form.path == f"/apis/{group}/{version}/namespaces/{{namespace}}/{row.plural}"


def test_kueue_is_asked_by_queue_and_holds_the_job_back() -> None:
    """The label names the queue; the job starts suspended."""
    made = forms()["kueue"].render(JOB)
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    assert made["spec"]["suspend"] is True


def test_volcano_admits_all_or_none() -> None:
    """The minimum is the whole gang; a pod that fails ends it; no plug-in adds a NetworkPolicy."""
    spec = forms()["volcano"].render(JOB)["spec"]
    assert (spec["minAvailable"], spec["queue"], spec["schedulerName"]) == (3, "research", "volcano")
    assert {row["event"] for row in spec["policies"]} == {"PodFailed", "PodEvicted"}
    assert "plugins" not in spec
