"""`netkit probe nodes` before anything runs: which nodes it would take, at what price, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from netkit.cli import probe
from netkit.errors import InputError
from tests.gangs.synthetic_cluster import pod
from tests.kube.fake_api import FakeApi, Running, status, write_kubeconfig
from tests.probe.test_free_nodes import HOLDS_ALL, node, taint

WORDS = ["--network", "rails/rail0", "--network", "rails/rail1", "--image", "python:3.12-slim"]


def pool(size: int, **more: Any) -> list[dict[str, Any]]:
    nodes = [node(f"gpu-{at}", **more) for at in range(size)]
    for one in nodes:
        one["metadata"]["labels"] = {"pool": "h100"}
    return nodes


def run(folder: Path, objects: list[dict[str, Any]], *words: str, selector: str = "pool=h100") -> Result:
    with Running(FakeApi().add(*objects)) as api:
        config = write_kubeconfig(folder / "config", api.url)
        return CliRunner().invoke(probe.app, ["nodes", selector, "--kubeconfig", str(config), *words])


def test_the_plan_takes_free_nodes_and_names_the_others(tmp_path: Path) -> None:
    """As a program reads it: nodes, GPUs, rails, what is created, and why a node is left alone."""
    held = pod("train-0", "gpu-1", resources=HOLDS_ALL)
    done = run(tmp_path, [*pool(4), held, node("other")], *WORDS, "--dry-run", "--output", "json")
    assert done.exit_code == 0, done.exception
    plan = json.loads(done.stdout)
    assert (plan["schema"], plan["gang"], plan["as"]) == ("netkit.probe-plan/1", "nodes pool=h100", "job")
    assert [(row["node"], row["pod"], row["gpus"]) for row in plan["pods"]] == [
        (f"gpu-{at}", None, 8) for at in (0, 2, 3)
    ]
    assert (plan["interfaces"], plan["gpus"]) == (["net1", "net2"], 24)
    assert plan["creates"] == ["jobs.batch netkit-probe in namespace team-a with 3 pods"]
    assert plan["left_out"] == {"gpu-1": "8 of 8 GPUs are held by team-a/train-0"}


def test_the_plan_for_a_person_says_the_same(tmp_path: Path) -> None:
    """And that nothing was done without --yes."""
    objects = [*pool(2), *pool(3, spec={"unschedulable": True})[2:]]
    done = run(tmp_path, objects, *WORDS, "--output", "plain")
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert lines[0] == "probe of nodes pool=h100 (indexed_job): a gang of its own on 2 free nodes"
    assert lines[2] == "disturbs: nobody, if the scheduler finds room; asks for 16 GPUs"
    assert "  gpu-0  8 GPUs" in lines
    assert "left alone: gpu-2: it is cordoned" in lines
    assert "nothing was done: --yes does it" in done.stderr


REFUSED = [
    (pool(4), ["--image", "i"], "no rail: accepted is --network NS/NAME, --interface"),
    (pool(4), WORDS[:4], "a probe of nodes without --image"),
    (pool(4), [*WORDS, "--network", "a/b/c"], "--network 'a/b/c'"),
    (pool(4), [*WORDS, "--network", "rails/rail0"], "--network with one named twice"),
    (pool(4), [*WORDS, "--form", "volcan"], "--form 'volcan': accepted is coscheduling, indexed_job, "),
    (pool(4), [*WORDS, "--form", "kueue"], "form kueue without a queue: accepted is --queue NAME"),
    (pool(4), [*WORDS, "--queue", "a b"], "--queue 'a b'"),
    (pool(1), WORDS, "selector 'pool=h100' with 1 nodes, of which 1 are free: accepted is a label selector"),
    (pool(3, spec=taint("x")), WORDS, "selector 'pool=h100' with 3 nodes, of which 0 are free (gpu-0: it bears the"),
    (pool(501), WORDS, "a probe with 501 pods: accepted is at most 500: name fewer nodes"),
    ([], WORDS, "selector 'pool=h100' with 0 nodes, of which 0 are free: accepted"),
]


@pytest.mark.parametrize(("objects", "words", "said"), REFUSED)
def test_what_cannot_be_burnt_in_is_one_line(
    tmp_path: Path, objects: list[dict[str, Any]], words: list[str], said: str
) -> None:
    """What was given, what is accepted; nothing was done."""
    fault = run(tmp_path, objects, *words, "--yes").exception
    assert isinstance(fault, InputError)
    assert str(fault).startswith(said)


def test_a_selector_that_the_server_does_not_understand_is_bad_input(tmp_path: Path) -> None:
    """Not a cluster that cannot be read."""

    async def refuse(_request: object) -> Any:
        return status(400, "unable to parse requirement")

    api = FakeApi()
    api.script["/api/v1/nodes"] = [refuse]
    with Running(api) as running:
        config = write_kubeconfig(tmp_path / "config", running.url)
        fault = CliRunner().invoke(probe.app, ["nodes", "a=b=c", "--kubeconfig", str(config), *WORDS]).exception
    assert isinstance(fault, InputError)
    assert str(fault) == "selector 'a=b=c': accepted is a label selector of nodes such as pool=h100"
