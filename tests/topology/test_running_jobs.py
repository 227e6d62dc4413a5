"""Which NIC a running job really uses: processes of GPUs joined with processes of queue pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netkit.cli.app import app
from netkit.lab.virtual_node import virtual_sources
from netkit.model.missing import Missing, Reason
from netkit.model.node import NodeSnapshot
from netkit.model.rdma_resources import QueuePair, RdmaLinks
from netkit.model.topology import PairingAnswer
from netkit.sources.record import record_node
from netkit.sources.snapshot import read_node
from netkit.topology.node import topology_of_node
from netkit.topology.paths import matrix_of
from netkit.topology.running import RunningJobs, running_jobs
from netkit.topology.view import TopologyView, view_of_topology

NODES = Path(__file__).parents[1] / "nodes"
FIRST = 20_000


def virtual(*misplaced: int) -> NodeSnapshot:
    sources = virtual_sources("n1", misplaced)
    return read_node(sources.tree, 0.0, kernel=sources.kernel, drivers=sources.drivers)


def joined(node: NodeSnapshot) -> tuple[RunningJobs, TopologyView]:
    assert not isinstance(node.pci_devices, Missing)
    topology = topology_of_node(node.pci_devices, node.rdma_devices, "n1")
    jobs = running_jobs(node, matrix_of(topology))
    return jobs, view_of_topology(topology, used=jobs.used)


def pair(process: int, *, state: str = "RTS", kind: str = "RC", number: int = 9) -> QueuePair:
    nothing = Missing(reason=Reason.ABSENT, where="test")
    return QueuePair(
        number=number, remote_number=nothing, port=1, kind=kind, state=state, process=process, owner="python3"
    )


def with_pairs(node: NodeSnapshot, pairs: dict[str, list[QueuePair]]) -> NodeSnapshot:
    """The same machine with other queue pairs on its devices."""
    assert isinstance(node.rdma_links, RdmaLinks)
    links = tuple(replace(link, queue_pairs=tuple(pairs.get(link.name, ()))) for link in node.rdma_links.links)
    return replace(node, rdma_links=replace(node.rdma_links, links=links))


def test_each_rank_of_a_healthy_job_is_seen_on_its_own_nic() -> None:
    """Eight processes, one GPU and one NIC each, with name and pod; every pairing as near as any."""
    jobs, view = joined(virtual())
    assert jobs.used == {f"gpu{rank}": (f"mlx5_{rank}",) for rank in range(8)}
    assert [process.pid for process in jobs.processes] == list(range(FIRST, FIRST + 8))
    first = jobs.processes[0]
    assert first.about is not None
    assert (first.about.name, first.about.pod) == ("python3", "aaaaaaaa-0000-4000-8000-000000000001")
    assert {gpu.answer for gpu in view.pairing.gpus} == {PairingAnswer.OK}
    assert jobs.notes == ()


def test_a_rank_on_a_far_nic_is_the_culprit() -> None:
    """Rank 0 talks through the NIC of another socket although its own is there."""
    pairs = {f"mlx5_{rank}": [pair(FIRST + rank)] for rank in range(1, 8)}
    pairs["mlx5_6"].append(pair(FIRST, number=10))
    jobs, view = joined(with_pairs(virtual(), pairs))
    assert jobs.used["gpu0"] == ("mlx5_6",)
    assert [gpu.gpu for gpu in view.pairing.gpus if gpu.answer is PairingAnswer.MISPAIRED] == ["gpu0"]
    (finding,) = view.pairing.findings
    assert finding.subject == "gpu0"
    assert "mlx5_6" in finding.summary


def test_a_few_control_pairs_on_another_nic_are_no_use_of_it() -> None:
    """One pair beside sixteen is told, and not judged."""
    pairs = {"mlx5_0": [pair(FIRST, number=number) for number in range(16)], "mlx5_7": [pair(FIRST)]}
    jobs, view = joined(with_pairs(virtual(), pairs))
    process = next(process for process in jobs.processes if process.pid == FIRST)
    assert [(use.nic, use.queue_pairs, use.minor) for use in process.nics] == [
        ("mlx5_0", 16, False),
        ("mlx5_7", 1, True),
    ]
    assert jobs.used["gpu0"] == ("mlx5_0",)
    assert view.pairing.gpus[0].answer is PairingAnswer.OK


@pytest.mark.parametrize(("state", "kind"), [("RESET", "RC"), ("INIT", "RC"), ("ERR", "RC"), ("RTS", "GSI")])
def test_pairs_that_carry_nothing_are_not_counted(state: str, kind: str) -> None:
    """Not connected yet, broken, or the kernel's management."""
    jobs, _ = joined(with_pairs(virtual(), {"mlx5_0": [pair(FIRST, state=state, kind=kind)]}))
    assert jobs.used == {}
    assert all(process.nics == () for process in jobs.processes)


def test_one_process_with_many_gpus_is_told_apart() -> None:
    """Which of its NICs serves which GPU cannot be seen: no verdict, and a note that says so."""
    node = virtual()
    nvidia = node.accelerators.nvidia
    assert not isinstance(nvidia, Missing)
    first = nvidia.gpus[0].processes
    gpus = (nvidia.gpus[0], replace(nvidia.gpus[1], processes=first), *nvidia.gpus[2:])
    node = replace(node, accelerators=replace(node.accelerators, nvidia=replace(nvidia, gpus=gpus)))
    jobs, _ = joined(node)
    assert jobs.processes[0].gpus == ("gpu0", "gpu1")
    assert "gpu0" not in jobs.used
    assert any("process 20000 has 2 GPUs" in note for note in jobs.notes)


def test_two_processes_on_one_gpu_are_told_apart() -> None:
    """A notebook beside a rank: neither is judged for the GPU they share."""
    node = virtual()
    nvidia = node.accelerators.nvidia
    assert not isinstance(nvidia, Missing)
    first, second = nvidia.gpus[0].processes, nvidia.gpus[1].processes
    assert not isinstance(first, Missing)
    assert not isinstance(second, Missing)
    gpus = (replace(nvidia.gpus[0], processes=(*first, replace(first[0], pid=5))), *nvidia.gpus[1:])
    node = replace(node, accelerators=replace(node.accelerators, nvidia=replace(nvidia, gpus=gpus)))
    jobs, _ = joined(node)
    assert "gpu0" not in jobs.used
    assert any("gpu0 has 2 processes" in note for note in jobs.notes)


def test_what_could_not_be_seen_is_said() -> None:
    """No netlink, no GPU driver, no PID namespace: three notes, no verdict and no pretence."""
    sources = virtual_sources("n1")
    jobs, _ = joined(read_node(sources.tree, 0.0))
    assert jobs.used == {}
    assert [note.partition(":")[0] for note in jobs.notes] == ["queue pairs", "processes on GPUs", "processes"]


def test_a_storage_client_without_a_gpu_is_listed_and_not_judged() -> None:
    """A process with queue pairs and no GPU is nobody's pairing."""
    jobs, view = joined(with_pairs(virtual(), {"mlx5_2": [pair(77)]}))
    assert [(process.pid, process.gpus) for process in jobs.processes if process.nics] == [(77, ())]
    assert view.pairing.findings == ()


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.stdout


def test_the_command_answers_from_a_recording() -> None:
    """Table and JSON, status 0 for a healthy machine."""
    path = NODES / "healthy-hgx.jsonl"
    status, text = run("topo", "jobs", "--snapshot", path, "--output", "plain")
    assert status == 0
    assert text.startswith("OK: each of 8 GPUs at work uses a NIC as near as any")
    answer = json.loads(run("topo", "jobs", "--snapshot", path, "--output", "json")[1])
    assert answer["schema"] == "netkit.topo-jobs/1"
    assert answer["processes"][3] == {
        "pid": 20_003,
        "name": "python3",
        "pod": "aaaaaaaa-0000-4000-8000-000000000001",
        "gpus": ["gpu3"],
        "nics": [{"name": "mlx5_3", "queue_pairs": 4, "minor": False}],
    }
    assert [(gpu["uses"], gpu["predicted"], gpu["verdict"]) for gpu in answer["gpus"]] == [
        ([f"mlx5_{rank}"], [f"mlx5_{rank}"], "ok") for rank in range(8)
    ]


def test_the_command_names_a_gpu_that_uses_a_far_nic(tmp_path: Path) -> None:
    """Status 1, and the culprit first."""
    path = tmp_path / "n.jsonl"
    path.write_text(record_node(virtual_sources("n1", (3,)), 0.0).text)
    status, text = run("topo", "jobs", "--snapshot", path, "--output", "plain")
    assert status == 1
    assert text.startswith("MISPAIRED: gpu2, gpu3 of 8 GPUs seen at work")


def test_a_machine_without_gpus_shows_who_uses_rdma() -> None:
    """The recorded Soft-RoCE machine: both processes of the load with their pairs, and why no GPU is seen."""
    status, text = run("topo", "jobs", "--snapshot", NODES / "soft-roce-virtual-machine.jsonl", "--output", "plain")
    assert status == 0
    assert text.startswith("NOTHING SEEN: no GPU is seen to use RDMA; 2 processes hold connected queue pairs")
    assert text.count("ib_write_bw") == 2
    assert "rxe0 (1)" in text
