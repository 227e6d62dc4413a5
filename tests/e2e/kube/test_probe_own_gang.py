"""`netkit probe gang --as job`: a gang of netkit's own, admitted by the scheduler, measured, and removed again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from netkit.errors import ProbeError
from netkit.lab import lifecycle
from netkit.lab.faults import Fault, Place, Where
from netkit.lab.shape import checked_shape
from netkit.lab.state import LabState, load
from netkit.model.probe import Direction
from netkit.probe.probe_job import forms
from tests.e2e.kube.api import Object
from tests.e2e.kube.commands import netkit
from tests.e2e.kube.control_plane import ControlPlane
from tests.e2e.kube.own_gangs import make_and_remove
from tests.e2e.kube.pods_in_lab import following, make_programs
from tests.e2e.kube.processes import wait_until
from tests.e2e.kube.scenario import condition, play, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

NAMESPACE, NODES, RAILS, RATE = "probe", 8, 2, 200e6 / 8
# A machine that is busy with other things makes a probe inconclusive, and that is right.
ATTEMPTS = 5
SUBNETS = "10.0.0.0/16,10.1.0.0/16"
PROBER = "prober"
OURS = "app.kubernetes.io/managed-by=netkit"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
Grant = tuple[str, str, str]
VOLCANO_JOBS = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{NAMESPACE}/jobs"


@pytest.fixture(scope="module")
def lab() -> Iterator[LabState]:
    """Eight nodes, two rails, two leaves, as the pool of fake nodes says."""
    name = f"e2e-own-{os.getpid()}"
    shape = checked_shape(nodes=NODES, rails=RAILS, leaves=2, rate=RATE, uplink_rate=None)
    try:
        lifecycle.up(shape, name, owner=os.getpid())
    except ProbeError as refused:
        pytest.skip(f"no lab on this machine: {refused}")
    yield load(name)
    lifecycle.down(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    make_programs(folder)
    return folder


@pytest.fixture(scope="module")
def granted(plane: ControlPlane) -> dict[str, set[Grant]]:
    """The viewer's and the prober's role as they are printed, held by the user who probes here; grants by role."""
    found = {}
    for role, options in (("viewer", []), ("prober", ["-n", NAMESPACE])):
        done = netkit(plane, "deploy", "rbac", "--role", role, *options, "--user", PROBER)
        assert done.returncode == 0, done.stderr
        manifests = list(yaml.safe_load_all(done.stdout))
        _namespace(plane)
        for manifest in manifests:
            if manifest["kind"] == "Namespace":
                plane.admin.apply(manifest)
                continue
            name = {"name": f"tests-{role}"}
            reference = {"roleRef": {**manifest["roleRef"], **name}} if "roleRef" in manifest else {}
            plane.admin.apply({**manifest, **reference, "metadata": {**manifest["metadata"], **name}})
        found[role] = set(_grants(manifests))
    return found


def _grants(manifests: list[Object]) -> Iterator[Grant]:
    for rule in (rule for manifest in manifests for rule in manifest.get("rules", ())):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((verb, group, resource) for verb in rule["verbs"])


def _namespace(plane: ControlPlane) -> None:
    if not any(one["metadata"]["name"] == NAMESPACE for one in plane.admin.items("/api/v1/namespaces")):
        plane.admin.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})


def _asked(plane: ControlPlane) -> set[Grant]:
    """What the audit log says the prober asked of resources."""
    return {
        (
            event["verb"],
            where.get("apiGroup", ""),
            "/".join(filter(None, (where["resource"], where.get("subresource")))),
        )
        for event in plane.requests_of(PROBER)
        if (where := event.get("objectRef"))
    }


@pytest.fixture(scope="module")
def train(plane: ControlPlane, granted: dict[str, set[Grant]]) -> None:
    """A gang of eight pods that holds every GPU of its nodes, and a user who may probe it."""
    assert granted["prober"]
    play(plane.admin, "probe/train")
    wait_until(
        lambda: len([pod for pod in running(plane.admin, NAMESPACE) if _is_train(pod)]) == NODES,
        60,
        lambda: "the gang does not run",
    )


def _is_train(pod: Object) -> bool:
    return bool(pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == "train")


def words(folder: Path, gang: str, *options: str) -> list[str]:
    python = ["--python", str(folder / "pod-python"), "--image", "python:3.12-slim"]
    return ["probe", "gang", gang, "-n", NAMESPACE, *python, "--subnet", SUBNETS, "--again", "a test", *options]


def probe(plane: ControlPlane, lab: LabState, folder: Path, gang: str) -> tuple[int, dict[str, Any], str]:
    options = ["--resource", "rdma/hca=1", "--yes", "--seed", "5", "--output", "json"]
    with following(plane.admin, NAMESPACE, OURS, lab, folder):
        for _ in range(ATTEMPTS):
            done = netkit(plane, *words(folder, gang, *options), user=PROBER)
            assert "Traceback" not in done.stderr
            report = json.loads(done.stdout) if done.stdout else {}
            # kwok may learn of a pod's commands a moment after it calls the pod running.
            if report.get("verdict") != "inconclusive" and "no exec found" not in done.stderr:
                break
    return done.returncode, report, done.stderr


def held(plane: ControlPlane) -> list[str]:
    """Leases of the lock namespace that a probe holds."""
    leases = plane.admin.items(f"/apis/coordination.k8s.io/v1/namespaces/netkit/leases?labelSelector={OURS}")
    return sorted(one["metadata"]["name"] for one in leases if "netkit.dev/probe" in one["metadata"]["labels"])


def left(plane: ControlPlane) -> list[str]:
    """Pods of netkit's own that are still there."""
    pods = plane.admin.items(f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={OURS}")
    return [pod["metadata"]["name"] for pod in pods]


@pytest.mark.usefixtures("train")
def test_a_slow_rail_is_named_by_a_gang_of_netkits_own(plane: ControlPlane, lab: LabState, folder: Path) -> None:
    """One pod a node, asked of the scheduler; the slow rail is named; nothing is left."""
    fault = Fault(where=Where(place=Place.NODE, node="n3", rail=1), slowdown=0.2, direction=Direction.TX)
    lifecycle.set_fault(lab.name, fault)
    try:
        status, report, said = probe(plane, lab, folder, "train")
    finally:
        lifecycle.clear_faults(lab.name, None)
    assert (status, report.get("verdict")) == (1, "slow"), said
    [finding] = report["findings"]
    assert (finding["class"], finding["node"], finding["rail"]) == ("rail", "probe-3", 1)
    assert {pod["node"] for pod in report["pods"]} == {f"probe-{node}" for node in range(NODES)}
    assert all(pod["pod"].startswith("netkit-probe-") for pod in report["pods"])
    assert left(plane) == []
    assert [job["metadata"]["name"] for job in plane.admin.items(JOBS)] == ["train"]


@pytest.mark.usefixtures("granted")
def test_volcano_admits_the_probes_gang_and_a_healthy_one_is_healthy(
    volcano: ControlPlane, lab: LabState, folder: Path
) -> None:
    """A gang that Volcano admitted is probed by another that Volcano admits as a whole."""
    play(volcano.admin, "probe/vtrain")
    wait_until(lambda: _phase(volcano) == "Running", 60, lambda: f"the gang is {_phase(volcano)}")
    status, report, said = probe(volcano, lab, folder, "vtrain")
    assert (status, report.get("verdict"), report.get("findings")) == (0, "healthy", []), said
    assert all(pod["pod"].startswith("netkit-probe-probe-") for pod in report["pods"])
    assert left(volcano) == []
    assert [job["metadata"]["name"] for job in volcano.admin.items(VOLCANO_JOBS)] == ["vtrain"]


def _phase(plane: ControlPlane) -> str:
    return str(plane.admin.get(f"{VOLCANO_JOBS}/vtrain").get("status", {}).get("state", {}).get("phase"))


@pytest.mark.fault("H07")
@pytest.mark.usefixtures("train")
def test_a_killed_netkit_leaves_a_job_with_a_deadline_that_cleanup_finds(plane: ControlPlane, folder: Path) -> None:
    """SIGKILL while the gang waits for room: the job is there, bears its deadline, refuses a second, and is removed."""
    code = "from netkit.cli.app import main; main()"
    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(PROBER))}
    with subprocess.Popen([sys.executable, "-c", code, *words(folder, "train", "--yes")], env=env) as first:
        wait_until(lambda: len(left(plane)) == NODES, 60, lambda: "no probe was created")
        second = netkit(plane, *words(folder, "train", "--yes"), user=PROBER)
        first.send_signal(signal.SIGKILL)
    assert second.returncode == 3
    assert "slot netkit-slot-0 is held by " in second.stderr
    assert "unless renewed it counts as abandoned in 1" in second.stderr
    job = plane.admin.get(f"{JOBS}/netkit-probe")
    assert job["spec"]["activeDeadlineSeconds"] == job["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 600
    assert not condition(job, "Complete")
    listed, removed = (netkit(plane, "cleanup", "-n", NAMESPACE, *more, user=PROBER).stdout for more in ([], ["--yes"]))
    assert "found jobs.batch probe/netkit-probe of probe " in listed
    assert "removed jobs.batch" in removed
    wait_until(lambda: left(plane) == [], 60, lambda: f"{left(plane)} are left")
    assert len(held(plane)) == NODES + 1
    removed = netkit(plane, "cleanup", "--locks", "--yes", user=PROBER).stdout
    assert removed.count("removed leases.coordination.k8s.io netkit/") == NODES + 1
    assert held(plane) == []


@pytest.mark.fault("H07")
@pytest.mark.usefixtures("train")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_netkit_removes_its_gang(
    plane: ControlPlane, folder: Path, number: signal.Signals, status: int
) -> None:
    """Ctrl-C and SIGTERM end in nothing left, and in the status that says so."""
    code = "from netkit.cli.app import main; main()"
    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(PROBER))}
    with subprocess.Popen([sys.executable, "-c", code, *words(folder, "train", "--yes")], env=env) as process:
        wait_until(lambda: len(left(plane)) == NODES, 60, lambda: "no probe was created")
        process.send_signal(number)
        assert process.wait(60) == status
    assert left(plane) == held(plane) == []


@pytest.mark.fault("H09")
@pytest.mark.usefixtures("train")
def test_of_two_operators_at_once_one_probes(plane: ControlPlane, folder: Path) -> None:
    """Started together, again and again: at most one gets the lock, none of the others leaves anything."""
    code = "from netkit.cli.app import main; main()"
    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(PROBER))}
    command = [sys.executable, "-c", code, *words(folder, "train", "--yes")]
    with ExitStack() as both:
        probes = [
            both.enter_context(subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)) for _ in range(2)
        ]
        wait_until(lambda: any(one.poll() is not None for one in probes), 100, lambda: "both go on")
        refused, *others = sorted(probes, key=lambda one: one.poll() is None)
        assert refused.returncode == 3
        assert "locking nodes: " in refused.communicate(timeout=60)[1]
        for one in others:
            one.send_signal(signal.SIGINT)
            one.communicate(timeout=60)
            assert one.returncode in (130, 3)
    assert left(plane) == held(plane) == []


@pytest.mark.usefixtures("train")
def test_the_probers_role_is_what_a_probe_asks_for(
    volcano: ControlPlane, lab: LabState, folder: Path, granted: dict[str, set[Grant]]
) -> None:
    """Probes that lose a pod, gangs of every form, a clean-up: all they ask is granted, all that is granted is asked.

    What the server itself checks besides, that a GET which becomes a WebSocket may also create, is in no audit log.
    """
    play(volcano.admin, "probe/vtrain")
    wait_until(lambda: _phase(volcano) == "Running", 60, lambda: f"the gang is {_phase(volcano)}")
    for gang in ("train", "vtrain"):
        _lose_a_pod(volcano, lab, folder, gang)
    for form in forms().values():
        make_and_remove(volcano.kubeconfig(PROBER), form, NAMESPACE)
    netkit(volcano, "cleanup", "-n", NAMESPACE, user=PROBER)
    beyond = _asked(volcano) - granted["viewer"]
    assert beyond | {("create", "", "pods/exec")} | (_asked(volcano) & granted["prober"]) == granted["prober"]


def _lose_a_pod(plane: ControlPlane, lab: LabState, folder: Path, gang: str) -> None:
    """Take one pod of the probe away in the middle: it is named, with what became of it, and nothing is left."""
    options = ["--resource", "rdma/hca=1", "--seconds", "20", "--event", "--yes"]
    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(PROBER))}
    command = [sys.executable, "-c", "from netkit.cli.app import main; main()", *words(folder, gang, *options)]
    with (
        following(plane.admin, NAMESPACE, OURS, lab, folder),
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stderr is not None
        while "agents with 2 rails answered" not in process.stderr.readline():
            assert process.poll() is None
        victim = left(plane)[2]
        plane.admin.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{victim}?gracePeriodSeconds=0")
        _kill_agent_in(victim)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert victim in out
    events = plane.admin.items(f"/api/v1/namespaces/{NAMESPACE}/events")
    assert any(event["reason"] == "ProbeInconclusive" and victim in event["message"] for event in events)
    assert left(plane) == []


def _kill_agent_in(pod: str) -> None:
    """End the processes that stand for a pod: kwok leaves them running when it is deleted."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"POD={pod}".encode() in environment:
            os.kill(int(folder.name), signal.SIGKILL)
