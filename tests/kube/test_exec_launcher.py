"""Agents in pods over a scripted exec server: real agents, real sockets; refused, lost and stopped ones."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from netkit.errors import ProbeError
from netkit.model.kube_object import KubeObject
from netkit.probe.launchers.exec import PodSessions, destination, launcher_for
from netkit.probe.launchers.session import Ended, Event, Member, Message
from netkit.sources.kube.config import Open, open_access
from netkit.sources.kube.pod import fate_of
from tests.gangs.synthetic_cluster import pod
from tests.kube.exec_server import Asked, ExecServer
from tests.kube.fake_api import write_kubeconfig
from tests.kube.pod_processes import run_here


def members(count: int, **more: object) -> list[Member]:
    return [
        Member(
            **{  # type: ignore[arg-type]
                "name": f"gpu-{number}",
                "python": sys.executable,
                "destination": destination("team-a", f"train-{number}", "main"),
                **more,
            }
        )
        for number in range(count)
    ]


def way_into(server: ExecServer, folder: Path) -> Open:
    config = write_kubeconfig(folder / "config", server.url)
    return lambda: open_access(config, None)


@contextmanager
def sessions(server: ExecServer, count: int) -> Iterator[PodSessions]:
    found = PodSessions(server.endpoint, members(count), 60.0, lambda member: f"pod {member.name} is gone")
    try:
        yield found
    finally:
        found.stop()


def until(found: PodSessions, count: int, kind: type[Message | Ended]) -> Sequence[Event]:
    events: list[Event] = []
    deadline = time.monotonic() + 15
    while sum(isinstance(event, kind) for event in events) < count and time.monotonic() < deadline:
        events += found.receive(0.1)
    return events


def hello(found: PodSessions, count: int) -> dict[int, int]:
    """Process of each rank that answers."""
    for rank in range(count):
        found.send(rank, {"command": "hello", "task": "hello"})
    events = until(found, count, Message)
    return {event.rank: event.fields["pid"] for event in events if isinstance(event, Message)}


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_agents_in_pods_answer_and_stop_leaves_none() -> None:
    """One connection a pod; quit is heard, and every agent ends."""
    with ExecServer(run_here) as server:
        with sessions(server, 3) as found:
            pids = hello(found, 3)
            assert len(set(pids.values())) == 3
        assert not any(map(is_running, pids.values()))
        assert [asked.pod for asked in server.asked] == ["train-0", "train-1", "train-2"]


@pytest.mark.fault("H20")
def test_no_more_than_32_agents_are_starting_at_once() -> None:
    """111 pods come up in waves: the others wait until some have answered."""

    async def silent(asked: Asked) -> None:
        await asked.accept()
        while await asked.hear():
            pass

    with ExecServer(silent) as server, sessions(server, 111) as found:
        for _ in range(10):
            found.receive(0.05)
        assert len(server.asked) == 32


@pytest.mark.fault("G13")
def test_a_pod_that_goes_away_is_named_with_its_fate() -> None:
    """What a broken connection means, the API server is asked."""

    async def breaks(asked: Asked) -> None:
        await asked.accept()
        await asked.hear()
        if asked.pod == "train-1":
            asked.reset()
        else:
            await asked.hear()

    with ExecServer(breaks) as server, sessions(server, 2) as found:
        [event] = [event for event in until(found, 1, Ended) if isinstance(event, Ended)]
    assert event.rank == 1
    assert "Connection reset by peer" in event.how
    assert event.said == "pod gpu-1 is gone"


@pytest.mark.parametrize(
    ("body", "fate"),
    [
        (pod("p", "n", phase="Running"), ""),
        (
            pod("p", "n", phase="Failed", status={"reason": "Evicted", "message": "The node was low on memory."}),
            "pod team-a/p is Failed (Evicted: The node was low on memory.)",
        ),
        (pod("p", "n", phase="Succeeded"), "pod team-a/p is Succeeded"),
    ],
)
def test_the_fate_of_a_pod_is_its_own_status(body: dict[str, object], fate: str) -> None:
    """Evicted with the reason; nothing where it runs on."""
    assert fate_of(KubeObject("pods", body)) == fate


def test_a_pod_under_deletion_is_said() -> None:
    """Its phase still reads Running."""
    body = pod("p", "n")
    body["metadata"]["deletionTimestamp"] = "2026-03-01T10:00:00Z"
    assert fate_of(KubeObject("pods", body)) == "pod team-a/p is being deleted"


@pytest.mark.fault("H04")
def test_a_killed_agent_ends_the_session_with_its_code() -> None:
    """The rank and the exit code that the kubelet tells."""
    with ExecServer(run_here) as server, sessions(server, 2) as found:
        os.kill(hello(found, 2)[1], signal.SIGKILL)
        [event] = [event for event in until(found, 1, Ended) if isinstance(event, Ended)]
    assert (event.rank, event.how) == (1, "exited with status 137")


@pytest.mark.fault("H11")
def test_pods_whose_gpus_are_not_known_to_be_free_are_refused(tmp_path: Path) -> None:
    """Eight GPUs and no word on them: every pod is named, no agent is started."""
    if list(Path("/dev").glob("nvidia[0-9]*")):
        pytest.skip("this machine has GPUs, and its pods are processes of it")
    with ExecServer(run_here) as server:
        launcher = launcher_for(way_into(server, tmp_path))
        with pytest.raises(ProbeError, match="2 of 2 pods cannot be probed now: gpu-0: not known whether its 8 GPUs"):
            launcher.start(members(2, gpus=8), 30.0)
        assert len(server.asked) == 2  # what has answered is not asked again


@pytest.mark.fault("H14")
def test_a_pod_without_the_interpreter_is_refused(tmp_path: Path) -> None:
    """The kubelet's words on the missing program reach the person."""

    async def missing(asked: Asked) -> None:
        await asked.accept()
        status = {"status": "Failure", "reason": "InternalError", "message": 'exec: "python3": not found in $PATH'}
        await asked.end(json.dumps(status).encode())

    with ExecServer(missing) as server:
        launcher = launcher_for(way_into(server, tmp_path))
        with pytest.raises(ProbeError, match='gpu-0: not run to its end: exec: "python3": not found'):
            launcher.start(members(1), 30.0)


def test_pods_without_gpus_are_looked_into_and_then_started(tmp_path: Path) -> None:
    """Two connections a pod: one to look, one for the agent."""
    with ExecServer(run_here) as server:
        found = launcher_for(way_into(server, tmp_path)).start(members(2), 30.0)
        assert isinstance(found, PodSessions)
        try:
            assert len(hello(found, 2)) == 2
        finally:
            found.stop()
        assert len(server.asked) == 4
