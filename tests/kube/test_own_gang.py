"""A probe's own gang in a cluster that says no: never scheduled, half started, taken, not to be deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from netkit.errors import ProbeError, SourceError
from netkit.probe.launchers import job as job_launcher
from netkit.probe.launchers.job import JobLauncher, OwnGang
from netkit.probe.launchers.session import Member
from netkit.probe.probe_job import ProbeJob, forms
from netkit.sources.kube.config import Open, open_access
from tests.gangs.synthetic_cluster import pod
from tests.kube.fake_api import FakeApi, Running, status, write_kubeconfig

NODES = ("gpu-1", "gpu-2", "gpu-3")
NO_ROOM = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
JOBS = "/apis/batch/v1/namespaces/probes/jobs"
Body = dict[str, Any]


def probe_job(identity: str = "0a1b2c3d") -> ProbeJob:
    return ProbeJob(
        id=identity, namespace="probes", nodes=NODES, image="i", python="python3", seconds=60, operator="al@host"
    )


@dataclass
class JobApi(FakeApi):
    """A cluster that keeps one job, and makes its pods with `place`; `refusals` holds methods answered with 503."""

    place: Callable[[int], Body] = lambda at: pod(f"p-{at}", NODES[at], namespace="probes")
    job: Body | None = None
    refusals: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if not request.path.startswith(JOBS):
            return await super().handle(request)
        self.asked.append(request.method)
        if request.method in self.refusals:
            return status(503, "no leader")
        if request.method == "POST":
            return self._create(await request.json())
        if self.job is None:
            return status(404, "jobs.batch not found")
        return self._delete(await request.json()) if request.method == "DELETE" else web.json_response(self.job)

    def _create(self, body: Body) -> web.Response:
        if self.job is not None:
            return status(409, "already exists")
        self.job = body
        body["metadata"] |= {"uid": "u1", "creationTimestamp": "2026-03-01T10:00:00Z"}
        pods = [self.place(at) for at in range(len(NODES))]
        for one in pods:
            one["metadata"]["labels"] = body["metadata"]["labels"]
        self.objects["pods"] = pods
        return web.json_response(body, status=201)

    def _delete(self, options: Body) -> web.Response:
        assert self.job is not None
        if options["preconditions"]["uid"] != self.job["metadata"]["uid"]:
            return status(409, "another uid")
        self.job, self.objects["pods"] = None, []
        return web.json_response({"kind": "Status", "status": "Success"})


@contextmanager
def cluster(api: JobApi, folder: Path) -> Iterator[Open]:
    with Running(api) as running:
        config = write_kubeconfig(folder / "config", running.url)
        yield lambda: open_access(config, None)


def start(way_in: Open, seconds: float = 0.3) -> None:
    launcher = JobLauncher(open_access=way_in, job=probe_job(), form=forms()["indexed_job"], start_seconds=seconds)
    launcher.start([Member(name=node, python="python3") for node in NODES], 30.0)


@pytest.mark.fault("H01")
def test_a_gang_that_is_never_scheduled_is_given_up_with_each_reason(tmp_path: Path) -> None:
    """In time, with the scheduler's own reason for each pod; nothing is left."""
    api = JobApi(place=lambda at: pod(f"p-{at}", namespace="probes", why=NO_ROOM))
    with cluster(api, tmp_path) as way_in, pytest.raises(ProbeError) as fault:
        start(way_in)
    assert fault.value.cause.startswith(
        "0 of 3 pods run after 0.3 s: p-0: none of 3 nodes fits: 3 Insufficient nvidia.com/gpu; p-1: "
    )
    assert api.job is None


@pytest.mark.fault("H02")
def test_a_gang_that_starts_in_part_is_removed(tmp_path: Path) -> None:
    """Two run, one waits: no agent is started, none of the three is left."""
    api = JobApi(
        place=lambda at: pod(
            f"p-{at}", NODES[at] if at else "", namespace="probes", phase="Pending" if at == 0 else "Running"
        )
    )
    with (
        cluster(api, tmp_path) as way_in,
        pytest.raises(ProbeError, match=r"2 of 3 pods run after 0\.3 s: p-0: Pending"),
    ):
        start(way_in)
    assert (api.job, api.objects["pods"]) == (None, [])


def test_a_queue_that_holds_the_gang_back_is_said(tmp_path: Path) -> None:
    """No pod was made at all."""
    api = JobApi()
    with cluster(api, tmp_path) as way_in:
        own = OwnGang(way_in, probe_job(), forms()["kueue"])
        with pytest.raises(ProbeError, match="0 of 3 pods run after 0 s: 3 pods were not created: its queue"):
            own.wait_until_it_runs(0.0)


@pytest.mark.fault("H09")
def test_a_second_operator_is_refused_and_told_whose_probe_it_is(tmp_path: Path) -> None:
    """The API server lets one through; the other hears of owner and age, and touches nothing."""
    api = JobApi()
    with cluster(api, tmp_path) as way_in:
        OwnGang(way_in, probe_job("11111111"), forms()["indexed_job"]).create()
        mine = api.job
        with pytest.raises(ProbeError, match="in namespace probes, by al@host since 2026-03-01T10:00:00Z"):
            start(way_in)
    assert api.job is mine
    assert "DELETE" not in api.asked


def test_another_probe_that_took_the_name_is_spared(tmp_path: Path) -> None:
    """What is removed is ours by label and uid, not by name."""
    api = JobApi()
    with cluster(api, tmp_path) as way_in:
        OwnGang(way_in, probe_job("11111111"), forms()["indexed_job"]).create()
        api.objects["pods"] = []
        own = OwnGang(way_in, probe_job("22222222"), forms()["indexed_job"])
        with pytest.raises(ProbeError):
            own.create()
        own.remove()
    assert api.job is not None


@pytest.mark.fault("H08")
def test_a_gang_that_cannot_be_deleted_is_left_with_the_command_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tried again until its time is up; then the exact command, and that its pods end by themselves."""
    monkeypatch.setattr(job_launcher, "GONE_SECONDS", 0.6)
    api = JobApi(refusals={"DELETE"})
    with cluster(api, tmp_path) as way_in:
        own = OwnGang(way_in, probe_job(), forms()["indexed_job"])
        own.create()
        with pytest.raises(ProbeError) as fault:
            own.remove()
    assert api.asked.count("DELETE") > 1
    assert (
        "its pods end by their deadline; now: kubectl delete jobs.batch -n probes -l netkit.dev/probe=0a1b2c3d"
        in str(fault.value)
    )


@pytest.mark.parametrize(("code", "left"), [(201, True), (403, False)])
def test_a_group_is_made_after_its_job_and_owned_by_it(tmp_path: Path, code: int, left: bool) -> None:
    """With the job's uid; where the group is refused, the job is removed too, and the server's words are told."""
    sent: list[Body] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        sent.append(await request.json())
        return web.json_response({}, status=code) if code < 400 else status(code, "no groups for you")

    api = JobApi()
    api.script["/apis/scheduling.x-k8s.io/v1alpha1/namespaces/probes/podgroups"] = [answer]
    with cluster(api, tmp_path) as way_in:
        own = OwnGang(way_in, probe_job(), forms()["coscheduling"])
        if left:
            own.create()
        else:
            with pytest.raises(ProbeError, match="no groups for you"):
                own.create()
            own.remove()
    [group] = sent
    assert [row["uid"] for row in group["metadata"]["ownerReferences"]] == ["u1"]
    assert (api.job is not None) == left


def test_a_launcher_is_no_member(tmp_path: Path) -> None:
    """Its pod runs beside the gang's and stands for no node; the gang is whole without it."""
    api = JobApi()
    with cluster(api, tmp_path) as way_in:
        own = OwnGang(way_in, probe_job(), forms()["indexed_job"])
        own.create()
        launcher = pod("p-launcher", "gpu-9", namespace="probes", labels={"netkit.dev/role": "launcher"})
        launcher["metadata"]["labels"] |= probe_job().labels
        api.objects["pods"].append(launcher)
        assert [one.node for one in own.wait_until_it_runs(5.0)] == list(NODES)


def test_a_lost_answer_to_create_leaves_nothing(tmp_path: Path) -> None:
    """Nobody knows whether the job was made, so it is looked for and removed."""
    api = JobApi(refusals={"POST"})
    with cluster(api, tmp_path) as way_in, pytest.raises(SourceError, match="no leader"):
        start(way_in)
    assert api.asked == ["POST", "GET"]
