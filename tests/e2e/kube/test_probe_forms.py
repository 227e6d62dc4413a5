"""Every form of a probe's own gang, held against the schemas that a real API server has of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from netkit.probe.probe_job import JobForm, Place, forms, owned
from tests.e2e.kube.commands import netkit
from tests.e2e.kube.control_plane import ControlPlane
from tests.e2e.kube.own_gangs import homeless_job, make_and_remove
from tests.e2e.kube.processes import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

NAMESPACE = "probe-forms"
PROBER = "prober"
STRICT = "?dryRun=All&fieldValidation=Strict"
FORMS = sorted(forms().values(), key=lambda form: form.id)
JOB = homeless_job(NAMESPACE)


@pytest.fixture(scope="module", autouse=True)
def namespace(plane: ControlPlane) -> None:
    plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})


def asked_of(plane: ControlPlane, path: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """What the server would store: every field known, every value of the right type, defaults filled in."""
    return plane.admin.create(path.format(namespace=NAMESPACE) + STRICT, manifest)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_an_api_server_takes_every_field_of_every_form(plane: ControlPlane, form: JobForm) -> None:
    """By the definitions that the projects publish, strictly; nothing is stored."""
    made = form.render(JOB)
    kept = asked_of(plane, form.place.path, made)
    assert kept["spec"].items() >= {key: value for key, value in made["spec"].items() if isinstance(value, int)}.items()
    owner = {**made, "metadata": {**made["metadata"], "uid": "0b1d0a52-0000-4000-8000-000000000001"}}
    for companion in form.companions:
        answer = asked_of(plane, companion.place.path, owned(companion.render(JOB), owner))
        assert answer["metadata"]["ownerReferences"][0]["kind"] == made["kind"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_a_field_that_does_not_exist_is_refused(plane: ControlPlane, form: JobForm) -> None:
    """So that the test above is able to fail."""
    made = form.render(JOB)
    made["spec"]["noSuchField"] = 1
    with pytest.raises(Exception, match="noSuchField"):
        asked_of(plane, form.place.path, made)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_a_prober_creates_and_removes_every_form(plane: ControlPlane, form: JobForm) -> None:
    """With the role as it is printed and no more; what stands beside the job goes with it."""
    printed = netkit(plane, "deploy", "rbac", "--role", "prober", "-n", NAMESPACE, "--user", PROBER).stdout
    for manifest in yaml.safe_load_all(printed):
        plane.admin.apply(manifest)
    places = [form.place, *(companion.place for companion in form.companions)]

    def stored(place: Place) -> list[dict[str, Any]]:
        return plane.admin.items(place.path.format(namespace=NAMESPACE))

    def seen() -> None:
        assert [one["metadata"]["labels"]["netkit.dev/probe"] for place in places for one in stored(place)] == [
            JOB.id
        ] * len(places)

    make_and_remove(plane.kubeconfig(PROBER), form, NAMESPACE, seen)
    wait_until(lambda: not any(map(stored, places)), 60, lambda: f"left: {list(map(stored, places))}")


def test_an_api_server_takes_every_field_of_a_schedule(plane: ControlPlane) -> None:
    """CronJob, account, roles, bindings and budget, strictly; nothing is stored."""
    words = ["nodes", "pool=probe", "--network", "rails/rail0", "--image", "python:3.12-slim"]
    options = ["--cron", "0 3 * * 6", "--netkit-image", "me/netkit:1", "-n", NAMESPACE, "--budget", "gpu-minutes=500"]
    plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "netkit"}})
    printed = netkit(plane, "probe", "schedule", *options, "--", *words)
    assert printed.returncode == 0, printed.stderr
    kinds = []
    for manifest in yaml.safe_load_all(printed.stdout):
        path = plane.admin.path_of(manifest).rpartition("/")[0]
        if manifest["kind"] != "Namespace":
            plane.admin.create(path + STRICT, {**manifest, "metadata": {**manifest["metadata"], "name": "dry-run"}})
        kinds.append(manifest["kind"])
    assert {"CronJob", "ServiceAccount", "ConfigMap", "ClusterRoleBinding", "RoleBinding"} <= set(kinds)


def test_nodes_of_a_real_server_are_planned_for_a_burn_in(plane: ControlPlane) -> None:
    """By the server's own label selectors; a selector it does not understand is bad input."""
    words = ["probe", "nodes", "--network", "rails/rail0", "--image", "python:3.12-slim", "-n", NAMESPACE]
    done = netkit(plane, *words, "pool=probe", "--dry-run", "--output", "json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    known = {node["metadata"]["name"] for node in plane.admin.items("/api/v1/nodes?labelSelector=pool%3Dprobe")}
    assert {row["node"] for row in plan["pods"]} | set(plan["left_out"]) == known
    refused = netkit(plane, *words, "pool=a=b", "--dry-run")
    assert (refused.returncode, "selector 'pool=a=b': accepted is" in refused.stderr) == (2, True)
