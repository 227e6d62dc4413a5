"""`netkit probe schedule`: what it renders, for whom, and what it refuses; nothing of it touches a cluster."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from netkit.catalogue.kube_roles import attach_rules, prober_rules
from netkit.cli import probe
from netkit.errors import InputError

OPTIONS = ["--cron", "0 3 * * 6", "--netkit-image", "me/netkit:1", "-n", "burn-in"]
NODES = ["nodes", "pool=h100", "--network", "rails/rail0", "--image", "python:3.12-slim"]
GANG = ["gang", "train", "-n", "team-a", "--image", "python:3.12-slim"]
ATTACH = ["gang", "train", "--as", "exec", "--interface", "net1"]


def run(words: list[str], *options: str) -> Result:
    return CliRunner().invoke(probe.app, ["schedule", *OPTIONS, *options, "--", *words])


def rendered(words: list[str], *options: str) -> list[dict[str, Any]]:
    done = run(words, *options)
    assert done.exit_code == 0, done.exception
    return list(yaml.safe_load_all(done.stdout))


def of_kind(found: list[dict[str, Any]], kind: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [one for one in found if one["kind"] == kind]
    return {(one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in rows}


def test_a_probe_runs_by_the_clock_once_and_never_beside_itself() -> None:
    """The words are those that were given, agreed to, with a report for programs; no second try, and a deadline."""
    [job] = of_kind(rendered(NODES), "CronJob").values()
    spec = job["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("0 3 * * 6", "Forbid")
    inner = spec["jobTemplate"]["spec"]
    assert (inner["backoffLimit"], inner["activeDeadlineSeconds"] > 0) == (0, True)
    [container] = inner["template"]["spec"]["containers"]
    assert container["command"] == ["netkit"]
    expected = ["probe", *NODES, "--yes", "--output", "json", "--lock-namespace", "netkit", "--namespace", "burn-in"]
    assert container["args"] == expected


def test_the_pod_is_nobody_and_may_write_nothing_but_its_scratch() -> None:
    """No root, no privilege, no capability, a read-only file system."""
    [job] = of_kind(rendered(NODES), "CronJob").values()
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["serviceAccountName"] == "netkit-burn-in"


SCOPES = [
    (NODES, "burn-in", prober_rules(), [("", "netkit-viewer")]),
    (GANG, "team-a", prober_rules(), [("", "netkit-viewer"), ("team-a", "netkit-viewer")]),
    (ATTACH, "burn-in", attach_rules(), [("", "netkit-viewer"), ("burn-in", "netkit-viewer")]),
]


@pytest.mark.parametrize(("words", "acts_in", "rules", "views"), SCOPES)
def test_the_account_may_do_what_this_probe_does_and_no_more(
    words: list[str], acts_in: str, rules: tuple[Any, ...], views: list[tuple[str, str]]
) -> None:
    """A burn-in looks at all nodes and pods; a gang at its namespace; only one namespace is acted in."""
    found = rendered(words)
    roles = of_kind(found, "ClusterRole") | of_kind(found, "Role")
    acting = next(name for name in ("netkit-prober", "netkit-attach") if (acts_in, name) in roles)
    verbs = [(tuple(rule["resources"]), tuple(rule["verbs"])) for rule in roles[acts_in, acting]["rules"]]
    assert verbs == [(rule.resources, rule.verbs) for rule in rules]
    assert set(roles) == {*views, (acts_in, acting), ("netkit", "netkit-locks")}


def test_applying_takes_nothing_from_anybody_who_is_bound_already() -> None:
    """Every binding is the account's own, and names nobody else."""
    found = rendered(NODES)
    bindings = of_kind(found, "ClusterRoleBinding") | of_kind(found, "RoleBinding")
    assert all(name.startswith("burn-in-netkit-burn-in-") for _, name in bindings)
    account = [{"kind": "ServiceAccount", "name": "netkit-burn-in", "namespace": "burn-in"}]
    assert all(one["subjects"] == account for one in bindings.values())
    assert len(bindings) == 3


def test_the_budget_is_written_where_every_probe_reads_it() -> None:
    """In the namespace of the locks; without one, limits that are there stay as they are."""
    found = rendered(NODES, "--budget", "gpu-minutes=500", "--budget", "nodes-at-once=64", "--lock-namespace", "locks")
    [(place, config)] = of_kind(found, "ConfigMap").items()
    assert (place, config["data"]) == (("locks", "netkit-probes"), {"gpu-minutes": "500", "nodes-at-once": "64"})
    assert of_kind(rendered(NODES), "ConfigMap") == {}


REFUSED = [
    (["nodse"], [], "a schedule of 'nodse': accepted is gang or nodes"),
    ([*NODES, "--yes"], [], "--yes of a probe in a schedule"),
    ([*NODES, "--kubeconfig", "c"], [], "--kubeconfig of a probe in a schedule"),
    (NODES[:4], [], "a probe in a schedule without --image"),
    (NODES, ["--cron", "at night"], "--cron 'at night': accepted is five fields such as '0 3 * * 6', or @daily"),
    (NODES, ["--cron", "* * * *\n*"], "--cron "),
    (NODES, ["--name", "A"], "--name 'A'"),
    (NODES, ["--namespace", "a/b"], "--namespace 'a/b'"),
    (NODES, ["--netkit-image", "a b"], "--netkit-image 'a b'"),
    (NODES, ["--budget", "gpu-minutes"], "--budget 'gpu-minutes': accepted is KEY=NUMBER"),
    (NODES, ["--budget", "stop=now"], "--budget 'stop=now': accepted is KEY=NUMBER"),
    (NODES, ["--budget", "gpu-minuts=5"], "ConfigMap netkit-probes with the key 'gpu-minuts'"),
    (NODES, ["--budget", "gpu-minutes=lots"], "ConfigMap netkit-probes: gpu-minutes='lots': accepted is a whole"),
]


@pytest.mark.parametrize(("words", "options", "said"), REFUSED)
def test_what_cannot_be_scheduled_is_one_line(words: list[str], options: list[str], said: str) -> None:
    """What was given, what is accepted; nothing is printed that could be applied."""
    done = run(words, *options)
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith(said)
    assert done.stdout == ""


def test_an_option_that_the_probe_does_not_have_is_refused() -> None:
    """By the probe's own reading of it, now and not at three in the morning."""
    done = run([*NODES, "--no-such-option"])
    assert done.exit_code == 2
    assert "No such option: --no-such-option" in done.stderr
