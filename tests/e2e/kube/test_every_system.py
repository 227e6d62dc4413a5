"""The cases of every gang system, put on a real API server: what it stores, netkit lists as the cases say.

No controller runs here: nothing may change what a case states. The server checks each object against the schema that
its project publishes, so a case that it refuses would describe an object that cannot exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from netkit.gangs.systems import systems
from tests.e2e.kube import custom_resources
from tests.e2e.kube.api import Api, Object
from tests.e2e.kube.commands import netkit
from tests.e2e.kube.control_plane import api_server
from tests.e2e.kube.go_tools import UnavailableError
from tests.gangs.cases import Case, all_cases

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

# Versions that Kubernetes had before this server, or has after it.
UNSERVED = {"scheduling.k8s.io/v1alpha1", "scheduling.k8s.io/v1beta1"}
POD_TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train:1"}]}}
# What a server demands and no case is about: object, where below spec (* is every member), what is put there.
DEMANDED: tuple[tuple[str, tuple[str, ...], Object], ...] = (
    ("batch/v1 Job", (), {"template": POD_TEMPLATE, "completions": 2}),
    ("batch.volcano.sh/v1alpha1 Job", ("tasks", "*"), {"template": POD_TEMPLATE}),
    ("jobset.x-k8s.io/v1alpha2 JobSet", ("replicatedJobs", "*"), {"template": {"spec": {}}}),
    ("jobset.x-k8s.io/v1alpha2 JobSet", ("replicatedJobs", "*", "template", "spec"), {"template": POD_TEMPLATE}),
    ("leaderworkerset.x-k8s.io/v1 LeaderWorkerSet", ("leaderWorkerTemplate",), {"workerTemplate": POD_TEMPLATE}),
    ("kubeflow.org/v2beta1 MPIJob", ("mpiReplicaSpecs", "*"), {"template": POD_TEMPLATE}),
    ("kubeflow.org/v1 PyTorchJob", ("pytorchReplicaSpecs", "*"), {"template": POD_TEMPLATE}),
    ("kubeflow.org/v1 TFJob", ("tfReplicaSpecs", "*"), {"template": POD_TEMPLATE}),
    ("ray.io/v1 RayCluster", (), {"headGroupSpec": {"rayStartParams": {}, "template": POD_TEMPLATE}}),
    (
        "ray.io/v1 RayCluster",
        ("workerGroupSpecs", "*"),
        {"groupName": "workers", "rayStartParams": {}, "template": POD_TEMPLATE, "minReplicas": 0, "maxReplicas": 9},
    ),
    ("kueue.x-k8s.io/v1beta1 Workload", ("podSets", "*"), {"template": POD_TEMPLATE}),
    ("kueue.x-k8s.io/v1beta2 Workload", ("podSets", "*"), {"template": POD_TEMPLATE}),
    ("trainer.kubeflow.org/v1alpha1 TrainJob", (), {"runtimeRef": {"name": "torch"}}),
    ("v1 Pod", ("containers", "*"), {"image": "train:1"}),
)
CONDITION = {"reason": "Stated", "message": "", "lastTransitionTime": "2026-03-01T10:00:00Z"}


def stored_cases() -> dict[str, Case]:
    """Cases by the namespace each is put into; malformed ones are for readers that meet what no server stores."""
    able = [
        (system, case)
        for system, case in all_cases()
        if case.kind != "malformed" and not UNSERVED & {body["apiVersion"] for body in case.bodies}
    ]
    return {f"case-{at}-{system.replace('_', '-')}": case for at, (system, case) in enumerate(able)}


CASES = stored_cases()


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """All gangs that `netkit gangs -A` lists once every case is stored, by namespace and name."""
    try:
        with api_server(tmp_path_factory.mktemp("store")) as plane:
            custom_resources.install(plane.admin)
            for namespace, case in CASES.items():
                store(plane.admin, namespace, case)
            done = netkit(plane, "gangs", "-A", "--output", "json")
            assert done.returncode == 0, done.stderr
            found: dict[str, dict[str, Any]] = {namespace: {} for namespace in CASES}
            for gang in json.loads(done.stdout)["gangs"]:
                found[gang["namespace"]][gang["name"]] = gang
            yield found
    except UnavailableError as why:
        pytest.skip(str(why))


def store(api: Api, namespace: str, case: Case) -> None:
    """Create the objects of a case; owners are known by the identity that the server gives them."""
    api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    identities: dict[str, str] = {}
    for body in case.bodies:
        identities[body["metadata"]["uid"]] = put(api, namespace, body, {})["metadata"]["uid"]
    for body in case.bodies:
        if any(owner["uid"] in identities for owner in body["metadata"].get("ownerReferences", ())):
            put(api, namespace, body, identities)


def put(api: Api, namespace: str, body: Object, identities: dict[str, str]) -> Object:
    """Apply one object of a case in a namespace, with the identities known so far in place of the stated ones."""
    text = json.dumps(body)
    for stated, given in identities.items():
        text = text.replace(json.dumps(stated), json.dumps(given))
    wanted = demanded(json.loads(text))
    del wanted["metadata"]["uid"]
    wanted["metadata"]["namespace"] = namespace
    return api.apply(wanted)


def demanded(body: Object) -> Object:
    """Complete an object by what a server demands of its kind."""
    for kind, path, fields in DEMANDED:
        if kind == f"{body['apiVersion']} {body['kind']}":
            complete(holders(body["spec"], path), fields)
    status = body.get("status", {})
    complete(status.get("conditions", ()), CONDITION)
    complete(holders(status, ("admission",)), {"clusterQueue": "training"})
    return body


def complete(rows: Iterable[Object], fields: Object) -> None:
    """Add fields to objects that lack them."""
    for row in rows:
        row.update({key: value for key, value in fields.items() if key not in row})


def holders(value: Any, path: tuple[str, ...]) -> Iterator[Object]:
    """Yield the objects at a path; a path that leads nowhere yields none."""
    if not path:
        yield value
    elif path[0] == "*":
        for inner in value.values() if isinstance(value, dict) else value:
            yield from holders(inner, path[1:])
    elif path[0] in value:
        yield from holders(value[path[0]], path[1:])


def facts(gang: dict[str, Any]) -> dict[str, Any]:
    """A gang of netkit.gangs/1 in the words of the cases."""
    members, workload = gang["members"], gang["workload"]
    return {
        "systems": gang["systems"],
        "state": gang["state"],
        "min": gang["min_members"],
        "total": gang["total"],
        "workload": f"{workload['kind']} {workload['name']}" if workload else None,
        "ranks": {member["pod"]: member["rank"] for member in members if member["rank"] is not None},
        "members": [member["pod"] for member in members],
    }


@pytest.mark.parametrize("namespace", CASES)
def test_a_stored_case_is_listed_as_it_states(listed: dict[str, dict[str, Any]], namespace: str) -> None:
    """Gangs, their systems, sizes, states, ranks and reasons survive a real server and a real client."""
    wanted = {gang["name"].partition("/")[2]: gang for gang in CASES[namespace].gangs}
    assert sorted(listed[namespace]) == sorted(wanted)
    for name, stated in wanted.items():
        said = facts(listed[namespace][name])
        assert {key: said[key] for key in said if key in stated} == {key: stated[key] for key in said if key in stated}
        assert stated.get("why", "") in listed[namespace][name]["why"]


def test_every_system_is_among_them() -> None:
    """A system that no stored case is about would be untried here."""
    stated = {name for case in CASES.values() for gang in case.gangs for name in gang.get("systems", ())}
    assert stated == {system.id for system in systems()}
