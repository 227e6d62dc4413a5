"""`netkit deploy rbac`: the role it prints is what the gang commands ask for, no more and no less."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from netkit.catalogue.kube_resources import RESOURCES
from netkit.catalogue.kube_roles import PURPOSE
from netkit.cli import deploy, gangs
from netkit.errors import InputError
from netkit.probe.probe_job import forms
from tests.gangs.synthetic_cluster import pod, thing
from tests.kube.fake_api import FakeApi, Running, write_kubeconfig

Manifest = dict[str, Any]


HOSTFILE = {
    "containers": [{"name": "main", "volumeMounts": [{"name": "hosts", "mountPath": "/etc/mpi"}]}],
    "volumes": [{"name": "hosts", "configMap": {"name": "train-config"}}],
}


def run(app: typer.Typer, *arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def manifests(*arguments: str) -> list[Manifest]:
    done = run(deploy.app, "rbac", *arguments)
    assert done.exit_code == 0, done.exception
    return list(yaml.safe_load_all(done.stdout))


def grants(found: list[Manifest]) -> Iterator[tuple[str, str]]:
    """Verb and resource of every rule, as `list podgroups.scheduling.volcano.sh`."""
    for rule in (rule for manifest in found for rule in manifest.get("rules", ())):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((verb, f"{resource}.{group}" if group else resource) for verb in rule["verbs"])


@pytest.fixture
def cluster() -> FakeApi:
    """A cluster that serves every resource netkit knows, with one gang of two pods."""
    job = thing("batch/v1", "Job", "train", spec={"completionMode": "Indexed", "parallelism": 2})
    pods = [
        pod(
            f"train-{at}",
            node=f"n{at}",
            owner=("Job", "train", "uid-of-train"),
            labels={"batch.kubernetes.io/job-name": "train", "batch.kubernetes.io/job-completion-index": str(at)},
            spec=HOSTFILE,
        )
        for at in range(2)
    ]
    served: dict[str, tuple[str, ...]] = {}
    for row in RESOURCES:
        served[row.group] = (*served.get(row.group, ()), *row.versions)
    del served[""]
    return FakeApi(served=served).add(job, *pods, thing("v1", "ConfigMap", "train-config"))


def commands(folder: Path) -> list[list[str | Path]]:
    """Every gang command, with arguments under which it reads all that it ever reads."""
    special: dict[str | None, list[str | Path]] = {"bundle": ["-o", folder / "bundle.jsonl"]}
    inner = [command.name for command in gangs.app.registered_commands]
    return [["gangs"], *(["gang", str(name), *special.get(name, ["train"])] for name in inner)]


def test_the_role_is_what_the_commands_ask_for(cluster: FakeApi, tmp_path: Path) -> None:
    """All verbs of all gang commands together equal the role: neither more nor less."""
    app = typer.Typer()
    app.command("gangs")(gangs.gangs)
    app.add_typer(gangs.app)
    with Running(cluster) as api:
        config = write_kubeconfig(tmp_path / "config", api.url)
        runs = [run(app, *words, "--kubeconfig", config) for words in commands(tmp_path)]
        asked = {(call.verb, call.resource) for call in api.calls if call.resource != "/apis"}
    assert [done.exception for done in runs if done.exit_code not in (0, 1, 3)] == []
    assert asked == set(grants(manifests()))


def test_the_role_reads_no_secret_and_writes_nothing() -> None:
    """Whatever the catalogue grows by: no wildcard, never secrets; configuration maps by name, never as a list."""
    found = set(grants(manifests("-n", "training")))
    assert {(verb, resource) for verb, resource in found if verb != "list"} == {("get", "configmaps")}
    assert not {"secrets", "pods/exec", "nodes/proxy"} & {resource for _, resource in found}
    assert ("list", "configmaps") not in found
    assert not any("*" in resource for _, resource in found)


def test_a_namespace_gets_a_role_of_its_own() -> None:
    """Given namespaces, what lives in one is granted there alone; the cluster's role keeps nodes and their like."""
    cluster_role, *roles = manifests("-n", "a", "-n", "b", "-n", "a")
    assert [(row["kind"], row["metadata"]["namespace"]) for row in roles] == [("Role", "a"), ("Role", "b")]
    inside = {row.name for row in RESOURCES if row.namespaced and row.use in PURPOSE}
    assert not inside & {resource for _, resource in grants([cluster_role])}
    assert {resource for _, resource in grants(roles[:1])} == inside


def test_whoever_is_named_is_bound() -> None:
    """Users, groups and accounts become subjects, whatever is in their names."""
    _, binding = manifests("--user", "al: ice", "--group", "sre", "--service-account", "monitoring/netkit")
    assert binding["kind"] == "ClusterRoleBinding"
    assert [(row["kind"], row["name"], row.get("namespace")) for row in binding["subjects"]] == [
        ("User", "al: ice", None),
        ("Group", "sre", None),
        ("ServiceAccount", "netkit", "monitoring"),
    ]
    assert binding["roleRef"]["name"] == "netkit-viewer"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-n", "Training"], "--namespace Training: accepted is lower-case letters"),
        (["-n", ""], "--namespace '': accepted is lower-case letters"),
        (["--service-account", "netkit"], "--service-account netkit: accepted is NAMESPACE/NAME"),
        (["--service-account", "a/B"], "--service-account B: accepted is lower-case letters"),
        (["--user", ""], "--user '': accepted is a name"),
        (["--user", "a\nb"], "--user a\\x0ab: accepted is a name"),
    ],
)
def test_a_bad_name_is_one_line(arguments: list[str], said: str) -> None:
    """What was given, what is accepted."""
    fault = run(deploy.app, "rbac", *arguments).exception
    assert isinstance(fault, InputError)
    assert str(fault).startswith(said)


def test_acting_roles_hold_in_named_namespaces_only() -> None:
    """Who may create jobs or run commands may do so where it was said, never in the whole cluster."""
    for role in ("prober", "attach"):
        made = manifests("--role", role, "-n", "probes", "--user", "al")
        assert [(row["kind"], row["metadata"].get("namespace")) for row in made] == [
            ("Role", "probes"),
            ("RoleBinding", "probes"),
            ("Namespace", None),
            ("Role", "netkit"),
            ("RoleBinding", "netkit"),
        ]
        fault = run(deploy.app, "rbac", "--role", role).exception
        assert isinstance(fault, InputError)
        assert str(fault).startswith(f"--role {role} without a namespace: accepted is -n NAMESPACE")


def in_namespace(made: list[Manifest], name: str) -> list[Manifest]:
    return [row for row in made if row["metadata"].get("namespace") == name]


def test_a_prober_may_create_every_form_of_a_probe_and_touch_nothing_else() -> None:
    """Jobs of the forms there are; no node is changed, no secret read, no role bound."""
    made = manifests("--role", "prober", "-n", "probes")
    found = set(grants(in_namespace(made, "probes")))
    created = {resource for verb, resource in found if verb == "create"}
    places = [form.place for form in forms().values()]
    places += [companion.place for form in forms().values() for companion in form.companions]
    assert created == {place.resource for place in places} | {"pods/exec", "events"}
    assert {resource for _, resource in found} == created | {"pods"}
    assert not any("*" in resource for _, resource in found)
    attach = set(grants(in_namespace(manifests("--role", "attach", "-n", "team-a"), "team-a")))
    assert attach == {("get", "pods"), ("get", "pods/exec"), ("create", "pods/exec"), ("create", "events")}


def test_every_prober_may_lock_and_read_one_policy() -> None:
    """In the namespace of the locks alone, which comes with the role; of its ConfigMaps the one of that name."""
    for role in ("prober", "attach"):
        made = manifests("--role", role, "-n", "probes", "--user", "al", "--lock-namespace", "gpu-locks")
        assert {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-locks"}} in made
        locks = in_namespace(made, "gpu-locks")
        assert set(grants(locks)) == {
            *((verb, "leases.coordination.k8s.io") for verb in ("create", "list", "update", "delete")),
            ("get", "configmaps"),
        }
        named = [rule.get("resourceNames") for row in locks for rule in row.get("rules", ())]
        assert named == [None, ["netkit-probes"]]
