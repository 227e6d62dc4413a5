"""`netkit probe gang` on a real API server, through its exec path, into processes on real kernel links."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import yaml

from netkit.errors import ProbeError
from netkit.lab import lifecycle
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import checked_shape
from netkit.lab.state import LabState, load
from netkit.model.probe import Direction
from tests.e2e.kube.api import Object
from tests.e2e.kube.commands import netkit
from tests.e2e.kube.control_plane import ControlPlane
from tests.e2e.kube.pods_in_lab import make_programs, put_in_lab
from tests.e2e.kube.processes import wait_until
from tests.e2e.kube.scenario import play, running, settle

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

NAMESPACE, NODES, RAILS, RATE = "probe", 8, 2, 200e6 / 8
ATTACHER = "attacher"
SUBNETS = "10.0.0.0/16,10.1.0.0/16"


@pytest.fixture(scope="module")
def lab() -> Iterator[LabState]:
    """Eight nodes, two rails, two leaves, as the pool of fake nodes says."""
    name = f"e2e-gang-{os.getpid()}"
    shape = checked_shape(nodes=NODES, rails=RAILS, leaves=2, rate=RATE, uplink_rate=None)
    try:
        lifecycle.up(shape, name, owner=os.getpid())
    except ProbeError as refused:
        pytest.skip(f"no lab on this machine: {refused}")
    yield load(name)
    lifecycle.down(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def train(plane: ControlPlane, lab: LabState, folder: Path) -> list[Object]:
    """A gang of eight pods that runs, each in its node of the lab, and a user with the roles printed for probing it."""
    make_programs(folder)
    play(plane.admin, "probe/train")
    for role, more in (("viewer", []), ("attach", ["-n", NAMESPACE])):
        printed = netkit(plane, "deploy", "rbac", "--role", role, *more, "--user", ATTACHER).stdout
        for manifest in yaml.safe_load_all(printed):
            # Other tests bind these roles to users of their own.
            own = {"name": f"attacher-{manifest['metadata']['name']}"} if "subjects" in manifest else {}
            plane.admin.apply({**manifest, "metadata": {**manifest["metadata"], **own}})
    settle(plane.admin, NAMESPACE, NODES)
    pods = running(plane.admin, NAMESPACE)
    put_in_lab(plane.admin, pods, lab, folder)
    return pods


def probe(plane: ControlPlane, folder: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    words = ["train", "-n", NAMESPACE, "--as", "exec", "--subnet", SUBNETS, "--python", str(folder / "pod-python")]
    words += ["--again", "a test"]
    done = netkit(plane, "probe", "gang", *words, "--seed", "5", "--output", "json", *options, user=ATTACHER)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def agents() -> list[str]:
    """Processes of this machine that run an agent in a lab of these tests."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"netkit-agent" in words and f"e2e-gang-{os.getpid()}".encode() in environment:
            found.append(folder.name)
    return found


def test_a_healthy_gang_is_healthy(plane: ControlPlane, train: list[Object], folder: Path) -> None:
    """Both rails of every pod are measured, none is blamed; the report knows pods and leaves; no agent is left."""
    status, report, said = probe(plane, folder, "--yes")
    assert (status, report["verdict"], report["findings"]) == (0, "healthy", []), said
    assert {(pod["pod"], pod["uid"], pod["node"]) for pod in report["pods"]} == {
        (pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"]["nodeName"]) for pod in train
    }
    assert set(report["fabric"]["leaf_of"].values()) == {"probe-leaf-0", "probe-leaf-1"}
    pairs = [row for row in report["readings"] if len(row["nodes"]) == 2]
    assert len({(node, row["rail"]) for row in pairs for node in row["nodes"]}) == NODES * RAILS
    assert median(row["forward_bytes_per_second"] for row in pairs) == pytest.approx(RATE * 0.957, rel=0.05)
    wait_until(lambda: not agents(), 10, lambda: f"agents {agents()} still run")


def test_a_slow_rail_is_named_with_its_node_and_pod(
    plane: ControlPlane, train: list[Object], lab: LabState, folder: Path
) -> None:
    """Twenty percent off one rail of one node, by the kernel: class, node, rail, and the pod it was seen from."""
    fault = Fault(where=Where(place=Place.NODE, node="n3", rail=1), slowdown=0.2, direction=Direction.TX)
    lifecycle.set_fault(lab.name, fault)
    try:
        status, report, said = probe(plane, folder, "--yes")
    finally:
        lifecycle.clear_faults(lab.name, None)
    assert (status, report["verdict"]) == (1, "slow"), said
    [finding] = report["findings"]
    assert (finding["class"], finding["node"], finding["rail"]) == ("rail", "probe-3", 1)
    [pod] = [pod["metadata"]["name"] for pod in train if pod["spec"]["nodeName"] == "probe-3"]
    assert f"probe-3 was measured in pod {NAMESPACE}/{pod}" in finding["evidence"]


def test_without_yes_only_the_plan_is_printed(plane: ControlPlane, train: list[Object], folder: Path) -> None:
    """Off a terminal nothing runs unasked: who would be disturbed, for how long, and at what price."""
    status, plan, said = probe(plane, folder)
    assert (status, plan["schema"], len(plan["pods"])) == (0, "netkit.probe-plan/1", len(train))
    assert (plan["gpus"], plan["creates"]) == (64, [])
    assert plan["gpu_minutes"] == pytest.approx(64 * plan["seconds_at_most"] / 60)
    assert "nothing was done: --yes does it" in said


@pytest.mark.fault("H11")
def test_a_gang_whose_gpus_are_in_use_is_refused(
    plane: ControlPlane, train: list[Object], lab: LabState, folder: Path
) -> None:
    """One process on one GPU of one pod stops it all before an agent starts; the pod and the process are named."""
    [busy] = [pod for pod in train if pod["spec"]["nodeName"] == "probe-5"]
    put_in_lab(plane.admin, [busy], lab, folder, GPU_PID="4711")
    try:
        wait_until(lambda: probe(plane, folder, "--yes")[0] == 3, 20, lambda: "kwok has not seen the change")
        status, report, said = probe(plane, folder, "--yes")
    finally:
        put_in_lab(plane.admin, [busy], lab, folder)
    assert (status, report) == (3, {})
    assert "1 of 8 pods cannot be probed now: probe-5: the driver lists pid 4711 on GPU-0" in said
    assert agents() == []


@pytest.mark.fault("H14")
@pytest.mark.usefixtures("train")
def test_an_image_without_the_interpreter_is_said_before_anything_starts(plane: ControlPlane, folder: Path) -> None:
    """The missing program is named, for every pod alike."""
    status, _, said = probe(plane, folder, "--yes", "--python", "/no/such/python")
    assert status == 3
    assert "8 of 8 pods cannot be probed now" in said
    assert "/no/such/python" in said


@pytest.mark.usefixtures("train")
def test_a_benchmark_that_is_not_in_the_pods_is_one_clear_line(plane: ControlPlane, folder: Path) -> None:
    """The agents look for it over exec before anything runs: the nodes are named, and what to install."""
    status, report, said = probe(plane, folder, "--yes", "--backend", "nccl-tests", "--programs", "/no/such/folder")
    assert (status, report) == (3, {})
    line = said.splitlines()[-1]
    assert "looking for nccl-tests: no /no/such/folder/all_reduce_perf on probe-" in line
    assert "and 3 more" in line
    assert "--programs" in line
    wait_until(lambda: not agents(), 10, lambda: f"agents {agents()} still run")
