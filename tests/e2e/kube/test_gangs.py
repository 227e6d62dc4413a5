"""Gangs that real schedulers admit and hold, on a real API server with fake nodes: netkit says both, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.kube.control_plane import ADMIN, ControlPlane
from tests.e2e.kube.processes import wait_until
from tests.e2e.kube.scenario import SETTLED_SECONDS, condition, play, running, settle

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

Gang = dict[str, Any]


def netkit(plane: ControlPlane, *words: str, user: str = ADMIN) -> subprocess.CompletedProcess[str]:
    code = "from netkit.cli.app import main; main()"
    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(user))}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def gangs(plane: ControlPlane, namespace: str) -> dict[str, Gang]:
    done = netkit(plane, "gangs", "-n", namespace, "--output", "json")
    assert done.returncode == 0, done.stderr
    return {gang["name"]: gang for gang in json.loads(done.stdout)["gangs"]}


def nodes_of(gang: Gang) -> set[str]:
    return {member["node"] for member in gang["members"]}


def placed(plane: ControlPlane, namespace: str) -> set[str]:
    """The nodes the server itself says that pods of a namespace run on."""
    return {pod["spec"]["nodeName"] for pod in running(plane.admin, namespace)}


def test_a_gang_of_kubernetes_itself_is_admitted_and_the_next_waits(plane: ControlPlane) -> None:
    """kube-scheduler binds four pods at once and none of six; netkit names the gang by its PodGroup."""
    api, path = plane.admin, "/apis/scheduling.k8s.io/v1alpha2/namespaces/native/podgroups/waits"
    play(api, "native/fits")
    settle(api, "native", 4)
    play(api, "native/waits")
    wait_until(
        lambda: condition(api.get(path), "PodGroupScheduled").get("status") == "False",
        SETTLED_SECONDS,
        lambda: str(api.get(path)),
    )
    try:
        found, where = gangs(plane, "native"), placed(plane, "native")
    finally:
        # The alpha of 1.36 tries a gang that does not fit again and again, with a whole processor.
        api.delete("/api/v1/namespaces/native")
    assert (found["fits"]["state"], found["fits"]["min_members"]) == ("admitted", 4)
    assert nodes_of(found["fits"]) == where
    assert (found["waits"]["state"], found["waits"]["min_members"]) == ("pending", 6)
    assert nodes_of(found["waits"]) == {None}
