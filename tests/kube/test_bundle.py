"""Bundles: a cluster in one file, redacted, replayed by every gang command, and refused when it was touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from netkit.cli import gangs
from netkit.errors import InputError, NetkitError
from netkit.model.gang_snapshot import GangSnapshot
from netkit.model.missing import Missing, Reason
from netkit.sources.kube.bundle import dump, load
from netkit.sources.kube.objects import cleaned
from netkit.sources.kube.redaction import BundleRedactor
from tests.gangs.synthetic_cluster import pod, snapshot, thing
from tests.kube.fake_api import FakeApi, Running, write_kubeconfig

GPU = "GPU-1f0c2a3b-1111-2222-3333-444455556666"
SECRET = "tenant-secret"


def app() -> typer.Typer:
    one = typer.Typer(pretty_exceptions_enable=False)
    one.command("gangs")(gangs.gangs)
    one.add_typer(gangs.app)
    return one


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app(), [str(argument) for argument in arguments])


def cluster() -> GangSnapshot:
    """Two placed pods of one gang, their nodes, and a kind that may not be listed."""
    members = [
        pod(
            f"ring-{at}",
            node=f"gpu-node-{at}.corp.example",
            uid=f"1f0c2a3b-1111-2222-3333-44445555666{at}",
            labels={"scheduling.x-k8s.io/pod-group": "ring"},
            annotations={
                "example.com/note": SECRET,
                "hami.io/vgpu-devices-allocated": f"{GPU},NVIDIA,1,1:;",
            },
            status={"podIP": "10.2.3.4", "message": f"started on gpu-node-{at}.corp.example"},
        )
        for at in range(2)
    ]
    group = thing(
        "scheduling.x-k8s.io/v1alpha1", "PodGroup", "ring", spec={"minMember": 2}, status={"phase": "Running"}
    )
    nodes = [
        thing("v1", "Node", f"gpu-node-{at}.corp.example", metadata={"namespace": "", "uid": f"node-{at}"})
        for at in range(2)
    ]
    found = snapshot(*members, group, *nodes)
    denied = Missing(reason=Reason.DENIED, where="https://synthetic jobs.batch", detail="no right")
    return GangSnapshot(
        server=found.server, namespace="", taken_at=1.0, listings={**found.listings, "jobs.batch": denied}
    )


def written(path: Path, found: GangSnapshot, *, redact: bool = False) -> Path:
    change = BundleRedactor(found, key=b"k" * 32) if redact else None
    path.write_text("".join(dump(found, change=change, redacted=redact)))
    return path


def test_a_bundle_replays_what_was_read(tmp_path: Path) -> None:
    """Objects, what could not be read, time and place: the same after a file."""
    before, after = cluster(), load(written(tmp_path / "b.jsonl", cluster()))
    assert after.server == before.server
    assert after.taken_at == before.taken_at
    assert after.missing() == before.missing()
    assert list(after.listings) == list(before.listings)
    for name in before.listings:
        assert [one.body for one in after.objects(name)] == [one.body for one in before.objects(name)]


def test_a_redacted_bundle_names_no_machine(tmp_path: Path) -> None:
    """Node names, addresses, UUIDs and foreign annotations go; relations and what one asks by stay."""
    path = written(tmp_path / "b.jsonl", cluster(), redact=True)
    text = path.read_text()
    for name in ("corp.example", "gpu-node", "10.2.3.4", GPU, SECRET, "1f0c2a3b-1111"):
        assert name not in text, name
    found = load(path)
    placed = [one.text("spec", "nodeName") for one in found.objects("pods")]
    assert placed == [one.name for one in found.objects("nodes")]
    assert len(set(placed)) == 2
    assert [one.name for one in found.objects("pods")] == ["ring-0", "ring-1"]
    assert len({one.annotation("hami.io/vgpu-devices-allocated") for one in found.objects("pods")}) == 1


def test_a_bundle_with_names_still_drops_foreign_annotations() -> None:
    """Names may be wanted; what nobody known wrote may hold anything."""
    found = cluster()
    text = "".join(dump(found, change=BundleRedactor(found, keep_names=True)))
    assert "gpu-node-0.corp.example" in text
    assert GPU in text
    assert SECRET not in text


def test_every_gang_command_replays_from_a_bundle(tmp_path: Path) -> None:
    """Recorded over a real socket, then answered without any."""
    pods = [
        pod(f"ring-{at}", node=f"n{at}", uid=f"u{at}", labels={"scheduling.x-k8s.io/pod-group": "ring"})
        for at in range(2)
    ]
    group = thing(
        "scheduling.x-k8s.io/v1alpha1", "PodGroup", "ring", spec={"minMember": 2}, status={"phase": "Running"}
    )
    nodes = [
        thing(
            "v1", "Node", f"n{at}", metadata={"namespace": "", "labels": {"fabric.topograph.run/tier-0": f"leaf{at}"}}
        )
        for at in range(2)
    ]
    path = tmp_path / "bundle.jsonl"
    with Running(FakeApi().add(*pods, group, *nodes)) as api:
        config = write_kubeconfig(tmp_path / "config", api.url)
        live = run("gangs", "--kubeconfig", config, "--output", "json")
        assert run("gang", "bundle", "--kubeconfig", config, "--with-names", "-o", path).exit_code == 0
    assert json.loads(run("gangs", "--bundle", path, "--output", "json").stdout) == json.loads(live.stdout)
    shown = run("gang", "show", "ring", "--bundle", path, "--output", "json")
    assert [one["leaf"] for one in json.loads(shown.stdout)["gangs"][0]["members"]] == ["leaf0", "leaf1"]
    assert run("gang", "order", "ring", "--bundle", path, "--output", "json").exit_code == 0
    assert run("gang", "check", "ring", "--bundle", path, "--output", "json").exit_code == 0
    assert run("gang", "timeline", "ring", "--bundle", path, "--output", "jsonl").exit_code == 0


BREAKAGES: dict[str, tuple[Any, str]] = {
    "cut": (lambda text: text[: len(text) // 2], "bundle"),
    "no digest": (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "cut short"),
    "edited": (lambda text: text.replace("ring-0", "ring-9"), "edited or damaged"),
    "more after it": (lambda text: text + "{}\n", "nothing after the last line"),
    "another schema": (lambda text: text.replace("netkit.bundle/1", "netkit.bundle/2"), "schema"),
    "no JSON": (lambda text: "junk\n" + text, "one JSON object a line"),
    "empty": (lambda _text: "", "cut short"),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_touched_bundle_is_refused_with_the_line(tmp_path: Path, name: str) -> None:
    """Nothing of it is used."""
    change, said = BREAKAGES[name]
    path = written(tmp_path / "b.jsonl", cluster())
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=r"bundle .* line") as caught:
        load(path)
    assert said in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder is no bundle, and neither is a file that is not there: bad input, with the command that makes one."""
    with pytest.raises(InputError, match="no regular file"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"none: No such file or directory: .*`netkit gang bundle` writes one"):
        load(tmp_path / "none")


def test_both_a_bundle_and_a_cluster_are_too_much(tmp_path: Path) -> None:
    """One source at a time."""
    fault = run("gangs", "--bundle", tmp_path / "b", "--context", "main").exception
    assert isinstance(fault, InputError)
    assert "one or the other" in str(fault)


@settings(max_examples=40)
@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever a file holds, the answer is one of ours."""
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    path.write_bytes(data)
    with pytest.raises(NetkitError):
        load(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=60)
@given(JSON)
def test_cleaning_leaves_nothing_invisible_and_changes_nothing_twice(value: Any) -> None:
    """Every text in it, keys too, is printable; cleaning what is clean is nothing."""
    once = cleaned(value)
    assert all(text.isprintable() for text in texts(once))
    assert cleaned(once) == once


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in inner for text in texts(one)]
