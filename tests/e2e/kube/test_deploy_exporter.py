"""What `netkit deploy exporter` prints, before a real API server: known fields, no privilege but to see the host."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from netkit_exporters.deployment import Deployment, Form, Monitor, render
from tests.e2e.kube.api import Object, RefusedError
from tests.e2e.kube.control_plane import ControlPlane

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

STRICT = "?dryRun=All&fieldValidation=Strict"
FORMS = {
    "plain": Deployment(monitor=Monitor.SERVICE),
    "everything": Deployment(
        gpu=True, pods=True, optics=True, results="/var/lib/netkit", platform="hgx-h100", monitor=Monitor.SERVICE
    ),
}


def manifests(wanted: Deployment, namespace: str) -> list[Object]:
    listed = [one for one in yaml.safe_load_all(render(Form.KUBERNETES, wanted)) if one["kind"] != "ServiceMonitor"]
    for one in listed:
        one["metadata"]["namespace"] = namespace
    return listed


@pytest.fixture(scope="module")
def levels(plane: ControlPlane) -> ControlPlane:
    """One namespace for each of two levels of Pod Security."""
    for level in ("privileged", "baseline"):
        about = {"name": level, "labels": {"pod-security.kubernetes.io/enforce": level}}
        plane.admin.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": about})
    return plane


@pytest.mark.parametrize("name", FORMS)
def test_the_server_knows_every_field(levels: ControlPlane, name: str) -> None:
    """Strict validation: an unknown or doubled field would be refused."""
    admin = levels.admin
    kinds = []
    for wanted in manifests(FORMS[name], "privileged"):
        collection = admin.path_of(wanted).rpartition("/")[0]
        kinds.append(admin.create(f"{collection}{STRICT}", wanted)["kind"])
    assert kinds == ["DaemonSet", "Service"]


def pod(wanted: Deployment, namespace: str) -> dict[str, Any]:
    (daemon_set, _) = manifests(wanted, namespace)
    spec = {key: value for key, value in daemon_set["spec"]["template"]["spec"].items() if key != "runtimeClassName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": namespace}, "spec": spec}


def test_all_it_asks_beyond_the_baseline_is_to_see_the_host(levels: ControlPlane) -> None:
    """Network namespace and `/sys`: no capability, no privileged container, no root."""
    admin = levels.admin
    admin.create(f"/api/v1/namespaces/privileged/pods{STRICT}", pod(FORMS["plain"], "privileged"))
    with pytest.raises(RefusedError) as refused:
        admin.create(f"/api/v1/namespaces/baseline/pods{STRICT}", pod(FORMS["plain"], "baseline"))
    why = str(refused.value)
    assert "hostNetwork=true" in why
    assert 'hostPath volumes (volume "sys")' in why
    assert not any(word in why for word in ("privileged=true", "capabilities", "runAsNonRoot", "seccomp", "hostPID"))
