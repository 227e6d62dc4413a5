"""`netkit gangs` against an API server over real sockets: what is listed, how, and what comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from netkit.cli import gangs
from netkit.errors import InputError
from tests.gangs.synthetic_cluster import pod, thing
from tests.kube.fake_api import FakeApi, Running, write_kubeconfig

NO_ROOM = "0/8 nodes are available: 8 Insufficient nvidia.com/gpu."


def app() -> typer.Typer:
    one = typer.Typer(pretty_exceptions_enable=False)
    one.command("gangs")(gangs.gangs)
    one.add_typer(gangs.app)
    return one


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app(), [str(argument) for argument in arguments])


def indexed_job(name: str, size: int, placed: int, namespace: str = "team-a") -> list[dict[str, object]]:
    job = thing(
        "batch/v1",
        "Job",
        name,
        metadata={"namespace": namespace},
        spec={"completionMode": "Indexed", "parallelism": size},
    )
    pods = [
        pod(
            f"{name}-{at}-abc",
            node=f"n{at}" if at < placed else "",
            namespace=namespace,
            uid=f"{namespace}-{name}-{at}",
            owner=("Job", name, f"uid-of-{name}"),
            labels={"batch.kubernetes.io/job-name": name, "batch.kubernetes.io/job-completion-index": str(at)},
            **({} if at < placed else {"why": NO_ROOM}),
        )
        for at in range(size)
    ]
    return [job, *pods]


def test_gangs_answers_in_the_agreed_form(tmp_path: Path) -> None:
    """Schema netkit.gangs/1: gang, workload, systems, sizes, state, why, members with evidence."""
    with Running(FakeApi().add(*indexed_job("train", 4, 2))) as api:
        result = run("gangs", "--kubeconfig", write_kubeconfig(tmp_path / "config", api.url), "--output", "json")
    assert result.exit_code == 0, result.exception
    answer = json.loads(result.stdout)
    (gang,) = answer["gangs"]
    assert answer["schema"] == "netkit.gangs/1"
    assert {key: gang[key] for key in ("namespace", "name", "systems", "min_members", "total", "state")} == {
        "namespace": "team-a",
        "name": "train",
        "systems": ["indexed_job"],
        "min_members": 4,
        "total": 4,
        "state": "partial",
    }
    assert gang["why"] == "2 members have a node, 4 are needed: none of 8 nodes fits: 8 Insufficient nvidia.com/gpu"
    assert gang["workload"]["name"] == "train"
    first = gang["members"][0]
    assert (first["pod"], first["node"], first["rank"]) == ("train-0-abc", "n0", 0)
    assert {one["field"] for one in first["evidence"]} >= {"label batch.kubernetes.io/job-completion-index"}


def test_the_namespace_of_the_context_is_where_one_looks(tmp_path: Path) -> None:
    """-A looks everywhere, -n elsewhere; the request itself is limited, not only the answer."""
    with Running(FakeApi().add(*indexed_job("a", 2, 2), *indexed_job("b", 2, 2, namespace="team-b"))) as api:
        config = write_kubeconfig(tmp_path / "config", api.url)
        found = {
            flags: [
                one["name"]
                for one in json.loads(run("gangs", "--kubeconfig", config, "--output", "json", *flags).stdout)["gangs"]
            ]
            for flags in ((), ("-n", "team-b"), ("-A",))
        }
        asked = {call.namespace for call in api.calls if call.resource == "pods"}
    assert found == {(): ["a"], ("-n", "team-b"): ["b"], ("-A",): ["a", "b"]}
    assert asked == {"team-a", "team-b", ""}


def test_show_draws_one_gang(tmp_path: Path) -> None:
    """Members stand by rank with their nodes."""
    with Running(FakeApi().add(*indexed_job("train", 2, 2))) as api:
        config = write_kubeconfig(tmp_path / "config", api.url)
        result = run("gang", "show", "train", "--kubeconfig", config, "--output", "plain")
    assert result.stdout.startswith("ADMITTED: team-a/train of Job train (indexed_job): 2 members, at least 2 needed")
    assert "n1: [1]" in result.stdout


def test_a_name_nobody_has_gets_the_nearest(tmp_path: Path) -> None:
    """The error lists what is there."""
    with Running(FakeApi().add(*indexed_job("train", 2, 2))) as api:
        fault = run("gang", "show", "trian", "--kubeconfig", write_kubeconfig(tmp_path / "c", api.url)).exception
    assert isinstance(fault, InputError)
    assert str(fault) == "gang 'trian': accepted is one of team-a/train (did you mean 'train'?)"


def test_what_may_not_be_listed_is_said_with_what_it_hides(tmp_path: Path) -> None:
    """A denied kind is no empty kind: the list names the right that is missing and the gangs it may hide."""
    group = thing("scheduling.volcano.sh/v1beta1", "PodGroup", "hidden", spec={"minMember": 1})
    with Running(FakeApi(denied={"podgroups.scheduling.volcano.sh"}).add(group)) as api:
        config = write_kubeconfig(tmp_path / "config", api.url)
        said = " ".join(run("gangs", "--kubeconfig", config, "--output", "plain").stdout.split())
        answer = json.loads(run("gangs", "--kubeconfig", config, "--output", "json").stdout)
    assert "you lack verb 'list' on podgroups.scheduling.volcano.sh" in said
    assert "gangs of Volcano may be incomplete" in said
    assert [one["reason"] for one in answer["incomplete"]] == ["denied"]


@pytest.mark.parametrize("output", ["plain", "table", "json", "jsonl"])
def test_an_empty_namespace_is_no_fault(tmp_path: Path, output: str) -> None:
    """No gang is an answer in every form."""
    with Running(FakeApi()) as api:
        result = run("gangs", "--kubeconfig", write_kubeconfig(tmp_path / "config", api.url), "--output", output)
    assert result.exit_code == 0
    assert "[]" in result.stdout or "no gang in namespace team-a" in result.stdout or result.stdout in ("", "\n")


@pytest.mark.fault("G03")
@pytest.mark.fault("G04")
def test_nothing_is_watched(tmp_path: Path) -> None:
    """Every answer is a fresh list: there is no watch to lose an event, to end with 410 or to stay half open."""
    with Running(FakeApi().add(*indexed_job("train", 2, 2))) as api:
        config = write_kubeconfig(tmp_path / "config", api.url)
        for command in gangs.app.registered_commands:
            words = ["-o", tmp_path / "b.jsonl"] if command.name == "bundle" else ["train"]
            run("gang", str(command.name), *words, "--kubeconfig", config)
        asked = [call.path for call in api.calls]
    assert len(asked) > 20
    assert not [path for path in asked if "watch" in path]


def test_the_drawing_fits_eighty_columns(tmp_path: Path) -> None:
    """Leaf, node, rank, GPU and the NIC below its switch, on a terminal of 80 columns."""
    text = json.dumps({"gpu": [{"minor": 0}], "rdma": [{"minor": 0}]})
    rows = [
        {"type": "gpu", "minor": 0, "id": "GPU-1f0c2a3b-1111-2222", "topology": {"nodeID": 0, "pcieID": "s0"}},
        {"type": "rdma", "minor": 0, "id": "0000:09:00.0", "topology": {"nodeID": 0, "pcieID": "s0"}},
    ]
    whole = {"namespace": ""}
    bodies = indexed_job("train", 2, 2)
    for body in bodies[1:]:
        body["metadata"]["annotations"] = {"scheduling.koordinator.sh/device-allocated": text}  # type: ignore[index]
    for at in range(2):
        label = {"labels": {"fabric.topograph.run/tier-0": f"leaf{at}"}}
        bodies.append(thing("v1", "Node", f"n{at}", metadata=whole | label))
        bodies.append(
            thing("scheduling.koordinator.sh/v1alpha1", "Device", f"n{at}", spec={"devices": rows}, metadata=whole)
        )
    with Running(FakeApi().add(*bodies)) as api:
        config = write_kubeconfig(tmp_path / "config", api.url)
        shown = run("gang", "show", "train", "--kubeconfig", config, "--output", "plain").stdout
    drawing = shown[shown.index("Where they sit") : shown.index("How this is known")]
    assert "  leaf1\n    n1: [1]\n      [1] GPU-1f0c2a3b-111… == 0000:09:00.0\n" in drawing
    assert max(map(len, drawing.splitlines())) <= 80
