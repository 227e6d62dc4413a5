"""`netkit probe gang` before anything runs: whom it would disturb, and what it refuses to plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from netkit.cli import probe
from netkit.errors import InputError
from tests.gangs.synthetic_cluster import pod, thing
from tests.kube.fake_api import FakeApi, Running, write_kubeconfig

RAILS = ["--interface", "net1,net2"]
IMAGE = ["--image", "python:3.12-slim"]
MULTUS = "k8s.v1.cni.cncf.io/network-status"


def gang(size: int, running: int, **more: Any) -> list[dict[str, Any]]:
    spec = {"completionMode": "Indexed", "parallelism": size}
    job = thing("batch/v1", "Job", "train", metadata={"namespace": "team-a"}, spec=spec)
    labels = {"batch.kubernetes.io/job-name": "train"}
    pods = [
        pod(
            f"train-{at}",
            node=f"gpu-{at}" if at < running else "",
            owner=("Job", "train", "uid-of-train"),
            labels=labels | {"batch.kubernetes.io/job-completion-index": str(at)},
            resources={"limits": {"nvidia.com/gpu": "8"}},
            **more,
        )
        for at in range(size)
    ]
    return [job, *pods]


def run(folder: Path, objects: list[dict[str, Any]], *options: str, how: str = "exec") -> Result:
    with Running(FakeApi().add(*objects)) as api:
        config = write_kubeconfig(folder / "config", api.url)
        words = ["gang", "train", "--as", how, "--kubeconfig", str(config), *options]
        return CliRunner().invoke(probe.app, words)


def test_the_plan_says_whom_it_disturbs_and_what_it_costs(tmp_path: Path) -> None:
    """Pods with node and container, GPUs, rounds, minutes, GPU-minutes; it creates nothing."""
    done = run(tmp_path, gang(4, 4), *RAILS, "--dry-run", "--output", "json")
    assert done.exit_code == 0, done.exception
    plan = json.loads(done.stdout)
    assert (plan["schema"], plan["gang"], plan["interfaces"]) == (
        "netkit.probe-plan/1",
        "team-a/train",
        ["net1", "net2"],
    )
    assert [(row["pod"], row["node"], row["container"], row["gpus"]) for row in plan["pods"]] == [
        (f"train-{at}", f"gpu-{at}", "main", 8) for at in range(4)
    ]
    assert (plan["gpus"], plan["creates"]) == (32, [])
    assert plan["gpu_minutes"] == pytest.approx(32 * plan["seconds_at_most"] / 60)


def test_the_plan_for_a_person_names_pods_and_price(tmp_path: Path) -> None:
    """The same in lines."""
    done = run(tmp_path, gang(2, 2), *RAILS, "--dry-run", "--output", "plain")
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert lines[0] == "probe of gang team-a/train (indexed_job): attach to 2 pods on 2 nodes"
    assert "disturbs: 2 pods holding 16 GPUs; a pod whose GPUs are in use, or may be, is refused" in lines
    assert "  gpu-1  team-a/train-1  container main  8 GPUs" in lines


def test_rails_are_the_interfaces_that_all_pods_hold(tmp_path: Path) -> None:
    """What Multus tells of every pod alike is taken, in its order."""
    status = [{"name": "eth", "interface": "eth0", "default": True}]
    status += [{"name": f"team-a/rail{at}", "interface": f"net{at}"} for at in (1, 2)]
    found = gang(2, 2, annotations={MULTUS: json.dumps(status)})
    plan = json.loads(run(tmp_path, found, "--dry-run", "--output", "json").stdout)
    assert plan["interfaces"] == ["net1", "net2"]


@pytest.mark.parametrize(
    ("objects", "options", "said"),
    [
        (gang(4, 2), RAILS, "gang team-a/train: 2 of 4 pods do not run: train-2 (Pending), train-3 (Pending)"),
        (gang(1, 1), RAILS, "gang team-a/train with 1 pods that train: accepted is 2 to 500 pods"),
        (gang(2, 2), [], "gang team-a/train, whose pods name no network interfaces of their own: accepted is --inter"),
        (gang(2, 2), ["--interface", "a/b"], "--interface 'a/b'"),
        (gang(2, 2), ["--python", "-c"], "--python '-c'"),
        (gang(2, 2), [*RAILS, "--seconds", "0"], "--seconds 0"),
    ],
)
def test_what_cannot_be_probed_is_one_line(
    tmp_path: Path, objects: list[dict[str, Any]], options: list[str], said: str
) -> None:
    """What was given, what is accepted; nothing was done."""
    fault = run(tmp_path, objects, *options, "--yes").exception
    assert isinstance(fault, InputError)
    assert str(fault).startswith(said)


def test_two_pods_on_one_node_are_told_apart(tmp_path: Path) -> None:
    """Names in a report are those of nodes, with the pod's where a node holds two."""
    objects = gang(2, 2)
    for body in objects[1:]:
        body["spec"]["nodeName"] = "gpu-0"
    done = run(tmp_path, objects, *RAILS, "--dry-run", "--output", "plain")
    assert "attach to 2 pods on 1 nodes" in done.stdout


@pytest.mark.parametrize(
    ("options", "gpus", "disturbs"),
    [
        ([], 16, "disturbs: nobody, if the scheduler finds room; asks for 16 GPUs"),
        (["--without-gpus"], 0, "disturbs: the network traffic of whatever runs on these nodes; asks for no GPU"),
        (["--resource", "rdma/hca=1"], 0, "disturbs: the network traffic of whatever runs on these nodes"),
    ],
)
def test_a_gang_of_its_own_is_planned_with_what_it_asks_for(
    tmp_path: Path, options: list[str], gpus: int, disturbs: str
) -> None:
    """What is created, where, and how many GPUs it takes: by default as many as the gang's own pods."""
    done = run(tmp_path, gang(2, 2), *RAILS, *IMAGE, *options, "--dry-run", "--output", "plain", how="job")
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert lines[0] == "probe of gang team-a/train (indexed_job): a gang of its own beside 2 pods on 2 nodes"
    assert lines[2].startswith(disturbs)
    assert "creates: jobs.batch netkit-probe in namespace team-a with 2 pods, a Lease on each node" in lines[4]
    plan = json.loads(
        run(tmp_path, gang(2, 2), *RAILS, *IMAGE, *options, "--dry-run", "--output", "json", how="job").stdout
    )
    assert (plan["as"], plan["gpus"]) == ("job", gpus)


@pytest.mark.parametrize(
    ("how", "options", "said"),
    [
        ("job", [], "--as job without --image"),
        ("job", ["--image", "a b"], "--image 'a b'"),
        ("job", [*IMAGE, "--resource", "gpu"], "--resource 'gpu': accepted is NAME=COUNT"),
        ("job", [*IMAGE, "--resource", "rdma/hca=0"], "--resource 'rdma/hca=0'"),
        ("job", [*IMAGE, "--probe-namespace", "No"], "--probe-namespace 'No'"),
        ("exec", IMAGE, "--as exec with an option of --as job"),
    ],
)
def test_wishes_for_a_gang_of_its_own_are_checked(tmp_path: Path, how: str, options: list[str], said: str) -> None:
    """What was given, what is accepted; nothing was done."""
    fault = run(tmp_path, gang(2, 2), *RAILS, *options, "--yes", how=how).exception
    assert isinstance(fault, InputError)
    assert str(fault).startswith(said)


def test_a_gang_without_nodes_has_no_place_for_a_probe(tmp_path: Path) -> None:
    """Pods that have ended still name their nodes; pods that never had one do not."""
    fault = run(tmp_path, gang(2, 1), *RAILS, *IMAGE, "--yes", how="job").exception
    assert str(fault).startswith("gang team-a/train: 1 of 2 pods have no node: train-1 (Pending)")
