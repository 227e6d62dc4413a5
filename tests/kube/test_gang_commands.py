"""`netkit gang order`, `check` and selections from the command line, from a bundle: forms, status, wrong input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from netkit.cli import explain, gangs
from netkit.errors import InputError
from netkit.sources.kube.bundle import dump
from tests.gangs.synthetic_cluster import Body, pod, snapshot, thing

NODES = Path(__file__).parents[1] / "nodes"


def app() -> typer.Typer:
    one = typer.Typer(pretty_exceptions_enable=False)
    one.command("gangs")(gangs.gangs)
    one.add_typer(gangs.app)
    return one


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app(), [str(argument) for argument in arguments])


def bundle(folder: Path, *bodies: Body) -> Path:
    path = folder / "bundle.jsonl"
    path.write_text("".join(dump(snapshot(*bodies))))
    return path


def scattered(*, kueue: bool = False, labelled: bool = True) -> list[Body]:
    """Four ranks over two leaves, every neighbour on the other one."""
    job = thing("batch/v1", "Job", "train", spec={"completionMode": "Indexed", "parallelism": 4})
    nodes = []
    for at in range(4):
        labels = {"fabric.topograph.run/tier-0": f"leaf{at % 2}"} if labelled else {}
        nodes.append(thing("v1", "Node", f"n{at}", metadata={"namespace": "", "labels": labels}))
    pods = []
    for at in range(4):
        labels = {"job-name": "train", "batch.kubernetes.io/job-completion-index": str(at)}
        labels |= {"kueue.x-k8s.io/pod-group-name": "train"} if kueue else {}
        limits = {"limits": {"nvidia.com/gpu": "8"}}
        pods.append(pod(f"train-{at}", node=f"n{at}", labels=labels, resources=limits))
    return [job, *nodes, *pods]


def test_order_says_what_would_be_won(tmp_path: Path) -> None:
    """Four hops between leaves now, two would do: status 1, and the new order."""
    path = bundle(tmp_path, *scattered())
    result = run("gang", "order", "train", "--bundle", path, "--output", "json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["schema"], answer["fabric"]) == (1, "netkit.gang-order/1", "topograph labels")
    assert (answer["now"]["cross_leaf"], answer["best"]["cross_leaf"], answer["moved"]) == (4, 2, 2)
    assert [one["pod"] for one in answer["order"]] == ["train-0", "train-2", "train-1", "train-3"]
    plain = run("gang", "order", "train", "--bundle", path, "--output", "plain").stdout
    assert plain.startswith("SCATTERED: team-a/train: the ring leaves a leaf 4 times, 2 would do (topograph labels)")


def test_the_new_order_as_hostfile_is_an_order_that_is_right(tmp_path: Path) -> None:
    """What is printed, given back as the hostfile in use, leaves nothing to win."""
    path = bundle(tmp_path, *scattered())
    hostfile = tmp_path / "hostfile"
    hostfile.write_text(run("gang", "order", "train", "--bundle", path, "--as", "hostfile").stdout)
    assert hostfile.read_text().split() == ["train-0", "train-2", "train-1", "train-3"]
    again = run("gang", "order", "train", "--bundle", path, "--hostfile", hostfile, "--output", "json")
    assert (again.exit_code, json.loads(again.stdout)["moved"]) == (0, 0)


@pytest.mark.parametrize(
    ("form", "line"), [("intel", "train-0:2"), ("deepspeed", "train-0 slots=2"), ("plain", "train-0")]
)
def test_hostfiles_come_in_every_form(tmp_path: Path, form: str, line: str) -> None:
    """Slots are the GPUs a member is known to hold."""
    bodies = scattered()
    for body in bodies:
        if body["kind"] == "Pod":
            body["metadata"]["annotations"] = {"volcano.sh/gpu-index": "0,1"}
    out = run(
        "gang", "order", "train", "--bundle", bundle(tmp_path, *bodies), "--as", "hostfile", "--hostfile-form", form
    )
    assert out.stdout.splitlines()[0] == line


def test_index_labels_are_commands_to_run(tmp_path: Path) -> None:
    """Kueue's index label, one command a pod, nothing run."""
    out = run("gang", "order", "train", "--bundle", bundle(tmp_path, *scattered(kueue=True)), "--as", "labels").stdout
    first, second, *_ = out.splitlines()
    key = "kueue.x-k8s.io/pod-group-pod-index"
    assert first == f"kubectl label pod --namespace team-a train-0 {key}=0 --overwrite"
    assert second == f"kubectl label pod --namespace team-a train-2 {key}=1 --overwrite"


@pytest.mark.parametrize("name", ["x; reboot", "-oProxyCommand=sh", "$(id)", "a b"])
@pytest.mark.parametrize("form", ["hostfile", "labels"])
def test_a_name_that_a_shell_would_obey_is_refused(tmp_path: Path, name: str, form: str) -> None:
    """A bundle may hold any name; what is printed to be run or read by launchers may not."""
    bodies = scattered(kueue=True)
    bodies[-1]["metadata"]["name"] = name
    result = run("gang", "order", "train", "--bundle", bundle(tmp_path, *bodies), "--as", form)
    assert isinstance(result.exception, InputError)
    assert (result.stdout, "names as Kubernetes has them" in str(result.exception)) == ("", True)


def test_a_fabric_that_nobody_tells_is_unknown_until_given(tmp_path: Path) -> None:
    """Status 3 without, an answer with a file."""
    path = bundle(tmp_path, *scattered(labelled=False))
    unknown = run("gang", "order", "train", "--bundle", path, "--output", "plain")
    assert (unknown.exit_code, unknown.stdout.startswith("UNKNOWN: team-a/train: nothing tells the fabric")) == (
        3,
        True,
    )
    fabric = tmp_path / "fabric"
    fabric.write_text("n0 a\nn1 b\nn2 a\nn3 b\n")
    assert run("gang", "order", "train", "--bundle", path, "--fabric", fabric).exit_code == 1


def with_nic(name: str) -> list[Body]:
    row = {"name": "ns/rail", "interface": "net1", "device-info": {"pci": {"rdma-device": name}}}
    bodies = scattered()
    for body in bodies:
        if body["kind"] == "Pod":
            body["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/network-status": json.dumps([row])}
    return bodies


@pytest.mark.parametrize(("declared", "outcome"), [("mlx5_3", "ok"), ("mlx5_77", "finding")])
def test_declared_is_held_against_seen(tmp_path: Path, declared: str, outcome: str) -> None:
    """A NIC the API names and the pod does not see is a finding that names the component at fault."""
    seen = tmp_path / "train-0.jsonl"
    shutil.copy(NODES / "healthy-hgx.jsonl", seen)
    path = bundle(tmp_path, *with_nic(declared))
    answer = json.loads(run("gang", "check", "train", "--bundle", path, "--snapshot", seen, "--output", "json").stdout)
    about: dict[str, dict[str, Any]] = {one["subject"]: one for one in answer["results"] if one["rule"] == "K15"}
    assert (about["train-0"]["outcome"], about["train-1"]["outcome"]) == (outcome, "incomplete")
    if outcome == "finding":
        assert "mlx5_77 is declared by multus and not seen in the pod" in about["train-0"]["summary"]
        assert "the CNI plug-in behind Multus" in str(about["train-0"]["evidence"])


def test_recordings_of_two_members_are_compared(tmp_path: Path) -> None:
    """NIC names, MTU and settings inside the pods: the rules of a gang's nodes, with pods as subjects."""
    places: list[str | Path] = []
    for pod_name, recorded in (("train-0", "healthy-hgx"), ("train-1", "roce-two-rails")):
        places += ["--snapshot", tmp_path / f"{pod_name}.jsonl"]
        shutil.copy(NODES / f"{recorded}.jsonl", places[-1])
    path = bundle(tmp_path, *scattered())
    answer = json.loads(run("gang", "check", "train", "--bundle", path, *places, "--output", "json").stdout)
    found = {one["rule"] for one in answer["results"] if one["outcome"] == "finding"}
    assert "J01" in found
    alone = json.loads(run("gang", "check", "train", "--bundle", path, *places[:2], "--output", "json").stdout)
    assert not [one for one in alone["results"] if one["rule"].startswith("J")]


def test_check_ends_with_one_and_names_what_to_do(tmp_path: Path) -> None:
    """No shared memory in any pod; --fail-on critical lets it pass."""
    path = bundle(tmp_path, *scattered())
    found = run("gang", "check", "train", "--bundle", path, "--output", "plain")
    assert (found.exit_code, found.stdout.startswith("FINDINGS: K06")) == (1, True)
    assert "mount an emptyDir with medium: Memory at /dev/shm" in found.stdout
    assert run("gang", "check", "train", "--bundle", path, "--fail-on", "critical").exit_code == 0


def test_pods_named_one_by_one_are_a_gang(tmp_path: Path) -> None:
    """The last resort: whatever nobody calls a gang."""
    path = bundle(tmp_path, pod("a", node="n0"), pod("b", node="n1"), pod("c", node="n1"))
    answer = json.loads(run("gang", "show", "a,c", "--bundle", path, "--output", "json").stdout)
    (gang,) = answer["gangs"]
    assert ([one["pod"] for one in gang["members"]], gang["systems"]) == (["a", "c"], ["selection"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gang", "show", "trian"], "did you mean 'train'"),
        (["gang", "show", "train-0,train-9"], "pod 'train-9'"),
        (["gang", "order", "train", "--as", "labels"], "whose ranks come from its controller"),
        (["gang", "order", "train", "--as", "hostfile", "--hostfile-form", "yaml"], "openmpi, deepspeed, intel, plain"),
        (["gang", "order", "train", "--fabric", "/no/such/file"], "No such file"),
        (["gang", "show", "train", "-n", "Team_A"], "namespace 'Team_A'"),
        (["gangs", "-A", "-n", "a"], "one or the other"),
        (["gangs", "-l", "a;b"], "selector 'a;b'"),
        (["gangs", "--deadline", "0"], "--deadline 0"),
        (["gangs", "--output", "html"], "--output html"),
        (["gang", "check", "train", "--snapshot", NODES / "healthy-hgx.jsonl"], "a recording from inside a pod"),
    ],
)
def test_wrong_input_is_one_line(tmp_path: Path, arguments: list[str | Path], said: str) -> None:
    """What was given, what is accepted."""
    fault = run(*arguments, "--bundle", bundle(tmp_path, *scattered())).exception
    assert isinstance(fault, InputError), fault
    assert said in str(fault)
    assert "\n" not in str(fault)


@pytest.mark.parametrize("subject", ["K03", "pod-alignment"])
def test_every_rule_about_a_gang_can_be_explained(subject: str) -> None:
    """What a report tells to ask for, `netkit explain` answers, by id and by name."""
    one = typer.Typer(pretty_exceptions_enable=False)
    one.command("explain")(explain.explain)
    answer = json.loads(CliRunner().invoke(one, [subject, "--output", "json"]).stdout)
    assert "Do the GPU and the NIC given to a pod share a PCIe switch" in json.dumps(answer)
    assert "pod-alignment" in CliRunner().invoke(one, ["--output", "plain"]).stdout
