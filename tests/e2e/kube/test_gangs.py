"""Gangs that real schedulers admit and hold, on a real API server with fake nodes: netkit says both, and why."""

from __future__ import annotations

import pytest

from tests.e2e.kube.commands import gangs, netkit, nodes_of
from tests.e2e.kube.control_plane import ControlPlane
from tests.e2e.kube.processes import wait_until
from tests.e2e.kube.scenario import SETTLED_SECONDS, condition, placed, play, settle

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_a_gang_of_kubernetes_itself_is_admitted_and_the_next_waits(plane: ControlPlane) -> None:
    """kube-scheduler binds four pods at once and none of six; netkit names the gang by its PodGroup."""
    api, path = plane.admin, "/apis/scheduling.k8s.io/v1alpha2/namespaces/native/podgroups/waits"
    play(api, "native/fits")
    settle(api, "native", 4)
    play(api, "native/waits")
    wait_until(
        lambda: condition(api.get(path), "PodGroupScheduled").get("status") == "False",
        SETTLED_SECONDS,
        lambda: str(api.get(path)),
    )
    try:
        found, where = gangs(plane, "native"), placed(api, "native")
    finally:
        # The alpha of 1.36 tries a gang that does not fit again and again, with a whole processor.
        api.delete("/api/v1/namespaces/native")
    assert (found["fits"]["state"], found["fits"]["min_members"]) == ("admitted", 4)
    assert nodes_of(found["fits"]) == where
    assert (found["waits"]["state"], found["waits"]["min_members"]) == ("pending", 6)
    assert nodes_of(found["waits"]) == {None}
    assert found["waits"]["systems"][0] == "native"


def test_volcano_admits_one_gang_and_holds_the_next(volcano: ControlPlane) -> None:
    """Volcano's scheduler binds four pods of one job and none of the other's six; netkit says what it lacks."""
    api = volcano.admin
    play(api, "volcano/fits")
    settle(api, "volcano", 4)
    play(api, "volcano/waits")
    path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/volcano/podgroups"
    wait_until(
        lambda: any(condition(group, "Unschedulable").get("status") == "True" for group in api.items(path)),
        SETTLED_SECONDS,
        lambda: str(api.items(path)),
    )
    found = {gang["workload"]["name"]: gang for gang in gangs(volcano, "volcano").values()}
    fits, waits = found["fits"], found["waits"]
    assert (fits["state"], fits["min_members"], fits["total"]) == ("admitted", 4, 4)
    assert nodes_of(fits) == placed(api, "volcano")
    assert [member["rank"] for member in fits["members"]] == [0, 1, 2, 3]
    assert (waits["state"], waits["min_members"]) == ("pending", 6)
    assert nodes_of(waits) == {None}
    assert "Insufficient nvidia.com/gpu" in waits["why"]
    assert fits["systems"][0] == waits["systems"][0] == "volcano"


def test_a_jobset_without_a_gang_scheduler_starts_half(jobset: ControlPlane) -> None:
    """Six pods fill six of eight nodes; of the next four, two find a node: netkit calls that partial, and why."""
    api = jobset.admin
    play(api, "jobset/fits")
    settle(api, "jobset", 6)
    play(api, "jobset/waits")
    settle(api, "jobset", 8)
    found = gangs(jobset, "jobset")
    assert (found["fits"]["state"], found["fits"]["total"]) == ("admitted", 6)
    assert found["fits"]["workload"]["kind"] == "JobSet"
    assert (found["waits"]["state"], found["waits"]["total"]) == ("partial", 4)
    assert len(nodes_of(found["waits"]) - {None}) == 2
    assert "nvidia.com/gpu" in found["waits"]["why"]


def test_kueue_admits_by_quota(jobset: ControlPlane, kueue: ControlPlane) -> None:
    """The first JobSet takes the whole quota; the next stays suspended without a pod, and netkit says what is short."""
    api = kueue.admin
    play(api, "kueue/fits")
    settle(api, "kueue", 4)
    play(api, "kueue/waits")
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/kueue/workloads"
    wait_until(
        lambda: any(condition(row, "QuotaReserved").get("status") == "False" for row in api.items(path)),
        SETTLED_SECONDS,
        lambda: str(api.items(path)),
    )
    found = {gang["workload"]["name"]: gang for gang in gangs(kueue, "kueue").values()}
    assert (found["fits"]["state"], found["fits"]["systems"][:2]) == ("admitted", ["kueue", "jobset"])
    assert nodes_of(found["fits"]) == placed(api, "kueue")
    assert (found["waits"]["state"], found["waits"]["members"]) == ("waiting", [])
    assert "insufficient unused quota for nvidia.com/gpu" in found["waits"]["why"]
    assert jobset is kueue


def test_show_names_the_nodes_of_every_rank(jobset: ControlPlane) -> None:
    """What the table says of a gang is what the server says of its pods."""
    play(jobset.admin, "jobset/fits")
    settle(jobset.admin, "jobset", 6)
    done = netkit(jobset, "gang", "show", "fits", "-n", "jobset", "--output", "plain")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    shown = {words[2] for words in lines if len(words) == 6 and words[1].startswith("fits-workers-")}
    running = {
        pod["spec"]["nodeName"]
        for pod in jobset.admin.items(
            "/api/v1/namespaces/jobset/pods?labelSelector=jobset.sigs.k8s.io/jobset-name=fits"
        )
    }
    assert shown == running
