"""A probe's own gang as objects: what every form promises, whatever the scheduler."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from netkit.catalogue.kube_resources import RESOURCES
from netkit.errors import InputError
from netkit.gangs.systems import systems
from netkit.probe.probe_job import JobForm, Place, ProbeJob, form_for, forms, owned

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


GOLDEN = Path(__file__).parent / "job_forms"


def template(made: dict[str, Any]) -> dict[str, Any]:
    """The members' pods of any form."""
    spec = made["spec"]
    if "mpiReplicaSpecs" in spec:
        spec = spec["mpiReplicaSpecs"]["Worker"]
    found: dict[str, Any] = spec["template"] if "template" in spec else spec["tasks"][0]["template"]
    return found


def policy(made: dict[str, Any]) -> dict[str, Any]:
    """Where any form says when it ends."""
    found: dict[str, Any] = made["spec"].get("runPolicy", made["spec"])
    return found


def objects(form: JobForm, job: ProbeJob = JOB) -> list[dict[str, Any]]:
    """All that is created, the job first; its uid is made up."""
    made = form.render(job)
    known = {**made, "metadata": {**made["metadata"], "uid": "u-1"}}
    return [made, *(owned(companion.render(job), known) for companion in form.companions)]


def size_of(made: dict[str, Any]) -> int:
    """How many members any form says it has."""
    spec = made["spec"]
    worker = spec.get("mpiReplicaSpecs", {}).get("Worker", {})
    size: int = spec.get("parallelism", spec.get("minAvailable", worker.get("replicas")))
    return size


def keys(value: Any) -> set[str]:
    """Every key at any depth."""
    if isinstance(value, list):
        return {key for one in value for key in keys(one)}
    return set(value) | {key for one in value.values() for key in keys(one)} if isinstance(value, dict) else set()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_every_form_is_one_gang_of_one_pod_a_node(form: JobForm) -> None:
    """As many pods as nodes, each on one of them, no two on the same; a launcher keeps nobody away."""
    made = form.render(JOB)
    pods = template(made)["spec"]
    assert size_of(made) == len(JOB.nodes)
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = pods["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
    assert [row["values"] for term in terms for row in term["matchFields"]] == [[node] for node in JOB.nodes]
    [apart] = pods["affinity"]["podAntiAffinity"][required]
    assert apart == {
        "labelSelector": {
            "matchLabels": {"netkit.dev/probe": JOB.id},
            "matchExpressions": [{"key": "netkit.dev/role", "operator": "DoesNotExist"}],
        },
        "topologyKey": "kubernetes.io/hostname",
    }


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_every_form_ends_by_itself(form: JobForm) -> None:
    """A deadline on every pod, no second try, and the finished job goes away."""
    made = form.render(JOB)
    assert template(made)["spec"]["activeDeadlineSeconds"] == 600
    assert template(made)["spec"]["restartPolicy"] == "Never"
    assert policy(made)["ttlSecondsAfterFinished"] == 60
    assert policy(made).get("backoffLimit", 0) == 0


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
    assert template(made)["metadata"]["labels"].items() >= labels.items()
    assert "netkit.dev/role" not in template(made)["metadata"]["labels"]
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == ("netkit-probe", "probes")
    assert made["metadata"]["annotations"] == {"netkit.dev/operator": "al@host"}
    assert template(made)["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == "team-a/rail1"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_every_form_is_a_resource_that_is_known(form: JobForm) -> None:
    """What is created can be listed, and its path is that of its kind."""
    places: list[Place] = [form.place, *(companion.place for companion in form.companions)]
    for place, made in zip(places, objects(form), strict=True):
        [row] = [row for row in RESOURCES if row.name == place.resource]
        group, _, version = made["apiVersion"].rpartition("/")
        assert (made["kind"], group) == (row.kind, row.group)
        assert version in row.versions
        assert place.path == f"/apis/{group}/{version}/namespaces/{{namespace}}/{row.plural}"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_what_every_form_creates_is_written_down(form: JobForm) -> None:
    """To the last field: a manifest that changes is reviewed, and no form goes without."""
    written = list(yaml.safe_load_all((GOLDEN / f"{form.id}.yaml").read_text()))
    assert json.loads(json.dumps(objects(form))) == written


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_claims_and_tolerations_of_the_gang_are_taken_over(form: JobForm) -> None:
    """Devices by DRA come from a template, one claim a pod; taints that the gang lives with keep nobody out."""
    taint = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    job = replace(JOB, tolerations=(taint,), claim_templates={"gpus": "eight-gpus"})
    pods = template(form.render(job))["spec"]
    assert pods["tolerations"] == [taint]
    assert pods["resourceClaims"] == [{"name": "gpus", "resourceClaimTemplateName": "eight-gpus"}]
    assert pods["containers"][0]["resources"]["claims"] == [{"name": "gpus"}]


def test_a_companion_goes_with_the_job() -> None:
    """The group of Coscheduling is owned by the job, and wants all members or none."""
    job, group = objects(forms()["coscheduling"])
    [owner] = group["metadata"]["ownerReferences"]
    assert owner == {"apiVersion": "batch/v1", "kind": "Job", "name": "netkit-probe", "uid": "u-1"}
    assert group["spec"]["minMember"] == len(JOB.nodes)
    assert template(job)["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == group["metadata"]["name"]
    assert group["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "netkit", "netkit.dev/probe": JOB.id}


def test_yunikorns_placeholders_need_what_the_pods_need() -> None:
    """The same nodes, the same devices, apart from each other; without room for all the gang fails."""
    made = template(forms()["yunikorn"].render(JOB))
    marks, places = made["metadata"]["annotations"], made["spec"]["affinity"]
    [group] = json.loads(marks["yunikorn.apache.org/task-groups"])
    assert (group["name"], group["minMember"]) == (marks["yunikorn.apache.org/task-group-name"], len(JOB.nodes))
    assert group["minResource"] == made["spec"]["containers"][0]["resources"]["requests"]
    assert group["affinity"]["nodeAffinity"] == places["nodeAffinity"]
    [apart] = group["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["labelSelector"]["matchLabels"] == group["labels"]
    assert "netkit.dev/probe" not in group["labels"]
    assert "gangSchedulingStyle=Hard" in marks["yunikorn.apache.org/schedulingPolicyParameters"]


def test_koordinator_takes_all_or_none() -> None:
    """In annotations alone, under the quota of the gang."""
    marks = template(forms()["koordinator"].render(JOB))["metadata"]
    gang = {key.rpartition("/")[2]: value for key, value in marks["annotations"].items() if "koordinator" in key}
    assert (gang["name"], gang["min-available"], gang["total-number"], gang["mode"]) == (
        "netkit-probe",
        "3",
        "3",
        "Strict",
    )
    assert marks["labels"]["quota.scheduling.koordinator.sh/name"] == "research"


def test_an_mpijobs_launcher_holds_nothing_and_stands_anywhere() -> None:
    """It is no member: marked so, without devices, and on any node."""
    launcher = forms()["mpijob"].render(JOB)["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    assert launcher["metadata"]["labels"]["netkit.dev/role"] == "launcher"
    assert launcher["spec"]["containers"][0]["resources"] == {}
    assert "affinity" not in launcher["spec"]


CHOICES = [
    (("volcano",), "volcano"),
    (("coscheduling", "pytorchjob"), "coscheduling"),
    (("koordinator", "indexed_job"), "koordinator"),
    (("yunikorn", "indexed_job"), "yunikorn"),
    (("kueue", "jobset"), "kueue"),
    (("volcano", "kueue", "mpijob"), "volcano"),
    (("mpijob",), "mpijob"),
    (("jobset",), "indexed_job"),
    ((), "indexed_job"),
]


@pytest.mark.parametrize(("found", "form"), CHOICES)
def test_the_scheduler_of_the_gang_chooses_the_form(found: tuple[str, ...], form: str) -> None:
    """Its scheduler before its queue before its kind of job; where nothing decides, a plain Job."""
    assert form_for([system for system in systems() if system.id in found], "team-a/train").id == form


@pytest.mark.parametrize("system", ["kai", "godel", "kube_batch", "native"])
def test_a_scheduler_without_a_form_is_said(system: str) -> None:
    """Which one, and what else there is: a Job of another form would wait for ever."""
    with pytest.raises(InputError, match=r"gang team-a/train, admitted by .*: accepted is --as exec, or --form"):
        form_for([one for one in systems() if one.id == system], "team-a/train")


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
