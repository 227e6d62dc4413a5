"""`netkit probe hosts --backend nccl-tests` from command line to verdict.

ssh, mpirun and all_reduce_perf are stand-ins, and nothing of netkit knows that they are.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probe.stand_in_cluster import RATE, StandInCluster

RDMA = ("--hca", "mlx5_0,mlx5_1")


def test_a_slow_rail_is_named(tmp_path: Path) -> None:
    """Twenty percent off one device of one host: split by mask, decoded process by process, blamed on that rail."""
    status, report = StandInCluster(tmp_path, ports={"hc/mlx5_1": 0.8 * RATE}).report(*RDMA)
    assert status == 1, report["why"]
    assert [(one["class"], one["node"], one["rail"]) for one in report["findings"]] == [("rail", "hc", 1)]
    assert report["findings"][0]["slowdown"] == pytest.approx(0.2, abs=0.03)
    assert report["backend"] == "nccl_tests"
    assert "which direction of a link is slow: the benchmark times both at once" in report["not_seen"]


def test_a_version_without_times_of_every_rank_runs_pair_by_pair(tmp_path: Path) -> None:
    """2.18 knows no `-I`: one mpirun a pair and rail, read as text; the slow rail is named all the same."""
    status, report = StandInCluster(tmp_path, ports={"ha/mlx5_0": 0.7 * RATE}, version="2.18.3").report(*RDMA)
    assert status == 1, report["why"]
    assert [(one["class"], one["node"], one["rail"]) for one in report["findings"]] == [("rail", "ha", 0)]


@pytest.mark.fault("H15")
@pytest.mark.fault("H15")
def test_a_rail_that_fell_back_to_sockets_is_not_called_slow(tmp_path: Path) -> None:
    """Its readings are missing and say why; the verdict is inconclusive, and no link is blamed."""
    status, report = StandInCluster(tmp_path, no_rdma=[["hb", "mlx5_0"]]).report(*RDMA)
    assert (status, report["verdict"], report["findings"]) == (3, "inconclusive", [])
    assert "NCCL fell back to NET/Socket" in report["why"]
    missing = [row for row in report["readings"] if row["missing"]]
    assert missing
    assert all("hb" in row["nodes"] and row["rail"] == 0 for row in missing)
    assert all("fell back to NET/Socket" in row["missing"]["detail"] for row in missing)


@pytest.mark.fault("H14")
def test_a_program_that_is_missing_is_one_line_before_anything_runs(tmp_path: Path) -> None:
    """Status 3; which program, which hosts, and what to install."""
    cluster = StandInCluster(tmp_path)
    (cluster.bin / "all_reduce_perf").unlink()
    done = cluster.probe(*RDMA)
    assert (done.returncode, done.stdout) == (3, "")
    [line] = done.stderr.splitlines()
    assert "no all_reduce_perf on ha, hb, hc, hd" in line
    assert "--programs" in line
