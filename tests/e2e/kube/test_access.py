"""A user who holds exactly the role that `netkit deploy rbac` prints, on a real API server that decides and records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from netkit.cli import gangs as gang_commands
from tests.e2e.kube.api import Object
from tests.e2e.kube.commands import netkit
from tests.e2e.kube.control_plane import ControlPlane
from tests.e2e.kube.scenario import play, settle

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

VIEWER, STRANGER = "viewer", "stranger"
NAMESPACE = "jobset"
Grant = tuple[str, str, str]


@pytest.fixture(scope="module")
def granted(jobset: ControlPlane) -> list[Object]:
    """The manifests that the command prints for the viewer, applied as they are; and a gang to look at."""
    done = netkit(jobset, "deploy", "rbac", "--user", VIEWER)
    assert done.returncode == 0, done.stderr
    manifests = list(yaml.safe_load_all(done.stdout))
    for manifest in manifests:
        jobset.admin.apply(manifest)
    play(jobset.admin, "jobset/fits")
    settle(jobset.admin, NAMESPACE, 6)
    return manifests


def commands(folder: Path) -> list[list[str]]:
    """Every gang command, in the form in which it reads all that it ever reads."""
    special = {"bundle": ["-o", str(folder / "bundle.jsonl")]}
    inner = [str(command.name) for command in gang_commands.app.registered_commands]
    return [["gangs"], *(["gang", name, *special.get(name, ["fits"])] for name in inner)]


def grants(manifests: list[Object]) -> Iterator[Grant]:
    for rule in (rule for manifest in manifests for rule in manifest.get("rules", ())):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((verb, group, resource) for verb in rule["verbs"])


def asked(plane: ControlPlane, user: str) -> set[Grant]:
    """What the audit log of the server says a user asked of resources."""
    return {
        (event["verb"], event["objectRef"].get("apiGroup", ""), event["objectRef"]["resource"])
        for event in plane.requests_of(user)
        if "objectRef" in event
    }


def test_the_role_is_enough_and_nothing_too_much(jobset: ControlPlane, granted: list[Object], tmp_path: Path) -> None:
    """Every gang command works as the viewer, and what the server recorded equals the role."""
    for words in commands(tmp_path):
        done = netkit(jobset, *words, "-n", NAMESPACE, user=VIEWER)
        assert done.returncode in (0, 1), (words, done.stderr)
        assert "denied" not in done.stdout + done.stderr, words
    everywhere = netkit(jobset, "gangs", "-A", user=VIEWER)
    assert everywhere.returncode == 0, everywhere.stderr
    assert asked(jobset, VIEWER) == set(grants(granted))


@pytest.mark.usefixtures("granted")
def test_without_one_verb_the_error_names_it(jobset: ControlPlane) -> None:
    """Who lacks `list pods` is told so: the verb, the resource, and where the role comes from."""
    done = netkit(jobset, "gangs", "-n", NAMESPACE, user=STRANGER)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "you lack verb 'list' on pods in namespace jobset" in done.stderr
    assert "netkit deploy rbac" in done.stderr


def test_a_resource_less_is_said_and_hides_nothing_else(jobset: ControlPlane, granted: list[Object]) -> None:
    """A role without one resource still lists gangs, and says which resource it could not read."""
    role, binding = granted
    less = {"metadata": {"name": "less"}}
    jobset.admin.apply(
        {**role, **less, "rules": [rule for rule in role["rules"] if "jobsets" not in rule["resources"]]}
    )
    (subject,) = binding["subjects"]
    reference = {**binding["roleRef"], "name": "less"}
    jobset.admin.apply({**binding, **less, "subjects": [{**subject, "name": STRANGER}], "roleRef": reference})
    try:
        done = netkit(jobset, "gangs", "-n", NAMESPACE, "--output", "plain", user=STRANGER)
    finally:
        jobset.admin.delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/less")
    assert done.returncode in (0, 3), done.stderr
    assert "fits" in done.stdout
    assert "jobsets" in done.stdout + done.stderr
    assert "denied" in done.stdout + done.stderr


def test_roles_per_namespace_are_valid_too(jobset: ControlPlane) -> None:
    """What is printed for one namespace, a group and a service account passes the server's own checks."""
    done = netkit(jobset, "deploy", "rbac", "-n", NAMESPACE, "--group", "sre", "--service-account", "jobset/netkit")
    made = [jobset.admin.apply(manifest)["kind"] for manifest in yaml.safe_load_all(done.stdout)]
    assert made == ["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"]
